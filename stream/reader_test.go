package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// watch runs a reader alone on the stream, in time of its own. Each step is done a minute after the one before, then the reader is stopped.
// It returns the ids of the handled items and what was lost.
func (b *brook) watch(t *testing.T, o stream.ReaderOptions, steps ...func()) (seen []string, err error) {
	t.Helper()
	db, ctx, cancel := entity.Must(entity.Open(b, entity.Config{Table: "app"})), t.Context(), context.CancelFunc(nil)
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	if o.Alone, o.Source = true, "app"; o.OnLost == nil {
		o.OnLost = func(_ context.Context, gap *stream.LostError) error {
			b.do(func() { seen = append(seen, fmt.Sprintf("lost %s after %q", gap.Shard, gap.After)) })
			return nil
		}
	}
	done := make(chan error, 1)
	go func() {
		done <- stream.NewReader(b, db, o).Run(ctx, stream.On(entity.Must(entity.New[Team](db)), func(_ context.Context, c stream.Change[Team]) error {
			b.do(func() { seen = append(seen, c.New.ID) })
			return nil
		}))
	}()
	for _, step := range steps {
		time.Sleep(time.Minute)
		b.do(step)
	}
	time.Sleep(time.Minute)
	cancel()
	return seen, <-done
}

// bubble runs a test in time of its own, on a stream with one shard with three records from an hour ago.
func bubble(t *testing.T, name string, f func(t *testing.T, b *brook, x *brookShard)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &brook{arn: "arn:aws:dynamodb:eu-central-1:1:table/app/stream/2026"}
			f(t, b, b.shard("a", "", time.Now().Add(-time.Hour), "t-1", "t-2", "t-3"))
		})
	})
}

func nothing() {}

// A record is handled once by a reader that goes on, whatever happens to iterators and shards in between.
func TestReader_GoesOnAfterEverythingThatPasses(t *testing.T) {
	t.Parallel()
	now := func(x *brookShard, ids ...string) func() { return func() { x.add(time.Now(), ids...) } }
	bubble(t, "an iterator expires after records were read", func(t *testing.T, b *brook, x *brookShard) {
		seen := entity.Must(b.watch(t, stream.ReaderOptions{}, func() { b.epoch++; x.add(time.Now(), "t-4") }, func() { b.epoch++ }, now(x, "t-5")))
		require.Equal(t, []string{"t-1", "t-2", "t-3", "t-4", "t-5"}, seen)
	})
	bubble(t, "an iterator for the newest record expires before anything was read", func(t *testing.T, b *brook, x *brookShard) {
		seen := entity.Must(b.watch(t, stream.ReaderOptions{Latest: true}, func() { b.epoch++; x.add(time.Now(), "t-4", "t-5") }, now(x, "t-6")))
		require.Equal(t, []string{"t-4", "t-5", "t-6"}, seen, "the shard is read from its beginning, and old records are passed over")
	})
	bubble(t, "records are removed before they are read", func(t *testing.T, b *brook, x *brookShard) {
		seen := entity.Must(b.watch(t, stream.ReaderOptions{}, func() { x.add(time.Now(), "t-4", "t-5", "t-6"); x.trimmed = 4 }))
		require.Equal(t, []string{"t-1", "t-2", "t-3", `lost a after "3"`, "t-5", "t-6"}, seen)
	})
	bubble(t, "records are removed and the iterator has expired", func(t *testing.T, b *brook, x *brookShard) {
		seen := entity.Must(b.watch(t, stream.ReaderOptions{}, func() { x.add(time.Now(), "t-4", "t-5"); x.trimmed = 4; b.epoch++ }))
		require.Equal(t, []string{"t-1", "t-2", "t-3", `lost a after "3"`, "t-5"}, seen)
	})
	bubble(t, "a shard is gone", func(t *testing.T, b *brook, x *brookShard) {
		seen := entity.Must(b.watch(t, stream.ReaderOptions{}, func() { x.gone = true; b.shard("b", "a", time.Now(), "t-4") }))
		require.Equal(t, []string{"t-1", "t-2", "t-3", `lost a after "3"`, "t-4"}, seen)
	})
	bubble(t, "a shard ends, and its child is listed later", func(t *testing.T, b *brook, x *brookShard) {
		seen, err := b.watch(t, stream.ReaderOptions{Latest: true}, func() { x.add(time.Now(), "t-4"); x.closed = true }, func() { b.shard("b", "a", time.Now(), "t-5") })
		require.NoError(t, err)
		require.Equal(t, []string{"t-4", "t-5"}, seen)
	})
	bubble(t, "what is lost ends a reader that does not say what to do then", func(t *testing.T, b *brook, x *brookShard) {
		enough := errors.New("enough")
		_, err := b.watch(t, stream.ReaderOptions{OnLost: func(context.Context, *stream.LostError) error { return enough }}, func() { x.gone = true })
		require.ErrorIs(t, err, enough)
		db := entity.Must(entity.Open(b, entity.Config{Table: "app"}))
		x.gone, x.trimmed, b.shards[0].records = false, 2, b.shards[0].records[:2]
		x.closed, x.trimmed = false, 0
		go func() { time.Sleep(time.Minute); b.do(func() { x.add(time.Now(), "t-7", "t-8"); x.trimmed = 4 }) }()
		err = stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app"}).Run(t.Context(), stream.On(entity.Must(entity.New[Team](db)), pass))
		lost := dbtest.As[*stream.LostError](t, err)
		require.Equal(t, stream.LostError{Stream: b.arn, Shard: "a", After: "2"}, *lost)
	})
}

