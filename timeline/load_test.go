package timeline_test

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// load writes events as they lie in the table, many at a time: docs/layout.md says how. TestLoad_LiesAsAppendLeavesIt
// compares them with those of Append.
func (l *lab) load(evs []reading) {
	l.t.Helper()
	const atOnce = 25
	work := make(chan []reading)
	errs := make(chan error)
	for range 4 {
		go func() {
			var failed error
			for part := range work {
				var puts []types.WriteRequest
				for _, r := range part {
					puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: l.laid(r)}})
				}
				for len(puts) > 0 && failed == nil {
					out, err := l.raw.BatchWriteItem(l.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{l.table: puts}})
					if failed = err; err == nil {
						puts = out.UnprocessedItems[l.table]
					}
				}
			}
			errs <- failed
		}()
	}
	for len(evs) > 0 {
		n := min(atOnce, len(evs))
		work <- evs[:n]
		evs = evs[n:]
	}
	close(work)
	for range 4 {
		require.NoError(l.t, <-errs)
	}
}

// laid is an event as an item.
func (l *lab) laid(r reading) map[string]types.AttributeValue {
	const format = "2006-01-02T15:04:05.000000000Z"
	s := func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
	at := r.At.UTC().Format(format)
	return map[string]types.AttributeValue{
		"pk": s("$app#v1#reading#" + r.Device), "sk": s("$app#v1#reading#e#" + at),
		"__edd_e__": s("Reading"), "_k": s("e"), "_at": s(l.clock.Now().Format(format)), "_w": s(fmt.Sprintf("load-%021d", r.Value)),
		"device": s(r.Device), "at": s(at), "site": s(r.Site), "value": &types.AttributeValueMemberN{Value: strconv.Itoa(r.Value)},
	}
}
