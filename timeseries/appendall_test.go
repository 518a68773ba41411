package timeseries_test

import (
	"strings"
	"testing"
	"time"

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
	for n, transactions := range map[int]int{1: 1, 99: 1, 100: 2, 198: 2, 199: 3} {
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

func TestAppendAll_NothingToDoSendsNothing(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	rs, err := w.AppendAll(w.Ctx, nil)
	require.NoError(t, err)
	require.Empty(t, rs)
	require.Empty(t, w.Wire.Requests())
}

func TestAppendAll_AgainIsAllDuplicatesAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	var evs []Telemetry
	for i := range 150 {
		evs = append(evs, tick(i, i))
	}
	evs = shuffled(evs)
	w.appendAll(evs)
	before := w.partition(devicePK)
	w.Wire.Reset()
	for i, r := range w.appendAll(evs) {
		require.Equal(t, timeseries.Duplicate, r.Reason)
		require.Equal(t, evs[i].Timestamp, r.Existing.Timestamp)
		require.Equal(t, at(149), currentOf(t, r).Timestamp)
	}
	require.Equal(t, []string{transact, transact}, w.operations(), "the failures contain the current item")
	require.Equal(t, before, w.partition(devicePK))
}

func TestAppendAll_FoldsOnlyWhatEventsReport(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	a, b, c := bare(1), bare(2), bare(3)
	a.GPIO, b.Location, c.Alert = ptr(11), ptr("cabinet-B"), ptr(false)
	cur := currentOf(t, w.appendAll([]Telemetry{c, a, b})[0])
	require.Equal(t, at(3), cur.Timestamp)
	require.Equal(t, 11, *cur.GPIO)
	require.Equal(t, "cabinet-B", *cur.Location)
	require.False(t, *cur.Alert)
	require.Equal(t, []Telemetry{tick(0, 0), a, b, c}, w.history(device))
}

func TestAppendAll_AnAppendOneAtATimeGivesTheSameTable(t *testing.T) {
	t.Parallel()
	evs := []Telemetry{tick(1, 1), bare(2), tick(3, 4), bare(5)}
	one, all := open[Telemetry](t), open[Telemetry](t)
	one.seed(evs...)
	all.appendAll(shuffled(evs))
	a, b := one.partition(devicePK), all.partition(devicePK)
	for _, items := range []map[string]map[string]string{a, b} {
		for _, it := range items {
			require.NotEmpty(t, it["_w"])
			delete(it, "_w")
		}
	}
	require.Equal(t, a, b)
}

func TestAppendAll_AllEventsOfATransactionShareItsWriteIDAndClock(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.appendAll([]Telemetry{tick(1, 1), tick(2, 2), tick(3, 3)})
	ids := map[string]bool{}
	for _, it := range w.partition(devicePK) {
		ids[it["_w"]] = true
	}
	require.Len(t, ids, 1)
}

func TestAppendAll_CreatedAtIsThatOfTheFirstChunk(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.appendAll([]Telemetry{tick(1, 1)})
	w.Clock.Move(time.Hour)
	rs := w.appendAll([]Telemetry{tick(2, 1)})
	require.Equal(t, w.Clock.Now().Add(-time.Hour), currentOf(t, rs[0]).CreatedAt)
	for sk, it := range w.partition(devicePK) {
		require.Equal(t, sk == deviceSK, it["createdAt"] != "", sk)
	}
}

func TestAppendAll_ConditionIsCheckedForEachSeries(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	f := entity.Fields[Meter]()
	w.seed(Meter{MeterID: "m-1", Seq: 1, Value: 1}, Meter{MeterID: "m-2", Seq: 1, Value: 2})
	rs := w.appendAll([]Meter{{MeterID: "m-1", Seq: 2}, {MeterID: "m-2", Seq: 2}, {MeterID: "m-1", Seq: 3}, {MeterID: "m-3", Seq: 1}}, entity.If(entity.Eq(&f.Value, 2)))
	require.Equal(t, []timeseries.Reason{timeseries.ConditionFailed, "", timeseries.ConditionFailed, timeseries.ConditionFailed}, reasons(rs))
	require.Equal(t, 1, currentOf(t, rs[0]).Value)
	require.True(t, rs[1].Applied)
	require.Zero(t, currentOf(t, rs[3]))
	require.Equal(t, []Meter{{MeterID: "m-1", Seq: 1, Value: 1}}, w.history(Meter{MeterID: "m-1"}))
}

func TestAppendAll_ConditionDoesNotHideOlderEventsAndDuplicates(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(5, 5))
	rs := w.appendAll([]Telemetry{tick(6, 6), tick(4, 4), tick(5, 5)}, entity.If(entity.Exists(&entity.Fields[Telemetry]().AccountID)))
	require.Equal(t, []timeseries.Reason{timeseries.ConditionFailed, timeseries.Older, timeseries.Duplicate}, reasons(rs))
	require.Equal(t, at(5), currentOf(t, rs[0]).Timestamp)
	require.Len(t, w.history(device), 1)
}

