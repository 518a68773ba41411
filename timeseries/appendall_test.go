package timeseries_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestAppendAll_AppliesALargeShuffledBatchOfSeveralSeries(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	evs := shuffled(append(append(readings("m-1", 1, 120), readings("m-2", 1, 100)...), readings("m-3", 500, 30)...))
	rs := w.appendAll(evs)
	last := map[string]int64{"m-1": 120, "m-2": 100, "m-3": 529}
	for i, r := range rs {
		require.True(t, r.Applied, "%v", evs[i])
		require.Equal(t, evs[i].MeterID, currentOf(t, r).MeterID, "results are in the order of the events")
		require.Equal(t, last[evs[i].MeterID], currentOf(t, r).Seq)
	}
	require.Equal(t, readings("m-1", 1, 120), w.history(Meter{MeterID: "m-1"}))
	require.Equal(t, readings("m-2", 1, 100), w.history(Meter{MeterID: "m-2"}))
	require.Equal(t, readings("m-3", 500, 30), w.history(Meter{MeterID: "m-3"}))
	cur := w.current(Meter{MeterID: "m-1"})
	require.Equal(t, Meter{MeterID: "m-1", Seq: 120, Value: 1200, Note: ptr("n")}, cur)
	require.Equal(t, Meter{MeterID: "m-2", Seq: 100, Value: 1000, Note: ptr("n")}, w.current(Meter{MeterID: "m-2"}), "the note is that of 99")
}

func TestAppendAll_SendsOneTransactionForEach99Events(t *testing.T) {
	t.Parallel()
	empty := open[Meter](t)
	require.Empty(t, empty.appendAll(nil))
	require.Empty(t, empty.Wire.Requests())
	for n, transactions := range map[int]int{1: 1, 99: 1, 100: 2, 199: 3} {
		w := open[Meter](t)
		w.appendAll(shuffled(readings("m-1", 1, n)))
		require.Equal(t, transactions, w.Wire.Count(transact), "%d events", n)
		require.Len(t, w.Wire.Requests(), transactions)
		require.Len(t, w.kinds(0), min(n, 99)+1)
	}
}

func TestAppendAll_ChunksByBytesToo(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	var evs []Telemetry
	for i := range 20 {
		ev := bare(i)
		ev.Location = ptr(strings.Repeat(string(rune('a'+i)), 300*1024))
		evs = append(evs, ev)
	}
	for _, r := range w.appendAll(evs) {
		require.True(t, r.Applied)
	}
	for _, r := range w.Wire.Requests() {
		require.Less(t, len(r.Body), 4*1024*1024)
	}
	require.Greater(t, w.Wire.Count(transact), 1)
	require.Len(t, w.history(device), 20)
	require.True(t, strings.HasPrefix(*w.current(device).Location, "t"))
}

// batch is a call of AppendAll on a series in which the events of seed are stored.
type batch[T any] struct {
	seed, events []T
	opts         []timeseries.AppendOption
	reasons      []timeseries.Reason // "": applied
	history      []T                 // afterwards; its last event is the current item
	requests     []string
}

func (b batch[T]) run(t *testing.T, key T, time func(T) int64) {
	t.Helper()
	w := open[T](t)
	w.seed(b.seed...)
	rs := w.appendAll(b.events, b.opts...)
	require.Equal(t, b.reasons, reasons(rs))
	require.Equal(t, b.requests, w.operations())
	history := w.history(key)
	require.Equal(t, b.history, history)
	require.Equal(t, time(history[len(history)-1]), time(w.current(key)))
	for i, r := range rs {
		require.Equal(t, r.Reason == "", r.Applied)
		require.Equal(t, r.Reason == timeseries.Duplicate || r.Reason == timeseries.Collision, r.Existing != nil, "%d", i)
		if r.Existing != nil {
			require.Equal(t, time(b.events[i]), time(*r.Existing))
			require.Contains(t, history, *r.Existing)
			require.Equal(t, r.Reason == timeseries.Duplicate, assert.ObjectsAreEqual(b.events[i], *r.Existing))
		}
		if r.Reason != timeseries.ConditionFailed {
			require.GreaterOrEqual(t, time(currentOf(t, r)), time(b.events[i]), "current is at or after the event")
		}
	}
}

