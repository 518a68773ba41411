package timeseries_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestEnrichment_ByUpsertBeforeTheFirstAppendBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*lab[Telemetry]) timeseries.Result[Telemetry]{
		"one": func(w *lab[Telemetry]) timeseries.Result[Telemetry] { return w.append(tick(0, 1)) },
		"bulk": func(w *lab[Telemetry]) timeseries.Result[Telemetry] {
			return w.appendAll([]Telemetry{tick(1, 1), tick(0, 1)})[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t)
			enriched := device
			enriched.AccountID = "acct-1"
			got, created, err := w.Upsert(w.Ctx, enriched)
			require.NoError(t, err)
			require.True(t, created)
			require.Equal(t, "acct-1", got.AccountID)
			require.True(t, got.Timestamp.IsZero())
			require.NotContains(t, w.partition(devicePK)[deviceSK], "timestamp")
			require.Empty(t, w.history(device))
			r := w.append(tick(0, 1), entity.If(entity.Eq(&entity.Fields[Telemetry]().AccountID, "acct-2")))
			require.Equal(t, timeseries.ConditionFailed, r.Reason, "a condition holds for an item without events too")
			require.Equal(t, "acct-1", currentOf(t, r).AccountID)

			w.Clock.Move(time.Hour)
			r = send(w)
			require.True(t, r.Applied)
			require.Equal(t, "acct-1", currentOf(t, r).AccountID)
			require.Equal(t, got.CreatedAt, currentOf(t, r).CreatedAt, "created_at is the first write's")
		})
	}
}

func TestEnrichment_UpsertLeavesOutWhatAppendWrites(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	v := tick(9, 9)
	v.AccountID = "acct-1"
	op := w.Op().Upsert(v)
	require.NoError(t, w.DB.Transact(w.Ctx, op))
	require.Equal(t, "acct-1", op.Result().AccountID)
	require.Nil(t, op.Result().GPIO)
	require.NotContains(t, w.partition(devicePK)[deviceSK], "gpio")

	w.seed(tick(5, 1))
	v.AccountID = "acct-2"
	got, created, err := w.Upsert(w.Ctx, v)
	require.NoError(t, err)
	require.False(t, created)
	want := tick(5, 1)
	want.AccountID, want.CreatedAt = "acct-2", got.CreatedAt
	require.Equal(t, want, got)
	require.Equal(t, want, w.current(device))
	require.Len(t, w.history(device), 1, "an upsert makes no event")
	require.True(t, w.append(tick(6, 2)).Applied, "the clock did not move")
}

func TestEnrichment_ByUpdateNeedsAnItemAndLeavesNoPhantom(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	_, err := w.Update(w.Ctx, device, entity.Set(&entity.Fields[Telemetry]().AccountID, "acct-1"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Empty(t, w.Items())
	require.True(t, w.append(tick(0, 1)).Applied)
}

func TestEnrichment_UpdateOfAnAppendFieldIsRefused(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	f := entity.Fields[Telemetry]()
	for name, change := range map[string]entity.UpdateOption{
		"orderBy":     entity.Set(&f.Timestamp, at(9)),
		"no orderBy":  entity.Remove(&f.Timestamp),
		"once":        entity.SetIfNotExists(&f.Timestamp, at(9)),
		"append":      entity.Set(f.GPIO, 9),
		"pointer":     entity.Set(&f.GPIO, ptr(9)),
		"remove":      entity.Remove(&f.Location),
		"add":         entity.Add(f.GPIO, 1),
		"path":        entity.Attr[string]("location").Set("x"),
		"key":         entity.Set(&f.Channel, "c"),
		"created_at":  entity.Set(&f.CreatedAt, at(0)),
		"clock, path": entity.Attr[string]("timestamp").Remove(),
	} {
		_, err := w.Update(w.Ctx, device, change)
		require.Equal(t, "EDD-9104", dbtest.InputCode(err), name)
		require.Equal(t, "EDD-9104", dbtest.InputCode(w.DB.Transact(w.Ctx, w.Op().Update(device, change))), name)
	}
	_, err := w.Update(w.Ctx, device)
	require.Equal(t, "EDD-9106", dbtest.InputCode(err))
	require.Empty(t, w.Wire.Requests())
}

// TestPurge_StopsAtTheFirstErrorAndGoesOnLater breaks the connection for good in the middle of a purge.
func TestPurge_StopsAtTheFirstErrorAndGoesOnLater(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, dbtest.Attempts(1))
	const events = 1100 // in 11 transactions, 8 at once
	evs := make([]Meter, events)
	for i := range evs {
		evs[i] = Meter{MeterID: "m", Seq: int64(i + 1), Value: i}
	}
	_, err := w.AppendAll(w.Ctx, evs)
	require.NoError(t, err)
	key := Meter{MeterID: "m"}
	var mu sync.Mutex
	writes, reported := 0, 0
	w.Wire.Inject(func(r faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Operation == "DeleteItem" || r.Operation == "TransactWriteItems" {
			writes++
		}
		if writes > 4 {
			return faults.Drop
		}
		return faults.None
	})
	err = w.Purge(w.Ctx, key, entity.OnProgress(func(n int) { reported = n }))
	w.Wire.Inject(nil)
	require.ErrorIs(t, err, faults.ErrInjected)
	left := len(w.history(key))
	assert.Less(t, writes, 11, "it does not try all the others")
	assert.Equal(t, events, left+reported-1, "the reported count is that of the removed items: the current item, and events")
	require.NoError(t, w.Purge(w.Ctx, key))
	assert.Empty(t, w.history(key))
}