func pass(context.Context, stream.Change[Team]) error { return nil }

// The records of a shard come before those of its children, also of two; shards that had ended before the beginning are not read.
func TestReader_ReadsParentsFirst(t *testing.T) {
	t.Parallel()
	bubble(t, "oldest", func(t *testing.T, b *brook, x *brookShard) {
		x.closed = true
		b.shards = append([]*brookShard{b.shard("0", "a", time.Now(), "t-4"), b.shard("1", "a", time.Now(), "t-5")}, x)
		seen := entity.Must(b.watch(t, stream.ReaderOptions{MaxShards: 1}))
		require.Equal(t, []string{"t-1", "t-2", "t-3", "t-4"}, seen, "the second child waits for one of MaxShards")
		seen = entity.Must(b.watch(t, stream.ReaderOptions{}, func() { b.shards[0].closed = true; b.shard("2", "0", time.Now(), "t-6") }))
		require.ElementsMatch(t, []string{"t-1", "t-2", "t-3", "t-4", "t-5", "t-6"}, seen)
		require.Equal(t, []string{"t-1", "t-2", "t-3"}, seen[:3])
		require.Equal(t, "t-6", seen[5])
	})
	bubble(t, "latest", func(t *testing.T, b *brook, x *brookShard) {
		x.closed = true
		child := b.shard("0", "a", time.Now().Add(-time.Hour), "t-4")
		seen, err := b.watch(t, stream.ReaderOptions{Latest: true}, func() { child.closed = true; b.shard("1", "0", time.Now()) }, func() { b.shards[2].add(time.Now(), "t-5") }, func() {
			b.shards[2].closed, b.shard("2", "1", time.Now(), "t-6").closed = true, true // before anybody knew it
			b.shard("3", "2", time.Now())
		})
		require.NoError(t, err)
		require.Equal(t, []string{"t-5", "t-6"}, seen)
	})
}

