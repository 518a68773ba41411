package timeseries_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

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
