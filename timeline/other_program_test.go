package timeline_test

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// newTransport is the lab as another program has it, whose requests are not held up with those of the first.
func newTransport(l *lab) *lab {
	l.t.Helper()
	other := &lab{t: l.t, ctx: l.ctx, raw: l.raw, table: l.table, sent: faults.New(l.raw.Options().HTTPClient), clock: l.clock}
	return other.connect()
}

// text is the content of a string attribute.
func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }
