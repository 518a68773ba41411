package timeseries_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

// world is a series in a table of its own, on a connection that counts requests and can be made to fail.
type world[T any] struct {
	*timeseries.Series[T]
	t     testing.TB
	ctx   context.Context
	db    *entity.DB
	look  *timeseries.Series[T] // reads for the test's own eyes: without faults, not counted
	raw   *dynamodb.Client      // the same, below the library
	table string
	sent  *faults.Transport
	clock *clock
}

// open creates the table of T. change is applied to the configuration.
func open[T any](t *testing.T, change ...func(*entity.Config)) *world[T] {
	t.Helper()
	raw, table := localdb.Test(t)
	w := &world[T]{t: t, ctx: t.Context(), raw: raw, table: table, sent: faults.New(raw.Options().HTTPClient), clock: newClock()}
	w.Series, w.db = w.connect(change...)
	w.look, _ = w.on(raw, append(change[:len(change):len(change)], func(c *entity.Config) { c.MaxAttempts = 0 })...)
	require.NoError(t, w.db.CreateTables(t.Context()))
	w.sent.Reset()
	return w
}

// connect returns another handle of the same series, as a program that is configured differently has one.
func (w *world[T]) connect(change ...func(*entity.Config)) (*timeseries.Series[T], *entity.DB) {
	w.t.Helper()
	return w.on(dynamodb.New(w.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = w.sent }), change...)
}

func (w *world[T]) on(client entity.Client, change ...func(*entity.Config)) (*timeseries.Series[T], *entity.DB) {
	w.t.Helper()
	cfg := entity.Config{Table: w.table, Clock: w.clock.Now}
	for _, f := range change {
		f(&cfg)
	}
	db, err := entity.Open(client, cfg)
	require.NoError(w.t, err)
	s, err := timeseries.New[T](db)
	require.NoError(w.t, err)
	return s, db
}

// attempts limits how often a request is repeated.
func attempts(n int) func(*entity.Config) { return func(c *entity.Config) { c.MaxAttempts = n } }

// append is Append where an error would be a failure of the test.
func (w *world[T]) append(ev T, opts ...timeseries.AppendOption) timeseries.Result[T] {
	w.t.Helper()
	r, err := w.Append(w.ctx, ev, opts...)
	require.NoError(w.t, err)
	return r
}

// seed appends events that must all be applied, and then forgets the requests that it took.
func (w *world[T]) seed(evs ...T) {
	w.t.Helper()
	for _, ev := range evs {
		require.True(w.t, w.append(ev, timeseries.WithoutCurrent()).Applied)
	}
	w.sent.Reset()
}

// current is the current item as the library reads it.
func (w *world[T]) current(key T) T {
	w.t.Helper()
	v, err := w.look.Get(w.ctx, key, entity.Consistent())
	require.NoError(w.t, err)
	return v
}

// history is every event that the library shows.
func (w *world[T]) history(key T, opts ...entity.QueryOption) []T {
	w.t.Helper()
	evs, err := w.look.History(key, append(opts, entity.Consistent())...).Collect(w.ctx)
	require.NoError(w.t, err)
	return evs
}

// operations are the names of the requests since the last reset.
func (w *world[T]) operations() []string {
	var names []string
	for _, r := range w.sent.Requests() {
		names = append(names, r.Operation)
	}
	return names
}

// clock is a clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2101, 1, 1, 0, 0, 0, 987654321, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// inputCode is the code of the mistake in the arguments that err speaks of.
func inputCode(t testing.TB, err error) string {
	t.Helper()
	var e *entity.InputError
	require.ErrorAs(t, err, &e)
	return e.Code
}
