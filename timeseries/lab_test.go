package timeseries_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
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

// Telemetry is what most tests append: a clock in nanoseconds, a time to live, and fields that an event may leave out.
type Telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{accountId}" sk:"$#{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	Timestamp time.Time `dynamodbav:"timestamp"`

	Location *string `dynamodbav:"location,omitempty" entity:"append"`
	Alert    *bool   `dynamodbav:"alert,omitempty"    entity:"append"`
	GPIO     *int    `dynamodbav:"gpio,omitempty"     entity:"append"`

	AccountID   string    `dynamodbav:"accountId,omitempty"`
	Diagnostics string    `dynamodbav:"diagnostics,omitempty"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

// Meter records late events, keeps events forever, and is ordered by a counter.
type Meter struct {
	_ entity.Key        `name:"Meter" pk:"$#{meterId}" sk:"$"`
	_ timeseries.Events `orderBy:"seq" late:"record"`

	MeterID string  `dynamodbav:"meterId"`
	Seq     int64   `dynamodbav:"seq"`
	Value   int     `dynamodbav:"value" entity:"append"`
	Note    *string `dynamodbav:"note,omitempty" entity:"append"`
	Site    string  `dynamodbav:"site,omitempty"`
}

// Channel has several streams in one partition.
type Channel struct {
	_ entity.Key        `name:"Channel" pk:"$#{channel}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"timestamp"`

	Channel   string    `dynamodbav:"channel"`
	Stream    string    `dynamodbav:"stream"`
	Timestamp time.Time `dynamodbav:"timestamp"`
	State     string    `dynamodbav:"state" entity:"append"`
}

// Journal is ordered by a text.
type Journal struct {
	_ entity.Key        `name:"Journal" pk:"$#{book}" sk:"$"`
	_ timeseries.Events `orderBy:"mark"`

	Book string `dynamodbav:"book"`
	Mark string `dynamodbav:"mark"`
	Text string `dynamodbav:"text" entity:"append"`
	Page *int   `dynamodbav:"page,omitempty" entity:"append"`
}

// start is when the first event of most tests happened. The test's clock is far ahead of it, and of the real one, so
// that the database does not remove events whose time to live is over by the test's clock.
var start = time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// device is the key of the series that most tests use.
var device = Telemetry{Channel: "c-1", DeviceID: "d-7"}

// tick is an event of device, with everything that a device reports.
func tick(minutes, gpio int) Telemetry {
	ev := device
	location, alert := "cabinet-A", gpio%2 == 0
	ev.Timestamp, ev.Location, ev.Alert, ev.GPIO = at(minutes), &location, &alert, &gpio
	return ev
}

// bare is an event of device that reports nothing but that it happened.
func bare(minutes int) Telemetry {
	ev := device
	ev.Timestamp = at(minutes)
	return ev
}

func reading(seq int64, value int) Meter { return Meter{MeterID: "m-1", Seq: seq, Value: value} }

func entry(mark, text string) Journal { return Journal{Book: "b", Mark: mark, Text: text} }

func ptr[V any](v V) *V { return &v }

// shuffled is in another order, the same one each time.
func shuffled[V any](vs []V) []V {
	out := append([]V(nil), vs...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// readings are n meter events from a sequence number on, each with a value and every third one with a note.
func readings(meter string, from int64, n int) []Meter {
	evs := make([]Meter, n)
	for i := range evs {
		seq := from + int64(i)
		evs[i] = Meter{MeterID: meter, Seq: seq, Value: int(seq * 10)}
		if seq%3 == 0 {
			evs[i].Note = ptr(strings.Repeat("n", int(seq%7)))
		}
	}
	return evs
}

// minutes are the times of events of [device], in minutes after the start.
func minutes(evs []Telemetry) []int {
	out := []int{}
	for _, ev := range evs {
		out = append(out, int(ev.Timestamp.Sub(start).Minutes()))
	}
	return out
}

func fiveTicks(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 0), tick(5, 5), tick(10, 10), tick(15, 15), tick(20, 20))
	return w
}

func reasons[T any](rs []timeseries.Result[T]) []timeseries.Reason {
	out := make([]timeseries.Reason, len(rs))
	for i, r := range rs {
		out[i] = r.Reason
	}
	return out
}
