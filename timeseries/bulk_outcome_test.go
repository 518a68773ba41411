package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeseries"
)

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
		require.Equal(t, at(2), rs[i].Current.Timestamp)
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
	require.Equal(t, at(5), rs[4].Current.Timestamp)
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
		require.Equal(t, at(100), r.Current.Timestamp)
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
	require.Equal(t, reading(100, 0).MeterID, rs[1].Current.MeterID)
	require.GreaterOrEqual(t, rs[1].Current.Seq, int64(20))
	require.Equal(t, []Meter{
		reading(5, 50), reading(10, 100), reading(15, 150), reading(20, 200), reading(21, 210), reading(22, 220),
	}, w.history(reading(0, 0)))
	require.Equal(t, reading(22, 220), w.current(reading(0, 0)))
	require.Equal(t, []string{transact, transact, transact, getItem}, w.operations(), "refused, newer ones, late ones, current")
	require.Equal(t, []string{"ConditionCheck", "Put", "Put"}, w.kinds(2))
}

func TestAppendAll_ManyLateEventsAreRecordedInChunks(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1000, 1))
	for _, r := range w.appendAll(shuffled(readings("m-1", 1, 150))) {
		require.Equal(t, timeseries.LateRecorded, r.Reason)
		require.Equal(t, int64(1000), r.Current.Seq)
	}
	require.Equal(t, 4, w.sent.Count(transact), "two were refused, two recorded")
	require.Len(t, w.history(reading(0, 0)), 151)
	require.Equal(t, reading(1000, 1), w.current(reading(0, 0)))
}

func TestAppendAll_AChunkThatIsOvertakenMeanwhileIsSplit(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1, 1))
	arrived, release := w.sent.Hold(firstOf(transact))
	defer release()
	overtaken := make(chan error, 1)
	other, _ := w.connect()
	go func() {
		<-arrived
		_, err := other.Append(w.ctx, reading(50, 7), timeseries.WithoutCurrent())
		release()
		overtaken <- err
	}()
	rs := w.appendAll([]Meter{reading(60, 60), reading(40, 40), reading(50, 8)})
	require.NoError(t, <-overtaken)
	require.Equal(t, []timeseries.Reason{"", timeseries.LateRecorded, timeseries.Collision}, reasons(rs))
	require.Equal(t, []Meter{reading(1, 1), reading(40, 40), reading(50, 7), reading(60, 60)}, w.history(reading(0, 0)))
	require.Equal(t, reading(60, 60), w.current(reading(0, 0)))
}
