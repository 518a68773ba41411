package expiry_test

import (
	"testing"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeline"
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

// An expiry is no event. The first state of a new life is created, whether or not DynamoDB has removed the old item.
func TestTimeline_OfItemsThatExpire(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		l := open[Pass](t)
		ctx := t.Context()
		log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "passes", Source: timeline.Versions(history(l))}))
		events := func() (all []string) {
			t.Helper()
			for e, err := range log.All(ctx) {
				require.NoError(t, err)
				p := e.Payload.(Pass)
				all = append(all, e.Name+" "+p.Note+" "+time.Unix(p.Ends, 0).UTC().Sub(dawn).String())
			}
			return all
		}
		l.OK(l.store.Create(ctx, Pass{ID: "a", Code: "A1", Note: "one"}))
		l.Clock.Move(time.Minute)
		l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Note, "two")))
		first := []string{"pass.updated two 1h0m0s", "pass.created one 1h0m0s"}
		require.Equal(t, first, events())
		l.Clock.Move(hour)
		if removed {
			l.RemoveItem(l.Current("a"))
		}
		require.Equal(t, first, events(), "the history remains")
		l.OK(l.store.Put(ctx, Pass{ID: "a", Note: "three"}))
		l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Note, "four")))
		require.Equal(t, append([]string{"pass.updated four 2h1m0s", "pass.created three 2h1m0s"}, first...), events())
		page := entity.Must(log.Page(ctx, 0, 0))
		require.False(t, page.Meta.HistoryComplete, "what expires leaves no trace")
		l.Clock.Move(day)
		require.Equal(t, []string{"pass.baseline four 2h1m0s"}, events(), "the states before have expired")
	}
}
