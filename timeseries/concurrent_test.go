package timeseries_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

// An item is taken away between the check and the put of an event that is being repaired.
func TestConcurrent_ADuplicateWhoseEventGoesAwayIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error){
		"one": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) { return w.Append(w.Ctx, tick(5, 5)) },
		"bulk": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) {
			rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(5, 5)})
			return rs[0], err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lag(t)
			var r timeseries.Result[Telemetry]
			repair := func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 }
			require.NoError(t, w.Overtake(repair, func() (err error) { r, err = send(w); return err }, func() {
				w.RemoveItem(w.Key(devicePK, eventSK("2026-04-22T10:05:00.000000000Z")))
			}))
			require.True(t, r.Applied)
			require.Equal(t, at(5), w.current(device).Timestamp)
			require.Len(t, w.history(device), 2)
		})
	}
}

func TestConcurrent_EnrichmentAndAppendsOfOneItemBothSurvive(t *testing.T) {
	t.Parallel()
	t.Run("Telemetry", func(t *testing.T) {
		t.Parallel()
		w := open[Telemetry](t, dbtest.Attempts(60))
		account := &entity.Fields[Telemetry]().AccountID
		enrichWhileAppending(w, tick, account)
		want, cur := tick(15, 15), w.current(device)
		want.AccountID, want.CreatedAt = "e", cur.CreatedAt
		require.Equal(t, want, cur)
		require.Equal(t, "S $app#v1#telemetry#e", w.partition(devicePK)[deviceSK]["gsi1pk"])
	})
	t.Run("shared table", func(t *testing.T) { // the removal reads, and is guarded by what it read
		t.Parallel()
		w := open[Pulse](t, sharedTable, dbtest.Attempts(60))
		enrichWhileAppending(w, pulse, &entity.Fields[Pulse]().AccountID)
		require.Equal(t, 15, *w.current(pulse(0, 0)).Level)
		require.Equal(t, "e", w.current(pulse(0, 0)).AccountID)
	})
}

// enrichWhileAppending appends 15 events while the account is set and removed; it is "e" in the end.
func enrichWhileAppending[T any](w *lab[T], event func(at, level int) T, account *string) {
	w.seed(event(0, 0))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i <= 15; i++ {
			if _, err := w.Append(w.Ctx, event(i, i)); err != nil {
				w.T.Error(err)
			}
		}
	})
	wg.Go(func() {
		for _, change := range []entity.UpdateOption{entity.Set(account, "a"), entity.Remove(account), entity.Set(account, "b"), entity.Remove(account), entity.Set(account, "e")} {
			if _, err := w.Update(w.Ctx, event(0, 0), change); err != nil {
				w.T.Error(err)
			}
		}
	})
	wg.Wait()
	require.Len(w.T, w.history(event(0, 0)), 16)
}
