package entity_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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

func TestTransact_EveryFailedOpIsNamedWithItsOwnError(t *testing.T) {
	c, f := newCrew(t), entity.Fields[Team]()
	c.OK(c.employees.Create(t.Context(), alice()))
	c.OK(c.teams.Create(t.Context(), Team{ID: "small", Size: 1}))
	before := c.everything()
	exists, fine := c.employees.Op().Create(alice()), c.teams.Op().Create(Team{ID: "new"})
	missing, condition := c.teams.Op().Update(Team{ID: "none"}, entity.Set(&f.Size, 1)), c.teams.Op().CheckExists(Team{ID: "small"}, entity.Gt(&f.Size, 1))
	err := c.DB.Transact(t.Context(), exists, fine, missing, condition)
	require.Equal(t, before, c.everything())

	failed := dbtest.As[*entity.TransactError](t, err)
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
		dbtest.As[*types.TransactionCanceledException](t, entity.FailureOf(err, op))
	}
	require.NoError(t, entity.FailureOf(err, fine))
	require.Zero(t, fine.Result(), "what was not applied has no result")
	held, ok := entity.StoredItem[Team](entity.FailureOf(err, condition))
	require.True(t, ok)
	require.Equal(t, 1, held.Size)
	e := dbtest.As[*entity.Error](t, entity.FailureOf(err, missing))
	require.Equal(t, "Team", e.Entity)
	require.Equal(t, "Update", e.Verb)
	require.Equal(t, `pk="$app#v1#team#none" sk="$app#v1#team"`, e.Key)
}

func TestTransact_HundredActionsAreTheMost(t *testing.T) {
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
	c, big := newCrew(t), strings.Repeat("x", 380*1024)
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
	l := newLab(t)
	s := dbtest.Declare[Team](t, l.DB)
	err := l.DB.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Create(Team{ID: "b"}))
	require.ErrorIs(t, err, entity.ErrNoTable)
	dbtest.As[*types.ResourceNotFoundException](t, err)
	o := l.Raw.Options()
	where := " in Region " + o.Region + " at " + *o.BaseEndpoint
	require.ErrorContains(t, err, where)
	_, err = s.Get(t.Context(), Team{ID: "a"})
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.ErrorContains(t, err, where)
	require.NotErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(s.Create(t.Context(), Team{ID: "a"})), entity.ErrNoTable)
	_, err = s.Query(Team{ID: "a"}).First(t.Context())
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNotFound)
}

func TestTransactMerge_NamesTheConditionThatFailed(t *testing.T) {
	c, f := newCrew(t), entity.Fields[Team]()
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

	gone, missing := c.teams.Op().CheckExists(Team{ID: "none"}), c.teams.Op().Delete(Team{ID: "none"})
	err := c.DB.Transact(t.Context(), gone, missing, other)
	require.ErrorIs(t, entity.FailureOf(err, gone), entity.ErrNotFound)
	require.ErrorIs(t, entity.FailureOf(err, missing), entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(c.teams.Get(t.Context(), Team{ID: "b"})), entity.ErrNotFound, "nothing was written")
}

// An op that fails for good decides; a guard that another op lost is then no reason to plan again.
func TestTransact_AFailureForGoodEndsItAtOnce(t *testing.T) {
	c, p := newCrew(t), entity.Fields[Profile]()
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
	b, ctx := newBench(t, 0), t.Context()
	b.OK(b.other.Create(ctx, Plain{ID: "a", Count: 3}))
	b.OK(b.teams.Create(ctx, Team{ID: "v", Name: "n"}))
	b.Sent()
	b.Wire.Inject(faults.Nth(1, faults.Conflict))
	p, v, gone := Plain{ID: "a"}, Team{ID: "v"}, Plain{ID: "gone"}
	require.NoError(t, b.DB.TransactGet(ctx, b.plain.Op().GetInto(&p), b.teams.Op().GetInto(&v)))
	require.Equal(t, 3, p.Count)
	require.Equal(t, "n", v.Name)
	require.Equal(t, 2, b.Wire.Count("TransactGetItems"), "a conflict is waited out")

	p = Plain{ID: "a"}
	err := b.DB.TransactGet(ctx, b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&gone))
	require.ErrorIs(t, err, entity.ErrNotFound)
	te := dbtest.As[*entity.TransactError](t, err)
	require.Len(t, te.Failed, 1)
	require.Equal(t, 1, te.Failed[0].Index)
	require.Equal(t, Plain{ID: "a"}, p, "nothing was filled in")
	require.NoError(t, b.DB.TransactGet(ctx))
}