func TestAppendAll_TheFirstOfEqualKeysInABatchCounts(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	rs := w.appendAll([]Telemetry{tick(2, 2), tick(1, 1), tick(1, 1), tick(1, 7), tick(2, 2), tick(1, 7)})
	require.Equal(t, []timeseries.Reason{"", "", timeseries.Duplicate, timeseries.Collision, timeseries.Duplicate, timeseries.Collision}, reasons(rs))
	require.True(t, rs[0].Applied)
	require.True(t, rs[1].Applied)
	for _, i := range []int{2, 3, 5} {
		require.False(t, rs[i].Applied)
		require.Equal(t, 1, *rs[i].Existing.GPIO)
		require.Equal(t, at(2), currentOf(t, rs[i]).Timestamp)
	}
	require.Equal(t, []Telemetry{tick(1, 1), tick(2, 2)}, w.history(device))
}

func TestAppendAll_EqualKeysOfDifferentSeriesAreNoDuplicates(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	for _, r := range w.appendAll([]Meter{{MeterID: "a", Seq: 1}, {MeterID: "b", Seq: 1}, {MeterID: "a#", Seq: 1}}) {
		require.True(t, r.Applied)
	}
}

func TestAppendAll_StoredEventsDropOutAndTheRestIsApplied(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(1, 1), tick(3, 3))
	rs := w.appendAll([]Telemetry{tick(4, 4), tick(3, 3), tick(2, 2), tick(1, 9), tick(5, 5)})
	require.Equal(t, []timeseries.Reason{"", timeseries.Duplicate, timeseries.Older, timeseries.Collision, ""}, reasons(rs))
	require.Equal(t, 1, *rs[3].Existing.GPIO)
	require.Equal(t, at(5), currentOf(t, rs[4]).Timestamp)
	require.Equal(t, []Telemetry{tick(1, 1), tick(3, 3), tick(4, 4), tick(5, 5)}, w.history(device))
	require.Equal(t, []string{transact, transact, getItem}, w.operations())
}

func TestAppendAll_AllOlderIsOneRequestAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(100, 1))
	before := w.partition(devicePK)
	rs := w.appendAll([]Telemetry{tick(3, 3), tick(1, 1), tick(2, 2)})
	for _, r := range rs {
		require.Equal(t, timeseries.Older, r.Reason)
		require.Equal(t, at(100), currentOf(t, r).Timestamp)
		require.Nil(t, r.Existing)
	}
	require.Equal(t, []string{transact}, w.operations())
	require.Equal(t, before, w.partition(devicePK))
}

func TestAppendAll_ADuplicateOfAnOlderEventInTheBatchIsOlderToo(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(100, 1))
	rs := w.appendAll([]Telemetry{tick(3, 3), tick(3, 3), tick(3, 4)})
	require.Equal(t, []timeseries.Reason{timeseries.Older, timeseries.Older, timeseries.Older}, reasons(rs))
}

