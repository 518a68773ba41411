package entity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
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

func TestTransact_TwoWritesOfOneItemAreRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	again := c.teams.Op().Update(Team{ID: "a"}, entity.Set(&f.Size, 1))
	for _, first := range []entity.Op{c.teams.Op().Create(Team{ID: "a"}), again, c.teams.Op().Put(Team{ID: "a"}), c.teams.Op().Delete(Team{ID: "a"})} {
		err := c.db.Transact(t.Context(), c.teams.Op().Create(Team{ID: "b"}), first, again)
		requireInput(t, err, "EDD-9109", "")
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 2, failed.Failed[0].Index)
		require.Empty(t, c.sent())
	}
	require.Empty(t, c.everything(t))
}

func TestTransact_NilOpAndOpOfAnotherDBAreRefused(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	other := declare[Team](t, c.aside(t))
	fine := c.teams.Op().Create(Team{ID: "a"})
	var none entity.Op
	var write entity.Write[Team]
	for _, bad := range []entity.Op{none, write, other.Op().Create(Team{ID: "b"})} {
		requireInput(t, c.db.Transact(t.Context(), fine, bad), "EDD-9114", "")
		requireInput(t, c.db.Transact(t.Context(), bad), "EDD-9114", "")
		require.Empty(t, c.sent())
	}
	require.Empty(t, c.everything(t))
}

func TestTransact_BadArgumentsOfAnOpAreItsFailure(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	fine, bad := c.teams.Op().Create(Team{ID: "a"}), c.teams.Op().Create(Team{})
	err := c.db.Transact(t.Context(), fine, bad)
	requireInput(t, entity.FailureOf(err, bad), "EDD-9101", "ID")
	require.NoError(t, entity.FailureOf(err, fine))
	require.Empty(t, c.sent())
}

func TestTransact_HundredActionsAreTheMost(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	var ops []entity.Op
	for i := range 100 {
		ops = append(ops, c.teams.Op().Create(Team{ID: fmt.Sprint(i)}))
	}
	require.NoError(t, c.db.Transact(t.Context(), ops...))
	require.Equal(t, []string{"TransactWriteItems"}, c.sent())
	require.Len(t, c.everything(t), 100)
	for i := range ops {
		ops[i] = c.teams.Op().CheckExists(Team{ID: fmt.Sprint(i)})
	}
	ops = append(ops, c.profiles.Op().Update(Profile{ID: "p"}, entity.Set(&entity.Fields[Profile]().Team, "x"))) // would read first
	requireInput(t, c.db.Transact(t.Context(), ops...), "EDD-9110", "")
	require.Empty(t, c.sent())
}

func TestTransact_FourMegabytesAreTheMost(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	big := strings.Repeat("x", 380*1024)
	var creates, upserts, updates []entity.Op
	for i := range 12 {
		id := fmt.Sprint(i)
		creates = append(creates, c.teams.Op().Create(Team{ID: id, Name: big}))
		upserts = append(upserts, c.teams.Op().Upsert(Team{ID: id, Name: big}))
		updates = append(updates, c.teams.Op().Update(Team{ID: id}, entity.Set(&entity.Fields[Team]().Name, big)))
	}
	for name, ops := range map[string][]entity.Op{"creates": creates, "upserts": upserts, "updates": updates} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, c.db.Transact(t.Context(), ops...), entity.ErrTooLarge)
			require.Empty(t, c.sent())
		})
	}
	require.NoError(t, c.db.Transact(t.Context(), creates[:10]...))
}

func TestTransact_MissingTableIsErrNoTable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := declare[Team](t, l.db)
	err := l.db.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Create(Team{ID: "b"}))
	require.ErrorIs(t, err, entity.ErrNoTable)
	var sdk *types.ResourceNotFoundException
	require.ErrorAs(t, err, &sdk)
	_, err = s.Get(t.Context(), Team{ID: "a"})
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNotFound)
	_, err = s.Create(t.Context(), Team{ID: "a"})
	require.ErrorIs(t, err, entity.ErrNoTable)
	_, err = s.Query(Team{ID: "a"}).First(t.Context())
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNotFound)
}

func TestTransactMerge_ACheckAndAWriteOfOneItemAreOneAction(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 1})
	require.NoError(t, err)
	c.sent()
	small := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Lt(&f.Size, 5))
	grow := c.teams.Op().Update(Team{ID: "a"}, entity.Add(&f.Size, 4))
	require.NoError(t, c.db.Transact(t.Context(), small, grow), "the conditions are about the item as it was before")
	require.Equal(t, []string{"UpdateItem"}, c.sent(), "one action needs no transaction")

	err = c.db.Transact(t.Context(), small, grow)
	require.ErrorIs(t, entity.FailureOf(err, small), entity.ErrConditionFailed)
	require.NoError(t, entity.FailureOf(err, grow), "the update itself could have been made")
	stored, ok := entity.StoredItem[Team](entity.FailureOf(err, small))
	require.True(t, ok)
	require.Equal(t, 5, stored.Size)
}

func TestTransactMerge_NamesTheConditionThatFailed(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 7})
	require.NoError(t, err)
	holds := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Eq(&f.Size, 7))
	fails := c.teams.Op().Update(Team{ID: "a"}, entity.Set(&f.Size, 1), entity.If(entity.Gt(&f.Size, 100)))
	other := c.teams.Op().Create(Team{ID: "b"})
	for _, ops := range [][]entity.Op{{holds, fails, other}, {fails, other, holds}} {
		err = c.db.Transact(t.Context(), ops...)
		require.ErrorIs(t, entity.FailureOf(err, fails), entity.ErrConditionFailed)
		require.NoError(t, entity.FailureOf(err, holds))
		require.NoError(t, entity.FailureOf(err, other))
	}

	gone := c.teams.Op().CheckExists(Team{ID: "none"})
	missing := c.teams.Op().Delete(Team{ID: "none"})
	err = c.db.Transact(t.Context(), gone, missing, other)
	require.ErrorIs(t, entity.FailureOf(err, gone), entity.ErrNotFound)
	require.ErrorIs(t, entity.FailureOf(err, missing), entity.ErrNotFound)
	_, err = c.teams.Get(t.Context(), Team{ID: "b"})
	require.ErrorIs(t, err, entity.ErrNotFound, "nothing was written")
}