func TestAppendAll_OutcomesWhereLateEventsAreDropped(t *testing.T) {
	t.Parallel()
	const older, duplicate, collision = timeseries.Older, timeseries.Duplicate, timeseries.Collision
	enriched := entity.If(entity.Exists(&entity.Fields[Telemetry]().AccountID))
	for name, b := range map[string]batch[Telemetry]{
		"the first of equal keys counts": {
			events:  []Telemetry{tick(2, 2), tick(1, 1), tick(1, 1), tick(1, 7), tick(2, 2), tick(1, 7)},
			reasons: []timeseries.Reason{"", "", duplicate, collision, duplicate, collision},
			history: []Telemetry{tick(1, 1), tick(2, 2)}, requests: []string{transact},
		},
		"stored events drop out, and the rest is applied": {
			seed:    []Telemetry{tick(1, 1), tick(3, 3)},
			events:  []Telemetry{tick(4, 4), tick(3, 3), tick(2, 2), tick(1, 9), tick(5, 5)},
			reasons: []timeseries.Reason{"", duplicate, older, collision, ""},
			history: []Telemetry{tick(1, 1), tick(3, 3), tick(4, 4), tick(5, 5)}, requests: []string{transact, transact},
		},
		"all are stored: the failures contain the current item": {
			seed:    []Telemetry{tick(1, 1), tick(2, 2), tick(3, 3)},
			events:  []Telemetry{tick(2, 2), tick(3, 3), tick(1, 1)},
			reasons: []timeseries.Reason{duplicate, duplicate, duplicate},
			history: []Telemetry{tick(1, 1), tick(2, 2), tick(3, 3)}, requests: []string{transact},
		},
		"all are older, also equal ones": {
			seed:    []Telemetry{tick(100, 1)},
			events:  []Telemetry{tick(3, 3), tick(1, 1), tick(3, 3), tick(3, 4), tick(2, 2)},
			reasons: []timeseries.Reason{older, older, older, older, older},
			history: []Telemetry{tick(100, 1)}, requests: []string{transact},
		},
		"a condition hides neither older events nor duplicates": {
			seed:    []Telemetry{tick(5, 5)},
			events:  []Telemetry{tick(6, 6), tick(4, 4), tick(5, 5)},
			opts:    []timeseries.AppendOption{enriched},
			reasons: []timeseries.Reason{timeseries.ConditionFailed, older, duplicate},
			history: []Telemetry{tick(5, 5)}, requests: []string{transact, transact},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.run(t, device, func(ev Telemetry) int64 { return ev.Timestamp.Unix() })
		})
	}
}

func TestAppendAll_OutcomesWhereLateEventsAreRecorded(t *testing.T) {
	t.Parallel()
	const late, duplicate, collision = timeseries.LateRecorded, timeseries.Duplicate, timeseries.Collision
	many := readings("m-1", 1, 150)
	for name, b := range map[string]batch[Meter]{
		"refused, then newer ones, then late ones": {
			seed: []Meter{reading(10, 100), reading(20, 200)},
			events: []Meter{
				reading(21, 210), reading(5, 50), reading(10, 100), reading(10, 101), reading(15, 150), reading(5, 50), reading(5, 51), reading(22, 220),
			},
			reasons:  []timeseries.Reason{"", late, duplicate, collision, late, duplicate, collision, ""},
			history:  []Meter{reading(5, 50), reading(10, 100), reading(15, 150), reading(20, 200), reading(21, 210), reading(22, 220)},
			requests: []string{transact, transact, transact},
		},
		"many, in chunks: two are refused, two recorded": {
			seed: []Meter{reading(1000, 1)}, events: shuffled(many), reasons: slices.Repeat([]timeseries.Reason{late}, len(many)),
			history: append(slices.Clone(many), reading(1000, 1)), requests: []string{transact, transact, transact, transact},
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); b.run(t, reading(0, 0), func(ev Meter) int64 { return ev.Seq }) })
	}
}

func TestAppendAll_OneAtATimeGivesTheSameTable(t *testing.T) {
	t.Parallel()
	a, b, c := bare(2), bare(3), bare(4)
	a.GPIO, b.Location, c.Alert = ptr(11), ptr("cabinet-B"), ptr(false)
	evs := []Telemetry{tick(1, 1), a, b, c, bare(5)}
	one, all := open[Telemetry](t), open[Telemetry](t)
	one.seed(evs...)
	all.appendAll(shuffled(evs))
	first, second := one.partition(devicePK), all.partition(devicePK)
	for _, items := range []map[string]map[string]string{first, second} {
		for _, it := range items {
			require.NotEmpty(t, it["_w"])
			delete(it, "_w")
		}
	}
	require.Equal(t, first, second)
	require.Equal(t, evs, all.history(device))
}

func TestAppendAll_SeriesDoNotAffectEachOther(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	f := entity.Fields[Meter]()
	of := func(meter string, seq int64) Meter { return Meter{MeterID: meter, Seq: seq} }
	for _, r := range w.appendAll([]Meter{of("a", 1), of("b", 1), of("a#", 1)}) {
		require.True(t, r.Applied, "equal keys of different series")
	}
	w.seed(Meter{MeterID: "m-1", Seq: 1, Value: 1}, Meter{MeterID: "m-2", Seq: 1, Value: 2})
	rs := w.appendAll([]Meter{of("m-1", 2), of("m-2", 2), of("m-1", 3), of("m-3", 1)}, entity.If(entity.Eq(&f.Value, 2)))
	require.Equal(t, []timeseries.Reason{timeseries.ConditionFailed, "", timeseries.ConditionFailed, timeseries.ConditionFailed}, reasons(rs))
	require.Equal(t, 1, currentOf(t, rs[0]).Value)
	require.True(t, rs[1].Applied)
	require.Zero(t, currentOf(t, rs[3]))
	require.Equal(t, []Meter{{MeterID: "m-1", Seq: 1, Value: 1}}, w.history(Meter{MeterID: "m-1"}))
}

