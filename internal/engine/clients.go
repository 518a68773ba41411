package engine

import (
	"context"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

type directKey struct{}

// Direct returns a context whose reads are all sent by Client: what they return is the base of a write, or must not be older
// than DynamoDB's own eventually consistent reads.
func (r *Runner) Direct(ctx context.Context) context.Context {
	if r.ReadClient == nil || ctx == nil {
		return ctx
	}
	return context.WithValue(ctx, directKey{}, true)
}

// reader returns the client of a read, and the reading of its answer.
func (r *Runner) reader(ctx context.Context, consistent bool) (Client, *request) {
	if consistent || r.ReadClient == nil || ctx.Value(directKey{}) != nil {
		return r.Client, &request{wire.Call{Own: r.Own}}
	}
	return r.ReadClient, &request{wire.Call{Own: r.OwnReads}}
}

// Plain reports whether a client is the SDK's without middleware, so that only the SDK's own code sees inputs and outputs.
// Then they can lack what this module writes and reads itself.
func Plain(client Client) bool {
	sdk, ok := client.(*dynamodb.Client)
	if !ok || sdk == nil {
		return false
	}
	o := sdk.Options()
	return len(o.APIOptions) == 0 && !hasElements(reflect.ValueOf(o.Interceptors)) && wire.Ours(&o)
}

// hasElements reports whether a field of a struct of lists has an element.
func hasElements(v reflect.Value) bool {
	for i := range v.NumField() {
		if v.Field(i).Len() > 0 {
			return true
		}
	}
	return false
}

// transactions returns an error if the tables have none.
func (r *Runner) transactions() error {
	if !r.NoTransactions {
		return nil
	}
	return &entitytype.InputError{Code: write.CodeTransaction, Type: "entity.DB", Problem: "the call is a transaction, and tables with strong consistency over Regions have none (Config.MultiRegion is MRSC)"}
}
