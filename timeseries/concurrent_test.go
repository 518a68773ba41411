package timeseries_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestConcurrent_OneOfManyEqualAppendsIsApplied(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t, attempts(40))
	results, errs := make([]timeseries.Result[Telemetry], 16), make([]error, 16)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i], errs[i] = w.Append(w.ctx, tick(0, 1)) })
	}
	wg.Wait()
	applied := 0
	for i, r := range results {
		require.NoError(t, errs[i])
		if r.Applied {
			applied++
			continue
		}
		require.Equal(t, timeseries.Duplicate, r.Reason)
	}
	require.Equal(t, 1, applied)
	require.Len(t, w.history(device), 1)
}

func TestConcurrent_EqualBatchesAreAppliedOnce(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, attempts(40))
	evs := readings("m-1", 1, 150)
	results, errs := make([][]timeseries.Result[Meter], 4), make([]error, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i], errs[i] = w.AppendAll(w.ctx, evs) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for k, ev := range evs {
		applied := 0
		for _, rs := range results {
			if rs[k].Applied {
				applied++
				continue
			}
			require.Equal(t, timeseries.Duplicate, rs[k].Reason, "%v", ev)
		}
		require.Equal(t, 1, applied, "%v", ev)
	}
	require.Equal(t, evs, w.history(reading(0, 0)))
	require.Equal(t, evs[149], w.current(reading(0, 0)))
}

// The older event arrives first at the service, but its sender hears of it last.
func TestConcurrent_OlderIsDecidedByTheServiceAndNotByAClock(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	arrived, release := w.sent.Hold(firstOf(transact))
	defer release()
	overtook := make(chan error, 1)
	other, _ := w.connect()
	go func() {
		<-arrived
		_, err := other.Append(w.ctx, tick(2, 2), timeseries.WithoutCurrent())
		release()
		overtook <- err
	}()
	r := w.append(tick(1, 1))
	require.NoError(t, <-overtook)
	require.Equal(t, timeseries.Older, r.Reason)
	require.Equal(t, at(2), r.Current.Timestamp)
}

// An item is taken away between the check and the put of an event that is being repaired.
func TestConcurrent_ADuplicateWhoseEventGoesAwayIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(w *world[Telemetry]) timeseries.Result[Telemetry]{
		"one":  func(w *world[Telemetry]) timeseries.Result[Telemetry] { return w.append(tick(5, 5)) },
		"bulk": func(w *world[Telemetry]) timeseries.Result[Telemetry] { return w.appendAll([]Telemetry{tick(5, 5)})[0] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lag(t)
			arrived, release := w.sent.Hold(func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 })
			defer release()
			go func() {
				defer release()
				<-arrived
				w.remove(devicePK, eventSK("2026-04-22T10:05:00.000000000Z"))
			}()
			require.True(t, send(w).Applied)
			require.Equal(t, at(5), w.current(device).Timestamp)
			require.Len(t, w.history(device), 2)
		})
	}
}

func TestConcurrent_EnrichmentAndAppendsOfOneItemBothSurvive(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t, attempts(40))
	w.seed(tick(0, 0))
	f := entity.Fields[Telemetry]()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i <= 15; i++ {
			if _, err := w.Append(w.ctx, tick(i, i), timeseries.WithoutCurrent()); err != nil {
				w.t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for _, account := range []string{"a", "b", "c", "d", "e"} {
			if _, err := w.Update(w.ctx, device, entity.Set(&f.AccountID, account)); err != nil {
				w.t.Error(err)
			}
		}
	})
	wg.Wait()
	want := tick(15, 15)
	cur := w.current(device)
	want.AccountID, want.CreatedAt = "e", cur.CreatedAt
	require.Equal(t, want, cur)
	require.Equal(t, "S $app#v1#telemetry#e", w.partition(devicePK)[deviceSK]["gsi1pk"])
	require.Len(t, w.history(device), 16)
}