// Requests that are throttled, or fail for another reason that passes, only delay, however often.
func TestReader_WaitsWhileRequestsFail(t *testing.T) {
	t.Parallel()
	for n, name := range []string{"describe", "position", "read"} {
		for _, err := range []error{
			&streamtypes.LimitExceededException{}, &streamtypes.InternalServerError{}, context.DeadlineExceeded,
			fmt.Errorf("after retries: %w", &smithy.GenericAPIError{Code: "ProvisionedThroughputExceededException"}),
		} {
			bubble(t, name, func(t *testing.T, b *brook, x *brookShard) {
				b.fails = make([]error, n)
				for range map[bool]int{true: 3, false: 35}[err == context.DeadlineExceeded] { // more than all attempts of three calls
					b.fails = append(b.fails, err)
				}
				require.Equal(t, []string{"t-1", "t-2", "t-3"}, entity.Must(b.watch(t, stream.ReaderOptions{}, nothing)))
			})
		}
	}
}

// Other errors end the reader.
func TestReader_EndsWithAnErrorThatDoesNotPass(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		bubble(t, fmt.Sprint(n), func(t *testing.T, b *brook, _ *brookShard) {
			bad := &smithy.GenericAPIError{Code: "AccessDeniedException"}
			b.fails = append(make([]error, n), bad)
			require.ErrorIs(t, dbtest.ErrorOf(b.watch(t, stream.ReaderOptions{})), bad)
		})
	}
}

// A stream that was turned off is read to its end, then the next one of the table. Without a next one, the reader ends.
func TestReader_GoesOnWithTheNextStream(t *testing.T) {
	t.Parallel()
	bubble(t, "another", func(t *testing.T, b *brook, x *brookShard) {
		b.slow = 12 * time.Second // the next stream is found before this one is read
		seen := entity.Must(b.watch(t, stream.ReaderOptions{}, func() {
			x.add(time.Now(), "t-4", "t-5", "t-6", "t-7", "t-8", "t-9")
			x.closed = true
			b.arn += "b"
			b.shard("a", "", time.Now(), "t-10")
		}, nothing))
		require.Equal(t, []string{"t-1", "t-2", "t-3", "t-4", "t-5", "t-6", "t-7", "t-8", "t-9", "t-10"}, seen)
	})
	bubble(t, "none", func(t *testing.T, b *brook, x *brookShard) {
		seen, err := b.watch(t, stream.ReaderOptions{}, func() { x.add(time.Now(), "t-4"); x.closed, b.off = true, true })
		require.ErrorIs(t, err, stream.ErrNoStream)
		require.NotErrorAs(t, err, new(*streamtypes.ResourceNotFoundException))
		require.Equal(t, []string{"t-1", "t-2", "t-3", "t-4"}, seen)
		b.arn, b.shards = "", nil
		require.ErrorIs(t, dbtest.ErrorOf(b.watch(t, stream.ReaderOptions{})), stream.ErrNoStream)
	})
}

// A client of another Region does not find the stream that the table has.
func TestReader_SaysWhichStreamItsClientDoesNotFind(t *testing.T) {
	t.Parallel()
	bubble(t, "", func(t *testing.T, b *brook, _ *brookShard) {
		b.fails = []error{&streamtypes.ResourceNotFoundException{}}
		_, err := b.watch(t, stream.ReaderOptions{})
		require.ErrorIs(t, err, stream.ErrNoStream)
		require.ErrorAs(t, err, new(*streamtypes.ResourceNotFoundException))
		require.ErrorContains(t, err, b.arn)
	})
}

// A function that takes longer than an iterator lives, with more records behind it, is only late. Its shard waits, others go on.
func TestReader_IsLateAfterASlowFunction(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{20 * time.Minute, 25 * time.Hour} {
		bubble(t, late.String(), func(t *testing.T, b *brook, x *brookShard) { isLate(t, b, x, late) })
	}
}

