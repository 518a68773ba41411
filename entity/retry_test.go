package entity_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Plain has no version.
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

// Counted has a version, which every update adds to.
type Counted struct {
	_       entity.Key `name:"Counted" pk:"$#{id}" sk:"$"`
	ID      string     `dynamodbav:"id"`
	Name    string     `dynamodbav:"name,omitempty"`
	Version int64      `dynamodbav:"version" entity:"version"`
}

// Bare is verbatim: it carries no write id.
type Bare struct {
	_    entity.Key `name:"Bare" pk:"id" table:"bare"`
	ID   string     `dynamodbav:"id"`
	Name string     `dynamodbav:"name,omitempty"`
}

// bench is a lab whose DB gives up after some attempts, with stores of entities that prove their writes in different ways.
type bench struct {
	*lab
	plain *entity.Store[Plain]
	ver   *entity.Store[Counted]
	bare  *entity.Store[Bare]
	other *entity.Store[Plain] // the same table, without faults
}

func newBench(t *testing.T, attempts int) *bench {
	t.Parallel()
	b := &bench{lab: newLab(t, func(c *entity.Config) {
		c.MaxAttempts, c.Tables = attempts, map[string]string{"bare": c.Table + "-bare"}
	})}
	b.plain, b.ver, b.bare = dbtest.Declare[Plain](t, b.DB), dbtest.Declare[Counted](t, b.DB), dbtest.Declare[Bare](t, b.DB)
	b.CreateTables()
	b.other = dbtest.Declare[Plain](t, b.Open(b.Raw))
	return b
}

func (b *bench) writes() int {
	n := 0
	for _, op := range []string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"} {
		n += b.Wire.Count(op)
	}
	return n
}

func TestLostAnswer_WhatCannotBeRepeatedIsAmbiguousAndAppliedOnce(t *testing.T) {
	f, v := entity.Fields[Plain](), entity.Fields[Counted]()
	type verb struct {
		proven bool // by the write id, when it was applied
		do     func(context.Context, *bench) error
	}
	for name, write := range map[string]verb{
		"Add": {true, func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1)))
		}},
		"ListAppend": {true, func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Update(ctx, Plain{ID: "a"}, entity.ListAppend(&f.Tags, "x")))
		}},
		"version": {true, func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.ver.Update(ctx, Counted{ID: "a"}, entity.Set(&v.Name, "x")))
		}},
		"upsert with version": {true, func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.ver.Upsert(ctx, Counted{ID: "a", Name: "x"}))
		}},
		"Delete":          {false, func(ctx context.Context, b *bench) error { return b.plain.Delete(ctx, Plain{ID: "a"}) }},
		"verbatim create": {false, func(ctx context.Context, b *bench) error { return dbtest.ErrorOf(b.bare.Create(ctx, Bare{ID: "b"})) }},
		"verbatim update": {false, func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.bare.Update(ctx, Bare{ID: "a"}, entity.Set(&entity.Fields[Bare]().Name, "x")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b, ctx := newBench(t, 0), t.Context()
			for _, fault := range []faults.Fault{faults.Drop, faults.Lost} {
				b.Wire.Inject(nil)
				_ = b.other.Delete(ctx, Plain{ID: "a"})
				b.OK(b.plain.Create(ctx, Plain{ID: "a", Count: 1, Tags: []string{"o"}}))
				b.OK(b.ver.Put(ctx, Counted{ID: "a"}))
				b.OK(b.bare.Put(ctx, Bare{ID: "a"}))
				b.Sent()
				b.Wire.Inject(func(r faults.Request) faults.Fault {
					if r.Operation == "GetItem" {
						return faults.None
					}
					return fault
				})
				err := write.do(ctx, b)
				require.Equal(t, fault == faults.Drop || !write.proven, entity.IsAmbiguous(err), "%s: %v", fault, err)
				if entity.IsAmbiguous(err) {
					require.ErrorIs(t, err, faults.ErrInjected)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, 1, b.writes(), "it must not be sent again")
			}
		})
	}
}

// What an op planned from a read is guarded by is lost to another write: the whole transaction is planned again.
func TestReplan_UsesANewTokenAndTheNewState(t *testing.T) {
	b, ctx, f := newBench(t, 0), t.Context(), entity.Fields[Plain]()
	b.OK(b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1}))
	b.Sent()
	move := b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		return b.DB.Transact(ctx, move, b.ver.Op().Create(Counted{ID: "v"}))
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

func TestIdempotent_ChangesThatCannotBeRepeatedAreAppliedOnce(t *testing.T) {
	f := entity.Fields[Plain]()
	for name, c := range map[string]struct {
		write  func(context.Context, *bench) error
		writes int
		reads  int
	}{
		"add": {func(ctx context.Context, b *bench) error {
			got, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())
			require.Equal(t, 2, got.Count)
			return err
		}, 2, 1},
		"upsert of an item": {func(ctx context.Context, b *bench) error {
			got, created, err := b.ver.Upsert(ctx, Counted{ID: "a", Name: "x"}, entity.Idempotent())
			require.False(t, created)
			require.EqualValues(t, 2, got.Version)
			return err
		}, 2, 1},
		"delete": {func(ctx context.Context, b *bench) error {
			return b.plain.Delete(ctx, Plain{ID: "a"}, entity.Idempotent())
		}, 2, 0},
		"verbatim create": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.bare.Create(ctx, Bare{ID: "b"}, entity.Idempotent()))
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, ctx := newBench(t, 0), t.Context()
			b.OK(b.plain.Create(ctx, Plain{ID: "a", Count: 1}))
			b.OK(b.ver.Create(ctx, Counted{ID: "a"}))
			b.Sent()
			b.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
			require.NoError(t, c.write(ctx, b))
			require.Equal(t, c.writes, b.Wire.Count("TransactWriteItems"))
			require.Equal(t, c.reads, b.Wire.Count("GetItem"))
			require.Equal(t, c.writes+c.reads, len(b.Wire.Requests()))
		})
	}
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
	var input *entity.InputError
	require.ErrorAs(t, entity.FailureOf(err, needsRead), &input)
	require.Contains(t, input.Problem, "use Transact, with a Create of an item whose key is the token")
	for _, token := range []entity.Token{{}, {At: time.Now()}} {
		require.ErrorAs(t, b.DB.TransactWithToken(ctx, token, b.plain.Op().Create(Plain{ID: "a"})), &input)
	}
	require.Empty(t, b.Wire.Requests())
}
