package timeseries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestHistory_ConditionOnAnotherFieldIsRefusedAndNamesFilter(t *testing.T) {
	w, f := fiveTicks(t), entity.Fields[Telemetry]()
	for name, cond := range map[string]entity.Cond{
		"append":      entity.Eq(f.Alert, true),
		"pointer":     entity.Exists(&f.GPIO),
		"enrichment":  entity.Eq(&f.AccountID, "a"),
		"key":         entity.Eq(&f.Channel, "c-1"),
		"ne":          entity.Ne(&f.Timestamp, at(0)),
		"in":          entity.In(&f.Timestamp, at(0), at(5)),
		"or":          entity.Or(entity.Eq(&f.Timestamp, at(0)), entity.Eq(&f.Timestamp, at(5))),
		"not":         entity.Not(entity.Eq(&f.Timestamp, at(0))),
		"exists":      entity.Exists(&f.Timestamp),
		"path":        entity.Attr[int]("gpio").Eq(1),
		"conjunction": entity.And(entity.Ge(&f.Timestamp, at(0)), entity.Le(&f.Timestamp, at(5))),
	} {
		q := w.series.History(device, cond)
		_, err := q.Collect(w.Ctx)
		require.Equal(t, "EDD-9115", dbtest.InputCode(err), name)
		require.Contains(t, dbtest.As[*entity.InputError](t, err).Problem, "entity.Filter", "%s: the error says what to do", name)
		require.Equal(t, "EDD-9115", dbtest.InputCode(dbtest.ErrorOf(q.Count(w.Ctx))), name)
		require.Equal(t, "EDD-9115", dbtest.InputCode(dbtest.ErrorOf(q.Page(w.Ctx, ""))), name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestHistory_MistakesInArgumentsSendNothing(t *testing.T) {
	w, f := fiveTicks(t), entity.Fields[Telemetry]()
	for name, c := range map[string]struct {
		key  Telemetry
		opts []entity.QueryOption
		code string
	}{
		"no key":          {Telemetry{}, nil, "EDD-9101"},
		"half a key":      {Telemetry{Channel: "c-1"}, nil, "EDD-9101"},
		"two ranges":      {device, []entity.QueryOption{entity.Ge(&f.Timestamp, at(0)), entity.Gt(&f.Timestamp, at(5))}, "EDD-9004"},
		"zero cond":       {device, []entity.QueryOption{entity.Filter(entity.Cond{})}, "EDD-9111"},
		"nil option":      {device, []entity.QueryOption{nil}, "EDD-9108"},
		"limit zero":      {device, []entity.QueryOption{entity.Limit(0)}, "EDD-9108"},
		"foreign pointer": {device, []entity.QueryOption{entity.Eq(new(time.Time), at(0))}, "EDD-9105"},
	} {
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(w.series.History(c.key, c.opts...).Collect(w.Ctx))), name)
	}
	singles := declare[Single](t, w.DB)
	for field, half := range map[string]Gauged{"Gauged.Stream": {ID: "g-1"}, "Gauged.ID": {Stream: "s"}} {
		dbtest.RequireInput(t, dbtest.ErrorOf(singles.History(Single{Gauged: half}).Collect(w.Ctx)), "EDD-9101", field)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestHistory_FilterIsForOtherFields(t *testing.T) {
	w, f := fiveTicks(t), entity.Fields[Telemetry]()
	got, _ := w.collect(device, entity.Filter(entity.Eq(f.Alert, false)))
	require.Equal(t, []int{5, 15}, minutes(got))
	got, _ = w.collect(device, entity.Ge(&f.Timestamp, at(6)), entity.Filter(entity.Eq(f.Alert, false)))
	require.Equal(t, []int{15}, minutes(got))
	got, _ = w.collect(device, entity.Filter(entity.Or(entity.Eq(f.GPIO, 0), entity.Eq(f.GPIO, 20)), entity.Exists(&f.Location)))
	require.Equal(t, []int{0, 20}, minutes(got), "several filters are joined, each in parentheses")
	got, _ = w.collect(device, entity.Filter(entity.Exists(&f.AccountID)))
	require.Empty(t, got)
	got, _ = w.collect(device, entity.Filter(entity.Ge(&f.Timestamp, at(6)), entity.Le(&f.Timestamp, at(14))))
	require.Equal(t, []int{10}, minutes(got), "orderBy is no key attribute of the table")
}

func TestAt_IsTheNewestEventAtThatTime(t *testing.T) {
	w := fiveTicks(t)
	for minute, want := range map[int]int{0: 0, 4: 0, 5: 5, 9: 5, 19: 15, 20: 20, 999: 20} {
		w.Wire.Reset()
		ev := entity.Must(w.series.At(w.Ctx, device, at(minute)))
		require.Equal(t, tick(want, want), ev)
		require.Equal(t, []string{"Query"}, w.operations())
		require.Contains(t, string(w.Wire.Requests()[0].Body), `"ConsistentRead":true`)
	}
	ev := entity.Must(w.series.At(w.Ctx, device, at(5).Add(-1)))
	require.Equal(t, at(0), ev.Timestamp)
	require.ErrorIs(t, dbtest.ErrorOf(w.series.At(w.Ctx, device, at(0).Add(-1))), entity.ErrNotFound)
	_, err := w.series.At(w.Ctx, Telemetry{Channel: "c-1"}, at(0))
	require.Equal(t, "EDD-9101", dbtest.InputCode(err))
	require.Equal(t, "At", dbtest.As[*entity.Error](t, err).Verb)
}

func TestAt_BeforeAnythingThatTheFormatCanHold(t *testing.T) {
	w := open[unixClock](t)
	w.seed(unixClock{ID: "x", At: start, V: 1})
	require.ErrorIs(t, dbtest.ErrorOf(w.series.At(w.Ctx, unixClock{ID: "x"}, time.Unix(-5, 0))), entity.ErrNotFound)
	require.Empty(t, w.Wire.Requests())
	ev := entity.Must(w.series.At(w.Ctx, unixClock{ID: "x"}, start.Add(time.Second-1)))
	require.Equal(t, 1, ev.V, "a time finer than the format is rounded down")
	ev = entity.Must(w.series.At(w.Ctx, unixClock{ID: "x"}, time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, 1, ev.V)
}

func TestAt_PassesOverExpiredEvents(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	w.Clock.Move(-30 * 24 * time.Hour) // these were accepted by a machine whose clock was behind
	for i := 1; i <= 60; i++ {
		w.seed(tick(i, i))
	}
	w.Clock.Move(30 * 24 * time.Hour)
	require.Equal(t, []int{0}, minutes(w.history(device)))
	ev := entity.Must(w.series.At(w.Ctx, device, at(60)))
	require.Equal(t, at(0), ev.Timestamp)
	w.Clock.Move(8 * 24 * time.Hour)
	require.ErrorIs(t, dbtest.ErrorOf(w.series.At(w.Ctx, device, at(60))), entity.ErrNotFound, "all are expired")
}

func TestAt_NeedsAnOrderByThatIsATime(t *testing.T) {
	w := open[Meter](t)
	w.seed(reading(1, 1))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(w.series.At(w.Ctx, reading(0, 0), at(0)))))
	require.Empty(t, w.Wire.Requests())
	newest := entity.Must(w.series.History(reading(0, 0), entity.Le(&entity.Fields[Meter]().Seq, 7), entity.Desc()).First(w.Ctx))
	require.Equal(t, reading(1, 1), newest)
}

func TestHistory_RangesThatNothingCanMatchSendNoRequest(t *testing.T) {
	w := open[secondClock](t)
	w.seed(secondClock{ID: "x", At: start, V: 1})
	key, f := secondClock{ID: "x"}, &entity.Fields[secondClock]().At
	w.Wire.Reset()
	for name, cond := range map[string]entity.Cond{
		"upside down":                entity.Between(f, start.Add(time.Minute), start),
		"between two representable":  entity.Between(f, start.Add(1), start.Add(time.Second-1)),
		"before the first year":      entity.Lt(f, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)),
		"up to before the first":     entity.Le(f, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)),
		"after the last year":        entity.Gt(f, time.Date(10005, 1, 1, 0, 0, 0, 0, time.UTC)),
		"from after the last year":   entity.Ge(f, time.Date(10005, 1, 1, 0, 0, 0, 0, time.UTC)),
		"between, before the first":  entity.Between(f, time.Date(-6, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)),
		"between, behind the 9999th": entity.Between(f, time.Date(10005, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10006, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		q := w.series.History(key, cond)
		require.Empty(t, entity.Must(q.Collect(w.Ctx)), name)
		require.Zero(t, entity.Must(q.Count(w.Ctx)), name)
		page := entity.Must(q.Page(w.Ctx, ""))
		require.Empty(t, page.Items, name)
		require.Empty(t, page.Next, name)
		require.ErrorIs(t, dbtest.ErrorOf(q.First(w.Ctx)), entity.ErrNotFound, name)
	}
	_, err := w.series.History(key, entity.Eq(f, start.Add(1))).Collect(w.Ctx)
	require.Equal(t, "EDD-9102", dbtest.InputCode(err), "a time finer than the format is never truncated")
	require.Empty(t, w.Wire.Requests())
}

// internal/key proves that ranges are exact for every type; these are the bounds that no key can have.
func TestHistory_BoundsThatNoKeyCanHave(t *testing.T) {
	w := open[Meter](t)
	w.appendAll([]Meter{reading(2, 2), reading(10, 10), reading(100, 100)})
	seq := &entity.Fields[Meter]().Seq
	for name, c := range map[string]struct {
		cond entity.Cond
		want []Meter
	}{
		"lt 10":         {entity.Lt(seq, 10), []Meter{reading(2, 2)}},
		"from below 0":  {entity.Ge(seq, -7), []Meter{reading(2, 2), reading(10, 10), reading(100, 100)}},
		"up to below 0": {entity.Le(seq, -7), []Meter{}},
		"across 0":      {entity.Between(seq, -7, 10), []Meter{reading(2, 2), reading(10, 10)}},
	} {
		got, _ := w.collect(reading(0, 0), c.cond)
		require.Equal(t, c.want, got, name)
	}

	x := open[Journal](t)
	long := strings.Repeat("é", (1024-len("$app#v1#journal#e#"))/2)
	longer := long + "éé"
	x.seed(entry("a", "1"), entry("a#1", "2"), entry(long, "3"), entry("ê", "4"))
	mark := &entity.Fields[Journal]().Mark
	for name, c := range map[string]struct {
		cond entity.Cond
		want string
	}{
		"begins a": {entity.BeginsWith(mark, "a"), "12"}, "begins a#": {entity.BeginsWith(mark, "a#"), "2"}, "begins with all": {entity.BeginsWith(mark, ""), "1234"},
		"lt empty": {entity.Lt(mark, ""), ""}, "ge empty": {entity.Ge(mark, ""), "1234"}, "gt a": {entity.Gt(mark, "a"), "234"},
		"ge": {entity.Ge(mark, longer), "4"}, "gt": {entity.Gt(mark, longer), "4"}, "le": {entity.Le(mark, longer), "123"}, "lt": {entity.Lt(mark, longer), "123"},
		"eq": {entity.Eq(mark, longer), ""}, "begins": {entity.BeginsWith(mark, longer), ""}, "between": {entity.Between(mark, longer, longer+"x"), ""},
		"gt it": {entity.Gt(mark, long), "4"}, "ge it": {entity.Ge(mark, long), "34"},
	} {
		got, _ := x.collect(Journal{Book: "b"}, c.cond)
		texts := ""
		for _, ev := range got {
			texts += ev.Text
		}
		require.Equal(t, c.want, texts, name)
	}
}

// month is longer than any event of these tests lives.
const month = 31 * 24 * time.Hour

// The answer to an append over an expired event is lost, or the request arrives twice: it counts once.
func TestExpiredEvent_IsReplacedOnceWhateverBecomesOfTheAnswer(t *testing.T) {
	for _, fault := range []faults.Fault{faults.Lost, faults.InternalApplied, faults.Twice, faults.Conflict, faults.Drop} {
		w, ev := open[Alone](t), Alone(singleOf("g", fact{at: 3, a: 1}))
		w.seed(ev)
		w.Clock.Move(month)
		w.Wire.Inject(faults.Nth(1, fault, "PutItem"))
		ev.Value = 2
		r, err := w.series.Append(w.Ctx, ev)
		if fault == faults.Drop { // nothing was applied, and nothing proves it
			require.True(t, entity.IsAmbiguous(err))
			r, err = w.series.Append(w.Ctx, ev)
		}
		require.NoError(t, err)
		require.True(t, r.Applied, fault)
		w.Wire.Inject(nil)
		require.Equal(t, []Alone{ev}, w.history(ev), fault)
		require.Equal(t, timeseries.Duplicate, w.append(ev).Reason, fault)
	}
}

// Two programs find an expired event, or one finds it and the other has replaced it already: one event is stored.
func TestExpiredEvent_IsReplacedByOneOfTwo(t *testing.T) {
	w, ev := open[Alone](t), Alone(singleOf("g", fact{at: 3}))
	w.seed(ev)
	w.Clock.Move(month)
	mine, other := ev, ev
	mine.Value, other.Value = 1, 2
	require.NoError(t, w.Overtake(dbtest.Is("PutItem"), func() error {
		r, err := w.series.Append(w.Ctx, mine)
		require.Equal(t, timeseries.Collision, r.Reason)
		require.Equal(t, other, *r.Existing)
		return err
	}, func() { require.True(t, entity.Must(declare[Alone](t, w.Open(w.Raw)).Append(w.Ctx, other)).Applied) }))
	require.Equal(t, []Alone{other}, w.history(ev))
}

// The series below differ in the format of their clock only.
type (
	nanoClock struct {
		_ entity.Key        `name:"Nano" pk:"$#{id}" sk:"$"`
		_ timeseries.Events `orderBy:"at"`
		sample
	}
	secondClock struct {
		_  entity.Key        `name:"Second" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at" entity:"time=s"`
		V  int               `dynamodbav:"v" entity:"append"`
	}
	unixClock struct {
		_  entity.Key        `name:"Unix" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at" entity:"time=unix"`
		V  int               `dynamodbav:"v" entity:"append"`
	}
)

// sample is embedded: orderBy may be a field of an embedded struct.
type sample struct {
	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at"`
	V  int       `dynamodbav:"v" entity:"append"`
}

func TestOrderBy_TimesOfSeveralFormats(t *testing.T) {
	t.Parallel()
	t.Run("ns", func(t *testing.T) {
		clockFormat(t, time.Nanosecond, "2026-04-22T10:00:00.000000000Z", func(at time.Time, v int) nanoClock { return nanoClock{sample: sample{"x", at, v}} })
	})
	t.Run("s", func(t *testing.T) {
		clockFormat(t, time.Second, "2026-04-22T10:00:00Z", func(at time.Time, v int) secondClock { return secondClock{ID: "x", At: at, V: v} })
	})
	t.Run("unix", func(t *testing.T) {
		clockFormat(t, time.Second, "0000000001776852000", func(at time.Time, v int) unixClock { return unixClock{ID: "x", At: at, V: v} })
	})
}

// clockFormat appends around a second's and a day's turn and checks order, key text, precision and the years.
func clockFormat[T any](t *testing.T, unit time.Duration, first string, make func(time.Time, int) T) {
	w := open[T](t)
	times := []time.Time{start, start.Add(unit), start.Add(time.Second), start.Add(14 * time.Hour), start.AddDate(1, 0, 0)}
	if unit == time.Second {
		times = append(times[:1], times[2:]...)
	}
	var want []T
	for i, at := range times {
		r := w.append(make(at.In(time.FixedZone("", -3600)), i))
		require.True(t, r.Applied, "%v", at)
		require.Equal(t, make(at, i), currentOf(t, r))
		want = append(want, make(at, i))
		require.Equal(t, timeseries.Duplicate, w.append(make(at, i)).Reason)
		require.Equal(t, timeseries.Collision, w.append(make(at, 99)).Reason)
	}
	require.Equal(t, want, w.history(make(start, 0)))
	require.Equal(t, timeseries.Older, w.append(make(start.Add(-unit), 7)).Reason)
	found := false
	for _, it := range w.Items() {
		found = found || strings.HasSuffix(dbtest.Text(it["sk"]), "#e#"+first)
	}
	require.True(t, found, "an event's key ends in %s", first)

	w.Wire.Reset()
	bad := []time.Time{time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if unit > time.Nanosecond {
		bad = append(bad, times[len(times)-1].Add(unit+1), times[len(times)-1].Add(unit/2))
	}
	for _, at := range bad {
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(w.series.Append(w.Ctx, make(at, 1)))), "%v", at)
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(w.series.AppendAll(w.Ctx, []T{make(at, 1)}))), "%v", at)
	}
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(w.series.Append(w.Ctx, make(time.Time{}, 1)))), "a zero time is a forgotten one")
	require.Empty(t, w.Wire.Requests())
}

