package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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
	c := &crew{l, dbtest.Declare[Employee](t, l.DB), dbtest.Declare[Team](t, l.DB), dbtest.Declare[Profile](t, l.DB)}
	l.CreateTables()
	return c
}

func TestTransact_AppliesAllInOneRequestAtOneTime(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	e := entity.Fields[Employee]()
	c.OK(c.employees.Create(t.Context(), alice()))
	c.OK(c.teams.Create(t.Context(), Team{ID: "old"}))
	c.OK(c.teams.Create(t.Context(), Team{ID: "there"}))
	c.Sent()
	at := c.Clock.Move(time.Minute)

	bob := alice()
	bob.EmployeeID = "emp-bob"
	create, update := c.employees.Op().Create(bob), c.employees.Op().Update(employeeKey("emp-alice"), entity.Add(&e.Salary, 5))
	upsert, remove := c.profiles.Op().Upsert(Profile{ID: "p", Team: "red", Rank: 1}), c.teams.Op().Delete(Team{ID: "old"})
	require.NoError(t, c.DB.Transact(t.Context(), create, update, upsert, remove, c.teams.Op().CheckExists(Team{ID: "there"})))
	require.Equal(t, []string{"TransactWriteItems"}, c.Operations())

	require.Equal(t, at, create.Result().CreatedAt)
	require.EqualValues(t, 1, create.Result().Version)
	made := entity.Must(c.employees.Get(t.Context(), employeeKey("emp-bob")))
	require.Equal(t, made, create.Result(), "a create determines the whole item")

	changed := entity.Must(c.employees.Get(t.Context(), employeeKey("emp-alice")))
	require.Equal(t, 105, changed.Salary)
	require.EqualValues(t, 2, changed.Version)
	require.Equal(t, at, changed.UpdatedAt)
	require.Equal(t, Employee{EmployeeID: "emp-alice", UpdatedAt: at}, update.Result(), "of an update only what the plan determines")

	require.Equal(t, "red", upsert.Result().Team)
	require.Zero(t, remove.Result())
	_, err := c.teams.Get(t.Context(), Team{ID: "old"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	all := c.everything()
	require.Equal(t, `S"$app#v1#profile#red#0000000000000000001"`, all["$app#v1#profile#p $app#v1#profile"]["gsi1pk"])
	require.NotEqual(t, all["$app#v1#employee#emp-bob $app#v1#employee"]["_w"], all["$app#v1#employee#emp-alice $app#v1#employee"]["_w"], "each write has an id of its own")
}

func TestTransact_EveryFailedOpIsNamedWithItsOwnError(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	c.OK(c.employees.Create(t.Context(), alice()))
	c.OK(c.teams.Create(t.Context(), Team{ID: "small", Size: 1}))
	before := c.everything()
	exists, fine := c.employees.Op().Create(alice()), c.teams.Op().Create(Team{ID: "new"})
	missing, condition := c.teams.Op().Update(Team{ID: "none"}, entity.Set(&f.Size, 1)), c.teams.Op().CheckExists(Team{ID: "small"}, entity.Gt(&f.Size, 1))
	err := c.DB.Transact(t.Context(), exists, fine, missing, condition)
	require.Equal(t, before, c.everything())

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

func TestTransact_TwoWritesOfOneItemAreRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	again := c.teams.Op().Update(Team{ID: "a"}, entity.Set(&f.Size, 1))
	for _, first := range []entity.Op{c.teams.Op().Create(Team{ID: "a"}), again, c.teams.Op().Put(Team{ID: "a"}), c.teams.Op().Delete(Team{ID: "a"})} {
		err := c.DB.Transact(t.Context(), c.teams.Op().Create(Team{ID: "b"}), first, again)
		dbtest.RequireInput(t, err, "EDD-9109", "", "make one operation of both")
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 2, failed.Failed[0].Index)
		require.Empty(t, c.Operations())
	}
	require.Empty(t, c.everything())
}

func TestTransact_NilOpAndOpOfAnotherDBAreRefused(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	other := dbtest.Declare[Team](t, c.Open(c.Raw))
	fine := c.teams.Op().Create(Team{ID: "a"})
	var none entity.Op
	var write entity.Write[Team]
	for _, bad := range []entity.Op{none, write, other.Op().Create(Team{ID: "b"})} {
		dbtest.RequireInput(t, c.DB.Transact(t.Context(), fine, bad), "EDD-9114", "")
		dbtest.RequireInput(t, c.DB.Transact(t.Context(), bad), "EDD-9114", "")
		require.Empty(t, c.Operations())
	}
	require.Empty(t, c.everything())
}

func TestTransact_HundredActionsAreTheMost(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	var ops []entity.Op
	for i := range 100 {
		team := Team{ID: fmt.Sprint(i)}
		ops = append(ops, c.teams.Op().CheckNotExists(team), c.teams.Op().Create(team)) // one action
	}
	require.NoError(t, c.DB.Transact(t.Context(), ops...))
	require.Equal(t, []string{"TransactWriteItems"}, c.Operations())
	require.Len(t, c.everything(), 100)
	ops = append(ops, c.profiles.Op().Update(Profile{ID: "p"}, entity.Set(&entity.Fields[Profile]().Team, "x"))) // would read first
	dbtest.RequireInput(t, c.DB.Transact(t.Context(), ops...), "EDD-9110", "")
	require.Empty(t, c.Operations())
}

func TestTransact_FourMegabytesAreTheMost(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	big := strings.Repeat("x", 380*1024)
	var creates, updates []entity.Op
	for i := range 12 {
		id := fmt.Sprint(i)
		creates = append(creates, c.teams.Op().Create(Team{ID: id, Name: big}))
		updates = append(updates, c.teams.Op().Update(Team{ID: id}, entity.Set(&entity.Fields[Team]().Name, big)))
	}
	for _, ops := range [][]entity.Op{creates, updates} {
		require.ErrorIs(t, c.DB.Transact(t.Context(), ops...), entity.ErrTooLarge)
		require.Empty(t, c.Operations())
	}
	require.NoError(t, c.DB.Transact(t.Context(), creates[:10]...))
}

func TestTransact_MissingTableIsErrNoTable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := dbtest.Declare[Team](t, l.DB)
	err := l.DB.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Create(Team{ID: "b"}))
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

