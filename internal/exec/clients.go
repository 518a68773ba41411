package exec

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
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

// reader returns the client of a read, and the reading of its answer. The SDK reads the answers of a ReadClient that is not the
// SDK's own: a cache keeps outputs, and needs their items.
func (r *Runner) reader(ctx context.Context, consistent bool) (Client, *reading) {
	if consistent || r.ReadClient == nil || ctx.Value(directKey{}) != nil {
		return r.Client, r.reading(r.Client)
	}
	reading := r.reading(r.ReadClient)
	if _, own := r.ReadClient.(*dynamodb.Client); !own {
		reading.sdk = true
	}
	return r.ReadClient, reading
}

// transactions returns an error if the tables have none.
func (r *Runner) transactions() error {
	if !r.NoTransactions {
		return nil
	}
	return &entitytype.InputError{Code: bind.CodeTransaction, Type: "entity.DB", Problem: "the call is a transaction, and tables with strong consistency over Regions have none (Config.MultiRegion is MRSC)"}
}
