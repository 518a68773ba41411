package entity_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
	b.plain, b.ver, b.bare = declare[Plain](t, b.db), declare[Counted](t, b.db), declare[Bare](t, b.db)
	b.create(t)
	b.other = declare[Plain](t, b.aside(t))
	return b
}

func (b *bench) writes() int {
	n := 0
	for _, op := range []string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"} {
		n += b.wire.Count(op)
	}
	return n
}

func TestRetry_ThrottledWriteIsRepeatedByTheLibraryAlone(t *testing.T) {
	for _, f := range []faults.Fault{faults.Throttle, faults.Conflict} {
		t.Run(f.String(), func(t *testing.T) {
			b := newBench(t, 0)
			_, err := b.plain.Create(t.Context(), Plain{ID: "a", Count: 1})
			require.NoError(t, err)
			b.wire.Reset()
			b.wire.Inject(faults.Nth(1, f, "UpdateItem"))
			got, err := b.plain.Update(t.Context(), Plain{ID: "a"}, entity.Add(&entity.Fields[Plain]().Count, 1))
			require.NoError(t, err)
			require.Equal(t, 2, got.Count)
			require.Equal(t, 2, b.writes(), "one refused, one repeated: the SDK's retryer must be off")
		})
	}
}

func TestRetry_ConflictsWithoutEndAreErrConflictAfterMaxAttempts(t *testing.T) {
	b := newBench(t, 3)
	b.wire.Inject(func(r faults.Request) faults.Fault { return faults.Conflict })
	_, err := b.plain.Create(t.Context(), Plain{ID: "a"})
	require.ErrorIs(t, err, entity.ErrConflict)
	var sdk *types.TransactionConflictException
	require.ErrorAs(t, err, &sdk, "the SDK's error stays reachable")
	require.False(t, entity.IsAmbiguous(err), "a conflict says that nothing was written")
	require.Equal(t, 3, b.writes())
}

func TestRetry_ThrottlingWithoutEndIsTheSDKsError(t *testing.T) {
	b := newBench(t, 2)
	b.wire.Inject(func(r faults.Request) faults.Fault { return faults.Throttle })
	_, err := b.plain.Create(t.Context(), Plain{ID: "a"})
	var sdk *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, err, &sdk)
	require.NotErrorIs(t, err, entity.ErrConflict)
	require.False(t, entity.IsAmbiguous(err))
	_, err = b.plain.Get(t.Context(), Plain{ID: "a"})
	require.ErrorAs(t, err, &sdk, "reads are bounded too")
	require.Equal(t, 2, b.wire.Count("GetItem"))
}

func TestLostAnswer_CreateIsProvedByItsWriteID(t *testing.T) {
	for _, f := range []faults.Fault{faults.Lost, faults.InternalApplied} {
		t.Run(f.String(), func(t *testing.T) {
			b := newBench(t, 0)
			b.wire.Inject(faults.Nth(1, f, "PutItem"))
			got, err := b.plain.Create(t.Context(), Plain{ID: "a", Name: "x"})
			require.NoError(t, err)
			require.Equal(t, "x", got.Name)
			require.Equal(t, 1, b.writes())
			require.Equal(t, 1, b.wire.Count("GetItem"))
		})
	}
}

func TestLostAnswer_CreateOverwrittenMeanwhileIsAmbiguous(t *testing.T) {
	b := newBench(t, 0)
	b.wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	arrived, release := b.wire.Hold(func(r faults.Request) bool { return r.Operation == "GetItem" })
	done := make(chan error, 1)
	go func() {
		_, err := b.plain.Create(t.Context(), Plain{ID: "a", Name: "x"})
		done <- err
	}()
	<-arrived
	_, err := b.other.Update(t.Context(), Plain{ID: "a"}, entity.Set(&entity.Fields[Plain]().Name, "y"))
	require.NoError(t, err)
	release()
	err = <-done
	require.True(t, entity.IsAmbiguous(err), "equal content or key proves nothing: only the write id does")
	require.ErrorIs(t, err, faults.ErrInjected)
}

func TestLostAnswer_BlindSetIsProvedByItsWriteID(t *testing.T) {
	b := newBench(t, 0)
	_, err := b.plain.Create(t.Context(), Plain{ID: "a"})
	require.NoError(t, err)
	b.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	got, err := b.plain.Update(t.Context(), Plain{ID: "a"}, entity.Set(&entity.Fields[Plain]().Name, "y"))
	require.NoError(t, err)
	require.Equal(t, "y", got.Name)
	require.Equal(t, 1, b.wire.Count("UpdateItem"))
}

func TestLostAnswer_BlindSetUnderAConditionThatItBreaksItself(t *testing.T) {
	b := newBench(t, 0)
	f := entity.Fields[Plain]()
	_, err := b.plain.Create(t.Context(), Plain{ID: "a", Name: "old"})
	require.NoError(t, err)
	b.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	got, err := b.plain.Update(t.Context(), Plain{ID: "a"}, entity.Set(&f.Name, "new"), entity.If(entity.Eq(&f.Name, "old")))
	require.NoError(t, err, "a repetition's condition would fail on the call's own write; the write id proves it")
	require.Equal(t, "new", got.Name)
}

