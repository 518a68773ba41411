package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestDoubt_ALateOrStoredEventIsCertainAfterALostAttempt(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(5, 1))
	before := w.partition(devicePK)
	for ev, want := range map[int]timeseries.Reason{4: timeseries.Older, 5: timeseries.Duplicate} {
		w.sent.Inject(nthOf(1, faults.Late))
		r, err := w.Append(w.ctx, tick(ev, 1))
		require.NoError(t, err)
		require.Equal(t, want, r.Reason)
		w.sent.Inject(nthOf(1, faults.Late))
		rs, err := w.AppendAll(w.ctx, []Telemetry{tick(ev, 1)})
		require.NoError(t, err)
		require.Equal(t, want, rs[0].Reason)
	}
	n, err := w.sent.Deliver()
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, before, w.partition(devicePK), "orderBy never goes back")
}

func TestDoubt_ARefusedEventMayStillBeAppliedByAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	f := entity.Fields[Telemetry]()
	condition := entity.If(entity.Eq(&f.AccountID, "a"))
	account := func(id string) {
		_, err := w.Update(w.ctx, device, entity.Set(&f.AccountID, id))
		require.NoError(t, err)
	}
	for i, write := range []func() ([]timeseries.Result[Telemetry], error){
		func() ([]timeseries.Result[Telemetry], error) {
			r, err := w.Append(w.ctx, tick(1, 1), condition)
			return []timeseries.Result[Telemetry]{r}, err
		},
		func() ([]timeseries.Result[Telemetry], error) {
			return w.AppendAll(w.ctx, []Telemetry{tick(2, 1)}, condition)
		},
	} {
		account("b")
		w.sent.Inject(nthOf(1, faults.Late))
		rs, err := write()
		w.sent.Inject(nil)
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.True(t, entity.IsAmbiguous(err))
		require.Zero(t, rs[0], "nothing is decided")
		account("a")
		_, err = w.sent.Deliver()
		require.NoError(t, err)
		require.Equal(t, at(i+1), w.current(device).Timestamp, "it was applied after all")
	}
}
