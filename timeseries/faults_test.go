package timeseries_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// everyFault is what can happen to one request, before or after it was applied. TestFaults of tests/proof gives each to every request of appends.
var everyFault = []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost}

func nthOf(n int, f faults.Fault) func(faults.Request) faults.Fault { return faults.Nth(n, f) }

const (
	meterPK = "$app#v1#meter#m-1"
	meterSK = "$app#v1#meter"
)

// send appends events: one by Append, several by AppendAll.
func send(w *lab[Meter], evs []Meter) ([]timeseries.Result[Meter], error) {
	if len(evs) > 1 {
		return w.AppendAll(w.Ctx, evs)
	}
	r, err := w.Append(w.Ctx, evs[0])
	return []timeseries.Result[Meter]{r}, err
}

func TestFaults_CurrentItemThatWouldGrowTooLargeIsAnError(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	require.NoError(t, dbtest.ErrorOf(w.Update(w.Ctx, device, entity.Set(&entity.Fields[Telemetry]().Diagnostics, strings.Repeat("d", 250*1024)))))
	before := w.partition(devicePK)

	ev := bare(1)
	ev.Location = ptr(strings.Repeat("x", 250*1024))
	w.Wire.Reset()
	r, err := w.Append(w.Ctx, ev)
	require.Error(t, err)
	require.False(t, entity.IsAmbiguous(err))
	require.Zero(t, r)
	require.Equal(t, 1, w.Wire.Count(transact), "repeating it would not help")
	rs, err := w.AppendAll(w.Ctx, []Telemetry{ev})
	require.Error(t, err)
	require.Zero(t, rs[0])
	require.Equal(t, before, w.partition(devicePK))
}

func TestFaults_AConditionBesideAConflictDecidesNothing(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	// The compare-and-set failed, but whether the event is stored was not heard: it may be a duplicate.
	for _, disturbed := range [][]string{
		{"ConditionalCheckFailed", "TransactionConflict"},
		{"ConditionalCheckFailed", "ThrottlingError"},
		{"TransactionConflict", "ConditionalCheckFailed"},
		{"ProvisionedThroughputExceeded", "ConditionalCheckFailed"},
	} {
		series, c := w.scripted(disturbed, disturbed)
		require.Equal(t, timeseries.Duplicate, entity.Must(series.Append(w.Ctx, tick(0, 1))).Reason, "%v", disturbed)
		require.Equal(t, 3, c.calls)

		series, c = w.scripted(disturbed, disturbed)
		rs := entity.Must(series.AppendAll(w.Ctx, []Telemetry{tick(0, 1)}))
		require.Equal(t, timeseries.Duplicate, rs[0].Reason, "%v", disturbed)
		require.Equal(t, 3, c.calls)
	}
	refused := []string{"ConditionalCheckFailed", "TransactionConflict"}
	series, c := w.scripted(refused, refused, refused, refused)
	r, err := series.Append(w.Ctx, tick(-1, 1))
	require.ErrorIs(t, err, entity.ErrConflict, "what lasts is no older event")
	require.Zero(t, r)
	require.Equal(t, 4, c.calls)
}

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
		w, account := open[Telemetry](t, dbtest.Attempts(60)), &entity.Fields[Telemetry]().AccountID
		enrichWhileAppending(w, tick, account)
		want, cur := tick(15, 15), w.current(device)
		want.AccountID, want.CreatedAt = "e", cur.CreatedAt
		require.Equal(t, want, cur)
		require.Equal(t, "S $app#v1#telemetry#e", w.partition(devicePK)[deviceSK]["gsi1pk"])
	})
	t.Run("shared table", func(t *testing.T) { // the removal reads, and is guarded by what it read
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