func TestLostAnswer_WhatCannotBeRepeatedIsAmbiguousAndAppliedOnce(t *testing.T) {
	f, v := entity.Fields[Plain](), entity.Fields[Counted]()
	type verb struct {
		proven bool // by the write id, when it was applied
		do     func(context.Context, *bench) error
	}
	for name, write := range map[string]verb{
		"Add": {true, func(ctx context.Context, b *bench) error {
			_, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1))
			return err
		}},
		"ListAppend": {true, func(ctx context.Context, b *bench) error {
			_, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.ListAppend(&f.Tags, "x"))
			return err
		}},
		"version": {true, func(ctx context.Context, b *bench) error {
			_, err := b.ver.Update(ctx, Counted{ID: "a"}, entity.Set(&v.Name, "x"))
			return err
		}},
		"upsert with version": {true, func(ctx context.Context, b *bench) error {
			_, _, err := b.ver.Upsert(ctx, Counted{ID: "a", Name: "x"})
			return err
		}},
		"Delete": {false, func(ctx context.Context, b *bench) error { return b.plain.Delete(ctx, Plain{ID: "a"}) }},
		"verbatim create": {false, func(ctx context.Context, b *bench) error {
			_, err := b.bare.Create(ctx, Bare{ID: "b"})
			return err
		}},
		"verbatim update": {false, func(ctx context.Context, b *bench) error {
			_, err := b.bare.Update(ctx, Bare{ID: "a"}, entity.Set(&entity.Fields[Bare]().Name, "x"))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 0)
			ctx := t.Context()
			for _, fault := range []faults.Fault{faults.Drop, faults.Lost} {
				b.wire.Inject(nil)
				_ = b.other.Delete(ctx, Plain{ID: "a"})
				_, err := b.plain.Create(ctx, Plain{ID: "a", Count: 1, Tags: []string{"o"}})
				require.NoError(t, err)
				_, err = b.ver.Put(ctx, Counted{ID: "a"})
				require.NoError(t, err)
				_, err = b.bare.Put(ctx, Bare{ID: "a"})
				require.NoError(t, err)
				b.wire.Reset()
				b.wire.Inject(func(r faults.Request) faults.Fault {
					if r.Operation == "GetItem" {
						return faults.None
					}
					return fault
				})
				err = write.do(ctx, b)
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
	b.wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	one, two := b.plain.Op().Create(Plain{ID: "a", Name: "x"}), b.ver.Op().Create(Counted{ID: "v"})
	require.NoError(t, b.db.Transact(t.Context(), one, two))
	require.Equal(t, "x", one.Result().Name)
	require.EqualValues(t, 1, two.Result().Version)
	requests := b.wire.Requests()
	require.Len(t, requests, 2)
	require.JSONEq(t, string(requests[0].Body), string(requests[1].Body), "same body, same token")
}

func TestLostAnswer_ATransactionThatStaysUnknownIsAmbiguous(t *testing.T) {
	b := newBench(t, 2)
	b.wire.Inject(func(faults.Request) faults.Fault { return faults.Lost })
	err := b.db.Transact(t.Context(), b.plain.Op().Create(Plain{ID: "a"}), b.ver.Op().Create(Counted{ID: "v"}))
	require.True(t, entity.IsAmbiguous(err))
	_, err = b.other.Get(t.Context(), Plain{ID: "a"})
	require.NoError(t, err, "it was applied, once")
}

func TestReplan_UsesANewTokenAndTheNewState(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	b.wire.Reset()
	arrived, release := b.wire.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" && r.Index == 1 })
	done := make(chan error, 1)
	go func() {
		done <- b.db.Transact(ctx, b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2)), b.ver.Op().Create(Counted{ID: "v"}))
	}()
	<-arrived
	_, err = b.other.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Name, "between"))
	require.NoError(t, err)
	release()
	require.NoError(t, <-done)
	got, err := b.plain.Get(ctx, Plain{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, Plain{ID: "a", Team: "red", Rank: 2, Name: "between"}, got, "neither write is lost")
	var tokens []string
	for _, r := range b.wire.Requests() {
		if r.Operation == "TransactWriteItems" {
			var body struct{ ClientRequestToken string }
			require.NoError(t, json.Unmarshal(r.Body, &body))
			tokens = append(tokens, body.ClientRequestToken)
		}
	}
	require.Len(t, tokens, 2)
	require.NotEqual(t, tokens[0], tokens[1], "a new body under an old token would be refused")
}

func TestReplan_GuardLostForEverIsErrConflict(t *testing.T) {
	b := newBench(t, 3)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	b.wire.Reset()
	b.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "PutItem" { // another write comes between each read and its put
			_, err := b.other.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1))
			require.NoError(t, err)
		}
		return faults.None
	})
	_, err = b.plain.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.Equal(t, 3, b.wire.Count("PutItem"))
	require.Equal(t, 3, b.wire.Count("GetItem"))
	got, err := b.plain.Get(ctx, Plain{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, Plain{ID: "a", Team: "red", Rank: 1, Count: 3}, got)
}