func TestTransactMerge_ChecksOfOneItemAreOneCheck(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 7})
	require.NoError(t, err)
	c.sent()
	low, high := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Gt(&f.Size, 1)), c.teams.Op().CheckExists(Team{ID: "a"}, entity.Lt(&f.Size, 9))
	require.NoError(t, c.db.Transact(t.Context(), low, high, low))
	require.Equal(t, []string{"TransactWriteItems"}, c.sent())
	absent := c.teams.Op().CheckNotExists(Team{ID: "a"})
	err = c.db.Transact(t.Context(), low, absent)
	require.ErrorIs(t, entity.FailureOf(err, absent), entity.ErrExists)
	require.NoError(t, entity.FailureOf(err, low))
}

func TestTransactMerge_CountsItemsAndNotOps(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	var ops []entity.Op
	for i := range 100 {
		team := Team{ID: fmt.Sprint(i)}
		ops = append(ops, c.teams.Op().CheckNotExists(team), c.teams.Op().Create(team))
	}
	require.NoError(t, c.db.Transact(t.Context(), ops...))
	require.Len(t, c.everything(t), 100)
	c.sent()
	requireInput(t, c.db.Transact(t.Context(), append(ops, c.teams.Op().CheckNotExists(Team{ID: "x"}))...), "EDD-9110", "")
	require.Empty(t, c.sent())
}

// What an op planned from a read is guarded by is lost to another write: the whole transaction is planned again.
func TestTransact_LostGuardIsPlannedAgain(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	other := declare[Profile](t, c.aside(t))
	_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	arrived, release := c.wire.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
	defer release()
	done := make(chan error, 1)
	move := c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	go func() { done <- c.db.Transact(t.Context(), move, c.teams.Op().Create(Team{ID: "t"})) }()
	awaitHeld(t, arrived, done)
	_, err = other.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 5))
	require.NoError(t, err)
	release()
	require.NoError(t, <-done)
	require.Equal(t, []string{"GetItem", "TransactWriteItems", "GetItem", "TransactWriteItems"}, c.sent())
	it := c.everything(t)[`S"$app#v1#profile#a" S"$app#v1#profile"`]
	require.Equal(t, `S"$app#v1#profile#blue#0000000000000000005"`, it["gsi1pk"])
	require.Equal(t, 5, move.Result().Rank, "the result is the item as written")
}

func TestTransact_GuardLostMoreOftenThanMaxAttemptsIsErrConflict(t *testing.T) {
	t.Parallel()
	c := newCrew(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	p := entity.Fields[Profile]()
	other := declare[Profile](t, c.aside(t))
	_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	c.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" || r.Operation == "PutItem" {
			_, err := other.Update(t.Context(), Profile{ID: "a"}, entity.Add(&p.Count, 1))
			require.NoError(t, err)
		}
		return faults.None
	})
	move := c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	err = c.db.Transact(t.Context(), c.teams.Op().Create(Team{ID: "t"}), move)
	require.ErrorIs(t, err, entity.ErrConflict)
	require.ErrorIs(t, entity.FailureOf(err, move), entity.ErrConflict)
	require.NotErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, 3, c.wire.Count("TransactWriteItems"))

	_, err = c.profiles.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	require.ErrorIs(t, err, entity.ErrConflict)
	var sdk *types.ConditionalCheckFailedException
	require.ErrorAs(t, err, &sdk)
	require.Equal(t, 3, c.wire.Count("PutItem"))
	got, err := other.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "red", got.Team)
}

// An op that fails for good decides; a guard that another op lost is then no reason to plan again.
func TestTransact_AFailureForGoodEndsItAtOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	other := declare[Profile](t, c.aside(t))
	_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	_, err = c.teams.Create(t.Context(), Team{ID: "t"})
	require.NoError(t, err)
	c.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			_, err := other.Update(t.Context(), Profile{ID: "a"}, entity.Add(&p.Count, 1))
			require.NoError(t, err)
		}
		return faults.None
	})
	create := c.teams.Op().Create(Team{ID: "t"})
	err = c.db.Transact(t.Context(), c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue")), create)
	require.ErrorIs(t, entity.FailureOf(err, create), entity.ErrExists)
	require.Equal(t, 1, c.wire.Count("TransactWriteItems"))
}

func TestTransact_ReadsOfSeveralOpsComeBeforeOneWrite(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	var ops []entity.Op
	for i := range 3 {
		id := fmt.Sprint(i)
		_, err := c.profiles.Create(t.Context(), Profile{ID: id, Team: "red", Rank: 1})
		require.NoError(t, err)
		ops = append(ops, c.profiles.Op().Update(Profile{ID: id}, entity.Set(&p.Rank, 2)))
	}
	c.sent()
	require.NoError(t, c.db.Transact(t.Context(), ops...))
	require.Equal(t, []string{"GetItem", "GetItem", "GetItem", "TransactWriteItems"}, c.sent())
	for _, it := range c.everything(t) {
		require.Equal(t, `S"$app#v1#profile#red#0000000000000000002"`, it["gsi1pk"])
	}
}
