package timeseries_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

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

func (w *world[T]) appendAll(evs []T, opts ...timeseries.AppendOption) []timeseries.Result[T] {
	w.t.Helper()
	rs, err := w.AppendAll(w.ctx, evs, opts...)
	require.NoError(w.t, err)
	require.Len(w.t, rs, len(evs))
	return rs
}

func TestAppendAll_AppliesALargeShuffledBatchOfSeveralSeries(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	evs := shuffled(append(append(readings("m-1", 1, 120), readings("m-2", 1, 100)...), readings("m-3", 500, 30)...))
	rs := w.appendAll(evs)
	last := map[string]int64{"m-1": 120, "m-2": 100, "m-3": 529}
	for i, r := range rs {
		require.True(t, r.Applied, "%v", evs[i])
		require.Equal(t, evs[i].MeterID, r.Current.MeterID, "results are in the order of the events")
		require.Equal(t, last[evs[i].MeterID], r.Current.Seq)
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
		require.Equal(t, transactions, w.sent.Count(transact), "%d events", n)
		require.Equal(t, 1, w.sent.Count(getItem))
		require.Len(t, w.sent.Requests(), transactions+1)
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
	for _, r := range w.appendAll(evs, timeseries.WithoutCurrent()) {
		require.True(t, r.Applied)
	}
	for _, r := range w.sent.Requests() {
		require.Less(t, len(r.Body), 4*1024*1024)
	}
	require.Greater(t, w.sent.Count(transact), 1)
	require.Len(t, w.history(device), 20)
	require.True(t, strings.HasPrefix(*w.current(device).Location, "t"))
}

func TestAppendAll_NothingToDoSendsNothing(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	rs, err := w.AppendAll(w.ctx, nil)
	require.NoError(t, err)
	require.Empty(t, rs)
	require.Empty(t, w.sent.Requests())
}

func TestAppendAll_SkipCurrentSavesTheRead(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	rs := w.appendAll(readings("m-1", 1, 3), timeseries.WithoutCurrent())
	require.Equal(t, []string{transact}, w.operations())
	require.True(t, rs[2].Applied)
	require.Zero(t, rs[2].Current)
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
	w.sent.Reset()
	for i, r := range w.appendAll(evs) {
		require.Equal(t, timeseries.Duplicate, r.Reason)
		require.Equal(t, evs[i].Timestamp, r.Existing.Timestamp)
		require.Equal(t, at(149), r.Current.Timestamp)
	}
	require.Equal(t, []string{transact, transact}, w.operations(), "current came with the refusals")
	require.Equal(t, before, w.partition(devicePK))
}

func TestAppendAll_FoldsOnlyWhatEventsReport(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	a, b, c := bare(1), bare(2), bare(3)
	a.GPIO, b.Location, c.Alert = ptr(11), ptr("cabinet-B"), ptr(false)
	cur := w.appendAll([]Telemetry{c, a, b})[0].Current
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
	w.clock.advance(time.Hour)
	rs := w.appendAll([]Telemetry{tick(2, 1)})
	require.Equal(t, w.clock.Now().Add(-time.Hour), rs[0].Current.CreatedAt)
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
	require.Equal(t, 1, rs[0].Current.Value)
	require.True(t, rs[1].Applied)
	require.Zero(t, rs[3].Current)
	require.Equal(t, []Meter{{MeterID: "m-1", Seq: 1, Value: 1}}, w.history(Meter{MeterID: "m-1"}))
}

func TestAppendAll_ConditionDoesNotHideOlderEventsAndDuplicates(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(5, 5))
	rs := w.appendAll([]Telemetry{tick(6, 6), tick(4, 4), tick(5, 5)}, entity.If(entity.Exists(&entity.Fields[Telemetry]().AccountID)))
	require.Equal(t, []timeseries.Reason{timeseries.ConditionFailed, timeseries.Older, timeseries.Duplicate}, reasons(rs))
	require.Equal(t, at(5), rs[0].Current.Timestamp)
	require.Len(t, w.history(device), 1)
}
