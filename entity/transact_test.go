package entity_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// crew is a lab with employees, teams and profiles in one table.
type crew struct {
	*lab
	employees *entity.Store[Employee]
	teams     *entity.Store[Team]
	profiles  *entity.Store[Profile]
}

func newCrew(t *testing.T, configure ...func(*entity.Config)) *crew {
	t.Helper()
	l := newLab(t, configure...)
	c := &crew{l, declare[Employee](t, l.db), declare[Team](t, l.db), declare[Profile](t, l.db)}
	l.create(t)
	return c
}

func TestTransact_AppliesAllInOneRequestAtOneTime(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	e := entity.Fields[Employee]()
	_, err := c.employees.Create(t.Context(), alice())
	require.NoError(t, err)
	_, err = c.teams.Create(t.Context(), Team{ID: "old"})
	require.NoError(t, err)
	_, err = c.teams.Create(t.Context(), Team{ID: "there"})
	require.NoError(t, err)
	c.sent()
	at := c.clock.move(time.Minute)

	bob := alice()
	bob.EmployeeID = "emp-bob"
	create, update := c.employees.Op().Create(bob), c.employees.Op().Update(employeeKey("emp-alice"), entity.Add(&e.Salary, 5))
	upsert, remove := c.profiles.Op().Upsert(Profile{ID: "p", Team: "red", Rank: 1}), c.teams.Op().Delete(Team{ID: "old"})
	require.NoError(t, c.db.Transact(t.Context(), create, update, upsert, remove, c.teams.Op().CheckExists(Team{ID: "there"})))
	require.Equal(t, []string{"TransactWriteItems"}, c.sent())

	require.Equal(t, at, create.Result().CreatedAt)
	require.EqualValues(t, 1, create.Result().Version)
	made, err := c.employees.Get(t.Context(), employeeKey("emp-bob"))
	require.NoError(t, err)
	require.Equal(t, made, create.Result(), "a create determines the whole item")

	changed, err := c.employees.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, 105, changed.Salary)
	require.EqualValues(t, 2, changed.Version)
	require.Equal(t, at, changed.UpdatedAt)
	require.Equal(t, Employee{EmployeeID: "emp-alice", UpdatedAt: at}, update.Result(), "of an update only what the plan determines")

	require.Equal(t, "red", upsert.Result().Team)
	require.Zero(t, remove.Result())
	_, err = c.teams.Get(t.Context(), Team{ID: "old"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	all := c.everything(t)
	require.Equal(t, `S"$app#v1#profile#red#0000000000000000001"`, all[`S"$app#v1#profile#p" S"$app#v1#profile"`]["gsi1pk"])
	require.NotEqual(t, all[`S"$app#v1#employee#emp-bob" S"$app#v1#employee"`]["_w"], all[`S"$app#v1#employee#emp-alice" S"$app#v1#employee"`]["_w"], "each write has an id of its own")
}

func TestTransact_NothingToDoSendsNothing(t *testing.T) {
	t.Parallel()
	l, _ := open[Team](t)
	require.NoError(t, l.db.Transact(t.Context()))
	require.Empty(t, l.sent())
}

func TestTransact_EveryFailedOpIsNamedWithItsOwnError(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.employees.Create(t.Context(), alice())
	require.NoError(t, err)
	_, err = c.teams.Create(t.Context(), Team{ID: "small", Size: 1})
	require.NoError(t, err)
	before := c.everything(t)
	exists, fine := c.employees.Op().Create(alice()), c.teams.Op().Create(Team{ID: "new"})
	missing, condition := c.teams.Op().Update(Team{ID: "none"}, entity.Set(&f.Size, 1)), c.teams.Op().CheckExists(Team{ID: "small"}, entity.Gt(&f.Size, 1))
	err = c.db.Transact(t.Context(), exists, fine, missing, condition)
	require.Equal(t, before, c.everything(t))

	var failed *entity.TransactError
	require.ErrorAs(t, err, &failed)
	var index []int
	for _, f := range failed.Failed {
		index = append(index, f.Index)
	}
	require.Equal(t, []int{0, 2, 3}, index)
	for op, want := range map[entity.Op]error{exists: entity.ErrExists, missing: entity.ErrNotFound, condition: entity.ErrConditionFailed} {
		require.ErrorIs(t, err, want, "errors.Is looks into all of them")
		require.ErrorIs(t, entity.FailureOf(err, op), want)
		for _, other := range []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConditionFailed} {
			if other != want {
				require.NotErrorIs(t, entity.FailureOf(err, op), other)
			}
		}
		var sdk *types.TransactionCanceledException
		require.ErrorAs(t, entity.FailureOf(err, op), &sdk)
	}
	require.NoError(t, entity.FailureOf(err, fine))
	require.Zero(t, fine.Result(), "what was not applied has no result")
	held, ok := entity.StoredItem[Team](entity.FailureOf(err, condition))
	require.True(t, ok)
	require.Equal(t, 1, held.Size)
	var e *entity.Error
	require.ErrorAs(t, entity.FailureOf(err, missing), &e)
	require.Equal(t, "Team", e.Entity)
	require.Equal(t, "Update", e.Verb)
	require.Equal(t, `pk="$app#v1#team#none" sk="$app#v1#team"`, e.Key)
}

func TestTransact_RequireWithSeveralConditions(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 5, Name: "A"})
	require.NoError(t, err)
	require.NoError(t, c.db.Transact(t.Context(), c.teams.Op().CheckExists(Team{ID: "a"}, entity.Gt(&f.Size, 4), entity.Or(entity.Eq(&f.Name, "B"), entity.Eq(&f.Name, "A")))))
	err = c.db.Transact(t.Context(), c.teams.Op().CheckExists(Team{ID: "a"}, entity.Gt(&f.Size, 4), entity.Eq(&f.Name, "B")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	// A true Or must not let an absent item pass.
	err = c.db.Transact(t.Context(), c.teams.Op().CheckExists(Team{ID: "b"}, entity.Or(entity.NotExists(&f.Size), entity.NotExists(&f.Name))))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrConditionFailed)
}

func TestTransact_OpsAreReusable(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	add := c.teams.Op().Update(Team{ID: "a"}, entity.Add(&f.Size, 2))
	for range 2 {
		require.NoError(t, c.db.Transact(t.Context(), add))
		require.NoError(t, c.db.Transact(t.Context(), add, c.teams.Op().Upsert(Team{ID: "b"})))
	}
	got, err := c.teams.Get(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, 8, got.Size)
}
