package stream_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// The clock of a process that begins at the latest record may be wrong: what the stream has after that is handled, in shards that were listed, in those
// that follow them, and in the order of another process, whose iterators have expired, which takes over before the first checkpoint.
func TestReader_LatestDoesNotDependOnAClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-5 * time.Hour, 0, 5 * time.Hour} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprint(ahead, expired), func(t *testing.T) {
				t.Parallel()
				l, b := brookLab(t)
				hour := time.Now().Add(-time.Hour)
				b.shard("0", "", hour, "t-1").closed = true
				old := hour
				if !expired { // the iterator passes over what its time does not show to be old
					old = time.Now()
				}
				x, y := b.shard("1", "0", old, "t-2"), b.shard("2", "0", old, "t-3")
				start := func() *process {
					p := l.process(t, b, stream.ReaderOptions{Latest: true})
					engine.DatabaseOf(p.db).Runner.Clock = func() time.Time { return time.Now().Add(ahead) }
					return p.start()
				}
				p := start()
				eventually(t, "a read of each", func() bool { return text(l.shardItem("1")["token"]) != "" && text(l.shardItem("2")["token"]) != "" })
				require.Empty(t, p.end())
				b.do(func() {
					if expired {
						b.epoch++
					}
					x.add(time.Now(), "t-4")
					x.closed = true
					b.shard("3", "1", time.Now(), "t-5")
				})
				p = start()
				eventually(t, "the records of the meantime", func() bool { return p.has("t-4")() && p.has("t-5")() })
				b.do(func() { y.add(time.Now(), "t-6") })
				eventually(t, "what comes later", p.has("t-6"))
				require.Equal(t, []string{"t-4", "t-5", "t-6"}, p.end())
			})
		}
	}
}

// Named is an entity whose name looks like that of what readers store.
type Named struct {
	_ entity.Key `name:"StreamReader-jobs" pk:"$#{id}" sk:"$#{stream}#{shard}"`

	ID     string `dynamodbav:"id"`
	Stream string `dynamodbav:"stream"`
	Shard  string `dynamodbav:"shard"`
}

// Readers pass over their checkpoints and those of other readers, by a mark that no declaration can have, and give all else to the program. Without a
// client a reader declares the same.
func TestReader_PassesOverNothingButCheckpoints(t *testing.T) {
	t.Parallel()
	for _, view := range []types.StreamViewType{types.StreamViewTypeNewAndOldImages, types.StreamViewTypeNewImage, types.StreamViewTypeKeysOnly} {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			db := l.Open(l.Raw)
			named := entity.Must(entity.New[Named](db))
			stream.NewReader(nil, db, stream.ReaderOptions{Name: "a"})
			require.Contains(t, schemalock.Of(db).String(), "entity StreamReader\n")
			require.NoError(t, tables.Create(l.Ctx, db))
			l.OK(dbtest.OpenStream(l.Ctx, l.Raw, l.Table, view))
			ctx, stop := context.WithCancel(l.Ctx)
			var mu sync.Mutex
			seen, done := map[string]int{}, make(chan error, 2)
			for _, name := range []string{"a", "b"} {
				db := l.Open(l.Raw)
				r := stream.NewReader(streamsOf(l), db, stream.ReaderOptions{Name: name, Poll: time.Millisecond, OnLost: func(context.Context, *stream.LostError) error { return nil }})
				go func() {
					done <- r.Consume(ctx, func(_ context.Context, e stream.Event) (stream.Response, error) {
						mu.Lock()
						defer mu.Unlock()
						for _, record := range e.Records {
							seen[name+" "+text(record.Keys["pk"])]++
						}
						return stream.Response{}, nil
					})
				}()
			}
			for _, n := range []Named{{ID: "1", Stream: "a", Shard: "b"}, {ID: "2", Stream: "x", Shard: "y"}, {ID: "3", Stream: "beginning", Shard: "other"}} {
				l.OK(named.Put(l.Ctx, n))
			}
			eventually(t, "the items of the program", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return seen["a $app#v1#streamreader-jobs#3"] > 0 && seen["b $app#v1#streamreader-jobs#3"] > 0
			})
			l.OK(named.Put(l.Ctx, Named{ID: "4", Stream: "a", Shard: "b"})) // after it the checkpoints have been stored
			eventually(t, "another", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return seen["a $app#v1#streamreader-jobs#4"] > 0 && seen["b $app#v1#streamreader-jobs#4"] > 0
			})
			stop()
			require.NoError(t, <-done)
			require.NoError(t, <-done)
			require.Len(t, seen, 8, "%v", seen)
		})
	}
}

// A process whose clock was hours ahead has died. Another has its shard after the time of a lease.
func TestReader_AnotherTakesOverFromAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2", "t-3")
	hangs, old := make(chan bool), l.process(t, b, stream.ReaderOptions{})
	engine.DatabaseOf(old.db).Runner.Clock = func() time.Time { return l.Clock.Now().Add(5 * time.Hour) }
	wake := make(chan bool)
	old.each = func(id string) {
		if id == "t-2" {
			close(hangs)
			<-wake
		}
	}
	old.start()
	<-hangs
	var passed atomic.Int64
	next := l.process(t, b, stream.ReaderOptions{})
	engine.DatabaseOf(next.db).Runner.Elapsed = func() time.Duration { return time.Duration(passed.Load()) }
	next.start()
	before := next.wire.Count("Query")
	eventually(t, "the other looks for free leases", func() bool { return next.wire.Count("Query") > before+5 })
	require.Empty(t, next.seen)
	passed.Add(int64(31 * time.Second))
	eventually(t, "the other has the shard", next.has("t-3"))
	close(wake)
	old.end()
	next.end()
}