func isLate(t *testing.T, b *brook, x *brookShard, late time.Duration) {
	x.closed = true
	b.shard("b", "", time.Now(), "u-1")
	child := b.shard("c", "a", time.Now(), "t-4") // nothing of it is missing when its parent has been read
	db, begun := entity.Must(entity.Open(b, entity.Config{Table: "app"})), time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*late)
	defer cancel()
	var mu sync.Mutex
	at := map[string]time.Duration{}
	err := stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app", Poll: time.Minute}).Run(ctx, stream.On(entity.Must(entity.New[Team](db)), func(_ context.Context, c stream.Change[Team]) error {
		if c.New.ID == "t-2" {
			time.Sleep(late)
			b.do(func() { b.epoch++; child.add(time.Now(), "t-5", "t-6") })
		}
		mu.Lock()
		defer mu.Unlock()
		require.NotContains(t, at, c.New.ID)
		at[c.New.ID] = time.Since(begun).Truncate(20 * time.Minute)
		return nil
	}))
	require.NoError(t, err)
	require.Equal(t, map[string]time.Duration{"u-1": 0, "t-1": 0, "t-2": late, "t-3": late, "t-4": late, "t-5": late, "t-6": late}, at)
}

// A tracer gets what the reader asks the stream, how many records came, and what was throttled.
func TestReader_IsTraced(t *testing.T) {
	t.Parallel()
	bubble(t, "", func(t *testing.T, b *brook, x *brookShard) {
		x.closed, b.off, b.page = true, true, 3
		b.fails = []error{nil, nil, &streamtypes.LimitExceededException{}}
		var ends []entity.Report
		note := dbtest.Observer(func(r entity.Report) { b.do(func() { ends = append(ends, r) }) })
		db := entity.Must(entity.Open(b, entity.Config{Table: "app", Tracer: note}))
		r := stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app"})
		require.ErrorIs(t, r.Run(t.Context(), stream.On(entity.Must(entity.New[Team](db)), pass)), stream.ErrNoStream)
		require.Len(t, ends, 3)
		discovered, read := ends[0], ends[1]
		require.Equal(t, []any{"ReadStream", "app", 2}, []any{discovered.Verb, discovered.Table, discovered.Requests})
		require.Equal(t, []any{"ReadStream", "app", 3, 1, 3}, []any{read.Verb, read.Table, read.Requests, read.Attempts.Throttled, read.Returned})
		require.Error(t, ends[2].Err)
	})
}

// flaky is a function that fails for some items.
type flaky struct {
	left map[string]int // failures to come
	seen []string
}

func (f *flaky) change(_ context.Context, c stream.Change[Team]) error {
	f.seen = append(f.seen, c.New.ID)
	if f.left[c.New.ID]--; f.left[c.New.ID] >= 0 {
		return errors.New("full")
	}
	return nil
}