func TestTransactMerge_NamesTheConditionThatFailed(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	c.OK(c.teams.Create(t.Context(), Team{ID: "a", Size: 7}))
	holds := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Eq(&f.Size, 7))
	fails := c.teams.Op().Update(Team{ID: "a"}, entity.Set(&f.Size, 1), entity.If(entity.Gt(&f.Size, 100)))
	other := c.teams.Op().Create(Team{ID: "b"})
	for _, ops := range [][]entity.Op{{holds, fails, other}, {fails, other, holds}} {
		err := c.DB.Transact(t.Context(), ops...)
		require.ErrorIs(t, entity.FailureOf(err, fails), entity.ErrConditionFailed)
		require.NoError(t, entity.FailureOf(err, holds))
		require.NoError(t, entity.FailureOf(err, other))
	}

	gone := c.teams.Op().CheckExists(Team{ID: "none"})
	missing := c.teams.Op().Delete(Team{ID: "none"})
	err := c.DB.Transact(t.Context(), gone, missing, other)
	require.ErrorIs(t, entity.FailureOf(err, gone), entity.ErrNotFound)
	require.ErrorIs(t, entity.FailureOf(err, missing), entity.ErrNotFound)
	_, err = c.teams.Get(t.Context(), Team{ID: "b"})
	require.ErrorIs(t, err, entity.ErrNotFound, "nothing was written")
}

