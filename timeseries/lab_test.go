package timeseries_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// lab is a series in a table of its own, on a connection that counts requests and can be made to fail.
type lab[T any] struct {
	series *timeseries.Series[T]
	*dbtest.Bench
	look *timeseries.Series[T] // reads for the test's own eyes: without faults, not counted
}

// open creates the table of T. change is applied to the configuration.
func open[T any](t *testing.T, change ...func(*entity.Config)) *lab[T] {
	t.Helper()
	dbtest.Parallel(t)
	w := &lab[T]{Bench: dbtest.Open(t, change...)}
	w.Clock.Set(time.Date(2101, 1, 1, 0, 0, 0, 987654321, time.UTC), 0)
	w.series = declare[T](t, w.DB)
	w.look = declare[T](t, w.Open(w.Raw, dbtest.Attempts(0)))
	w.CreateTables()
	return w
}

func declare[T any](t testing.TB, db *entity.DB) *timeseries.Series[T] {
	t.Helper()
	return entity.Must(timeseries.New[T](db))
}

// append is Append where an error would be a failure of the test.
func (w *lab[T]) append(ev T, opts ...timeseries.AppendOption) timeseries.Result[T] {
	w.T.Helper()
	return entity.Must(w.series.Append(w.Ctx, ev, opts...))
}

// seed appends events that must all be applied, and then forgets the requests that it took.
func (w *lab[T]) seed(evs ...T) {
	w.T.Helper()
	for _, ev := range evs {
		require.True(w.T, w.append(ev).Applied)
	}
	w.Wire.Reset()
}

// current is the current item as the library reads it.
func (w *lab[T]) current(key T) T {
	w.T.Helper()
	return entity.Must(w.look.Get(w.Ctx, key, entity.Consistent()))
}

// history is every event that the library shows.
func (w *lab[T]) history(key T, opts ...entity.QueryOption) []T {
	w.T.Helper()
	return entity.Must(w.look.History(key, append(opts, entity.Consistent())...).Collect(w.Ctx))
}

// operations are the names of the requests since the last reset.
func (w *lab[T]) operations() []string { return dbtest.Operations(w.Wire.Requests()) }

func (w *lab[T]) appendAll(evs []T, opts ...timeseries.AppendOption) []timeseries.Result[T] {
	w.T.Helper()
	rs := entity.Must(w.series.AppendAll(w.Ctx, evs, opts...))
	require.Len(w.T, rs, len(evs))
	return rs
}

// collect runs a history and gives its times and the number of requests that it took.
func (w *lab[T]) collect(key T, opts ...entity.QueryOption) ([]T, int) {
	w.T.Helper()
	w.Wire.Reset()
	evs := entity.Must(w.series.History(key, opts...).Collect(w.Ctx))
	return evs, len(w.Wire.Requests())
}

// indexKeys returns the index keys of the current item.
func (w *lab[T]) indexKeys(pk, sk string) map[string]string {
	w.T.Helper()
	out, it := map[string]string{}, w.partition(pk)[sk]
	for _, name := range []string{"gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "gsi3pk", "gsi3sk"} {
		if v, ok := it[name]; ok {
			out[name] = v[len("S "):]
		}
	}
	return out
}

