package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// batch is an event of records of things: "+1" inserts thing 1, "-1" removes it, "!1" cannot be decoded, "?" belongs to no store,
// "x" is no record at all.
func batch(t testing.TB, list ...string) stream.Event {
	t.Helper()
	var records []string
	for i, x := range list {
		op, image, id := "INSERT", "NewImage", x[1:]
		value, name := `{"S":"`+id+`"}`, "Thing"
		switch x[0] {
		case '-':
			op, image = "REMOVE", "OldImage"
		case '!':
			value = `{"L":[]}`
		case '?':
			name = "Other"
		case 'x':
			value = `{"N":"x"}`
		}
		records = append(records, fmt.Sprintf(`{"eventID":"e%d","eventName":%q,"dynamodb":{"Keys":{"pk":{"S":"$app#v1#thing#%s"},"sk":{"S":"$app#v1#thing"}},`+
			`%q:{"__edd_e__":{"S":%q},"id":%s},"SequenceNumber":"%d"}}`, i, op, id, image, name, value, 100+i))
	}
	return parse(t, `{"Records":[`+strings.Join(records, ",")+`]}`)
}

var errBoom = errors.New("boom")

// calls notes what routes are called with.
type calls []string

// on returns a route that notes changes behind a name, and fails at the thing with the id failing.
func (n *calls) on(s *entity.Store[Thing], name, failing string, kinds ...stream.Kind) stream.Route {
	return stream.On(s, func(_ context.Context, c stream.Change[Thing]) error {
		v, err := c.Item()
		*n = append(*n, name+string(c.Kind)+" "+v.ID)
		if v.ID == failing {
			return errBoom
		}
		return err
	}, kinds...)
}

func (n *calls) unrouted(fails error) stream.Route {
	return stream.OnUnrouted(func(_ context.Context, r stream.Record) error { *n = append(*n, "unrouted "+r.EventID); return fails })
}

func (n *calls) undecodable(fails error) stream.Route {
	return stream.OnUndecodable(func(_ context.Context, r stream.Record, err error) error {
		if err != nil {
			*n = append(*n, "aside "+r.EventID)
		}
		return fails
	})
}

// ignore does nothing with a change.
func ignore(context.Context, stream.Change[Thing]) error { return nil }

func TestHandle_Batches(t *testing.T) {
	t.Parallel()
	type (
		store  = *entity.Store[Thing]
		routes = []stream.Route
	)
	plain := func(n *calls, s store) routes { return routes{n.on(s, "", "")} }
	failing := func(n *calls, s store) routes { return routes{n.on(s, "", "2")} }
	for name, c := range map[string]struct {
		batch    []string
		routes   func(*calls, store) routes
		calls    calls
		response stream.Response // its numbers
		failure  any             // of the second record: an error, or a pointer for one of a type; nil if none failed
	}{
		"each record in order":                        {[]string{"+1", "?9", "-1", "+2"}, plain, calls{"created 1", "deleted 1", "created 2"}, stream.Response{Handled: 3, Ignored: 1}, nil},
		"what follows a failure must not overtake it": {[]string{"+1", "+2", "+3"}, failing, calls{"created 1", "created 2"}, stream.Response{Handled: 1}, errBoom},
		"every route of a store in order": {
			[]string{"+1", "+2"}, func(n *calls, s store) routes {
				return routes{n.on(s, "", ""), n.on(s, "second ", "2"), n.on(s, "third ", "")}
			},
			calls{"created 1", "second created 1", "third created 1", "created 2", "second created 2"}, stream.Response{Handled: 1}, errBoom,
		},
		"the kinds that a route asked for; what a store knows is not unrouted": {
			[]string{"+1", "-1", "?2", "+3"}, func(n *calls, s store) routes {
				return routes{n.on(s, "", "", stream.Deleted, stream.Expired), n.unrouted(nil)}
			},
			calls{"deleted 1", "unrouted e2"}, stream.Response{Handled: 1, Ignored: 3}, nil,
		},
		"other kinds are not decoded": {
			[]string{"!1", "-2"}, func(n *calls, s store) routes { return routes{n.on(s, "", "", stream.Deleted)} },
			calls{"deleted 2"}, stream.Response{Handled: 1, Ignored: 1}, nil,
		},
		"an item that cannot be decoded": {[]string{"+1", "!2", "+3"}, plain, calls{"created 1"}, stream.Response{Handled: 1}, new(*entity.DecodeError)},
		"a record that cannot be read":   {[]string{"+1", "x2", "+3"}, plain, calls{"created 1"}, stream.Response{Handled: 1}, new(*stream.RecordError)},
		"undecodable ones are put aside: once for each route, a malformed record once": {
			[]string{"+1", "!2", "x3", "+4"}, func(n *calls, s store) routes {
				return routes{n.on(s, "", ""), stream.On(s, ignore), n.undecodable(nil)}
			},
			calls{"created 1", "aside e1", "aside e1", "aside e2", "created 4"}, stream.Response{Handled: 2, Skipped: 2}, nil,
		},
		"an undecodable one that cannot be put aside": {
			[]string{"+1", "!2", "+4"}, func(n *calls, s store) routes { return routes{n.on(s, "", ""), n.undecodable(errBoom)} },
			calls{"created 1", "aside e1"}, stream.Response{Handled: 1}, errBoom,
		},
		"what a function fails with does not make a record undecodable": {
			[]string{"+1", "+2"}, func(n *calls, s store) routes { return routes{n.on(s, "", "2"), n.undecodable(nil)} },
			calls{"created 1", "created 2"}, stream.Response{Handled: 1}, errBoom,
		},
		"an unrouted record whose function fails": {
			[]string{"+1", "?2"}, func(n *calls, s store) routes { return routes{stream.On(s, ignore), n.unrouted(errBoom)} },
			calls{"unrouted e1"}, stream.Response{Handled: 1}, errBoom,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got calls
			resp, err := stream.Handle(t.Context(), batch(t, c.batch...), c.routes(&got, things(t))...)
			require.NoError(t, err, "an error would make Lambda repeat the first record too")
			require.Equal(t, c.calls, got)
			require.Equal(t, []int{c.response.Handled, c.response.Ignored, c.response.Skipped}, []int{resp.Handled, resp.Ignored, resp.Skipped})
			report := `{"batchItemFailures":[{"itemIdentifier":"101"}]}`
			switch want := c.failure.(type) {
			case nil:
				require.NoError(t, resp.Err())
				report = `{"batchItemFailures":[]}`
			case error:
				require.ErrorIs(t, resp.Err(), want)
			default:
				require.ErrorAs(t, resp.Err(), want)
			}
			if c.failure != nil {
				require.Equal(t, "e1", resp.Failure.Record.EventID)
			}
			require.JSONEq(t, report, string(entity.Must(json.Marshal(resp))))
		})
	}
}

func TestHandle_ReportsTheFirstRecordAfterCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	resp := entity.Must(stream.Handle(ctx, batch(t, "+1", "+2", "+3"), stream.On(things(t), func(_ context.Context, c stream.Change[Thing]) error {
		if c.New.ID == "2" {
			cancel()
		}
		return nil
	})))
	require.Equal(t, 2, resp.Handled)
	require.Equal(t, []stream.BatchItemFailure{{"102"}}, resp.BatchItemFailures, "the second was done all the same")
	require.ErrorIs(t, resp.Err(), context.Canceled)
}

func TestHandle_DoesNotCatchAPanic(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "mine", func() {
		_, _ = stream.Handle(t.Context(), batch(t, "+1"), stream.On(things(t), func(context.Context, stream.Change[Thing]) error { panic("mine") }))
	})
}

func TestHandle_AFailedRecordWithoutSequenceNumberFailsTheBatch(t *testing.T) {
	t.Parallel()
	e := batch(t, "+1", "+2")
	e.Records[1].SequenceNumber = ""
	resp, err := stream.Handle(t.Context(), e, stream.On(things(t), ignore))
	require.Equal(t, "e1", dbtest.As[*stream.RecordError](t, err).EventID)
	require.Empty(t, resp.BatchItemFailures)
}

func TestHandle_MistakesInRoutesAreFoundBeforeAnyRecord(t *testing.T) {
	t.Parallel()
	s, called := things(t), false
	on := stream.On(s, func(context.Context, stream.Change[Thing]) error { called = true; return nil })
	aside := func(context.Context, stream.Record, error) error { return nil }
	for name, routes := range map[string][]stream.Route{
		"none":              nil,
		"no store":          {stream.OnUnrouted(func(context.Context, stream.Record) error { return nil })},
		"no function":       {on, stream.On[Thing](s, nil)},
		"nothing unrouted":  {on, stream.OnUnrouted(nil)},
		"nothing aside":     {on, stream.OnUndecodable(nil)},
		"an unknown kind":   {on, stream.On(s, ignore, "exploded")},
		"not of this world": {on, {}},
		"aside twice":       {on, stream.OnUndecodable(aside), stream.OnUndecodable(aside)},
		"twice":             {on, stream.OnUnrouted(func(context.Context, stream.Record) error { return nil }), stream.OnUnrouted(func(context.Context, stream.Record) error { return nil })},
	} {
		resp, err := stream.Handle(t.Context(), batch(t, "+1"), routes...)
		require.Equal(t, "EDD-9123", dbtest.InputCode(err), name)
		require.Nil(t, resp.Failure, name)
	}
	require.False(t, called)
}

// The clock of a process that begins at the latest record may be wrong: what the stream has after that is handled, in shards that were listed, in those
// that follow them, and in the order of another process, whose iterators have expired, which takes over before the first checkpoint.
func TestReader_LatestDoesNotDependOnAClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-5 * time.Hour, 0, 5 * time.Hour} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprint(ahead, expired), func(t *testing.T) {
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
				eventually(t, "a read of each", func() bool {
					return dbtest.Text(l.shardItem("1")["token"]) != "" && dbtest.Text(l.shardItem("2")["token"]) != ""
				})
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
	_      entity.Key `name:"StreamReader-jobs" pk:"$#{id}" sk:"$#{stream}#{shard}"`
	ID     string     `dynamodbav:"id"`
	Stream string     `dynamodbav:"stream"`
	Shard  string     `dynamodbav:"shard"`
}

// Readers pass over their checkpoints and those of other readers, by a mark that no declaration can have, and give all else to the program. Without a
// client a reader declares the same.
func TestReader_PassesOverNothingButCheckpoints(t *testing.T) {
	t.Parallel()
	for _, view := range []types.StreamViewType{types.StreamViewTypeNewAndOldImages, types.StreamViewTypeNewImage, types.StreamViewTypeKeysOnly} {
		t.Run(string(view), func(t *testing.T) {
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
							seen[name+" "+dbtest.Text(record.Keys["pk"])]++
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