func TestOrderBy_StringTooLongForAKeyIsTooLargeBeforeAnyRequest(t *testing.T) {
	w, room := open[Journal](t), 1024-len("$app#v1#journal#e#")
	long, escaped := strings.Repeat("z", room+1), strings.Repeat("#", room/3+1) // each is three bytes in the key
	require.ErrorIs(t, dbtest.ErrorOf(w.series.Append(w.Ctx, entry(long, "x"))), entity.ErrTooLarge)
	require.ErrorIs(t, dbtest.ErrorOf(w.series.AppendAll(w.Ctx, []Journal{entry("a", "x"), entry(long, "x")})), entity.ErrTooLarge)
	require.ErrorIs(t, dbtest.ErrorOf(w.series.Append(w.Ctx, entry(escaped, "x"))), entity.ErrTooLarge)
	require.Empty(t, w.Wire.Requests())
	require.True(t, w.append(entry(long[1:], "x")).Applied)
}

func TestOrderBy_StoredOrderByOfAnotherTypeIsATypedError(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]types.AttributeValue{
		"number": dbtest.N("1"), "null": &types.AttributeValueMemberNULL{Value: true}, "binary": &types.AttributeValueMemberB{Value: []byte("2")},
	} {
		t.Run(name, func(t *testing.T) {
			w := open[Telemetry](t)
			w.seed(tick(0, 1))
			w.ChangeItem(devicePK, deviceSK, item{"timestamp": stored})
			before := w.partition(devicePK)

			r, err := w.series.Append(w.Ctx, tick(1, 1))
			require.Equal(t, "timestamp", dbtest.As[*entity.DecodeError](t, err).Attr)
			require.Zero(t, r)
			rs, err := w.series.AppendAll(w.Ctx, []Telemetry{tick(1, 1), tick(2, 2)})
			dbtest.As[*entity.DecodeError](t, err)
			require.Zero(t, rs[0])
			require.Zero(t, rs[1])
			dbtest.As[*entity.DecodeError](t, w.DB.Transact(w.Ctx, w.series.Op().Append(tick(1, 1))))
			require.Equal(t, before, w.partition(devicePK))
		})
	}
}