// A record that fails is tried again, with those after it; after all attempts it ends the reader, or is parked.
func TestReader_TriesAgainThenParksOrStops(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, b *brook, f *flaky, o stream.ReaderOptions) error {
		db := entity.Must(entity.Open(b, entity.Config{Table: "app"}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		o.Alone, o.Source = true, "app"
		return stream.NewReader(b, db, o).Run(ctx, stream.On(entity.Must(entity.New[Team](db)), f.change))
	}
	bubble(t, "again", func(t *testing.T, b *brook, x *brookShard) {
		f := &flaky{left: map[string]int{"t-1": 2, "t-2": 1}}
		b.page = 3
		require.NoError(t, run(t, b, f, stream.ReaderOptions{Attempts: 3}))
		require.Equal(t, []string{"t-1", "t-1", "t-1", "t-2", "t-2", "t-3"}, f.seen)
	})
	bubble(t, "stop", func(t *testing.T, b *brook, x *brookShard) {
		f, begun := &flaky{left: map[string]int{"t-2": 9}}, time.Now()
		require.EqualError(t, run(t, b, f, stream.ReaderOptions{Attempts: 4, Retry: time.Second}), "ReadStream (a 2): full")
		require.Equal(t, []string{"t-1", "t-2", "t-2", "t-2", "t-2"}, f.seen)
		require.Equal(t, 7*time.Second, time.Since(begun))
	})
	bubble(t, "park", func(t *testing.T, b *brook, x *brookShard) {
		f, parked := &flaky{left: map[string]int{"t-2": 9, "t-3": 1}}, ""
		require.NoError(t, run(t, b, f, stream.ReaderOptions{Attempts: 2, Park: func(_ context.Context, failed stream.Failure) error {
			parked += failed.Record.SequenceNumber + failed.Err.Error()
			return nil
		}}))
		require.Equal(t, []string{"t-1", "t-2", "t-2", "t-3", "t-3"}, f.seen)
		require.Equal(t, "2full", parked)
		batch := errors.New("of the batch")
		db := entity.Must(entity.Open(b, entity.Config{Table: "app"}))
		r := stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app", Attempts: 2, Park: func(context.Context, stream.Failure) error { return nil }})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.ErrorIs(t, r.Consume(ctx, func(context.Context, stream.Event) (stream.Response, error) { return stream.Response{}, batch }), batch)
		r = stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app", Attempts: 1})
		calls := 0
		missing := func(context.Context, stream.Change[Team]) error {
			if calls++; calls > 100 {
				cancel()
			}
			return entity.ErrNotFound
		}
		require.ErrorIs(t, r.Run(ctx, stream.On(entity.Must(entity.New[Team](db)), missing)), entity.ErrNotFound, "of the program, not of the reader")
		full := errors.New("nowhere to park")
		err := run(t, b, &flaky{left: map[string]int{"t-2": 9}}, stream.ReaderOptions{Attempts: 1, Park: func(context.Context, stream.Failure) error { return full }})
		require.ErrorIs(t, err, full)
	})
}

// Mistakes are found before any request.
func TestReader_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	teams := stream.On(entity.Must(entity.New[Team](db)), pass)
	client := &brook{}
	var none *brook
	var input *entity.InputError
	for name, r := range map[string]*stream.Reader{
		"no client":         stream.NewReader(nil, db, stream.ReaderOptions{Name: "search"}),
		"nil client":        stream.NewReader(none, db, stream.ReaderOptions{Name: "search"}),
		"no name":           stream.NewReader(client, db, stream.ReaderOptions{}),
		"bad name":          stream.NewReader(client, db, stream.ReaderOptions{Name: "a#b"}),
		"alone, named":      stream.NewReader(client, db, stream.ReaderOptions{Name: "search", Alone: true, Source: "app"}),
		"alone, nowhere":    stream.NewReader(client, db, stream.ReaderOptions{Alone: true}),
		"alone, table":      stream.NewReader(client, db, stream.ReaderOptions{Alone: true, Source: "app", Table: "state"}),
		"shards":            stream.NewReader(client, db, stream.ReaderOptions{Name: "search", MaxShards: -1}),
		"poll":              stream.NewReader(client, db, stream.ReaderOptions{Name: "search", Poll: -1}),
		"retry":             stream.NewReader(client, db, stream.ReaderOptions{Name: "search", Retry: -1}),
		"attempts":          stream.NewReader(client, db, stream.ReaderOptions{Name: "search", Attempts: -1}),
		"batch":             stream.NewReader(client, db, stream.ReaderOptions{Name: "search", Batch: 1001}),
		"negative batch":    stream.NewReader(client, db, stream.ReaderOptions{Name: "search", Batch: -1}),
		"unopened: no db":   stream.NewReader(client, nil, stream.ReaderOptions{Name: "search"}),
		"unopened: zero db": stream.NewReader(client, &entity.DB{}, stream.ReaderOptions{Name: "search"}),
		"unopened: nil":     nil,
		"unopened: zero":    {},
	} {
		require.ErrorAs(t, r.Run(t.Context(), teams), &input, name)
		require.Equal(t, map[bool]string{true: "EDD-9160", false: "EDD-9230"}[strings.HasPrefix(name, "unopened")], input.Code, name)
	}
	require.Empty(t, client.calls)
	r := stream.NewReader(client, db, stream.ReaderOptions{Name: "search"})
	require.ErrorAs(t, r.Run(t.Context()), &input)
	require.Equal(t, "EDD-9123", input.Code, "no route")
	require.ErrorAs(t, r.Consume(t.Context(), nil), &input)
	require.Equal(t, "EDD-9123", input.Code, "no function")
	var nowhere context.Context
	require.ErrorAs(t, r.Run(nowhere, teams), &input)
	require.Equal(t, "EDD-9161", input.Code)
	require.ErrorIs(t, r.Run(t.Context(), teams), entity.ErrNoClient)
	err := stream.NewReader(client, entity.Must(entity.Open(nil, entity.Config{})), stream.ReaderOptions{Name: "search"}).Run(t.Context(), teams)
	dbtest.As[*entity.SchemaError](t, err, "no table for the checkpoints")
}

