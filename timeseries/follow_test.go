package timeseries_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestFollowUp_ThatFailsIsAppliedAndAnError(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Throttle, faults.Internal, faults.Drop, faults.Lost} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t, attempts(2))
			w.sent.Inject(always(fault, getItem))
			r, err := w.Append(w.ctx, tick(0, 1))
			require.ErrorIs(t, err, entity.ErrReadBack)
			require.False(t, entity.IsAmbiguous(err), "the write is certain")
			require.True(t, r.Applied)
			require.Empty(t, r.Reason)
			require.Zero(t, r.Current)
			require.Equal(t, 2, w.sent.Count(getItem), "MaxAttempts")

			rs, err := w.AppendAll(w.ctx, []Telemetry{tick(1, 1), tick(2, 2)})
			require.ErrorIs(t, err, entity.ErrReadBack)
			require.True(t, rs[0].Applied)
			require.True(t, rs[1].Applied)

			w.sent.Inject(nil)
			require.Len(t, w.history(device), 3)
		})
	}
}

func TestFollowUp_IsRepeatedLikeAnyRead(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.sent.Inject(faults.Nth(1, faults.Throttle, getItem))
	r := w.append(tick(0, 1))
	require.True(t, r.Applied)
	require.Equal(t, at(0), r.Current.Timestamp)
	require.Equal(t, 2, w.sent.Count(getItem))
	require.Equal(t, 1, w.sent.Count(transact))
}

func TestFollowUp_WithoutACurrentItemAnyMoreIsAnErrorToo(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	arrived, release := w.sent.Hold(func(r faults.Request) bool { return r.Operation == getItem })
	defer release()
	go func() {
		defer release()
		<-arrived
		w.remove(devicePK, deviceSK)
	}()
	r, err := w.Append(w.ctx, tick(0, 1))
	require.ErrorIs(t, err, entity.ErrReadBack)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.True(t, r.Applied)
}

func TestFollowUp_ShowsWhatOvertookTheEvent(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	arrived, release := w.sent.Hold(func(r faults.Request) bool { return r.Operation == getItem })
	defer release()
	go func() {
		<-arrived
		if _, err := w.Append(w.ctx, tick(9, 9), timeseries.WithoutCurrent()); err != nil {
			w.t.Error(err)
		}
		release()
	}()
	r := w.append(tick(0, 1))
	require.True(t, r.Applied)
	require.Equal(t, at(9), r.Current.Timestamp, "at or after the event")
}

func TestFollowUp_ItemThatDoesNotFitTheStructIsADecodeError(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	w.change(devicePK, deviceSK, func(it item) { it["diagnostics"] = &types.AttributeValueMemberM{} })
	r, err := w.Append(w.ctx, tick(1, 2))
	var broken *entity.DecodeError
	require.ErrorAs(t, err, &broken)
	require.True(t, r.Applied)
	older, err := w.Append(w.ctx, tick(-1, 2))
	require.ErrorAs(t, err, &broken)
	require.Equal(t, timeseries.Older, older.Reason)
}

func TestClockType_StoredOrderByOfAnotherTypeIsATypedError(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]types.AttributeValue{
		"number": avN("1"), "null": &types.AttributeValueMemberNULL{Value: true}, "binary": &types.AttributeValueMemberB{Value: []byte("2")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t)
			w.seed(tick(0, 1))
			w.change(devicePK, deviceSK, func(it item) { it["timestamp"] = stored })
			before := w.partition(devicePK)

			var clockType *timeseries.OrderByTypeError
			r, err := w.Append(w.ctx, tick(1, 1))
			require.ErrorAs(t, err, &clockType)
			require.Equal(t, "timestamp", clockType.Attr)
			require.Zero(t, r)
			rs, err := w.AppendAll(w.ctx, []Telemetry{tick(1, 1), tick(2, 2)})
			require.ErrorAs(t, err, &clockType)
			require.Zero(t, rs[0])
			require.Zero(t, rs[1])
			err = w.db.Transact(w.ctx, w.Op().Append(tick(1, 1)))
			require.ErrorAs(t, err, &clockType)
			require.Equal(t, before, w.partition(devicePK))
		})
	}
}
