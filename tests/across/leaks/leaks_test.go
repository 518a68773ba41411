// Package leaks_test ends long calls in every way and looks for goroutines that they leave behind. Its tests run one after
// the other, because goleak sees all goroutines of the process.
package leaks_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

// member claims an email.
type member struct {
	_ entity.Key        `name:"Member" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email"`
}

// note has no features, so batches can write it.
type note struct {
	_ entity.Key `name:"Note" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

// reading is an event of a device.
type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

// entry is an event of a log, whose events are in 8 partitions and have no current item.
type entry struct {
	_ entity.Key        `name:"Entry" pk:"$#{log}" sk:"$"`
	_ timeseries.Events `orderBy:"at" shards:"8" current:"none"`

	Log  string    `dynamodbav:"log"`
	At   time.Time `dynamodbav:"at"`
	Text string    `dynamodbav:"text" entity:"append"`
}

// tally is a row of a timeline.
type tally struct {
	Events int `dynamodbav:"events"`
}

// world is a table with items for every call.
type world struct {
	*dbtest.Bench
	notes    *entity.Store[note]
	members  *entity.Store[member]
	emails   *unique.Lookup[member]
	readings *timeseries.Series[reading]
	log      *timeseries.Series[entry]
	sorted   *timeline.View[int, tally]    // built from all events, sorted by group
	parts    *timeline.View[string, tally] // built partition by partition
	handle   func()                        // what a handler of the timelines does
	keys     []note
}

const (
	many    = 101
	devices = 4
)

func open(t *testing.T) *world {
	w := &world{Bench: dbtest.Open(t, dbtest.Attempts(1)), handle: func() {}}
	w.notes, w.members = dbtest.Declare[note](t, w.DB), dbtest.Declare[member](t, w.DB)
	w.emails = entity.Must(unique.Of(w.members, "email"))
	w.readings = entity.Must(timeseries.New[reading](w.DB))
	w.log = entity.Must(timeseries.New[entry](w.DB))
	w.sorted = entity.Must(timeline.New(w.DB, timeline.Projection[int, tally]{
		Name: "sorted", Version: 1, Source: timeline.Series(w.readings),
		Handlers: []timeline.Handler[int, tally]{timeline.On("reading.appended", func(e reading) int { return e.Value }, count[int](w))},
	}))
	w.parts = entity.Must(timeline.New(w.DB, timeline.Projection[string, tally]{
		Name: "parts", Version: 1, Source: timeline.Series(w.readings, timeline.PartitionKey(func(device string) reading { return reading{Device: device} })),
		Handlers: []timeline.Handler[string, tally]{timeline.On("reading.appended", func(e reading) string { return e.Device }, count[string](w))},
	}))
	w.CreateTables()
	w.keys = make([]note, many)
	for i := range w.keys {
		w.keys[i] = note{ID: fmt.Sprint(i), Text: "x"}
	}
	w.OK(w.notes.PutMany(w.Ctx, w.keys))
	w.OK(w.members.Create(w.Ctx, member{ID: "a", Email: "a@b.c"}))
	w.OK(w.readings.AppendAll(w.Ctx, w.events(dbtest.Start)))
	w.OK(w.log.AppendAll(w.Ctx, entries("kept")))
	w.OK(w.sorted.Rebuild(w.Ctx))
	w.OK(w.parts.Rebuild(w.Ctx))
	return w
}

func count[K comparable](w *world) func(*tally, timeline.Event[reading]) error {
	return func(t *tally, _ timeline.Event[reading]) error {
		t.Events++
		w.handle()
		return nil
	}
}

// events returns 15 events of each device, from a moment on.
func (w *world) events(from time.Time) []reading {
	var all []reading
	for i := range 15 * devices {
		all = append(all, reading{Device: fmt.Sprint(i % devices), At: from.Add(time.Duration(i) * time.Second), Value: i % 10})
	}
	return all
}

// entries returns 20 events of a log.
func entries(log string) (all []entry) {
	for i := range 20 {
		all = append(all, entry{Log: log, At: dbtest.Start.Add(time.Duration(i) * time.Second), Text: "x"})
	}
	return all
}

// calls are the calls with goroutines of their own, or with many requests. Each can be made again after it failed.
func (w *world) calls() map[string]func(context.Context) error {
	old := w.events(dbtest.Start.Add(-time.Hour)) // recorded late, each time that they are purged before
	return map[string]func(context.Context) error{
		"GetMany":  func(ctx context.Context) error { return dbtest.ErrorOf(w.notes.GetMany(ctx, w.keys)) },
		"PutMany":  func(ctx context.Context) error { return dbtest.ErrorOf(w.notes.PutMany(ctx, w.keys)) },
		"Scan":     func(ctx context.Context) error { return dbtest.ErrorOf(w.notes.Scan(entity.Segments(4)).Collect(ctx)) },
		"Transact": func(ctx context.Context) error { return w.DB.Transact(ctx, w.update(0), w.update(1), w.update(2)) },
		"AppendAll": func(ctx context.Context) error {
			return dbtest.ErrorOf(w.readings.AppendAll(ctx, old))
		},
		"AppendAll, log": func(ctx context.Context) error { return dbtest.ErrorOf(w.log.AppendAll(ctx, entries("new"))) },
		"History, shards": func(ctx context.Context) error {
			return dbtest.ErrorOf(w.log.History(entry{Log: "kept"}).Collect(ctx))
		},
		"At, shards": func(ctx context.Context) error {
			return dbtest.ErrorOf(w.log.At(ctx, entry{Log: "kept"}, dbtest.Start.Add(time.Hour)))
		},
		"Purge, shards": func(ctx context.Context) error { return w.log.Purge(ctx, entry{Log: "new"}) },
		"Purge":         func(ctx context.Context) error { return w.readings.Purge(ctx, reading{Device: "0"}) },
		"PurgeAll": func(ctx context.Context) error {
			old := []note{{ID: "old 1"}, {ID: "old 2"}, {ID: "old 3"}}
			if err := dbtest.ErrorOf(w.notes.PutMany(ctx, old)); err != nil {
				return err
			}
			return dbtest.ErrorOf(w.notes.PurgeAll(ctx, w.notes.Scan(entity.Filter(entity.BeginsWith(&entity.Fields[note]().ID, "old"))), ""))
		},
		"Verify": func(ctx context.Context) error {
			return dbtest.ErrorOf(migrate.VerifyUnique(ctx, w.emails, entity.Segments(4)))
		},
		"Rebuild":        func(ctx context.Context) error { return dbtest.ErrorOf(w.parts.Rebuild(ctx, timeline.Segments(4))) },
		"Rebuild sorted": func(ctx context.Context) error { return dbtest.ErrorOf(w.sorted.Rebuild(ctx, timeline.Segments(4))) },
		"Job": func(ctx context.Context) error {
			job, err := w.sorted.BeginJob(ctx)
			if err != nil {
				return err
			}
			for _, part := range entity.Must(job.Split(2)) {
				err = errors.Join(err, job.Worker().Read(ctx, part, func(timeline.JobRecord) error { return nil }))
			}
			if err == nil {
				_, err = job.Finish(ctx)
			}
			if err != nil {
				_ = job.Abandon(ctx, err)
			}
			return err
		},
		"CatchUp": func(ctx context.Context) error { return dbtest.ErrorOf(w.sorted.CatchUp(ctx, timeline.Segments(4))) },
	}
}

// update is an operation that reads first.
func (w *world) update(i int) entity.Op {
	f := entity.Fields[note]()
	return w.notes.Op().Update(w.keys[i], entity.Set(&f.Text, "y"), entity.Returning(&note{}))
}

// leavesNothing runs f and requires that no goroutine is left. Connections stay open for the next request; each has two.
func leavesNothing(t *testing.T, f func()) {
	t.Helper()
	ignored := []goleak.Option{
		goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	}
	f()
	for end := time.Now().Add(2 * time.Minute); ; { // Find itself waits for less than a second, which a busy machine may need
		err := goleak.Find(ignored...)
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(end), "%v", err)
	}
}

func TestCalls_LeaveNothingBehindWhenTheyOrTheirLoopsEnd(t *testing.T) {
	w := open(t)
	for name, call := range w.calls() {
		leavesNothing(t, func() { require.NoError(t, call(t.Context()), name) })
	}
	leavesNothing(t, func() {
		for _, err := range w.notes.Scan(entity.Segments(8)).All(t.Context()) {
			require.NoError(t, err)
			break
		}
		require.NoError(t, dbtest.ErrorOf(w.notes.Scan(entity.Segments(8), entity.Limit(1)).Collect(t.Context())))
	})
	leavesNothing(t, func() {
		for _, err := range w.log.History(entry{Log: "kept"}).All(t.Context()) {
			require.NoError(t, err)
			break
		}
	})
	leavesNothing(t, func() {
		for _, err := range w.sorted.All(t.Context()) {
			require.NoError(t, err)
			break
		}
	})
	leavesNothing(t, func() {
		for _, err := range w.sorted.All(t.Context(), timeline.AsOf(w.Clock.Now())) {
			require.NoError(t, err)
			break
		}
	})
}

func TestCalls_LeaveNothingBehindWhenTheirContextEnds(t *testing.T) {
	w := open(t)
	for name, call := range w.calls() {
		for _, at := range []int{1, 3} { // the request at which it ends
			leavesNothing(t, func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.inject(at, func() faults.Fault {
					cancel()
					return faults.None
				})
				err := call(ctx)
				if w.Wire.Inject(nil); err != nil { // a call of fewer requests does not notice
					require.ErrorIs(t, err, context.Canceled, name)
				}
			})
		}
	}
	// The handler of a build sees the end of the context, as a loop over its own requests would.
	for _, rebuild := range []func(context.Context, ...timeline.BuildOption) (timeline.Meta, error){w.parts.Rebuild, w.sorted.Rebuild} {
		leavesNothing(t, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.handle = cancel
			_, err := rebuild(ctx, timeline.Segments(4))
			w.handle = func() {}
			require.True(t, errors.Is(err, context.Canceled), "%v", err)
		})
	}
}

func TestCalls_LeaveNothingBehindAfterAnError(t *testing.T) {
	w := open(t)
	for name, call := range w.calls() {
		for _, at := range []int{1, 3} {
			leavesNothing(t, func() {
				w.inject(at, func() faults.Fault { return faults.Drop })
				err := call(t.Context())
				if w.Wire.Inject(nil); err != nil {
					require.ErrorIs(t, err, faults.ErrInjected, name)
				}
			})
		}
	}
}

// inject calls f at the n-th request.
func (w *world) inject(n int, f func() faults.Fault) {
	var mu sync.Mutex
	sent := 0
	w.Wire.Inject(func(faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if sent++; sent == n {
			return f()
		}
		return faults.None
	})
}

// A panic reaches the caller, whichever goroutine ran the function.
func TestCalls_LeaveNothingBehindWhenAFunctionPanics(t *testing.T) {
	w := open(t)
	bad := func() { panic("broken") }
	for name, call := range map[string]func(){
		"Purge":          func() { _ = w.readings.Purge(w.Ctx, reading{Device: "1"}, entity.OnProgress(func(int) { bad() })) },
		"Rebuild":        func() { w.handle = bad; _, _ = w.parts.Rebuild(w.Ctx, timeline.Segments(4)) },
		"Rebuild sorted": func() { w.handle = bad; _, _ = w.sorted.Rebuild(w.Ctx, timeline.Segments(4)) },
		"Rebuild, progress": func() {
			_, _ = w.parts.Rebuild(w.Ctx, timeline.Segments(4), timeline.OnProgress(func(timeline.Meta) { bad() }))
		},
		"Scan": func() {
			for range w.notes.Scan(entity.Segments(4)).All(w.Ctx) {
				bad()
			}
		},
	} {
		leavesNothing(t, func() { require.PanicsWithValue(t, "broken", call, name) })
		w.handle = func() {}
	}
	require.NoError(t, dbtest.ErrorOf(w.parts.Rebuild(w.Ctx))) // nobody holds the lease
}