// A process whose acquisitions fail for a while, in which another one reads the shard and stops, goes on where that one stopped.
func TestReader_AnAcquisitionThatFailedTakesOverWhatIsStored(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2", "t-3", "t-4")
	first := l.process(t, b, stream.ReaderOptions{})
	first.each = func(id string) {
		if id == "t-2" {
			first.stop()
		}
	}
	first.start()
	require.NoError(t, <-first.done)
	var failed atomic.Int64
	l.Config.MaxAttempts = 3
	late, ended := l.process(t, b, stream.ReaderOptions{}), make(chan struct{})
	late.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "UpdateItem" {
			failed.Add(1)
			return faults.Throttle
		}
		if failed.Load() >= 3 {
			<-ended
		}
		return faults.None
	})
	late.start()
	eventually(t, "an acquisition fails", func() bool { return failed.Load() >= 3 })
	other := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "the other reads on", other.has("t-4"))
	other.end()
	late.wire.Inject(nil)
	close(ended)
	b.do(func() { b.shards[0].add(time.Now(), "t-5") })
	eventually(t, "the first one takes over", late.has("t-5"))
	require.Equal(t, []string{"t-5"}, late.end(), "the others were handled, and saved")
}

// The checkpoints of a name are of one table.
func TestReader_OneNameReadsOneTable(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1")
	p := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "the first", p.has("t-1"))
	p.end()
	err := stream.NewReader(b, p.db, stream.ReaderOptions{Name: "search", Source: "another"}).Run(l.Ctx, stream.On(entity.Must(entity.New[Team](p.db)), func(context.Context, stream.Change[Team]) error { return nil }))
	require.Equal(t, "EDD-9231", dbtest.As[*entity.InputError](t, err).Code)
}

// A lease that is lost while a record is parked ends the shard, and not the reader.
func TestReader_GoesOnIfTheLeaseIsLostWhileParking(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2")
	parking, lost := make(chan bool), make(chan bool)
	var begin, end sync.Once
	old := l.process(t, b, stream.ReaderOptions{Attempts: 1, Park: func(ctx context.Context, _ stream.Failure) error {
		begin.Do(func() { close(parking) })
		<-ctx.Done()
		end.Do(func() { close(lost) })
		return ctx.Err()
	}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- old.reader.Run(ctx, stream.On(entity.Must(entity.New[Team](old.db)), func(context.Context, stream.Change[Team]) error { return errors.New("bad") }))
	}()
	<-parking
	// Or it could take the lease again.
	old.wire.Inject(func(r faults.Request) faults.Fault {
		return map[string]faults.Fault{"UpdateItem": faults.Throttle}[r.Operation]
	})
	l.Clock.Move(31 * time.Second)
	fresh := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "another takes over", fresh.has("t-2"))
	<-lost // when the lease is renewed the next time
	old.wire.Inject(nil)
	queries := old.wire.Count("Query")
	eventually(t, "the first one looks for shards again", func() bool { return old.wire.Count("Query") > queries+1 || len(done) > 0 })
	require.Empty(t, done)
	stop()
	require.NoError(t, <-done)
	fresh.end()
}