func TestAppendAll_LateEventsAreRecordedWhereTheDeclarationSaysSo(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(10, 100), reading(20, 200))
	rs := w.appendAll([]Meter{
		reading(21, 210), reading(5, 50), reading(10, 100), reading(10, 101), reading(15, 150), reading(5, 50), reading(5, 51), reading(22, 220),
	})
	require.Equal(t, []timeseries.Reason{
		"", timeseries.LateRecorded, timeseries.Duplicate, timeseries.Collision, timeseries.LateRecorded, timeseries.Duplicate, timeseries.Collision, "",
	}, reasons(rs))
	require.Equal(t, reading(5, 50), *rs[5].Existing)
	require.Equal(t, reading(5, 50), *rs[6].Existing)
	require.Equal(t, reading(100, 0).MeterID, currentOf(t, rs[1]).MeterID)
	require.GreaterOrEqual(t, currentOf(t, rs[1]).Seq, int64(20))
	require.Equal(t, []Meter{
		reading(5, 50), reading(10, 100), reading(15, 150), reading(20, 200), reading(21, 210), reading(22, 220),
	}, w.history(reading(0, 0)))
	require.Equal(t, reading(22, 220), w.current(reading(0, 0)))
	require.Equal(t, []string{transact, transact, transact}, w.operations(), "refused, newer ones, late ones")
	require.Equal(t, []string{"ConditionCheck", "Put", "Put"}, w.kinds(2))
}

func TestAppendAll_ManyLateEventsAreRecordedInChunks(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1000, 1))
	for _, r := range w.appendAll(shuffled(readings("m-1", 1, 150))) {
		require.Equal(t, timeseries.LateRecorded, r.Reason)
		require.Equal(t, int64(1000), currentOf(t, r).Seq)
	}
	require.Equal(t, 4, w.Wire.Count(transact), "two were refused, two recorded")
	require.Len(t, w.history(reading(0, 0)), 151)
	require.Equal(t, reading(1000, 1), w.current(reading(0, 0)))
}

func TestAppendAll_AChunkThatIsOvertakenMeanwhileIsSplit(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1, 1))
	arrived, release := w.Wire.Hold(dbtest.First(dbtest.Is(transact)))
	defer release()
	overtaken := make(chan error, 1)
	other := declare[Meter](t, w.Open(w.Client))
	go func() {
		<-arrived
		_, err := other.Append(w.Ctx, reading(50, 7))
		release()
		overtaken <- err
	}()
	rs := w.appendAll([]Meter{reading(60, 60), reading(40, 40), reading(50, 8)})
	require.NoError(t, <-overtaken)
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

func TestAppendAll_OneBadEventStopsTheBatchBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	rs, err := w.AppendAll(w.Ctx, []Meter{reading(1, 1), reading(2, 2), reading(-3, 3)})
	require.Equal(t, "EDD-9102", dbtest.InputCode(err))
	require.Equal(t, make([]timeseries.Result[Meter], 3), rs)
	require.Empty(t, w.Wire.Requests())
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

func TestAppendAll_LateEventsOfAPurgedItemAreNotLost(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(50, 500))
	arrived, release := w.Wire.Hold(func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 })
	defer release()
	go func() {
		defer release()
		<-arrived
		w.RemoveItem(w.Key("$app#v1#meter#m-1", "$app#v1#meter"))
	}()
	rs := w.appendAll([]Meter{reading(10, 100), reading(20, 200)})
	require.True(t, rs[0].Applied || rs[0].Reason == timeseries.LateRecorded, "%v", rs[0].Reason)
	require.True(t, rs[1].Applied || rs[1].Reason == timeseries.LateRecorded, "%v", rs[1].Reason)
	require.Len(t, w.history(reading(0, 0)), 3)
}

func TestAppendAll_DuplicatesOfAnUndecidedEventAreUndecidedToo(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, dbtest.Attempts(1))
	w.Wire.Inject(from(1, faults.Throttle, transact))
	rs, err := w.AppendAll(w.Ctx, []Meter{reading(1, 1), reading(1, 1), reading(1, 2)})
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
