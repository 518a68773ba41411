package rules_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// deed has every feature that keeps states, and says who made each.
type deed struct {
	_ entity.Key           `name:"Deed" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ versioned.Retain     `ttl:"90d"`
	_ unique.Constraint    `name:"number" fields:"number"`

	ID      string `dynamodbav:"id"`
	Number  string `dynamodbav:"number"`
	State   string `dynamodbav:"state"`
	Owner   string `dynamodbav:"owner,omitempty" entity:"immutable"`
	By      string `dynamodbav:"by" entity:"context=actor,required"`
	Why     string `dynamodbav:"why,omitempty" entity:"context=reason,secret"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// slip has no feature, and its writes are single requests.
type slip struct {
	_ entity.Key `name:"Slip" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	State string `dynamodbav:"state"`
	By    string `dynamodbav:"by" entity:"context=actor,required"`
	Why   string `dynamodbav:"why" entity:"context=reason"`
}

type actorKey string

// as returns a context of who does something, and why.
func as(ctx context.Context, actor, reason string) context.Context {
	return context.WithValue(context.WithValue(ctx, actorKey("actor"), actor), actorKey("reason"), reason)
}

func fromContext(ctx context.Context, name string) (string, bool) {
	v, ok := ctx.Value(actorKey(name)).(string)
	return v, ok
}

func withActors(c *entity.Config) { c.FromContext = fromContext }

func TestContext_EveryStateSaysWhoMadeIt(t *testing.T) {
	b, store := opened[deed](t, withActors)
	deleted, history := entity.Must(lifecycle.Of(store)), entity.Must(versioned.Of(store))
	key, f, n := deed{ID: "d1"}, entity.Fields[deed](), 0
	who := func() context.Context { n++; return as(b.Ctx, fmt.Sprintf("actor-%d", n), fmt.Sprintf("reason-%d", n)) }
	is := func(v deed, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("actor-%d reason-%d", n, n), v.By+" "+v.Why)
	}
	is(store.Create(who(), deed{ID: "d1", Number: "n1", By: "not the caller"}))
	is(store.Update(who(), key, entity.Set(&f.State, "a")))
	is(store.Put(who(), deed{ID: "d1", Number: "n1", State: "b", By: "not the caller"}))
	v, _, err := store.Upsert(who(), deed{ID: "d1", Number: "n1", State: "c"})
	is(v, err)
	is(store.Modify(who(), key, func(d *deed) error { d.State = "d"; return nil }))
	is(history.Revert(who(), key, 1))
	op := store.Op().Update(key, entity.Set(&f.State, "e"))
	require.NoError(t, b.DB.Transact(who(), op))
	is(op.Result(), nil)
	require.NoError(t, store.Delete(who(), key, versioned.AnyVersion()))
	gone, err := deleted.Get(b.Ctx, key)
	is(gone.Item, err)
	is(deleted.Restore(who(), key))

	var states []string
	for past, err := range history.List(key, versioned.WithCurrent()).All(b.Ctx) {
		require.NoError(t, err)
		states = append(states, past.Item.By+" "+past.Item.Why)
	}
	require.Len(t, states, n)
	for i, state := range states {
		require.Equal(t, fmt.Sprintf("actor-%d reason-%d", i+1, i+1), state, "version %d", i+1)
	}

	require.Equal(t, 1, entity.Must(store.DeleteAll(who(), store.Query(key), "")).Deleted)
	gone, err = deleted.Get(b.Ctx, key)
	is(gone.Item, err)
	is(deleted.Restore(who(), key))

	v = entity.Must(store.Update(as(b.Ctx, "last", ""), key, entity.Set(&f.State, "f")))
	require.Equal(t, "last ", v.By+" "+v.Why, "a write without a reason does not keep the one of the write before")
}

func TestContext_SingleRequestsCostTheSame(t *testing.T) {
	b, store := opened[slip](t, withActors)
	ctx, key, f := as(b.Ctx, "a", "r"), slip{ID: "s1"}, entity.Fields[slip]()
	is := func(v slip, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, "a r", v.By+" "+v.Why)
	}
	b.Sent()
	is(store.Create(ctx, key))
	ctx = as(b.Ctx, "a", "")
	for _, write := range []func() (slip, error){
		func() (slip, error) { return store.Update(ctx, key, entity.Set(&f.State, "x")) },
		func() (slip, error) { return store.Put(ctx, key) },
		func() (slip, error) { v, _, err := store.Upsert(ctx, key); return v, err },
		func() (slip, error) { v, _, err := store.Upsert(ctx, slip{ID: "s2"}); return v, err },
	} {
		v := entity.Must(write())
		require.Equal(t, "a ", v.By+" "+v.Why)
	}
	_, stored := b.Items()[0]["why"]
	require.False(t, stored, "what a context does not have is removed")
	ctx = as(b.Ctx, "a", "r")
	require.Empty(t, entity.Must(store.PutMany(ctx, []slip{{ID: "s3"}, {ID: "s4"}})))
	b.OK(b.DB.BatchWrite(ctx, store.Op().BatchPut(slip{ID: "s5"}), store.Op().BatchDelete(slip{ID: "s4"})))
	require.Equal(t, []string{"PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "UpdateItem", "BatchWriteItem", "BatchWriteItem"}, b.Operations())
	for _, id := range []string{"s3", "s5"} {
		is(store.Get(b.Ctx, slip{ID: id}, entity.Consistent()))
	}
	require.NoError(t, store.Delete(b.Ctx, key), "no state remains, so no actor is needed")
	b.OK(b.DB.BatchWrite(b.Ctx, store.Op().BatchDelete(slip{ID: "s3"})))
}

// act has a type and a tag that refuse values of the context.
type act struct {
	_ entity.Key `name:"Act" pk:"$#{id}" sk:"$"`

	ID  string `dynamodbav:"id"`
	By  Code   `dynamodbav:"by,omitempty" entity:"context=actor"`
	Why string `dynamodbav:"why,omitempty" entity:"context=reason,secret" validate:"reason"`
}

func TestContext_ValuesAreValidatedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	book := &rulebook{}
	b, s := dbtest.OpenStore[act](t, withActors, func(c *entity.Config) { c.Validator = book })
	b.Sent()
	key := act{ID: "a"}
	for what, write := range map[string]func(ctx context.Context) error{
		"create":      func(ctx context.Context) error { return dbtest.ErrorOf(s.Create(ctx, key)) },
		"put":         func(ctx context.Context) error { return dbtest.ErrorOf(s.Put(ctx, key)) },
		"batch":       func(ctx context.Context) error { return dbtest.ErrorOf(s.PutMany(ctx, []act{key})) },
		"transaction": func(ctx context.Context) error { return b.DB.Transact(ctx, s.Op().Create(key)) },
	} {
		var refused *entity.ValidationError
		require.ErrorAs(t, write(as(b.Ctx, "x", "")), &refused, what)
		require.Equal(t, entity.ValidationError{Code: "EDD-9116", Type: "rules_test.act", Field: "By", Err: errShort}, *refused, what)
		book.refuse = func(call string) bool { return call == "Var string hunter2 reason" }
		err := write(as(b.Ctx, "long", "hunter2"))
		require.ErrorAs(t, err, &refused, what)
		require.Equal(t, entity.ValidationError{Code: "EDD-9130", Type: "rules_test.act", Field: "Why"}, *refused, what)
		require.NotContains(t, err.Error(), "hunter2", what)
		book.refuse = nil
	}
	require.Empty(t, b.Sent())
	b.OK(s.Create(as(b.Ctx, "long", "hunter2"), key))
}

func TestContext_WhatIsRequiredIsMissedBeforeAnyRequest(t *testing.T) {
	b, store := opened[deed](t, withActors)
	key, f := deed{ID: "d1"}, entity.Fields[deed]()
	b.OK(store.Create(as(b.Ctx, "a", ""), deed{ID: "d1", Number: "n1"}))
	single := dbtest.Declare[slip](t, b.DB)
	b.Sent()
	for what, err := range map[string]error{
		"create":      func() error { _, err := store.Create(b.Ctx, deed{ID: "d2", Number: "n2"}); return err }(),
		"update":      func() error { _, err := store.Update(b.Ctx, key, entity.Set(&f.State, "x")); return err }(),
		"modify":      func() error { _, err := store.Modify(b.Ctx, key, func(*deed) error { return nil }); return err }(),
		"delete":      store.Delete(b.Ctx, key, versioned.AnyVersion()),
		"delete all":  func() error { return dbtest.ErrorOf(store.DeleteAll(b.Ctx, store.Query(key), "")) }(),
		"empty":       store.Delete(as(b.Ctx, "", "r"), key, versioned.AnyVersion()),
		"restore":     func() error { return dbtest.ErrorOf(entity.Must(lifecycle.Of(store)).Restore(b.Ctx, key)) }(),
		"transaction": b.DB.Transact(b.Ctx, store.Op().CheckExists(key), single.Op().Create(slip{ID: "s1"})),
		"token":       b.DB.TransactWithToken(b.Ctx, entity.Token{ID: "call-1"}, single.Op().Create(slip{ID: "s1"})),
		"batch":       func() error { _, err := single.PutMany(b.Ctx, []slip{{ID: "s1"}}); return err }(),
		"batch op":    func() error { _, err := b.DB.BatchWrite(b.Ctx, single.Op().BatchPut(slip{ID: "s1"})); return err }(),
	} {
		bad := dbtest.As[*entity.InputError](t, err, what)
		require.Equal(t, "EDD-9251", bad.Code, what)
		require.Equal(t, "By", bad.Field, what)
	}
	require.Empty(t, b.Sent())
	_, err := store.Update(as(b.Ctx, "a", "\xff"), key, entity.Set(&f.State, "x"))
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9102", bad.Code)
	require.Empty(t, b.Sent())
	require.ErrorAs(t, dbtest.ErrorOf(store.Update(as(b.Ctx, "a", ""), key, entity.Set(&f.By, "b"))), &bad)
	require.Equal(t, "EDD-9104", bad.Code)
	require.NoError(t, store.Purge(b.Ctx, key), "it keeps no state")
}

// A repetition under the token of a caller is the same write only with the same actor.
func TestContext_BelongsToACallWithAToken(t *testing.T) {
	b, store := opened[slip](t, withActors)
	call := func(actor string) error {
		return b.DB.TransactWithToken(as(b.Ctx, actor, ""), entity.Token{ID: "call-1"}, store.Op().Put(slip{ID: "s1"}))
	}
	require.NoError(t, call("a"))
	require.NoError(t, call("a"))
	require.ErrorIs(t, call("b"), entity.ErrTokenReused)
	require.Equal(t, "a", entity.Must(store.Get(b.Ctx, slip{ID: "s1"}, entity.Consistent())).By)
}

// What an upgrade gives a field with the role is stored, in its type: it was another's before.
func TestContext_AnUpgradeSaysWhoMadeAnEarlierState(t *testing.T) {
	b, old := opened[scroll](t, withActors)
	store := dbtest.Declare[parchment](t, b.Open(b.Client), entity.Upgrade(1, func(o scroll) (parchment, error) {
		if o.By == 0 {
			return parchment{ID: o.ID}, nil
		}
		return parchment{ID: o.ID, By: fmt.Sprint("user-", o.By)}, nil
	}))
	b.OK(old.Create(b.Ctx, scroll{ID: "1", By: 7}))
	b.OK(old.Create(b.Ctx, scroll{ID: "2"}))
	for id, by := range map[string]string{"1": "user-7", "2": ""} {
		require.Equal(t, by, entity.Must(store.Get(b.Ctx, parchment{ID: id}, entity.Consistent())).By)
	}
	v := entity.Must(store.Update(as(b.Ctx, "ann", ""), parchment{ID: "1"}, entity.Set(&entity.Fields[parchment]().Title, "T")))
	require.Equal(t, "ann", v.By)
}

// internal/schema has the other mistakes of declarations.
func TestContext_NeedsTheFunctionOfTheConfiguration(t *testing.T) {
	t.Parallel()
	_, err := entity.New[slip](entity.Must(entity.Open(nil, entity.Config{Table: "t"})))
	require.Equal(t, "EDD-9099", dbtest.SchemaCode(err))
}

func TestChanges_OfADelete(t *testing.T) {
	b, store := opened[deed](t, withActors)
	deleted, history := entity.Must(lifecycle.Of(store)), entity.Must(versioned.Of(store))
	key, f, ctx := deed{ID: "d1"}, entity.Fields[deed](), as(b.Ctx, "a", "")
	b.OK(store.Create(ctx, deed{ID: "d1", Number: "n1", State: "open"}))
	b.Sent()
	require.NoError(t, store.Delete(ctx, key, entity.Set(&f.State, "closed"), entity.Set(&f.Owner, "o"), versioned.Expect(1)))
	require.Equal(t, []string{"Query", "TransactWriteItems"}, b.Operations(), "what a Delete costs")
	gone := entity.Must(deleted.Get(b.Ctx, key))
	require.Equal(t, "closed o", gone.Item.State+" "+gone.Item.Owner)
	state := entity.Must(history.Get(b.Ctx, key, 2))
	require.Equal(t, "closed", state.Item.State)
	state = entity.Must(history.Get(b.Ctx, key, 1))
	require.Equal(t, "open", state.Item.State, "the state before is as it was")

	v := entity.Must(deleted.Restore(ctx, key, entity.Set(&f.State, "restored"), entity.Set(&f.Number, "n2")))
	require.Equal(t, "restored n2 o", v.State+" "+v.Number+" "+v.Owner)
	require.Equal(t, v, entity.Must(entity.Must(store.Index("byState")).Query(deed{State: "restored"}).One(b.Ctx)), "index keys follow")
	state = entity.Must(history.Get(b.Ctx, key, 2))
	require.Equal(t, "closed n1", state.Item.State+" "+state.Item.Number, "the deleted state is as it was")
	require.NoError(t, dbtest.ErrorOf(store.Create(ctx, deed{ID: "d2", Number: "n1"})), "the restored item has another number")
	require.ErrorAs(t, dbtest.ErrorOf(store.Create(ctx, deed{ID: "d3", Number: "n2"})), new(*unique.ViolationError))

	require.ErrorIs(t, store.Delete(ctx, key, entity.Set(&f.Owner, "p"), versioned.AnyVersion()), entity.ErrConditionFailed, "it is immutable")
	b.OK(store.Get(b.Ctx, key, entity.Consistent()))
	b.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	require.NoError(t, store.Delete(ctx, key, entity.Set(&f.State, "lost"), versioned.AnyVersion()))
	copies := entity.Must(deleted.List(key).Collect(b.Ctx))
	require.Len(t, copies, 1)
	require.Equal(t, "lost", copies[0].Item.State)
	require.Contains(t, store.Op().Delete(key, entity.Set(&f.State, "x")).String(), `SET state = "x"`)
}

func TestChanges_ThatNothingKeeps(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t, withActors, func(c *entity.Config) { c.TTL = "ends" })
	slips, pages, kept := dbtest.Declare[slip](t, b.DB), dbtest.Declare[page](t, b.DB), dbtest.Declare[bulky](t, b.DB)
	f, g := entity.Fields[slip](), entity.Fields[bulky]()
	for what, x := range map[string]struct {
		code string
		err  error
	}{
		"no feature":       {"EDD-9108", slips.Delete(b.Ctx, slip{ID: "s"}, entity.Set(&f.State, "x"))},
		"only an expiry":   {"EDD-9108", pages.Delete(b.Ctx, page{ID: "s"}, entity.Set(&entity.Fields[page]().Title, "x"))},
		"a key":            {"EDD-9104", kept.Delete(b.Ctx, bulky{ID: "s"}, entity.Set(&g.ID, "x"))},
		"a reserved value": {"EDD-9104", kept.Delete(b.Ctx, bulky{ID: "s"}, entity.Set(&g.Mail, "x"))},
		"a reserved value of a restore": {"EDD-9104", func() error {
			_, err := entity.Must(lifecycle.Of(kept)).Restore(b.Ctx, bulky{ID: "s"}, entity.Set(&g.Mail, "x"))
			return err
		}()},
	} {
		require.Equal(t, x.code, dbtest.As[*entity.InputError](t, x.err, what).Code, what)
	}
	require.Empty(t, b.Sent())
}

func TestIfPresent_AMissingItemIsASuccess(t *testing.T) {
	b, store := opened[page](t)
	key, f := page{ID: "l1"}, entity.Fields[page]()
	missing, old := false, page{Title: "?"}
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing)))
	require.True(t, missing)
	require.Equal(t, []string{"DeleteItem", "GetItem"}, b.Operations(), "the first refusal without an item is read for one")
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(nil), entity.If(entity.Eq(&f.Title, "open")), entity.Returning(&old)))
	require.Zero(t, old, "there was no item, whatever is required of one")
	require.ErrorIs(t, store.Delete(b.Ctx, key), entity.ErrNotFound)

	made := entity.Must(store.Create(b.Ctx, page{ID: "l1", Title: "open"}))
	require.ErrorIs(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), entity.If(entity.Eq(&f.Title, "closed"))), entity.ErrConditionFailed)
	require.True(t, missing, "nothing was deleted")
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), entity.Returning(&old)))
	require.False(t, missing)
	require.Equal(t, made, old)
	b.Sent()
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing)))
	require.Equal(t, []string{"DeleteItem"}, b.Operations(), "it costs what a Delete costs")
	require.Empty(t, b.Items())

	b.OK(store.Create(b.Ctx, page{ID: "l1"}))
	b.Clock.Move(2 * time.Hour)
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing)))
	require.True(t, missing, "an item that has expired is not there")
	for range 2 {
		require.NoError(t, store.Delete(b.Ctx, page{ID: "l2"}, entity.IfPresent(&missing), entity.Idempotent()))
		require.True(t, missing)
	}
}

func TestIfPresent_WithFeatures(t *testing.T) {
	b, store := opened[bulky](t)
	key, missing := bulky{ID: "r1"}, false
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), versioned.AnyVersion()))
	require.True(t, missing)
	require.Empty(t, b.Items(), "nothing is written")
	b.OK(store.Create(b.Ctx, bulky{ID: "r1", Mail: "n1"}))
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), versioned.AnyVersion()))
	require.False(t, missing)
	stored := len(b.Items())
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), versioned.AnyVersion()))
	require.True(t, missing, "a deleted item is missing")
	require.Len(t, b.Items(), stored, "its copy stays as it is")
}

func TestIfPresent_InATransaction(t *testing.T) {
	b, store := opened[bulky](t)
	missing := [2]bool{}
	ops := func() []entity.Op {
		return []entity.Op{
			store.Op().Delete(bulky{ID: "r1"}, entity.IfPresent(&missing[0]), versioned.AnyVersion()),
			store.Op().Delete(bulky{ID: "r2"}, entity.IfPresent(&missing[1]), versioned.AnyVersion()), store.Op().Put(bulky{ID: "r3", Team: "put"}),
		}
	}
	b.OK(store.Create(b.Ctx, bulky{ID: "r1", Mail: "n1"}))
	require.NoError(t, b.DB.Transact(b.Ctx, ops()...))
	require.Equal(t, [2]bool{false, true}, missing)
	require.NoError(t, b.DB.Transact(b.Ctx, ops()...))
	require.Equal(t, [2]bool{true, true}, missing)

	transact := func() func(faults.Request) bool { return dbtest.First(dbtest.Is("TransactWriteItems")) }
	other := b.Open(b.Raw)
	quiet := dbtest.Declare[bulky](t, other)
	require.NoError(t, b.Overtake(transact(), func() error { return b.DB.Transact(b.Ctx, ops()...) }, func() {
		b.OK(quiet.Create(b.Ctx, bulky{ID: "r2", Mail: "n2"}))
	}))
	require.Equal(t, [2]bool{true, false}, missing, "an item that came meanwhile is deleted, too")
	b.OK(entity.Must(lifecycle.Of(quiet)).Restore(b.Ctx, bulky{ID: "r1"}))
	require.NoError(t, b.Overtake(transact(), func() error { return b.DB.Transact(b.Ctx, ops()...) }, func() {
		require.NoError(t, quiet.Delete(b.Ctx, bulky{ID: "r1"}, versioned.AnyVersion()))
	}))
	require.Equal(t, [2]bool{true, true}, missing, "an item that went meanwhile is missing")
}

// A Delete whose answer was lost is ambiguous with the option, too: a second one could remove an item created since.
func TestIfPresent_LostAnswers(t *testing.T) {
	b, store := opened[page](t)
	missing := true
	b.OK(store.Create(b.Ctx, page{ID: "l1"}))
	b.Wire.Inject(faults.Nth(1, faults.Lost, "DeleteItem"))
	require.True(t, entity.IsAmbiguous(store.Delete(b.Ctx, page{ID: "l1"}, entity.IfPresent(&missing))))
	require.True(t, missing, "it is not known")
	b.Wire.Inject(faults.Nth(1, faults.Throttle, "DeleteItem"))
	b.OK(store.Create(b.Ctx, page{ID: "l1"}))
	require.NoError(t, store.Delete(b.Ctx, page{ID: "l1"}, entity.IfPresent(&missing)))
	require.False(t, missing)
}