// While the last page of a shard waits for more than a day, records of its child are removed: that is reported.
func TestReader_ReportsTheGapOfAChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brook{arn: "arn:aws:dynamodb:eu-central-1:1:table/app/stream/2026"}
		b.shard("a", "", time.Now(), "t-1").closed = true
		db := entity.Must(entity.Open(b, entity.Config{Table: "app"}))
		var seen []string
		note := func(what string) { b.do(func() { seen = append(seen, what) }) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app", OnLost: func(_ context.Context, g *stream.LostError) error {
				note("lost " + g.Shard)
				return nil
			}}).Run(ctx, stream.On(entity.Must(entity.New[Team](db)), func(_ context.Context, c stream.Change[Team]) error {
				if c.New.ID == "t-1" {
					time.Sleep(30 * time.Hour)
				}
				note(c.New.ID)
				return nil
			}))
		}()
		time.Sleep(time.Minute)
		b.do(func() { b.shard("b", "a", time.Now(), "t-2", "t-3") })
		time.Sleep(29 * time.Hour)
		b.do(func() { b.shards[1].trimmed = 1 })
		time.Sleep(2 * time.Hour)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, []string{"t-1", "lost b", "t-3"}, seen)
	})
}

// blink leaves the first shard out of some answers.
type blink struct {
	*brook
	n int
}

func (c *blink) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, err := c.brook.DescribeStream(ctx, in, o...)
	if c.n++; c.n > 3 && c.n%2 == 0 {
		out.StreamDescription.Shards = out.StreamDescription.Shards[1:]
	}
	return out, err
}

// A shard that is missing from an answer is not forgotten, and so not read again after its child.
func TestReader_KeepsWhatAnAnswerLeavesOut(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1").closed = true
	b.shard("b", "a", time.Now(), "t-2")
	p, c := l.process(t, b, stream.ReaderOptions{}), &blink{brook: b}
	p.reader = stream.NewReader(c, p.db, stream.ReaderOptions{Name: "search", Poll: time.Millisecond})
	p.start()
	eventually(t, "the child", p.has("t-2"))
	queries := p.wire.Count("Query")
	eventually(t, "more answers", func() bool { return p.wire.Count("Query") > queries+6 })
	require.Equal(t, []string{"t-1", "t-2"}, p.end())
}

// Shards that end at once are not looked for after each.
func TestReader_LooksForShardsOncePerPoll(t *testing.T) {
	l, b := brookLab(t)
	for i := range 60 {
		b.shard(fmt.Sprintf("%03d", i), "", time.Now()).closed = true
	}
	b.shard("z", "", time.Now(), "t-1")
	p := l.process(t, b, stream.ReaderOptions{MaxShards: 1})
	p.reader = stream.NewReader(b, p.db, stream.ReaderOptions{Name: "search", MaxShards: 1, Poll: 10 * time.Minute})
	p.start()
	eventually(t, "the last shard", p.has("t-1"))
	require.Equal(t, 1, p.wire.Count("Query"))
	p.end()
}

// DynamoDB Local sends an empty map without a type.
func TestFromSDK_ReadsEmptyMapsOfDynamoDBLocal(t *testing.T) {
	l := newLab(t)
	store[Team](l)
	l.create()
	empty := func() types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	}
	for name, v := range map[string]types.AttributeValue{
		"map": empty(), "in a map": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": empty()}}, "in a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{empty()}},
	} {
		_, err := l.Raw.PutItem(l.Ctx, &dynamodb.PutItemInput{TableName: &l.Table, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: name}, "sk": &types.AttributeValueMemberS{Value: "s"}, "v": v,
		}})
		require.NoError(t, err)
		records := l.all()
		r := stream.FromSDK(l.arn, records[len(records)-1])
		require.NoError(t, r.Err(), name)
		require.Equal(t, v, r.New["v"], name)
	}
}