func TestAppendAll_AChunkThatIsOvertakenMeanwhileIsSplit(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1, 1))
	var rs []timeseries.Result[Meter]
	send := func() (err error) {
		rs, err = w.AppendAll(w.Ctx, []Meter{reading(60, 60), reading(40, 40), reading(50, 8)})
		return err
	}
	require.NoError(t, w.Overtake(dbtest.First(dbtest.Is(transact)), send, func() { w.append(reading(50, 7)) }))
	require.Equal(t, []timeseries.Reason{"", timeseries.LateRecorded, timeseries.Collision}, reasons(rs))
	require.Equal(t, []Meter{reading(1, 1), reading(40, 40), reading(50, 7), reading(60, 60)}, w.history(reading(0, 0)))
	require.Equal(t, reading(60, 60), w.current(reading(0, 0)))
}

func TestAppendAll_AFailedChunkLeavesTheResultsOfTheEarlierOnes(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t, dbtest.Attempts(2))
	var evs []Telemetry
	for i := range 250 {
		evs = append(evs, tick(i, i))
	}
	order := shuffled(evs)
	w.Wire.Inject(from(2, faults.Throttle, transact))
	rs, err := w.AppendAll(w.Ctx, order)
	require.Error(t, err)
	require.False(t, entity.IsAmbiguous(err))
	require.Len(t, rs, 250)
	w.Wire.Inject(nil)
	for i, r := range rs {
		if order[i].Timestamp.Before(at(99)) {
			require.True(t, r.Applied, "%v", order[i].Timestamp)
			require.Equal(t, at(98), currentOf(t, r).Timestamp)
		} else {
			require.Zero(t, r, "%v: undecided", order[i].Timestamp)
		}
	}
	require.Len(t, w.history(device), 99)
	require.Equal(t, at(98), w.current(device).Timestamp)

	for i, r := range w.appendAll(order) {
		require.Equal(t, order[i].Timestamp.Before(at(99)), r.Reason == timeseries.Duplicate)
	}
	require.Equal(t, evs, w.history(device))
}

func TestAppendAll_DuplicatesOfAnUndecidedEventAreUndecidedToo(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, dbtest.Attempts(1))
	w.Wire.Inject(from(1, faults.Throttle, transact))
	rs, err := w.AppendAll(w.Ctx, []Meter{reading(1, 1), reading(1, 1), reading(1, 2)})
	require.Error(t, err)
	require.Equal(t, make([]timeseries.Result[Meter], 3), rs)
}

func TestAppendAll_OneSeriesThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(Meter{MeterID: "m-2", Seq: 1})
	w.ChangeItem("$app#v1#meter#m-2", "$app#v1#meter", item{"seq": dbtest.S("text")})
	rs, err := w.AppendAll(w.Ctx, []Meter{{MeterID: "m-1", Seq: 2}, {MeterID: "m-2", Seq: 2}, {MeterID: "m-3", Seq: 2}})
	var clockType *timeseries.OrderByTypeError
	require.ErrorAs(t, err, &clockType)
	require.True(t, rs[0].Applied)
	require.Zero(t, rs[1])
	require.True(t, rs[2].Applied)
}

// A caller that repeats what is undecided must not lose what was late: it was not dropped, but not recorded yet either.
func TestAppendAll_LateEventsThatFailedAreUndecidedAndNotOlder(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(faults.Request) faults.Fault{
		"the chunk after failed":  from(3, faults.Throttle, transact), // 1: refused, 2: newer ones, 3: second chunk
		"the recording failed":    from(4, faults.Throttle, transact),
		"the first repeat failed": from(2, faults.Throttle, transact),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open[Meter](t, dbtest.Attempts(2))
			w.seed(reading(50, 500))
			evs := readings("m-1", 1, 150)
			w.Wire.Inject(fault)
			rs, err := w.AppendAll(w.Ctx, evs)
			require.Error(t, err)
			w.Wire.Inject(nil)
			var undecided []Meter
			for i, r := range rs {
				require.NotEqual(t, timeseries.Older, r.Reason, "%v: the series keeps late events", evs[i])
				if !r.Applied && r.Reason == "" {
					undecided = append(undecided, evs[i])
				}
			}
			w.appendAll(undecided)
			require.Len(t, w.history(reading(0, 0)), 150)
		})
	}
}
