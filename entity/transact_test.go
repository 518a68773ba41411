package entity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
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
		return map[string]faults.Fault{"GetItem": faults.Throttle}[r.Operation]
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

func TestGetMany_KeepsTheOrderAndSharesRepeatedKeys(t *testing.T) {
	b, ctx := newBench(t, 0), t.Context()
	var keys, even []Plain
	for i := range 230 {
		keys = append(keys, Plain{ID: fmt.Sprint(i)})
		if i%2 == 0 {
			even = append(even, Plain{ID: fmt.Sprint(i), Count: i + 1})
		}
	}
	b.OK(b.other.PutMany(ctx, even, entity.Unconditional()))
	keys = append(keys, keys[4], keys[5], keys[4])
	got := entity.Must(b.plain.GetMany(ctx, keys, entity.Consistent()))
	require.Equal(t, 3, b.Wire.Count("BatchGetItem"), "230 different keys, 100 a request")
	for i, v := range got {
		if n := keys[i].ID; int(n[len(n)-1]-'0')%2 == 0 {
			require.NotNil(t, v, n)
			require.Equal(t, n, v.ID)
		} else {
			require.Nil(t, v, n)
		}
	}
	require.Same(t, got[230], got[232])
	require.Empty(t, entity.Must(b.plain.GetMany(ctx, nil)))
}

func TestBatchGet_FillsInOrderAndAsksForEachItemOnce(t *testing.T) {
	y := newYard(t)
	y.OK(y.DB.BatchWrite(t.Context(), y.puts(70)...))
	y.Sent()
	var loads []entity.GetOp
	gs, bs := make([]Dial, 140), make([]Bare, 140)
	for i := range 140 {
		gs[i], bs[i] = Dial{ID: fmt.Sprint("g-", i%80), Site: "as it was"}, Bare{ID: fmt.Sprint("b-", i%80)}
		loads = append(loads, y.dial.Op().GetInto(&gs[i]), y.bare.Op().GetInto(&bs[i]))
	}
	found := entity.Must(y.DB.BatchGet(t.Context(), loads...))
	require.Equal(t, []string{"BatchGetItem", "BatchGetItem"}, y.Operations(), "160 different keys")
	require.Len(t, found, 280)
	for i := range 140 {
		there := i%80 < 70
		require.Equal(t, []bool{there, there}, found[2*i:2*i+2])
		if there {
			require.Equal(t, i%80, gs[i].Value)
			require.Empty(t, gs[i].Site)
			require.Equal(t, "n", bs[i].Name)
		} else {
			require.Equal(t, "as it was", gs[i].Site)
		}
	}
	found = entity.Must(y.DB.BatchGet(t.Context()))
	require.Empty(t, found)
	require.Empty(t, y.Operations())
}

// DynamoDB reads all keys of a table in one request alike, so consistent loads go by themselves, and first: an item that
// is read consistently need not be read again.
func TestBatchGet_OptionsAreThoseOfEachLoad(t *testing.T) {
	l, s := open[Voucher](t, expiring)
	l.Clock.Move(100 * 365 * 24 * time.Hour) // far ahead, or the database would remove the item itself
	l.OK(s.Create(t.Context(), Voucher{ID: "t", Score: 7}))
	l.Clock.Move(2 * time.Hour)
	l.Sent()
	key := Voucher{ID: "t"}
	a, b, c, d, other := key, key, key, key, Voucher{ID: "other"}
	var handle entity.Image
	found, err := l.DB.BatchGet(t.Context(), s.Op().GetInto(&a), s.Op().GetInto(&b, entity.Consistent(), entity.IncludeExpired(), entity.KeepImage(&handle)), s.Op().GetInto(&other), s.Op().GetInto(&c))
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, false, false}, found, "its time has passed, and one load shows it all the same")
	require.Equal(t, 7, b.Score)
	requests := l.Wire.Requests()
	require.Len(t, requests, 2)
	require.Contains(t, string(requests[0].Body), `"ConsistentRead":true`)
	require.Contains(t, string(requests[1].Body), `"ConsistentRead":false`)
	require.NotContains(t, string(requests[1].Body), "#t\"")
	l.Sent()
	require.NoError(t, l.DB.TransactGet(t.Context(), s.Op().GetInto(&d, entity.IncludeExpired(), entity.KeepImage(&handle))))
	require.Equal(t, 7, d.Score)
	l.Sent()
	_, err = s.Update(t.Context(), key, entity.Set(&entity.Fields[Voucher]().Score, 8), entity.FromImage(&handle))
	require.ErrorIs(t, err, entity.ErrNotFound, "it is gone for writes")
	require.ErrorIs(t, dbtest.ErrorOf(s.Get(t.Context(), key)), entity.ErrNotFound)
	l.OK(s.Get(t.Context(), key, entity.IncludeExpired()))
}

