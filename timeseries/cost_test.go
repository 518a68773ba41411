package timeseries_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

const (
	transact = "TransactWriteItems"
	getItem  = "GetItem"
)

func TestCost_NothingIsSentForBadInput(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	for name, c := range map[string]struct {
		ev   Telemetry
		opts []timeseries.AppendOption
		code string
	}{
		"no key part":     {Telemetry{Channel: "c", Timestamp: at(0)}, nil, "EDD-9101"},
		"no orderBy":      {device, nil, "EDD-9101"},
		"nil option":      {tick(0, 1), []timeseries.AppendOption{nil}, "EDD-9108"},
		"foreign pointer": {tick(0, 1), []timeseries.AppendOption{entity.If(entity.Eq(new(string), "x"))}, "EDD-9105"},
		"empty condition": {tick(0, 1), []timeseries.AppendOption{entity.If(entity.And())}, "EDD-9111"},
	} {
		r, err := w.Append(w.Ctx, c.ev, c.opts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Zero(t, r, name)
		var e *entity.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, []string{"Append", "Telemetry"}, []string{e.Verb, e.Entity}, name)
		rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(3, 3), c.ev}, c.opts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Equal(t, make([]timeseries.Result[Telemetry], 2), rs, name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestCost_ObserverHearsWhatEachVerbCost(t *testing.T) {
	t.Parallel()
	var reports []entity.Report
	w := open[Telemetry](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	w.append(tick(5, 1))
	w.append(tick(4, 1))
	entity.Must(w.AppendAll(w.Ctx, []Telemetry{tick(6, 1), tick(7, 2)}))
	entity.Must(w.At(w.Ctx, device, at(6)))

	require.Len(t, reports, 4)
	for i, want := range []entity.Report{
		{Verb: "Append", Requests: 2}, {Verb: "Append", Requests: 1}, {Verb: "AppendAll", Requests: 2}, {Verb: "At", Requests: 1},
	} {
		require.Equal(t, want.Verb, reports[i].Verb)
		require.Equal(t, "Telemetry", reports[i].Entity)
		require.Equal(t, want.Requests, reports[i].Requests, "%s", want.Verb)
		require.NoError(t, reports[i].Err)
	}
	require.Positive(t, reports[0].WriteUnits)
	require.Positive(t, reports[0].ReadUnits)
}

func TestReadBack_ThatFailsIsAppliedAndAnError(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Throttle, faults.Internal, faults.Drop, faults.Lost} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t, dbtest.Attempts(2))
			w.Wire.Inject(always(fault, getItem))
			r, err := w.Append(w.Ctx, tick(0, 1))
			require.ErrorIs(t, err, entity.ErrReadBack)
			require.False(t, entity.IsAmbiguous(err), "the write is certain")
			require.True(t, r.Applied)
			require.Empty(t, r.Reason)
			require.Zero(t, r.Current)
			require.Equal(t, 2, w.Wire.Count(getItem), "MaxAttempts")

			rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(1, 1), tick(2, 2)})
			require.ErrorIs(t, err, entity.ErrReadBack)
			require.True(t, rs[0].Applied)
			require.True(t, rs[1].Applied)

			w.Wire.Inject(nil)
			require.Len(t, w.history(device), 3)
		})
	}
}

func TestReadBack_IsRepeatedLikeAnyRead(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.Wire.Inject(faults.Nth(1, faults.Throttle, getItem))
	r := w.append(tick(0, 1))
	require.True(t, r.Applied)
	require.Equal(t, at(0), r.Current.Timestamp)
	require.Equal(t, 2, w.Wire.Count(getItem))
	require.Equal(t, 1, w.Wire.Count(transact))
}

func TestReadBack_ReturnsTheItemAsItIsByThen(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	var r timeseries.Result[Telemetry]
	send := func() (err error) { r, err = w.Append(w.Ctx, tick(0, 1)); return err }
	require.NoError(t, w.Overtake(dbtest.First(dbtest.Is(getItem)), send, func() { w.append(tick(9, 9), timeseries.WithoutCurrent()) }))
	require.True(t, r.Applied)
	require.Equal(t, at(9), r.Current.Timestamp, "at or after the event")

	send = func() (err error) { r, err = w.Append(w.Ctx, tick(10, 1)); return err }
	err := w.Overtake(dbtest.Is(getItem), send, func() { w.RemoveItem(w.Key(devicePK, deviceSK)) })
	require.ErrorIs(t, err, entity.ErrReadBack)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.True(t, r.Applied)
}

func TestReadBack_ItemThatDoesNotFitTheStructIsADecodeError(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	w.ChangeItem(devicePK, deviceSK, item{"diagnostics": &types.AttributeValueMemberM{}})
	r, err := w.Append(w.Ctx, tick(1, 2))
	var broken *entity.DecodeError
	require.ErrorAs(t, err, &broken)
	require.True(t, r.Applied)
	older, err := w.Append(w.Ctx, tick(-1, 2))
	require.ErrorAs(t, err, &broken)
	require.Equal(t, timeseries.Older, older.Reason)
}