func TestTransact_GuardLostMoreOftenThanMaxAttemptsIsErrConflict(t *testing.T) {
	t.Parallel()
	c := newCrew(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	p := entity.Fields[Profile]()
	other := dbtest.Declare[Profile](t, c.Open(c.Raw))
	c.OK(other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1}))
	c.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" || r.Operation == "PutItem" {
			c.OK(other.Update(t.Context(), Profile{ID: "a"}, entity.Add(&p.Count, 1)))
		}
		return faults.None
	})
	move := c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	err := c.DB.Transact(t.Context(), c.teams.Op().Create(Team{ID: "t"}), move)
	require.ErrorIs(t, err, entity.ErrConflict)
	require.ErrorIs(t, entity.FailureOf(err, move), entity.ErrConflict)
	require.NotErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, 3, c.Wire.Count("TransactWriteItems"))

	_, err = c.profiles.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	require.ErrorIs(t, err, entity.ErrConflict)
	var sdk *types.ConditionalCheckFailedException
	require.ErrorAs(t, err, &sdk)
	require.Equal(t, 3, c.Wire.Count("PutItem"))
	require.Equal(t, 6, c.Wire.Count("GetItem"), "each attempt reads again")
	got := entity.Must(other.Get(t.Context(), Profile{ID: "a"}, entity.Consistent()))
	require.Equal(t, "red", got.Team)
}

// An op that fails for good decides; a guard that another op lost is then no reason to plan again.
func TestTransact_AFailureForGoodEndsItAtOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	other := dbtest.Declare[Profile](t, c.Open(c.Raw))
	c.OK(other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1}))
	c.OK(c.teams.Create(t.Context(), Team{ID: "t"}))
	c.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			c.OK(other.Update(t.Context(), Profile{ID: "a"}, entity.Add(&p.Count, 1)))
		}
		return faults.None
	})
	create := c.teams.Op().Create(Team{ID: "t"})
	err := c.DB.Transact(t.Context(), c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue")), create)
	require.ErrorIs(t, entity.FailureOf(err, create), entity.ErrExists)
	require.Equal(t, 1, c.Wire.Count("TransactWriteItems"))
}

func TestTransactGet_ReadsAllOrNone(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	b.OK(b.other.Create(ctx, Plain{ID: "a", Count: 3}))
	b.OK(b.ver.Create(ctx, Counted{ID: "v", Name: "n"}))
	b.Sent()
	b.Wire.Inject(faults.Nth(1, faults.Conflict))
	p, v, gone := Plain{ID: "a"}, Counted{ID: "v"}, Plain{ID: "gone"}
	require.NoError(t, b.DB.TransactGet(ctx, b.plain.Op().GetInto(&p), b.ver.Op().GetInto(&v)))
	require.Equal(t, 3, p.Count)
	require.Equal(t, "n", v.Name)
	require.Equal(t, 2, b.Wire.Count("TransactGetItems"), "a conflict is waited out")

	p = Plain{ID: "a"}
	err := b.DB.TransactGet(ctx, b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&gone))
	require.ErrorIs(t, err, entity.ErrNotFound)
	var te *entity.TransactError
	require.ErrorAs(t, err, &te)
	require.Len(t, te.Failed, 1)
	require.Equal(t, 1, te.Failed[0].Index)
	require.Equal(t, Plain{ID: "a"}, p, "nothing was filled in")
	require.NoError(t, b.DB.TransactGet(ctx))
}

func TestTransactGet_BadInputSendsNothing(t *testing.T) {
	b := newBench(t, 0)
	p, again := Plain{ID: "a"}, Plain{ID: "a"}
	other := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	elsewhere := entity.Must(entity.New[Plain](other))
	for name, loads := range map[string][]entity.GetOp{
		"nil load":       {nil},
		"nil pointer":    {b.plain.Op().GetInto(nil)},
		"no key":         {b.plain.Op().GetInto(&Plain{})},
		"twice":          {b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&again)},
		"another handle": {elsewhere.Op().GetInto(&p)},
		"too many":       slices.Repeat([]entity.GetOp{b.plain.Op().GetInto(&p)}, 101),
	} {
		var input *entity.InputError
		require.ErrorAs(t, b.DB.TransactGet(t.Context(), loads...), &input, name)
		if name == "too many" {
			require.Equal(t, "EDD-9110", input.Code, name)
		}
	}
	require.Empty(t, b.Wire.Requests())
}
