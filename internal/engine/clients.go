package engine

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/wire"
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

// reader returns the client of a read, and whether its requests are written and read here.
func (r *Runner) reader(ctx context.Context, consistent bool) (client Client, own bool) {
	if consistent || r.ReadClient == nil || ctx.Value(directKey{}) != nil {
		return r.Client, r.Own
	}
	return r.ReadClient, r.OwnReads
}

// Owns decides how requests go through a client. If it returns true, this module writes them and reads their answers, and the
// client's inputs have the names of tables and the flags of reads, but no items, keys and expressions. There are three kinds of clients:
//
//   - the SDK's client without middleware and interceptors, which only the SDK's own code sees: true
//   - the SDK's client whose middleware and interceptors do not look at items and expressions, as its owner says: true
//   - any other: false, and it gets complete inputs, and outputs that the SDK has read
func Owns(client Client, ignoresItems bool) bool {
	sdk, ok := client.(*dynamodb.Client)
	if !ok || sdk == nil {
		return false
	}
	o := sdk.Options()
	r := &o.Interceptors
	added := len(o.APIOptions) + len(r.BeforeExecution) + len(r.BeforeSerialization) + len(r.AfterSerialization) + len(r.BeforeRetryLoop) +
		len(r.BeforeAttempt) + len(r.BeforeSigning) + len(r.AfterSigning) + len(r.BeforeTransmit) + len(r.AfterTransmit) +
		len(r.BeforeDeserialization) + len(r.AfterDeserialization) + len(r.AfterAttempt) + len(r.AfterExecution)
	return wire.Ours(&o) && (added == 0 || ignoresItems)
}

// Place says where a client looks for tables, for the error of one that is not there: its Region, and its endpoint if one is set. A
// client of another type does not say.
func Place(client Client) string {
	sdk, ok := client.(*dynamodb.Client)
	if !ok || sdk == nil {
		return ""
	}
	o := sdk.Options()
	u, err := url.Parse(aws.ToString(o.BaseEndpoint))
	if err != nil || u.Host == "" {
		return " in Region " + o.Region
	}
	return " in Region " + o.Region + " at " + u.Scheme + "://" + u.Host
}
