package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

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

func TestAppendAll_AFailedChunkLeavesTheResultsOfTheEarlierOnes(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t, attempts(2))
	var evs []Telemetry
	for i := range 250 {
		evs = append(evs, tick(i, i))
	}
	order := shuffled(evs)
	w.sent.Inject(from(2, faults.Throttle, transact))
	rs, err := w.AppendAll(w.ctx, order)
	require.Error(t, err)
	require.False(t, entity.IsAmbiguous(err))
	require.Len(t, rs, 250)
	w.sent.Inject(nil)
	for i, r := range rs {
		if order[i].Timestamp.Before(at(99)) {
			require.True(t, r.Applied, "%v", order[i].Timestamp)
			require.Equal(t, at(98), r.Current.Timestamp)
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

func TestAppendAll_OneSeriesThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(Meter{MeterID: "m-2", Seq: 1})
	w.change("$app#v1#meter#m-2", "$app#v1#meter", func(it item) { it["seq"] = avS("text") })
	rs, err := w.AppendAll(w.ctx, []Meter{{MeterID: "m-1", Seq: 2}, {MeterID: "m-2", Seq: 2}, {MeterID: "m-3", Seq: 2}})
	var clockType *timeseries.OrderByTypeError
	require.ErrorAs(t, err, &clockType)
	require.True(t, rs[0].Applied)
	require.Zero(t, rs[1])
	require.True(t, rs[2].Applied)
}

func TestAppendAll_OneBadEventStopsTheBatchBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	rs, err := w.AppendAll(w.ctx, []Meter{reading(1, 1), reading(2, 2), reading(-3, 3)})
	require.Equal(t, "EDD-9102", inputCode(t, err))
	require.Equal(t, make([]timeseries.Result[Meter], 3), rs)
	require.Empty(t, w.sent.Requests())
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
			w := open[Meter](t, attempts(2))
			w.seed(reading(50, 500))
			evs := readings("m-1", 1, 150)
			w.sent.Inject(fault)
			rs, err := w.AppendAll(w.ctx, evs)
			require.Error(t, err)
			w.sent.Inject(nil)
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

func TestAppendAll_LateEventsOfAPurgedItemAreNotLost(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(50, 500))
	arrived, release := w.sent.Hold(func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 })
	defer release()
	go func() {
		defer release()
		<-arrived
		w.remove("$app#v1#meter#m-1", "$app#v1#meter")
	}()
	rs := w.appendAll([]Meter{reading(10, 100), reading(20, 200)})
	require.True(t, rs[0].Applied || rs[0].Reason == timeseries.LateRecorded, "%v", rs[0].Reason)
	require.True(t, rs[1].Applied || rs[1].Reason == timeseries.LateRecorded, "%v", rs[1].Reason)
	require.Len(t, w.history(reading(0, 0)), 3)
}

func TestAppend_LateEventOfAnItemThatIsGoneMeanwhileIsNotLost(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(50, 500))
	arrived, release := w.sent.Hold(func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 })
	defer release()
	go func() {
		defer release()
		<-arrived
		w.remove("$app#v1#meter#m-1", "$app#v1#meter")
	}()
	require.True(t, w.append(reading(10, 100)).Applied, "it was planned again")
	require.Len(t, w.history(reading(0, 0)), 2)
}

func TestAppendAll_DuplicatesOfAnUndecidedEventAreUndecidedToo(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, attempts(1))
	w.sent.Inject(from(1, faults.Throttle, transact))
	rs, err := w.AppendAll(w.ctx, []Meter{reading(1, 1), reading(1, 1), reading(1, 2)})
	require.Error(t, err)
	require.Equal(t, make([]timeseries.Result[Meter], 3), rs)
}

func TestAppendAll_AnEventEqualToACollidedOneIsADuplicate(t *testing.T) {
	t.Parallel()
	w := lag(t)
	rs := w.appendAll([]Telemetry{tick(5, 6), tick(5, 5), tick(5, 5), tick(5, 7)})
	require.Equal(t, []timeseries.Reason{timeseries.Collision, timeseries.Duplicate, timeseries.Duplicate, timeseries.Collision}, reasons(rs))
	require.Equal(t, at(5), w.current(device).Timestamp, "current was brought up to the stored event")
}
