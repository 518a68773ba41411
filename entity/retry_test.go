package entity_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
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

func TestRetry_ThrottledWriteIsRepeatedByTheLibraryAlone(t *testing.T) {
	for _, f := range []faults.Fault{faults.Throttle, faults.Conflict} {
		t.Run(f.String(), func(t *testing.T) {
			b := newBench(t, 0)
			b.OK(b.plain.Create(t.Context(), Plain{ID: "a", Count: 1}))
			b.Sent()
			b.Wire.Inject(faults.Nth(1, f, "UpdateItem"))
			got, err := b.plain.Update(t.Context(), Plain{ID: "a"}, entity.Add(&entity.Fields[Plain]().Count, 1))
			require.NoError(t, err)
			require.Equal(t, 2, got.Count)
			require.Equal(t, 2, b.writes(), "one refused, one repeated: the SDK's retryer must be off")
		})
	}
}

func TestRetry_ConflictsWithoutEndAreErrConflictAfterMaxAttempts(t *testing.T) {
	b := newBench(t, 3)
	b.Wire.Inject(func(r faults.Request) faults.Fault { return faults.Conflict })
	_, err := b.plain.Create(t.Context(), Plain{ID: "a"})
	require.ErrorIs(t, err, entity.ErrConflict)
	var sdk *types.TransactionConflictException
	require.ErrorAs(t, err, &sdk, "the SDK's error stays reachable")
	require.False(t, entity.IsAmbiguous(err), "a conflict says that nothing was written")
	require.Equal(t, 3, b.writes())
}

func TestRetry_ThrottlingWithoutEndIsTheSDKsError(t *testing.T) {
	b := newBench(t, 2)
	b.Wire.Inject(func(r faults.Request) faults.Fault { return faults.Throttle })
	_, err := b.plain.Create(t.Context(), Plain{ID: "a"})
	var sdk *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, err, &sdk)
	require.NotErrorIs(t, err, entity.ErrConflict)
	require.False(t, entity.IsAmbiguous(err))
	_, err = b.plain.Get(t.Context(), Plain{ID: "a"})
	require.ErrorAs(t, err, &sdk, "reads are bounded too")
	require.Equal(t, 2, b.Wire.Count("GetItem"))
}

// A write whose answer is lost was applied if the item has its write id, and is not ambiguous.
func TestLostAnswer_AWriteIsProvedByItsWriteID(t *testing.T) {
	f, key := entity.Fields[Plain](), Plain{ID: "a"}
	before := Plain{ID: "a", Name: "old", Team: "red", Rank: 1, Count: 1}
	set, rewritten := before, before
	set.Name, rewritten.Rank, rewritten.Count = "x", 2, 2
	for name, c := range map[string]struct {
		write func(context.Context, *entity.Store[Plain]) (Plain, error)
		want  Plain
		sent  int // under its guard, a rewrite can be sent twice
	}{
		"create": {func(ctx context.Context, s *entity.Store[Plain]) (Plain, error) {
			return s.Create(ctx, Plain{ID: "b", Name: "x"})
		}, Plain{ID: "b", Name: "x"}, 1},
		"blind set": {func(ctx context.Context, s *entity.Store[Plain]) (Plain, error) {
			return s.Update(ctx, key, entity.Set(&f.Name, "x"))
		}, set, 1},
		"under a condition that it breaks itself": {func(ctx context.Context, s *entity.Store[Plain]) (Plain, error) {
			return s.Update(ctx, key, entity.Set(&f.Name, "x"), entity.If(entity.Eq(&f.Name, "old")))
		}, set, 1},
		"rewrite": {func(ctx context.Context, s *entity.Store[Plain]) (Plain, error) {
			return s.Update(ctx, key, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1))
		}, rewritten, 2},
	} {
		for _, fault := range []faults.Fault{faults.Lost, faults.InternalApplied} {
			t.Run(name+"/"+fault.String(), func(t *testing.T) {
				b := newBench(t, 0)
				b.OK(b.other.Create(t.Context(), before))
				b.Wire.Inject(faults.Nth(1, fault, "PutItem", "UpdateItem"))
				got, err := c.write(t.Context(), b.plain)
				require.NoError(t, err)
				require.Equal(t, c.want, got)
				require.Equal(t, c.sent, b.writes())
				require.Equal(t, c.want, entity.Must(b.other.Get(t.Context(), got, entity.Consistent())))
			})
		}
	}
}

func TestLostAnswer_CreateOverwrittenMeanwhileIsAmbiguous(t *testing.T) {
	b := newBench(t, 0)
	b.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	err := b.Overtake(dbtest.Is("GetItem"), func() error {
		return dbtest.ErrorOf(b.plain.Create(t.Context(), Plain{ID: "a", Name: "x"}))
	}, func() {
		b.OK(b.other.Update(t.Context(), Plain{ID: "a"}, entity.Set(&entity.Fields[Plain]().Name, "y")))
	})
	require.True(t, entity.IsAmbiguous(err), "equal content or key proves nothing: only the write id does")
	require.ErrorIs(t, err, faults.ErrInjected)
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
			b := newBench(t, 0)
			ctx := t.Context()
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

func TestLostAnswer_ATransactionIsRepeatedUnchangedUnderItsToken(t *testing.T) {
	b := newBench(t, 0)
	b.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	one, two := b.plain.Op().Create(Plain{ID: "a", Name: "x"}), b.ver.Op().Create(Counted{ID: "v"})
	require.NoError(t, b.DB.Transact(t.Context(), one, two))
	require.Equal(t, "x", one.Result().Name)
	require.EqualValues(t, 1, two.Result().Version)
	requests := b.Wire.Requests()
	require.Len(t, requests, 2)
	require.JSONEq(t, string(requests[0].Body), string(requests[1].Body), "same body, same token")
}

func TestLostAnswer_ATransactionThatStaysUnknownIsAmbiguous(t *testing.T) {
	b := newBench(t, 2)
	b.Wire.Inject(func(faults.Request) faults.Fault { return faults.Lost })
	err := b.DB.Transact(t.Context(), b.plain.Op().Create(Plain{ID: "a"}), b.ver.Op().Create(Counted{ID: "v"}))
	require.True(t, entity.IsAmbiguous(err))
	_, err = b.other.Get(t.Context(), Plain{ID: "a"})
	require.NoError(t, err, "it was applied, once")
}

// What an op planned from a read is guarded by is lost to another write: the whole transaction is planned again.
func TestReplan_UsesANewTokenAndTheNewState(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	b.OK(b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1}))
	b.Sent()
	move := b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		return b.DB.Transact(ctx, move, b.ver.Op().Create(Counted{ID: "v"}))
	}, func() {
		b.OK(b.other.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Name, "between")))
	}))
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