// kinds are the actions of the n-th request, a transaction: Update, Put, ConditionCheck.
func (w *lab[T]) kinds(n int) []string {
	w.T.Helper()
	var sent struct{ TransactItems []map[string]json.RawMessage }
	require.NoError(w.T, json.Unmarshal(w.Wire.Requests()[n].Body, &sent))
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
	w.T.Helper()
	c := &scripted{Client: w.Raw, script: script}
	return declare[T](w.T, w.Open(c, dbtest.Attempts(4))), c
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

type item = dbtest.Item

// partition is what is stored under one partition key, by sort key.
func (w *lab[T]) partition(pk string) map[string]map[string]string {
	w.T.Helper()
	all := map[string]map[string]string{}
	for _, it := range w.Items() {
		if dbtest.Text(it["pk"]) == pk {
			all[dbtest.Text(it["sk"])] = plain(it)
		}
	}
	return all
}

// restore stores an item again as it was, nil for none.
func (w *lab[T]) restore(pk, sk string, image item) {
	w.T.Helper()
	if image == nil {
		w.RemoveItem(w.Key(pk, sk))
		return
	}
	w.PutItem(image)
}

// plain writes an item as text, types included.
func plain(it item) map[string]string {
	out := map[string]string{}
	for name, av := range it {
		out[name] = dbtest.Typed(av)
	}
	return out
}

// Keys of the current item and the events of [device].
const (
	devicePK = "$app#v1#telemetry#c-1#d-7"
	deviceSK = "$app#v1#telemetry"
)

func eventSK(stamp string) string { return deviceSK + "#e#" + stamp }

// Telemetry is what most tests append: a clock in nanoseconds, a time to live, and fields that an event may leave out.
type Telemetry struct {
	_           entity.Key        `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$"`
	_           entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{accountId}" sk:"$#{deviceId}"`
	_           timeseries.Events `orderBy:"timestamp" ttl:"7d"`
	Channel     string            `dynamodbav:"channel"`
	DeviceID    string            `dynamodbav:"deviceId"`
	Timestamp   time.Time         `dynamodbav:"timestamp"`
	Location    *string           `dynamodbav:"location,omitempty" entity:"append"`
	Alert       *bool             `dynamodbav:"alert,omitempty"    entity:"append"`
	GPIO        *int              `dynamodbav:"gpio,omitempty"     entity:"append"`
	AccountID   string            `dynamodbav:"accountId,omitempty"`
	Diagnostics string            `dynamodbav:"diagnostics,omitempty"`
	CreatedAt   time.Time         `dynamodbav:"createdAt" entity:"created_at"`
}

// Meter records late events, keeps events forever, and is ordered by a counter.
type Meter struct {
	_       entity.Key        `name:"Meter" pk:"$#{meterId}" sk:"$"`
	_       timeseries.Events `orderBy:"seq" late:"record"`
	MeterID string            `dynamodbav:"meterId"`
	Seq     int64             `dynamodbav:"seq"`
	Value   int               `dynamodbav:"value" entity:"append"`
	Note    *string           `dynamodbav:"note,omitempty" entity:"append"`
	Site    string            `dynamodbav:"site,omitempty"`
}

// Journal is ordered by a text.
type Journal struct {
	_    entity.Key        `name:"Journal" pk:"$#{book}" sk:"$"`
	_    timeseries.Events `orderBy:"mark"`
	Book string            `dynamodbav:"book"`
	Mark string            `dynamodbav:"mark"`
	Text string            `dynamodbav:"text" entity:"append"`
	Page *int              `dynamodbav:"page,omitempty" entity:"append"`
}

// start is when the first event of most tests happened. The test's clock is far ahead of it, and of the real one, so
// that the database does not remove events whose time to live is over by the test's clock.
var start = time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// device is the key of the series that most tests use.
var device = Telemetry{Channel: "c-1", DeviceID: "d-7"}

// tick is an event of device, with everything that a device reports.
func tick(minutes, gpio int) Telemetry {
	ev, location, alert := device, "cabinet-A", gpio%2 == 0
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

// each is what f gives for every element.
func each[T, V any](all []T, f func(T) V) []V {
	out := make([]V, len(all))
	for i, v := range all {
		out[i] = f(v)
	}
	return out
}

// minutes are the times of events of [device], in minutes after the start.
func minutes(evs []Telemetry) []int {
	return each(evs, func(ev Telemetry) int { return int(ev.Timestamp.Sub(start).Minutes()) })
}

func fiveTicks(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 0), tick(5, 5), tick(10, 10), tick(15, 15), tick(20, 20))
	return w
}

func reasons[T any](rs []timeseries.Result[T]) []timeseries.Reason {
	return each(rs, func(r timeseries.Result[T]) timeseries.Reason { return r.Reason })
}

// currentOf returns the current item of a result, the zero value if the item does not exist.
func currentOf[T any](t require.TestingT, r timeseries.Result[T]) T {
	v, err := r.Current(context.Background())
	if !errors.Is(err, entity.ErrNotFound) {
		require.NoError(t, err)
	}
	return v
}
