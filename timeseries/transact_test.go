package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Account is stored in the same table and takes part in transactions.
type Account struct {
	_ entity.Key `name:"Account" pk:"$#{accountId}" sk:"$"`

	AccountID string `dynamodbav:"accountId"`
	Plan      string `dynamodbav:"plan"`
	Devices   int    `dynamodbav:"devices"`
}

func withAccounts(t *testing.T) (*lab[Telemetry], *entity.Store[Account]) {
	w := open[Telemetry](t)
	accounts := entity.Must(entity.New[Account](w.DB))
	return w, accounts
}

func TestTransact_AppendIsAppliedTogetherWithOtherOps(t *testing.T) {
	t.Parallel()
	w, accounts := withAccounts(t)
	entity.Must(accounts.Create(w.Ctx, Account{AccountID: "a", Plan: "gold"}))
	w.Wire.Reset()

	create, tick := accounts.Op().Create(Account{AccountID: "b"}), w.Op().Append(tick(0, 1))
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
	t.Parallel()
	w, f := open[Telemetry](t), entity.Fields[Telemetry]()
	one := w.Op().Append(tick(0, 1))
	for name, other := range map[string]entity.Op{
		"itself": one,
		"update": w.Op().Update(device, entity.Set(&f.AccountID, "a")),
		"upsert": w.Op().Upsert(device),
	} {
		require.Equal(t, "EDD-9109", dbtest.InputCode(w.DB.Transact(w.Ctx, one, other)), name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestTransact_AppendCountsAsTwoActions(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	var ops []entity.Op
	for i := range 51 {
		ops = append(ops, w.Op().Append(Meter{MeterID: string(rune('A' + i)), Seq: 1}))
	}
	require.Equal(t, "EDD-9110", dbtest.InputCode(w.DB.Transact(w.Ctx, ops...)))
	require.Empty(t, w.Wire.Requests())
	require.NoError(t, w.DB.Transact(w.Ctx, ops[:50]...))
}

func TestMerge_AppendsOfOneSeriesAdvanceTheCurrentItemOnce(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	at := func(seq, value int) entity.Write[timeseries.Result[Meter]] {
		return w.Op().Append(Meter{MeterID: "a", Seq: int64(seq), Value: value})
	}
	require.NoError(t, w.DB.Transact(w.Ctx, at(2, 20), at(1, 10), at(3, 30)))
	require.Len(t, w.Wire.Requests(), 1)
	require.Equal(t, Meter{MeterID: "a", Seq: 3, Value: 30}, entity.Must(w.Get(w.Ctx, Meter{MeterID: "a"}, entity.Consistent())))
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)

	stale, fresh := at(3, 31), at(4, 40)
	err := w.DB.Transact(w.Ctx, fresh, stale)
	require.Equal(t, timeseries.Collision, dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, stale)).Reason)
	require.NoError(t, entity.FailureOf(err, fresh), "alone it would have been applied")
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)
}

func TestMerge_ConditionsOfMergedAppendsStayApart(t *testing.T) {
	t.Parallel()
	w, f := open[Meter](t), entity.Fields[Meter]()
	entity.Must(w.Append(w.Ctx, Meter{MeterID: "a", Seq: 1, Value: 10}))
	fine := w.Op().Append(Meter{MeterID: "a", Seq: 2, Value: 20}, entity.If(entity.Eq(&f.Value, 10)))
	refused := w.Op().Append(Meter{MeterID: "a", Seq: 3, Value: 30}, entity.If(entity.Eq(&f.Value, 20)))
	checked := w.Op().CheckExists(Meter{MeterID: "a"}, entity.Eq(&f.Value, 10))
	err := w.DB.Transact(w.Ctx, fine, refused, checked)
	require.Equal(t, timeseries.ConditionFailed, dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, refused)).Reason)
	require.NoError(t, entity.FailureOf(err, fine))
	require.NoError(t, entity.FailureOf(err, checked))
	require.NoError(t, w.DB.Transact(w.Ctx, fine, checked))
}
