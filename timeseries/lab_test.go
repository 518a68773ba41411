package timeseries_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

// lab is a series in a table of its own, on a connection that counts requests and can be made to fail.
type lab[T any] struct {
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
func open[T any](t *testing.T, change ...func(*entity.Config)) *lab[T] {
	t.Helper()
	raw, table := localdb.Test(t)
	w := &lab[T]{t: t, ctx: t.Context(), raw: raw, table: table, sent: faults.New(raw.Options().HTTPClient), clock: newClock()}
	w.Series, w.db = w.connect(change...)
	w.look, _ = w.on(raw, append(change[:len(change):len(change)], func(c *entity.Config) { c.MaxAttempts = 0 })...)
	require.NoError(t, w.db.CreateTables(t.Context()))
	w.sent.Reset()
	return w
}

// connect returns another handle of the same series, as a program that is configured differently has one.
func (w *lab[T]) connect(change ...func(*entity.Config)) (*timeseries.Series[T], *entity.DB) {
	w.t.Helper()
	return w.on(dynamodb.New(w.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = w.sent }), change...)
}

func (w *lab[T]) on(client entity.Client, change ...func(*entity.Config)) (*timeseries.Series[T], *entity.DB) {
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
func (w *lab[T]) append(ev T, opts ...timeseries.AppendOption) timeseries.Result[T] {
	w.t.Helper()
	r, err := w.Append(w.ctx, ev, opts...)
	require.NoError(w.t, err)
	return r
}

// seed appends events that must all be applied, and then forgets the requests that it took.
func (w *lab[T]) seed(evs ...T) {
	w.t.Helper()
	for _, ev := range evs {
		require.True(w.t, w.append(ev, timeseries.WithoutCurrent()).Applied)
	}
	w.sent.Reset()
}

// current is the current item as the library reads it.
func (w *lab[T]) current(key T) T {
	w.t.Helper()
	v, err := w.look.Get(w.ctx, key, entity.Consistent())
	require.NoError(w.t, err)
	return v
}

// history is every event that the library shows.
func (w *lab[T]) history(key T, opts ...entity.QueryOption) []T {
	w.t.Helper()
	evs, err := w.look.History(key, append(opts, entity.Consistent())...).Collect(w.ctx)
	require.NoError(w.t, err)
	return evs
}

// operations are the names of the requests since the last reset.
func (w *lab[T]) operations() []string {
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

func (w *lab[T]) appendAll(evs []T, opts ...timeseries.AppendOption) []timeseries.Result[T] {
	w.t.Helper()
	rs, err := w.AppendAll(w.ctx, evs, opts...)
	require.NoError(w.t, err)
	require.Len(w.t, rs, len(evs))
	return rs
}

// collect runs a history and gives its times and the number of requests that it took.
func (w *lab[T]) collect(key T, opts ...entity.QueryOption) ([]T, int) {
	w.t.Helper()
	w.sent.Reset()
	evs, err := w.History(key, opts...).Collect(w.ctx)
	require.NoError(w.t, err)
	return evs, len(w.sent.Requests())
}

// indexKeys returns the index keys of the current item.
func (w *lab[T]) indexKeys(pk, sk string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	it := w.partition(pk)[sk]
	for _, name := range []string{"gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "gsi3pk", "gsi3sk"} {
		if v, ok := it[name]; ok {
			out[name] = v[len("S "):]
		}
	}
	return out
}

// kinds are the actions of the n-th request, a transaction: Update, Put, ConditionCheck.
func (w *lab[T]) kinds(n int) []string {
	w.t.Helper()
	var sent struct{ TransactItems []map[string]json.RawMessage }
	require.NoError(w.t, json.Unmarshal(w.sent.Requests()[n].Body, &sent))
	var kinds []string
	for _, action := range sent.TransactItems {
		for kind := range action {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// scripted answers transactions with cancellations before it lets them through.
type scripted struct {
	*dynamodb.Client
	script [][]string // reason codes, one list for each answer
	calls  int
}

func (c *scripted) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, f ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.calls++
	if c.calls > len(c.script) {
		return c.Client.TransactWriteItems(ctx, in, f...)
	}
	cancelled := &types.TransactionCanceledException{}
	for _, code := range c.script[c.calls-1] {
		cancelled.CancellationReasons = append(cancelled.CancellationReasons, types.CancellationReason{Code: &code})
	}
	return nil, cancelled
}

func (w *lab[T]) scripted(script ...[]string) (*timeseries.Series[T], *scripted) {
	w.t.Helper()
	c := &scripted{Client: w.raw, script: script}
	series, _ := w.on(c, attempts(4))
	return series, c
}

func always(f faults.Fault, operation string) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if r.Operation == operation {
			return f
		}
		return faults.None
	}
}

// firstOf matches the first request of an operation only.
func firstOf(operation string) func(faults.Request) bool {
	seen := false
	return func(r faults.Request) bool {
		if seen || r.Operation != operation {
			return false
		}
		seen = true
		return true
	}
}

// from gives the fault to the n-th request of an operation, counted from 1, and to all later ones.
func from(n int, f faults.Fault, operation string) func(faults.Request) faults.Fault {
	seen := 0
	return func(r faults.Request) faults.Fault {
		if r.Operation == operation {
			seen++
		}
		if r.Operation == operation && seen >= n {
			return f
		}
		return faults.None
	}
}

type item = map[string]types.AttributeValue

func avS(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func avN(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// scan is everything in the table.
func (w *lab[T]) scan() []item {
	w.t.Helper()
	var all []item
	consistent := true
	pages := dynamodb.NewScanPaginator(w.raw, &dynamodb.ScanInput{TableName: &w.table, ConsistentRead: &consistent})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.ctx)
		require.NoError(w.t, err)
		all = append(all, page.Items...)
	}
	return all
}

// partition is what is stored under one partition key, by sort key.
func (w *lab[T]) partition(pk string) map[string]map[string]string {
	w.t.Helper()
	all := map[string]map[string]string{}
	for _, it := range w.scan() {
		if text(it["pk"]) == "S "+pk {
			all[text(it["sk"])[2:]] = plain(it)
		}
	}
	return all
}

// item is one stored item, nil if absent.
func (w *lab[T]) item(pk, sk string) item {
	w.t.Helper()
	consistent := true
	out, err := w.raw.GetItem(w.ctx, &dynamodb.GetItemInput{TableName: &w.table, Key: item{"pk": avS(pk), "sk": avS(sk)}, ConsistentRead: &consistent})
	require.NoError(w.t, err)
	return out.Item
}

// change rewrites a stored item without the library. An item that f makes empty is deleted.
func (w *lab[T]) change(pk, sk string, f func(item)) {
	w.t.Helper()
	it := w.item(pk, sk)
	if it == nil {
		it = item{"pk": avS(pk), "sk": avS(sk)}
	}
	f(it)
	if len(it) == 0 {
		_, err := w.raw.DeleteItem(w.ctx, &dynamodb.DeleteItemInput{TableName: &w.table, Key: item{"pk": avS(pk), "sk": avS(sk)}})
		require.NoError(w.t, err)
		return
	}
	_, err := w.raw.PutItem(w.ctx, &dynamodb.PutItemInput{TableName: &w.table, Item: it})
	require.NoError(w.t, err)
}

func (w *lab[T]) remove(pk, sk string) {
	w.t.Helper()
	w.change(pk, sk, func(it item) { clear(it) })
}

// plain writes an item as text, types included.
func plain(it item) map[string]string {
	out := map[string]string{}
	for name, av := range it {
		out[name] = text(av)
	}
	return out
}

func text(av types.AttributeValue) string {
	switch v := av.(type) {
	case nil:
		return "none"
	case *types.AttributeValueMemberS:
		return "S " + v.Value
	case *types.AttributeValueMemberN:
		return "N " + v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprintf("BOOL %t", v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	}
	return fmt.Sprintf("%T", av)
}

// body decodes the JSON of a request.
func body(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(raw, &m))
	return m
}

// Keys of the current item and the events of [device].
const (
	devicePK = "$app#v1#telemetry#c-1#d-7"
	deviceSK = "$app#v1#telemetry"
)

func eventSK(stamp string) string { return deviceSK + "#e#" + stamp }