func TestBatchGet_FailsWhole(t *testing.T) {
	y := newYard(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	y.OK(y.DB.BatchWrite(t.Context(), y.puts(2)...))
	g, b := Dial{ID: "g-1"}, Bare{ID: "b-1"}
	loads := []entity.GetOp{y.dial.Op().GetInto(&g), y.bare.Op().GetInto(&b)}
	y.Sent()
	for _, fault := range []faults.Fault{faults.Unprocessed, faults.Throttle} {
		y.Wire.Inject(func(faults.Request) faults.Fault { return fault })
		found, err := y.DB.BatchGet(t.Context(), loads...)
		require.Error(t, err)
		require.Nil(t, found)
		require.Len(t, y.Operations(), 3)
		var unprocessed *entity.UnprocessedError
		if fault == faults.Unprocessed {
			require.ErrorAs(t, err, &unprocessed)
			require.Equal(t, 2, unprocessed.Count)
		}
		y.Wire.Inject(faults.Nth(1, fault))
		y.OK(y.DB.BatchGet(t.Context(), loads...))
		require.Equal(t, 1, g.Value)
		require.Len(t, y.Operations(), 2)
		g, b = Dial{ID: "g-1"}, Bare{ID: "b-1"}
		loads = []entity.GetOp{y.dial.Op().GetInto(&g), y.bare.Op().GetInto(&b)}
	}
	y.Wire.Inject(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, dbtest.ErrorOf(y.DB.BatchGet(ctx, loads...)), context.Canceled)
	y.patch(keys("pk", "$app#v1#dial#g-1", "sk", "$app#v1#dial"), "value", dbtest.S("x"))
	dbtest.As[*entity.DecodeError](t, dbtest.ErrorOf(y.DB.BatchGet(t.Context(), loads...)))
	require.Equal(t, []any{Dial{ID: "g-1"}, Bare{ID: "b-1"}}, []any{g, b})
}

// Dial is an entity that a batch may write without Unconditional.
type Dial struct {
	_         entity.Key `name:"Dial" pk:"$#{id}" sk:"$"`
	_         entity.GSI `name:"bySite" index:"gsi1" pk:"$#{site}" sk:"$#{id}"`
	ID        string     `dynamodbav:"id"`
	Site      string     `dynamodbav:"site,omitempty"`
	Value     int        `dynamodbav:"value"`
	UpdatedAt time.Time  `dynamodbav:"updatedAt" entity:"updated_at"`
}

func dials(n int) []Dial {
	all := make([]Dial, n)
	for i := range all {
		all[i] = Dial{ID: fmt.Sprint("g-", i), Site: "s", Value: i}
	}
	return all
}

func TestBatch_PutsAndDeletesInChunksAndWritesWholeItems(t *testing.T) {
	l, s := open[Dial](t)
	left := entity.Must(s.PutMany(t.Context(), dials(60)))
	require.Empty(t, left)
	require.Equal(t, []string{"BatchWriteItem", "BatchWriteItem", "BatchWriteItem"}, l.Operations())
	require.Len(t, l.everything(), 60)
	at := keys("pk", "$app#v1#dial#g-7", "sk", "$app#v1#dial")
	stored := l.stored(at)
	require.Equal(t, `S"Dial"`, stored["__edd_e__"])
	require.Equal(t, `S"$app#v1#dial#g-7"`, stored["gsi1sk"])
	require.NotEmpty(t, stored["_w"])
	l.patch(at, "unknown", dbtest.S("goes"))
	l.OK(s.PutMany(t.Context(), []Dial{{ID: "g-7", Value: 70}}))
	again := l.stored(at)
	require.NotContains(t, again, "unknown", "a batch replaces the item whole")
	require.NotContains(t, again, "gsi1pk", "and its index keys")
	require.NotEqual(t, stored["_w"], again["_w"])

	left = entity.Must(s.DeleteMany(t.Context(), append(dials(60), Dial{ID: "never there"})))
	require.Empty(t, left)
	require.Empty(t, l.everything())
}

func TestBatch_WhatStaysUnwrittenIsReturned(t *testing.T) {
	l, s := open[Dial](t, dbtest.Attempts(3))
	l.Wire.Inject(func(faults.Request) faults.Fault { return faults.Unprocessed })
	vs := dials(30)
	for _, write := range []func(context.Context, []Dial, ...entity.BatchOption) ([]Dial, error){s.PutMany, s.DeleteMany} {
		left, err := write(t.Context(), vs)
		require.Equal(t, 30, dbtest.As[*entity.UnprocessedError](t, err).Count)
		require.Equal(t, vs, left)
		left, err = write(t.Context(), []Dial{{ID: "a"}, {}})
		dbtest.RequireInput(t, err, "EDD-9101", "ID")
		require.Len(t, left, 2)
	}
	l.Wire.Inject(nil)
	require.Empty(t, l.everything())
}

func TestBatch_NeedsUnconditionalIfWritesDependOnTheItem(t *testing.T) {
	l, s := open[Employee](t)
	left, err := s.PutMany(t.Context(), []Employee{alice()})
	dbtest.RequireInput(t, err, "EDD-9117", "TenantID")
	require.Len(t, left, 1)
	dbtest.RequireInput(t, dbtest.ErrorOf(s.DeleteMany(t.Context(), []Employee{alice()})), "EDD-9117", "TenantID")
	require.Empty(t, l.Operations())
	l.OK(s.PutMany(t.Context(), []Employee{alice()}, entity.Unconditional()))
	got := entity.Must(s.Get(t.Context(), alice(), entity.Consistent()))
	require.EqualValues(t, 1, got.Version)
	require.Equal(t, got.CreatedAt, got.UpdatedAt)
}

// yard is a lab whose entities lie in two tables.
type yard struct {
	*lab
	dial *entity.Store[Dial]
	bare *entity.Store[Bare]
}

func newYard(t *testing.T, configure ...func(*entity.Config)) *yard {
	t.Helper()
	_, second := localdb.Test(t)
	configure = append(configure, func(c *entity.Config) { c.Tables = map[string]string{"bare": second} })
	y := &yard{lab: newLab(t, configure...)}
	y.dial, y.bare = dbtest.Declare[Dial](t, y.DB), dbtest.Declare[Bare](t, y.DB)
	y.CreateTables()
	return y
}

// puts are n ops on each of the two tables, by turns.
func (y *yard) puts(n int) (ops []entity.BatchOp) {
	for i := range n {
		ops = append(ops, y.dial.Op().BatchPut(Dial{ID: fmt.Sprint("g-", i), Value: i}), y.bare.Op().BatchPut(Bare{ID: fmt.Sprint("b-", i), Name: "n"}))
	}
	return ops
}

// values are those of n dials, and the names of n bare items; -1 and "" if absent.
func (y *yard) values(n int) (values []int, names []string) {
	y.T.Helper()
	var loads []entity.GetOp
	gs, bs := make([]Dial, n), make([]Bare, n)
	for i := range n {
		gs[i], bs[i] = Dial{ID: fmt.Sprint("g-", i), Value: -1}, Bare{ID: fmt.Sprint("b-", i)}
		loads = append(loads, y.dial.Op().GetInto(&gs[i], entity.Consistent()), y.bare.Op().GetInto(&bs[i], entity.Consistent()))
	}
	found := entity.Must(y.DB.BatchGet(y.Ctx, loads...))
	for i := range n {
		require.Equal(y.T, []bool{gs[i].Value >= 0, bs[i].Name != ""}, found[2*i:2*i+2])
		values, names = append(values, gs[i].Value), append(names, bs[i].Name)
	}
	return values, names
}

func TestBatchWrite_GoesToSeveralTablesInOneRequest(t *testing.T) {
	y := newYard(t)
	require.Empty(t, entity.Must(y.DB.BatchWrite(t.Context(), y.puts(30)...)))
	require.Equal(t, []string{"BatchWriteItem", "BatchWriteItem", "BatchWriteItem"}, y.Operations(), "60 writes, 25 a request")
	values, names := y.values(30)
	require.Equal(t, []string{"BatchGetItem"}, y.Operations(), "60 keys of two tables")
	for i := range 30 {
		require.Equal(t, i, values[i])
		require.Equal(t, "n", names[i])
	}
	ops := []entity.BatchOp{y.dial.Op().BatchDelete(Dial{ID: "g-0"}), y.bare.Op().BatchDelete(Bare{ID: "b-1"}), y.dial.Op().BatchDelete(Dial{ID: "never"}), y.dial.Op().BatchPut(Dial{ID: "g-1", Value: 100})}
	y.OK(y.DB.BatchWrite(t.Context(), ops...))
	require.Equal(t, []string{"BatchWriteItem"}, y.Operations())
	values, names = y.values(3)
	require.Equal(t, []int{-1, 100, 2}, values)
	require.Equal(t, []string{"n", "", "n"}, names)
	require.Equal(t, `S"Dial"`, y.stored(keys("pk", "$app#v1#dial#g-1", "sk", "$app#v1#dial"))["__edd_e__"])
}

func TestBatchWrite_OfWritesOfOneItemTheLastCounts(t *testing.T) {
	y := newYard(t)
	put, del := y.dial.Op().BatchPut(Dial{ID: "g-0", Value: 1}), y.dial.Op().BatchDelete(Dial{ID: "g-0"})
	y.OK(y.DB.BatchWrite(t.Context(), del, put))
	values, _ := y.values(1)
	require.Equal(t, []int{1}, values)
	y.OK(y.DB.BatchWrite(t.Context(), put, y.bare.Op().BatchPut(Bare{ID: "g-0", Name: "same text, another table"}), del))
	values, _ = y.values(1)
	require.Equal(t, []int{-1}, values)
	require.Equal(t, []string{"BatchWriteItem", "BatchGetItem", "BatchWriteItem", "BatchGetItem"}, y.Operations())
}

func TestBatchWrite_GivesBackTheOpsThatWereNotApplied(t *testing.T) {
	y := newYard(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	y.Wire.Inject(func(faults.Request) faults.Fault { return faults.Unprocessed })
	ops, last := y.puts(20), y.dial.Op().BatchPut(Dial{ID: "g-0", Value: 7})
	left, err := y.DB.BatchWrite(t.Context(), append(ops, last)...)
	require.Equal(t, 40, dbtest.As[*entity.UnprocessedError](t, err).Count)
	require.Equal(t, append(ops[1:40:40], last), left, "in order, and of one item the last")
	require.Len(t, y.Operations(), 6)

	failing := 0
	y.Wire.Inject(func(r faults.Request) faults.Fault { // one of the two batches does not get through
		if failing++; failing > 1 {
			return faults.Throttle
		}
		return faults.None
	})
	left, err = y.DB.BatchWrite(t.Context(), left...)
	require.Error(t, err)
	require.Contains(t, []int{15, 25}, len(left))
	y.Wire.Inject(nil)
	values, names := y.values(20)
	absent := 0
	for i := range 20 {
		if values[i] < 0 {
			absent++
		}
		if names[i] == "" {
			absent++
		}
	}
	require.Equal(t, len(left), absent, "what is given back is what is not there")
	left = entity.Must(y.DB.BatchWrite(t.Context(), left...))
	require.Empty(t, left)
	values, _ = y.values(20)
	require.NotContains(t, values, -1)
	require.Equal(t, 7, values[0])

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err = y.DB.BatchWrite(ctx, ops...)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ops, left)
}

func TestBatchWrite_MistakesAreFoundBeforeAnyRequest(t *testing.T) {
	y := newYard(t)
	staff, good := dbtest.Declare[Employee](t, y.DB), y.dial.Op().BatchPut(Dial{ID: "a"})
	elsewhere := dbtest.Declare[Dial](t, y.Open(y.Raw)).Op().BatchPut(Dial{ID: "a"})
	for name, c := range map[string]struct {
		op   entity.BatchOp
		code string
	}{
		"no key":         {y.dial.Op().BatchPut(Dial{}), "EDD-9101"},
		"no key, delete": {y.bare.Op().BatchDelete(Bare{}), "EDD-9101"},
		"option":         {y.dial.Op().BatchPut(Dial{ID: "b"}, nil), "EDD-9108"},
		"nil":            {nil, "EDD-9114"},
		"another DB":     {elsewhere, "EDD-9114"},
		"not blind":      {staff.Op().BatchPut(alice()), "EDD-9117"},
		"delete":         {staff.Op().BatchDelete(alice()), "EDD-9117"},
	} {
		ops := []entity.BatchOp{good, c.op}
		left, err := y.DB.BatchWrite(t.Context(), ops...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Equal(t, ops, left, name)
	}
	require.Empty(t, y.Operations())
	y.OK(y.DB.BatchWrite(t.Context(), staff.Op().BatchPut(alice(), entity.Unconditional())))
	require.Empty(t, entity.Must(y.DB.BatchWrite(t.Context())))
}