func TestList_ReturnsEverySeriesOnce(t *testing.T) {
	t.Parallel()
	t.Run("current item", func(t *testing.T) { lists[Single](t, func() *int { return &entity.Fields[Single]().Value }) })
	t.Run("shards", func(t *testing.T) { lists[Sharded](t, func() *int { return &entity.Fields[Sharded]().Value }) })
	t.Run("no current item", func(t *testing.T) { lists[Alone](t, func() *int { return &entity.Fields[Alone]().Value }) })
	t.Run("both", func(t *testing.T) { lists[Log](t, func() *int { return &entity.Fields[Log]().Value }) })
}

// lists fills tables with random series among other items, and compares what every way to run List returns with what was appended.
func lists[T gauges](t *testing.T, value func() *int) {
	var none T
	_, alone := any(none).(Alone)
	_, both := any(none).(Log)
	testsize.Check(t, testsize.Pick(2, 20), func(rt *rapid.T) {
		w := open[T](t)
		others := declare[Telemetry](t, w.DB)
		for i := range rapid.IntRange(0, 30).Draw(rt, "other items") {
			entity.Must(others.AppendAll(w.Ctx, []Telemetry{{Channel: fmt.Sprint("c", i), DeviceID: "d", Timestamp: at(i)}, {Channel: fmt.Sprint("c", i), DeviceID: "d", Timestamp: at(i + 1)}}))
		}
		live, odd := map[string]bool{}, map[string]bool{}
		oldest := map[string]time.Time{}
		add := func(id, stream string, minutes, n int) {
			var evs []T
			for i := range n {
				evs = append(evs, T(Single{Gauged: Gauged{ID: id, Stream: stream, At: at(minutes + i), Value: i % 2}}))
			}
			w.appendAll(evs)
			name := id + "/" + stream
			if live[name] = true; oldest[name].IsZero() {
				oldest[name] = at(minutes)
			}
			odd[name] = odd[name] || n > 1 || !(alone || both)
		}
		for i := range rapid.IntRange(0, 3).Draw(rt, "expired") {
			add(fmt.Sprint("x", i%2), fmt.Sprint("s", i), 0, rapid.IntRange(1, 40).Draw(rt, "events"))
		}
		if alone || both {
			clear(live)
			clear(oldest)
			clear(odd)
			w.Clock.Move(31 * 24 * time.Hour)
		}
		for i := range rapid.IntRange(0, 8).Draw(rt, "series") {
			add(fmt.Sprint("x", i%3), []string{"s", "s#1", "s0", "t"}[i%4], 100, rapid.SampledFrom([]int{1, 2, 26, 60}).Draw(rt, "events"))
		}
		check := func(how string, got []T, want map[string]bool) {
			names := map[string]bool{}
			for _, v := range got {
				s := Single(v)
				name := s.ID + "/" + s.Stream
				require.False(rt, names[name], "%s: %s comes twice", how, name)
				names[name] = true
				if alone {
					require.True(rt, oldest[name].Equal(s.At) || how == "filtered", "%s: %s at %s", how, name, s.At)
				}
			}
			for name := range want {
				require.Equal(rt, want[name], names[name], "%s: %s", how, name)
			}
			for name := range names {
				require.True(rt, want[name], "%s: %s is not expected", how, name)
			}
		}
		check("collected", entity.Must(w.series.List(entity.Consistent()).Collect(w.Ctx)), live)
		check("in segments", entity.Must(w.series.List(entity.Consistent(), entity.Segments(3)).Collect(w.Ctx)), live)
		require.Equal(rt, len(live), entity.Must(w.series.List(entity.Consistent()).Count(w.Ctx)))
		var paged []T
		limit := rapid.IntRange(1, 4).Draw(rt, "limit")
		for _, page := range dbtest.Pages(t, w.series.List(entity.Consistent(), entity.Limit(limit))) {
			require.LessOrEqual(rt, len(page), limit)
			paged = append(paged, page...)
		}
		check("in pages", paged, live)
		if alone || both {
			check("filtered", entity.Must(w.series.List(entity.Consistent(), entity.Filter(entity.Eq(value(), 1))).Collect(w.Ctx)), odd)
		}
	})
}