// Plain is an item whose updates read it if they change a part of its index key.
type Plain struct {
	_     entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$#{id}"`
	ID    string     `dynamodbav:"id"`
	Name  string     `dynamodbav:"name,omitempty"`
	Team  string     `dynamodbav:"team,omitempty"`
	Rank  int        `dynamodbav:"rank,omitempty"`
	Count int        `dynamodbav:"count,omitempty"`
	Tags  []string   `dynamodbav:"tags,omitempty"`
}

// Bare is verbatim: it carries no write id.
type Bare struct {
	_    entity.Key `name:"Bare" pk:"id" table:"bare"`
	ID   string     `dynamodbav:"id"`
	Name string     `dynamodbav:"name,omitempty"`
}

// bench is a lab whose DB gives up after some attempts.
type bench struct {
	*lab
	plain *entity.Store[Plain]
	teams *entity.Store[Team]
	other *entity.Store[Plain] // the same table, without faults
}

func newBench(t *testing.T, attempts int) *bench {
	b := &bench{lab: newLab(t, func(c *entity.Config) { c.MaxAttempts = attempts })}
	b.plain, b.teams = dbtest.Declare[Plain](t, b.DB), dbtest.Declare[Team](t, b.DB)
	b.CreateTables()
	b.other = dbtest.Declare[Plain](t, b.Open(b.Raw))
	return b
}

// What an op planned from a read is guarded by is lost to another write: the whole transaction is planned again.
func TestReplan_UsesANewTokenAndTheNewState(t *testing.T) {
	b, ctx, f := newBench(t, 0), t.Context(), entity.Fields[Plain]()
	b.OK(b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1}))
	b.Sent()
	move := b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		return b.DB.Transact(ctx, move, b.teams.Op().Create(Team{ID: "v"}))
	}, func() { b.OK(b.other.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Name, "between"))) }))
	want := Plain{ID: "a", Team: "red", Rank: 2, Name: "between"}
	require.Equal(t, want, entity.Must(b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())), "neither write is lost")
	require.Equal(t, want, move.Result(), "the result is the item as written")
	requests := b.Sent()
	require.Equal(t, []string{"GetItem", "TransactWriteItems", "GetItem", "TransactWriteItems"}, dbtest.Operations(requests))
	var tokens [2]struct{ ClientRequestToken string }
	for i := range tokens {
		require.NoError(t, json.Unmarshal(requests[2*i+1].Body, &tokens[i]))
	}
	require.NotEqual(t, tokens[0], tokens[1], "a new body under an old token would be refused")
}

func TestIdempotent_UpdateWhoseItemCannotBeReadIsApplied(t *testing.T) {
	b, ctx, f := newBench(t, 2), t.Context(), entity.Fields[Plain]()
	b.OK(b.plain.Create(ctx, Plain{ID: "a", Count: 1}))
	b.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "GetItem" {
			return faults.Throttle
		}
		return faults.None
	})
	require.ErrorIs(t, dbtest.ErrorOf(b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())), entity.ErrReadBack)
	require.Equal(t, 2, entity.Must(b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())).Count)
}

func TestTransactWithToken_RefusesWhatCouldNotBeTheSameTwice(t *testing.T) {
	b, ctx, f := newBench(t, 0), t.Context(), entity.Fields[Plain]()
	token := entity.Token{ID: "t", At: time.Now()}
	needsRead := b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	err := b.DB.TransactWithToken(ctx, token, needsRead)
	require.Contains(t, dbtest.As[*entity.InputError](t, entity.FailureOf(err, needsRead)).Problem, "use Transact, with a Create of an item whose key is the token")
	for _, token := range []entity.Token{{}, {At: time.Now()}} {
		dbtest.As[*entity.InputError](t, b.DB.TransactWithToken(ctx, token, b.plain.Op().Create(Plain{ID: "a"})))
	}
	require.Empty(t, b.Wire.Requests())
}
