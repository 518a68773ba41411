package exec

import (
	"context"

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

// reader returns the client of a read.
func (r *Runner) reader(ctx context.Context, consistent bool) Client {
	if consistent || r.ReadClient == nil || ctx.Value(directKey{}) != nil {
		return r.Client
	}
	return r.ReadClient
}

// transactions returns an error if the tables have none.
func (r *Runner) transactions() error {
	if !r.NoTransactions {
		return nil
	}
	return &entitytype.InputError{Code: bind.CodeTransaction, Type: "entity.DB", Problem: "the call is a transaction, and tables with strong consistency over Regions have none (Config.MultiRegion is MRSC)"}
}