func TestList_LeavesOutTheEventsAfterTheFirst(t *testing.T) {
	w := open[Alone](t)
	for i := range 5 {
		w.appendAll(ticks[Alone](fmt.Sprint("g-", i), 60))
	}
	w.Wire.Reset()
	evaluated := 0
	got := entity.Must(w.series.List(entity.OnPage(func(p entity.ScanProgress) { evaluated = p.Evaluated })).Collect(w.Ctx))
	require.Len(t, got, 5)
	require.LessOrEqual(t, len(w.Wire.Requests()), 7)
	require.LessOrEqual(t, evaluated, 5*25+25)
	require.True(t, slices.ContainsFunc(got, func(v Alone) bool { return v.ID == "g-3" }))
	require.True(t, strings.HasPrefix(w.series.List().String(), "List Alone"), w.series.List().String())
}

func TestList_MistakesSendNothing(t *testing.T) {
	w := open[Log](t)
	require.ErrorContains(t, dbtest.ErrorOf(w.series.List(entity.Segments(2), entity.MaxRequests(3)).Collect(w.Ctx)), "List Log")
	require.ErrorContains(t, dbtest.ErrorOf((*timeseries.Series[Log])(nil).List().Collect(w.Ctx)), "EDD-9160")
	require.Empty(t, w.Wire.Requests())
}
