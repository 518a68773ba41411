package timeseries_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Account is stored in the same table and takes part in transactions.
type Account struct {
	_         entity.Key `name:"Account" pk:"$#{accountId}" sk:"$"`
	AccountID string     `dynamodbav:"accountId"`
	Plan      string     `dynamodbav:"plan"`
	Devices   int        `dynamodbav:"devices"`
}

func withAccounts(t *testing.T) (*lab[Telemetry], *entity.Store[Account]) {
	w := open[Telemetry](t)
	accounts := entity.Must(entity.New[Account](w.DB))
	return w, accounts
}

func TestTransact_AppendIsAppliedTogetherWithOtherOps(t *testing.T) {
	w, accounts := withAccounts(t)
	entity.Must(accounts.Create(w.Ctx, Account{AccountID: "a", Plan: "gold"}))
	w.Wire.Reset()

	create, tick := accounts.Op().Create(Account{AccountID: "b"}), w.series.Op().Append(tick(0, 1))
	gold := accounts.Op().CheckExists(Account{AccountID: "a"}, entity.Eq(&entity.Fields[Account]().Plan, "gold"))
	require.Zero(t, tick.Result())
	require.NoError(t, w.DB.Transact(w.Ctx, create, tick, gold))
	require.Equal(t, []string{transact}, w.operations(), "no follow-up read")
	require.Equal(t, []string{"Put", "Update", "Put", "ConditionCheck"}, w.kinds(0))

	r := tick.Result()
	require.True(t, r.Applied)
	require.Equal(t, at(0), currentOf(t, r).Timestamp, "what the event determines")
	require.Equal(t, 1, *currentOf(t, r).GPIO)
	require.Equal(t, "b", create.Result().AccountID)
	require.Equal(t, at(0), w.current(device).Timestamp)
	require.Len(t, w.history(device), 1)
}

func TestTransact_WritesOfOneSeriesThatDoNotMergeAreRefused(t *testing.T) {
	w, f := open[Telemetry](t), entity.Fields[Telemetry]()
	one := w.series.Op().Append(tick(0, 1))
	for name, other := range map[string]entity.Op{
		"itself": one,
		"update": w.series.Op().Update(device, entity.Set(&f.AccountID, "a")),
		"upsert": w.series.Op().Upsert(device),
		"remove": w.series.Op().Remove(tick(5, 1)),
	} {
		require.Equal(t, "EDD-9109", dbtest.InputCode(w.DB.Transact(w.Ctx, one, other)), name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestTransact_AppendCountsAsTwoActions(t *testing.T) {
	w := open[Meter](t)
	var ops []entity.Op
	for i := range 51 {
		ops = append(ops, w.series.Op().Append(Meter{MeterID: string(rune('A' + i)), Seq: 1}))
	}
	require.Equal(t, "EDD-9110", dbtest.InputCode(w.DB.Transact(w.Ctx, ops...)))
	require.Empty(t, w.Wire.Requests())
	require.NoError(t, w.DB.Transact(w.Ctx, ops[:50]...))
}

func TestMerge_AppendsOfOneSeriesAdvanceTheCurrentItemOnce(t *testing.T) {
	w := open[Meter](t)
	at := func(seq, value int) entity.Write[timeseries.Result[Meter]] {
		return w.series.Op().Append(Meter{MeterID: "a", Seq: int64(seq), Value: value})
	}
	require.NoError(t, w.DB.Transact(w.Ctx, at(2, 20), at(1, 10), at(3, 30)))
	require.Len(t, w.Wire.Requests(), 1)
	require.Equal(t, Meter{MeterID: "a", Seq: 3, Value: 30}, entity.Must(w.series.Get(w.Ctx, Meter{MeterID: "a"}, entity.Consistent())))
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)

	stale, fresh := at(3, 31), at(4, 40)
	err := w.DB.Transact(w.Ctx, fresh, stale)
	require.Equal(t, timeseries.Collision, dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, stale)).Reason)
	require.NoError(t, entity.FailureOf(err, fresh), "alone it would have been applied")
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)
}

func TestMerge_ConditionsOfMergedAppendsStayApart(t *testing.T) {
	w, f := open[Meter](t), entity.Fields[Meter]()
	entity.Must(w.series.Append(w.Ctx, Meter{MeterID: "a", Seq: 1, Value: 10}))
	fine := w.series.Op().Append(Meter{MeterID: "a", Seq: 2, Value: 20}, entity.If(entity.Eq(&f.Value, 10)))
	refused := w.series.Op().Append(Meter{MeterID: "a", Seq: 3, Value: 30}, entity.If(entity.Eq(&f.Value, 20)))
	checked := w.series.Op().CheckExists(Meter{MeterID: "a"}, entity.Eq(&f.Value, 10))
	err := w.DB.Transact(w.Ctx, fine, refused, checked)
	require.Equal(t, timeseries.ConditionFailed, dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, refused)).Reason)
	require.NoError(t, entity.FailureOf(err, fine))
	require.NoError(t, entity.FailureOf(err, checked))
	require.NoError(t, w.DB.Transact(w.Ctx, fine, checked))
}

const (
	transact = "TransactWriteItems"
	getItem  = "GetItem"
)

func TestCost_NothingIsSentForBadInput(t *testing.T) {
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
		r, err := w.series.Append(w.Ctx, c.ev, c.opts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Zero(t, r, name)
		e := dbtest.As[*entity.Error](t, err, name)
		require.Equal(t, []string{"Append", "Telemetry"}, []string{e.Verb, e.Entity}, name)
		rs, err := w.series.AppendAll(w.Ctx, []Telemetry{tick(3, 3), c.ev}, c.opts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Equal(t, make([]timeseries.Result[Telemetry], 2), rs, name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestCost_ObserverHearsWhatEachVerbCost(t *testing.T) {
	var reports []entity.Report
	w := open[Telemetry](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	reports = nil // of CreateTables
	last := w.append(tick(5, 1))
	w.append(tick(4, 1))
	entity.Must(w.series.AppendAll(w.Ctx, []Telemetry{tick(6, 1), tick(7, 2)}))
	entity.Must(w.series.At(w.Ctx, device, at(6)))
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
	w := open[Telemetry](t)
	r := w.append(tick(0, 1))
	w.RemoveItem(w.Key(devicePK, deviceSK))
	require.ErrorIs(t, dbtest.ErrorOf(r.Current(w.Ctx)), entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(timeseries.Result[Telemetry]{}.Current(w.Ctx)), entity.ErrNotFound, "of an append that an error left undecided")
}

func TestCurrent_ItemThatDoesNotFitTheStructIsADecodeError(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	w.ChangeItem(devicePK, deviceSK, item{"diagnostics": &types.AttributeValueMemberM{}})
	r := w.append(tick(1, 2))
	require.True(t, r.Applied)
	_, err := r.Current(w.Ctx)
	dbtest.As[*entity.DecodeError](t, err)
	older := w.append(tick(-1, 2))
	require.Equal(t, timeseries.Older, older.Reason)
	dbtest.As[*entity.DecodeError](t, dbtest.ErrorOf(older.Current(w.Ctx)))
}
