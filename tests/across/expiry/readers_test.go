package expiry_test

import (
	"testing"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// DynamoDB removes the item, its snapshots and its sentinel, each with a record of its own.
func TestStream_RemovalsByDynamoDB(t *testing.T) {
	t.Parallel()
	l := open[Pass](t)
	ctx := t.Context()
	l.OK(l.store.Create(ctx, Pass{ID: "a", Code: "A1"}))
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Ends, dawn.Add(2*hour).Unix())))
	kinds := map[stream.Kind]int{}
	for _, it := range l.Items() {
		pk, sk := l.KeyOf(it)
		r := stream.Record{Operation: streamtypes.OperationTypeRemove, ByTTL: true, SequenceNumber: "1", Keys: l.Key(pk, sk), Old: it}
		c, ok, err := stream.Of(l.store, r)
		require.NoError(t, err)
		require.Equal(t, !dbtest.IsSentinel(it), ok, "a sentinel is no item of the entity")
		if !ok {
			continue
		}
		kinds[c.Kind]++
		want := map[int64]time.Duration{1: hour, 2: 2 * hour}[c.OldVersion]
		require.Equal(t, dawn.Add(want).Unix(), c.Old.Ends, "the end of the state, not that of its snapshot")
	}
	require.Equal(t, map[stream.Kind]int{stream.Expired: 1, stream.SnapshotExpired: 2}, kinds)
}
