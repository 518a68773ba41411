package timeseries_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// kinds are the actions of the n-th request, a transaction: Update, Put, ConditionCheck.
func (w *world[T]) kinds(n int) []string {
	w.t.Helper()
	var sent struct{ TransactItems []map[string]json.RawMessage }
	require.NoError(w.t, json.Unmarshal(w.sent.Requests()[n].Body, &sent))
	var kinds []string
	for _, action := range sent.TransactItems {
		for kind := range action {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func TestCost_ActionsOfAppendAndOfRecording(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.append(reading(10, 1), timeseries.WithoutCurrent())
	require.Equal(t, []string{"Update", "Put"}, w.kinds(0))
	w.sent.Reset()
	w.append(reading(4, 1))
	require.Equal(t, []string{"Update", "Put"}, w.kinds(0))
	require.Equal(t, []string{"ConditionCheck", "Put"}, w.kinds(1))
}

// lag makes a stored event newer than the current item, which no append does: the event was written by hand, or current
// was restored from a backup.
func lag(t *testing.T) *world[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	old := w.item(devicePK, deviceSK)
	w.seed(tick(5, 5))
	w.change(devicePK, deviceSK, func(it item) {
		clear(it)
		for name, av := range old {
			it[name] = av
		}
	})
	require.Equal(t, at(0), w.current(device).Timestamp)
	w.sent.Reset()
	return w
}

func TestRepair_DuplicateBringsALaggingCurrentItemUp(t *testing.T) {
	t.Parallel()
	w := lag(t)
	events := w.history(device)
	w.sent.Reset()

	r := w.append(tick(5, 5))
	require.False(t, r.Applied)
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(5), r.Existing.Timestamp)
	require.Equal(t, at(5), r.Current.Timestamp, "current is at or after the event")
	require.Equal(t, 5, *r.Current.GPIO)
	require.Equal(t, []string{"Update", "Put"}, w.kinds(0))
	require.Equal(t, []string{"Update", "ConditionCheck"}, w.kinds(1))
	require.Equal(t, events, w.history(device))
	require.Equal(t, at(5), w.current(device).Timestamp)
}

func TestRepair_DuplicateWithoutAnyCurrentItemMakesOne(t *testing.T) {
	t.Parallel()
	w := lag(t)
	w.remove(devicePK, deviceSK)
	r := w.append(tick(5, 5))
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(5), w.current(device).Timestamp)
}

func TestRepair_TheConditionOfTheCallerHoldsThereToo(t *testing.T) {
	t.Parallel()
	w := lag(t)
	r := w.append(tick(5, 5), entity.If(entity.Eq(&entity.Fields[Telemetry]().GPIO, ptr(9))))
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(0), w.current(device).Timestamp)
}

func TestRepair_CollisionWithALaggingCurrentItemChangesNothing(t *testing.T) {
	t.Parallel()
	w := lag(t)
	before := w.partition(devicePK)
	r := w.append(tick(5, 6))
	require.Equal(t, timeseries.Collision, r.Reason)
	require.Equal(t, 5, *r.Existing.GPIO)
	require.Equal(t, at(0), r.Current.Timestamp)
	require.Equal(t, before, w.partition(devicePK))
}

func TestRepair_CollisionWithoutAnyCurrentItemIsAnOutcomeToo(t *testing.T) {
	t.Parallel()
	w := lag(t)
	w.remove(devicePK, deviceSK)
	r, err := w.Append(w.ctx, tick(5, 6))
	require.Equal(t, timeseries.Collision, r.Reason)
	require.Equal(t, 5, *r.Existing.GPIO)
	require.Zero(t, r.Current)
	require.NoError(t, err, "there is no current item to be read")

	rs, err := w.AppendAll(w.ctx, []Telemetry{tick(5, 6)})
	require.Equal(t, timeseries.Collision, rs[0].Reason)
	require.NoError(t, err)
}

func TestRepair_InBulk(t *testing.T) {
	t.Parallel()
	w := lag(t)
	rs, err := w.AppendAll(w.ctx, []Telemetry{tick(6, 6), tick(5, 5), tick(3, 3), tick(0, 1)})
	require.NoError(t, err)
	require.Equal(t, []timeseries.Reason{"", timeseries.Duplicate, "", timeseries.Duplicate}, reasons(rs))
	require.Equal(t, at(6), w.current(device).Timestamp)
	require.Len(t, w.history(device), 4)
}

func TestRepair_InBulkOfStoredEventsOnly(t *testing.T) {
	t.Parallel()
	w := lag(t)
	rs, err := w.AppendAll(w.ctx, []Telemetry{tick(5, 5)})
	require.NoError(t, err)
	require.Equal(t, timeseries.Duplicate, rs[0].Reason)
	require.Equal(t, at(5), rs[0].Current.Timestamp)
	require.Equal(t, at(5), w.current(device).Timestamp)
}

func TestExpiredEvent_StillMakesDuplicateAndCollision(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(1, 2))
	w.clock.advance(30 * 24 * time.Hour)
	require.Empty(t, w.history(device), "expired")
	before := w.partition(devicePK)

	duplicate := w.append(tick(0, 1))
	require.Equal(t, timeseries.Duplicate, duplicate.Reason)
	require.Equal(t, 1, *duplicate.Existing.GPIO)
	require.Equal(t, timeseries.Collision, w.append(tick(0, 2)).Reason)

	rs, err := w.AppendAll(w.ctx, []Telemetry{tick(0, 2), tick(1, 2)})
	require.NoError(t, err)
	require.Equal(t, []timeseries.Reason{timeseries.Collision, timeseries.Duplicate}, reasons(rs))
	require.Equal(t, before, w.partition(devicePK))
}

func reasons[T any](rs []timeseries.Result[T]) []timeseries.Reason {
	out := make([]timeseries.Reason, len(rs))
	for i, r := range rs {
		out[i] = r.Reason
	}
	return out
}
