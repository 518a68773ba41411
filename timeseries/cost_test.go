package timeseries_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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
		e := dbtest.As[*entity.Error](t, err, name)
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
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	reports = nil // of CreateTables
	last := w.append(tick(5, 1))
	w.append(tick(4, 1))
	entity.Must(w.AppendAll(w.Ctx, []Telemetry{tick(6, 1), tick(7, 2)}))
	entity.Must(w.At(w.Ctx, device, at(6)))
	entity.Must(last.Current(w.Ctx))

	require.Len(t, reports, 5)
	for i, want := range []entity.Report{
		{Verb: "Append", Requests: 1}, {Verb: "Append", Requests: 1}, {Verb: "AppendAll", Requests: 1}, {Verb: "At", Requests: 1},
		{Verb: "Current", Requests: 1},
	} {
		require.Equal(t, want.Verb, reports[i].Verb)
		require.Equal(t, "Telemetry", reports[i].Entity)
		require.Equal(t, want.Requests, reports[i].Requests, "%s", want.Verb)
		require.NoError(t, reports[i].Err)
	}
	require.Positive(t, reports[0].WriteUnits)
	require.Positive(t, reports[4].ReadUnits)
}

func TestCost_CurrentIsReadOnceAndOnlyWhereTheAnswerLacksIt(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	applied := w.append(tick(5, 1))
	require.True(t, applied.Applied)
	older := w.append(tick(4, 1))
	require.Equal(t, timeseries.Older, older.Reason)
	w.Wire.Reset()
	require.Equal(t, at(5), currentOf(t, older).Timestamp)
	require.Empty(t, w.Wire.Requests(), "the refusal had it")
	for range 2 {
		require.Equal(t, at(5), currentOf(t, applied).Timestamp)
	}
	require.Equal(t, []string{getItem}, w.operations())
	require.Equal(t, true, body(t, w.Wire.Requests()[0].Body)["ConsistentRead"])
}

func TestCurrent_OfAnItemThatIsGone(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	r := w.append(tick(0, 1))
	w.RemoveItem(w.Key(devicePK, deviceSK))
	require.ErrorIs(t, dbtest.ErrorOf(r.Current(w.Ctx)), entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(timeseries.Result[Telemetry]{}.Current(w.Ctx)), entity.ErrNotFound, "of an append that an error left undecided")
}

func TestCurrent_ItemThatDoesNotFitTheStructIsADecodeError(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	w.ChangeItem(devicePK, deviceSK, item{"diagnostics": &types.AttributeValueMemberM{}})
	r := w.append(tick(1, 2))
	require.True(t, r.Applied)
	_, err := r.Current(w.Ctx)
	var broken *entity.DecodeError
	require.ErrorAs(t, err, &broken)
	older := w.append(tick(-1, 2))
	require.Equal(t, timeseries.Older, older.Reason)
	require.ErrorAs(t, dbtest.ErrorOf(older.Current(w.Ctx)), &broken)
}