func TestLostAnswer_ARewriteOverwrittenMeanwhileIsAmbiguous(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	b.OK(b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1, Count: 1}))
	b.Sent()
	b.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	err := b.Overtake(func(r faults.Request) bool { return r.Operation == "PutItem" && r.Index == 2 }, func() error {
		return dbtest.ErrorOf(b.plain.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1)))
	}, func() {
		b.OK(b.other.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Name, "later")))
	})
	require.ErrorIs(t, err, entity.ErrConflict)
	require.True(t, entity.IsAmbiguous(err))
	require.Equal(t, 2, entity.Must(b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())).Count, "planning again would have added twice")
}

// expiring is a context whose deadline passes when a test closes done, however slow the machine is.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestCancel_WhileTheRequestIsUnderWayIsAmbiguous(t *testing.T) {
	b := newBench(t, 0)
	ctx := expiring{t.Context(), make(chan struct{})}
	b.Wire.Inject(func(faults.Request) faults.Fault {
		close(ctx.done)
		return faults.Hang
	})
	_, err := b.plain.Create(ctx, Plain{ID: "a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, entity.IsAmbiguous(err))
}

// Every verb, every request of it, every fault: what was reported must be what is stored.
func TestFaults_AtEveryRequestOfEveryVerb(t *testing.T) {
	f := entity.Fields[Plain]()
	before := Plain{ID: "a", Team: "red", Rank: 1, Count: 1}
	verbs := map[string]struct {
		do    func(context.Context, *bench) error
		after *Plain // nil: gone
	}{
		"create": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Create(ctx, Plain{ID: "n", Name: "x"}))
		}, &Plain{ID: "n", Name: "x"}},
		"update": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Update(ctx, before, entity.Set(&f.Name, "x")))
		}, &Plain{ID: "a", Team: "red", Rank: 1, Count: 1, Name: "x"}},
		"add": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Update(ctx, before, entity.Add(&f.Count, 1)))
		}, &Plain{ID: "a", Team: "red", Rank: 1, Count: 2}},
		"rewrite": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Update(ctx, before, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1)))
		}, &Plain{ID: "a", Team: "red", Rank: 2, Count: 2}},
		"upsert": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.plain.Upsert(ctx, Plain{ID: "a", Name: "x"}))
		}, &Plain{ID: "a", Team: "red", Rank: 1, Count: 1, Name: "x"}},
		"delete": {func(ctx context.Context, b *bench) error { return b.plain.Delete(ctx, before) }, nil},
		"transact": {func(ctx context.Context, b *bench) error {
			return b.DB.Transact(ctx, b.plain.Op().Update(before, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1)), b.ver.Op().Create(Counted{ID: "v"}))
		}, &Plain{ID: "a", Team: "red", Rank: 2, Count: 2}},
	}
	all := []faults.Fault{faults.Lost, faults.Drop, faults.InternalApplied, faults.Conflict, faults.Throttle, faults.Internal}
	for name, v := range verbs {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 4)
			for _, fault := range all[:testsize.Pick(3, len(all))] {
				for i := 1; ; i++ {
					b.drop(keys("pk", "$app#v1#plain#n", "sk", "$app#v1#plain"), keys("pk", "$app#v1#counted#v", "sk", "$app#v1#counted"))
					_ = b.other.Delete(t.Context(), before)
					b.OK(b.other.Create(t.Context(), before))
					b.Sent()
					b.Wire.Inject(faults.Nth(i, fault))
					err := v.do(t.Context(), b)
					b.Wire.Inject(nil)
					hit := len(b.Wire.Requests()) >= i
					key := before
					if v.after != nil {
						key = *v.after
					}
					stored, getErr := b.other.Get(t.Context(), key, entity.Consistent())
					applied := v.after == nil && errors.Is(getErr, entity.ErrNotFound) || v.after != nil && getErr == nil && equalPlain(stored, *v.after)
					switch {
					case err == nil:
						require.True(t, applied, "%s on request %d: success was reported for %+v", fault, i, stored)
					case !entity.IsAmbiguous(err):
						require.False(t, applied, "%s on request %d: %v was reported, but the write took place", fault, i, err)
					}
					if !applied && v.after != nil && key.ID == "a" {
						require.True(t, equalPlain(stored, before), "%s on request %d: half done: %+v", fault, i, stored)
					}
					if !hit {
						require.NoError(t, err)
						break
					}
				}
			}
		})
	}
}

func equalPlain(a, b Plain) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
