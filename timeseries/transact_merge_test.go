package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestMerge_AppendsOfOneSeriesAdvanceTheCurrentItemOnce(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	at := func(seq, value int) entity.Write[timeseries.Result[Meter]] {
		return w.Op().Append(Meter{MeterID: "a", Seq: int64(seq), Value: value})
	}
	require.NoError(t, w.db.Transact(w.ctx, at(2, 20), at(1, 10), at(3, 30)))
	require.Len(t, w.sent.Requests(), 1)
	current, err := w.Get(w.ctx, Meter{MeterID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, Meter{MeterID: "a", Seq: 3, Value: 30}, current)
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)

	stale, fresh := at(3, 31), at(4, 40)
	err = w.db.Transact(w.ctx, fresh, stale)
	var late *timeseries.NotAppliedError
	require.ErrorAs(t, entity.FailureOf(err, stale), &late)
	require.Equal(t, timeseries.Collision, late.Reason)
	require.NoError(t, entity.FailureOf(err, fresh), "alone it would have been applied")
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)
}

func TestMerge_ConditionsOfMergedAppendsStayApart(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	f := entity.Fields[Meter]()
	_, err := w.Append(w.ctx, Meter{MeterID: "a", Seq: 1, Value: 10})
	require.NoError(t, err)
	fine := w.Op().Append(Meter{MeterID: "a", Seq: 2, Value: 20}, entity.If(entity.Eq(&f.Value, 10)))
	refused := w.Op().Append(Meter{MeterID: "a", Seq: 3, Value: 30}, entity.If(entity.Eq(&f.Value, 20)))
	checked := w.Op().CheckExists(Meter{MeterID: "a"}, entity.Eq(&f.Value, 10))
	err = w.db.Transact(w.ctx, fine, refused, checked)
	var stale *timeseries.NotAppliedError
	require.ErrorAs(t, entity.FailureOf(err, refused), &stale)
	require.Equal(t, timeseries.ConditionFailed, stale.Reason)
	require.NoError(t, entity.FailureOf(err, fine))
	require.NoError(t, entity.FailureOf(err, checked))
	require.NoError(t, w.db.Transact(w.ctx, fine, checked))
}