func TestLostAnswer_ARewriteIsProvedByItsWriteID(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1, Count: 1})
	require.NoError(t, err)
	b.wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	got, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1))
	require.NoError(t, err)
	require.Equal(t, 2, got.Count, "the addition is applied once")
	stored, err := b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, got, stored)
}

func TestLostAnswer_ARewriteOverwrittenMeanwhileIsAmbiguous(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Create(ctx, Plain{ID: "a", Team: "red", Rank: 1, Count: 1})
	require.NoError(t, err)
	b.wire.Reset()
	b.wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	arrived, release := b.wire.Hold(func(r faults.Request) bool { return r.Operation == "PutItem" && r.Index == 2 })
	done := make(chan error, 1)
	go func() {
		_, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1))
		done <- err
	}()
	<-arrived
	_, err = b.other.Update(ctx, Plain{ID: "a"}, entity.Set(&f.Name, "later"))
	require.NoError(t, err)
	release()
	err = <-done
	require.ErrorIs(t, err, entity.ErrConflict)
	require.True(t, entity.IsAmbiguous(err))
	got, err := b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 2, got.Count, "planning again would have added twice")
}

func TestCancel_BeforeTheRequestNothingIsSent(t *testing.T) {
	b := newBench(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.plain.Create(ctx, Plain{ID: "a"})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, entity.IsAmbiguous(err))
	_, err = b.plain.Get(ctx, Plain{ID: "a"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, b.db.Transact(ctx, b.plain.Op().Create(Plain{ID: "a"})), context.Canceled)
	require.Empty(t, b.wire.Requests())
}

func TestCancel_WhileTheRequestIsUnderWayIsAmbiguous(t *testing.T) {
	b := newBench(t, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b.wire.Inject(func(faults.Request) faults.Fault { return faults.Hang })
	_, err := b.plain.Create(ctx, Plain{ID: "a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, entity.IsAmbiguous(err))
}

func TestCancel_BetweenRepetitionsOfARefusalIsNotAmbiguous(t *testing.T) {
	b := newBench(t, 1000)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	b.wire.Inject(func(faults.Request) faults.Fault { return faults.Throttle })
	_, err := b.plain.Create(ctx, Plain{ID: "a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var sdk *types.ProvisionedThroughputExceededException
	require.True(t, errors.As(err, &sdk) || !entity.IsAmbiguous(err))
	require.False(t, entity.IsAmbiguous(err))
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
			_, err := b.plain.Create(ctx, Plain{ID: "n", Name: "x"})
			return err
		}, &Plain{ID: "n", Name: "x"}},
		"update": {func(ctx context.Context, b *bench) error {
			_, err := b.plain.Update(ctx, before, entity.Set(&f.Name, "x"))
			return err
		}, &Plain{ID: "a", Team: "red", Rank: 1, Count: 1, Name: "x"}},
		"add": {func(ctx context.Context, b *bench) error {
			_, err := b.plain.Update(ctx, before, entity.Add(&f.Count, 1))
			return err
		}, &Plain{ID: "a", Team: "red", Rank: 1, Count: 2}},
		"rewrite": {func(ctx context.Context, b *bench) error {
			_, err := b.plain.Update(ctx, before, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1))
			return err
		}, &Plain{ID: "a", Team: "red", Rank: 2, Count: 2}},
		"upsert": {func(ctx context.Context, b *bench) error {
			_, _, err := b.plain.Upsert(ctx, Plain{ID: "a", Name: "x"})
			return err
		}, &Plain{ID: "a", Team: "red", Rank: 1, Count: 1, Name: "x"}},
		"delete": {func(ctx context.Context, b *bench) error { return b.plain.Delete(ctx, before) }, nil},
		"transact": {func(ctx context.Context, b *bench) error {
			return b.db.Transact(ctx, b.plain.Op().Update(before, entity.Set(&f.Rank, 2), entity.Add(&f.Count, 1)), b.ver.Op().Create(Counted{ID: "v"}))
		}, &Plain{ID: "a", Team: "red", Rank: 2, Count: 2}},
	}
	for name, v := range verbs {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 4)
			for _, fault := range []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost} {
				for i := 1; ; i++ {
					_, err := b.raw.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: rawKey("$app#v1#plain#n", "$app#v1#plain")})
					require.NoError(t, err)
					_, err = b.raw.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: rawKey("$app#v1#counted#v", "$app#v1#counted")})
					require.NoError(t, err)
					_ = b.other.Delete(t.Context(), before)
					_, err = b.other.Create(t.Context(), before)
					require.NoError(t, err)
					b.wire.Reset()
					b.wire.Inject(faults.Nth(i, fault))
					err = v.do(t.Context(), b)
					b.wire.Inject(nil)
					hit := len(b.wire.Requests()) >= i
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

func rawKey(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}
