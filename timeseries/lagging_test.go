package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// lag makes a stored event newer than the current item, which no append does: the event was written by hand, or current
// was restored from a backup.
func lag(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	old := w.Item(devicePK, deviceSK)
	w.seed(tick(5, 5))
	w.restore(devicePK, deviceSK, old)
	require.Equal(t, at(0), w.current(device).Timestamp)
	w.Wire.Reset()
	return w
}

func TestLagging_ADuplicateBringsTheCurrentItemUp(t *testing.T) {
	t.Parallel()
	w := lag(t)
	events := w.history(device)
	w.Wire.Reset()

	r := w.append(tick(5, 5))
	require.False(t, r.Applied)
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(5), r.Existing.Timestamp)
	require.Equal(t, at(5), currentOf(t, r).Timestamp, "current is at or after the event")
	require.Equal(t, 5, *currentOf(t, r).GPIO)
	require.Equal(t, []string{"Update", "Put"}, w.kinds(0))
	require.Equal(t, []string{"Update", "ConditionCheck"}, w.kinds(1))
	require.Equal(t, events, w.history(device))
	require.Equal(t, at(5), w.current(device).Timestamp)
}

func TestLagging_ADuplicateWithoutACurrentItemMakesOne(t *testing.T) {
	t.Parallel()
	w := lag(t)
	w.RemoveItem(w.Key(devicePK, deviceSK))
	r := w.append(tick(5, 5))
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(5), w.current(device).Timestamp)
}

func TestLagging_TheConditionOfTheCallerHoldsThereToo(t *testing.T) {
	t.Parallel()
	w := lag(t)
	r := w.append(tick(5, 5), entity.If(entity.Eq(&entity.Fields[Telemetry]().GPIO, ptr(9))))
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(0), w.current(device).Timestamp)
}

func TestLagging_ACollisionChangesNothing(t *testing.T) {
	t.Parallel()
	w := lag(t)
	before := w.partition(devicePK)
	r := w.append(tick(5, 6))
	require.Equal(t, timeseries.Collision, r.Reason)
	require.Equal(t, 5, *r.Existing.GPIO)
	require.Equal(t, at(0), currentOf(t, r).Timestamp)
	require.Equal(t, before, w.partition(devicePK))
}

func TestLagging_ACollisionWithoutACurrentItemIsAnOutcomeToo(t *testing.T) {
	t.Parallel()
	w := lag(t)
	w.RemoveItem(w.Key(devicePK, deviceSK))
	r, err := w.Append(w.Ctx, tick(5, 6))
	require.Equal(t, timeseries.Collision, r.Reason)
	require.Equal(t, 5, *r.Existing.GPIO)
	require.Zero(t, currentOf(t, r))
	require.NoError(t, err, "there is no current item to be read")

	rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(5, 6)})
	require.Equal(t, timeseries.Collision, rs[0].Reason)
	require.NoError(t, err)
}

func TestLagging_InAppendAll(t *testing.T) {
	t.Parallel()
	w := lag(t)
	rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(6, 6), tick(5, 5), tick(3, 3), tick(0, 1)})
	require.NoError(t, err)
	require.Equal(t, []timeseries.Reason{"", timeseries.Duplicate, "", timeseries.Duplicate}, reasons(rs))
	require.Equal(t, at(6), w.current(device).Timestamp)
	require.Len(t, w.history(device), 4)
}

func TestLagging_InAppendAllOfStoredEventsOnly(t *testing.T) {
	t.Parallel()
	w := lag(t)
	rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(5, 5)})
	require.NoError(t, err)
	require.Equal(t, timeseries.Duplicate, rs[0].Reason)
	require.Equal(t, at(5), currentOf(t, rs[0]).Timestamp)
	require.Equal(t, at(5), w.current(device).Timestamp)
}
