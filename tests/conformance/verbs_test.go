// Package conformance_test holds the tests of features together: combinations of unique values, versions and soft delete,
// on every verb, alone and in transactions; and what concurrent writers, lost answers and stops in the middle must never break.
package conformance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/versioned"
)

// Person is what the entities of every combination are made of.
type Person struct {
	ID        string    `dynamodbav:"id"`
	Tenant    string    `dynamodbav:"tenant"`
	Email     string    `dynamodbav:"email,omitempty"`
	Badge     string    `dynamodbav:"badge,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

const (
	personPK = "$app#v1#person#p-1"
	personSK = "$app#v1#person"
)

// as makes a T of what it embeds.
func as[T any](p Person) T {
	var v T
	*person(&v) = p
	return v
}

// person is the Person in v.
func person[T any](v *T) *Person { return dbtest.Embedded[Person](v) }

// fields is the prototype of the Person in T.
func fields[T any]() *Person { return person(entity.Fields[T]()) }

// short takes what all keys of an entity begin with out of a text.
func short(s string) string { return strings.ReplaceAll(s, "$app#v1#", "$") }

// owners are the owners of the sentinels in the table.
func owners(l *dbtest.Bench) map[string]string {
	l.T.Helper()
	out := map[string]string{}
	for _, it := range l.ItemsByKey() {
		if owner := dbtest.Text(it["_entity_pk"]); owner != "" {
			out[short(dbtest.Text(it["pk"]))] = short(owner)
		}
	}
	return out
}

// runJoined runs op in a transaction with a check of another item; the error is the operation's own.
func runJoined(b *dbtest.Bench, op entity.Op) error {
	b.T.Helper()
	err := b.DB.Transact(b.Ctx, op, dbtest.Declare[Order](b.T, b.DB).Op().CheckNotExists(Order{ID: "nobody"}))
	if failure := entity.FailureOf(err, op); failure != nil {
		return failure
	}
	return err
}

// runAlone runs op by itself.
func runAlone[T any](t *testing.T, op entity.Write[T]) error {
	t.Helper()
	var result T
	return dbtest.ErrorOf(engine.Operation{Core: engine.OwnerOf(op), Op: engine.PlanOf(t.Context(), op)}.Run(t.Context(), &result))
}

// classesOf returns the classes of an error that the verb table has, "ok" for nil, and the text of other errors.
func classesOf(err error) string {
	if err == nil {
		return "ok"
	}
	var names []string
	for _, c := range []struct {
		name string
		err  error
	}{
		{"NotFound", entity.ErrNotFound}, {"Exists", entity.ErrExists}, {"Deleted", entity.ErrDeleted}, {"NotDeleted", entity.ErrNotDeleted},
		{"Conflict", entity.ErrConflict}, {"Condition", entity.ErrConditionFailed},
	} {
		if errors.Is(err, c.err) {
			names = append(names, c.name)
		}
	}
	if names == nil {
		return err.Error()
	}
	return strings.Join(names, " ")
}

// bench has a store whose requests are recorded, and another, quiet one, which makes items in any state.
type bench[T any] struct {
	*dbtest.Bench
	s     *entity.Store[T]
	quiet *entity.Store[T]
	bin   *lifecycle.Deleted[T] // nil without soft delete
	back  *lifecycle.Deleted[T] // of quiet
	f     *Person
	n     int
}

func newBench[T any](t *testing.T) *bench[T] {
	t.Helper()
	dbtest.Parallel(t)
	l, s := dbtest.OpenStore[T](t)
	b := &bench[T]{Bench: l, s: s, quiet: dbtest.Declare[T](t, l.Open(l.Raw)), f: fields[T]()}
	if traitsOf[T]().soft {
		b.bin, b.back = entity.Must(lifecycle.Of(s)), entity.Must(lifecycle.Of(b.quiet))
	}
	return b
}

// done requires that a quiet write succeeded, and returns its result.
func (b *bench[T]) done(v T, err error) T {
	b.T.Helper()
	require.NoError(b.T, err)
	return v
}

func (b *bench[T]) create(p Person) T { b.T.Helper(); return b.done(b.quiet.Create(b.Ctx, as[T](p))) }

func (b *bench[T]) update(p Person, changes ...entity.UpdateOption) T {
	b.T.Helper()
	return b.done(b.quiet.Update(b.Ctx, as[T](p), changes...))
}

func (b *bench[T]) remove(p Person) {
	b.T.Helper()
	require.NoError(b.T, b.quiet.Delete(b.Ctx, as[T](p)))
}

func (b *bench[T]) restore(p Person) T { b.T.Helper(); return b.done(b.back.Restore(b.Ctx, as[T](p))) }

// run runs op by itself, or joined with another operation in a transaction.
func (b *bench[T]) run(t *testing.T, op entity.Write[T], joined bool) error {
	t.Helper()
	if joined {
		return runJoined(b.Bench, op)
	}
	return runAlone(t, op)
}

// The states that the verb table has columns for.
const (
	absent  = "absent"
	live    = "live"
	deleted = "soft-deleted"
	copied  = "live, with a deleted copy"
)

// item makes a new item in a state and returns its value. A live one has version 1, a deleted one 2.
func (b *bench[T]) item(t *testing.T, state string) Person {
	t.Helper()
	b.n++
	p := Person{ID: fmt.Sprintf("x-%d", b.n), Tenant: "t", Email: fmt.Sprintf("e%d@example.com", b.n), Name: "N"}
	if state == absent {
		return p
	}
	b.create(p)
	if state == live {
		return p
	}
	b.Clock.Move(time.Second)
	b.remove(p)
	if state == deleted {
		return p
	}
	for name, it := range b.ItemsByKey() {
		if strings.HasPrefix(name, "$app#v1#person#"+p.ID+" ") && strings.Contains(name, "#deleted#") {
			b.restore(p)
			b.PutItem(it)
			return p
		}
	}
	require.Fail(t, "there is no deleted copy")
	return p
}

// over returns the options of a Put of a new struct over a stored item: with versioned.Lock it says that it expects no version, unless
// opts expect one.
func over[T any](opts ...entity.WriteOption) []entity.WriteOption {
	if spec := bind.Collect(opts); spec.AnyVersion || spec.Expect != nil || len(dbtest.Declarations[versioned.Lock, T]()) == 0 {
		return opts
	}
	return append(opts[:len(opts):len(opts)], versioned.AnyVersion())
}

// verb is a write of an item, with the options that it accepts.
type verb[T any] = func(p Person, opts ...entity.WriteOption) entity.Write[T]

// verbs are the verbs that can be part of a transaction.
func (b *bench[T]) verbs() map[string]verb[T] {
	update := func(change func(p Person) entity.UpdateOption) verb[T] {
		return func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Update(as[T](p), append(accepted[entity.UpdateOption](opts), change(p))...)
		}
	}
	all := map[string]verb[T]{
		"Create": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Create(as[T](p), accepted[entity.CreateOption](opts)...)
		},
		"Put": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Put(as[T](p), over[T](opts...)...)
		},
		"Upsert": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Upsert(as[T](p), accepted[entity.UpdateOption](opts)...)
		},
		"Update":                   update(func(Person) entity.UpdateOption { return entity.Set(&b.f.Name, "U") }),
		"Update of a unique field": update(func(p Person) entity.UpdateOption { return entity.Set(&b.f.Email, "new-"+p.Email) }),
		"Delete": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Delete(as[T](p), accepted[entity.DeleteOption](opts)...)
		},
	}
	if b.bin != nil {
		all["Restore"] = func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.bin.Op().Restore(as[T](p), accepted[lifecycle.RestoreOption](opts)...)
		}
	}
	return all
}

// accepted are the options that a verb takes.
func accepted[O any](opts []entity.WriteOption) []O {
	var out []O
	for _, o := range opts {
		if k, ok := o.(O); ok {
			out = append(out, k)
		}
	}
	return out
}

// table is what the verb table says, without Expect.
func table(verb, state string, c traits) string {
	creating := "ok"
	if c.retain || c.reserve {
		creating = "Exists Deleted"
	}
	switch strings.Fields(verb)[0] {
	case "Create":
		return map[string]string{absent: "ok", live: "Exists", deleted: creating, copied: "Exists"}[state]
	case "Put", "Upsert":
		return map[string]string{absent: "ok", live: "ok", deleted: creating, copied: "ok"}[state]
	case "Restore":
		return map[string]string{absent: "NotFound", live: "NotDeleted", deleted: "ok", copied: "Exists NotDeleted"}[state]
	}
	return map[string]string{absent: "NotFound", live: "ok", deleted: "NotFound Deleted", copied: "ok"}[state]
}

// expecting is what it says with a version that no item has.
func expecting(verb, state string) string {
	switch {
	case verb == "Restore" && state == live:
		return table(verb, state, traits{})
	case state == absent:
		return "NotFound Conflict"
	case state == deleted && verb != "Restore":
		return "NotFound Deleted Conflict"
	}
	return "Conflict"
}

func verbTable[T any](t *testing.T) {
	c := traitsOf[T]()
	t.Run(c.String(), func(t *testing.T) {
		b, states := newBench[T](t), []string{absent, live}
		if c.soft {
			states = append(states, deleted, copied)
		}
		for verb, op := range b.verbs() {
			for i, state := range states {
				n := i + len(verb) + len(c.String())
				if testsize.Long() || n%3 > 0 { // each verb goes both routes
					b.cell(t, c, verb, state, n%2 == 1, op)
				}
				if testsize.Long() {
					b.cell(t, c, verb, state, n%2 == 0, op)
				}
			}
		}
		b.lone(t, c, states)
	})
}

// cell is a verb in a state: without Expect, with a version that no item has, and with the item's own.
func (b *bench[T]) cell(t *testing.T, c traits, verb, state string, joined bool, op verb[T]) {
	name := fmt.Sprintf("%s, %s, joined=%v", verb, state, joined)
	run := func(p Person, opts ...entity.WriteOption) error { return b.run(t, op(p, opts...), joined) }
	err := run(b.item(t, state))
	require.Equal(t, table(verb, state, c), classesOf(err), name)
	require.NotContains(t, fmt.Sprint(err), "@", name)
	if verb == "Create" {
		return
	}
	if !c.lock && !c.retain {
		b.Sent()
		require.Equal(t, "EDD-9108", dbtest.InputCode(run(b.item(t, state), versioned.Expect(1))), name)
		require.Empty(t, b.Sent(), name)
		return
	}
	err = run(b.item(t, state), versioned.Expect(77))
	require.Equal(t, expecting(verb, state), classesOf(err), "%s, another version", name)
	var conflict *versioned.ConflictError
	if errors.As(err, &conflict) {
		want := versioned.ConflictError{Expected: 77, Actual: map[string]int64{live: 1, deleted: 2, copied: 3}[state]}
		if state == copied && verb == "Restore" {
			want.Actual = 2 // of the copy
		} else if state == absent || state == deleted && verb != "Restore" {
			want = versioned.ConflictError{Expected: 77, Absent: true}
		}
		require.Equal(t, want, *conflict, name)
	}
	if at := map[string]int64{live: 1, copied: 3, deleted: 2}[state]; at > 0 && (state == deleted) == (verb == "Restore") {
		require.Equal(t, "ok", classesOf(run(b.item(t, state), versioned.Expect(at))), "%s, the item's version", name)
	}
}

// lone are the verbs that stand alone.
func (b *bench[T]) lone(t *testing.T, c traits, states []string) {
	modify := func(p Person, opts ...entity.WriteOption) error {
		return dbtest.ErrorOf(b.s.Modify(t.Context(), as[T](p), func(v *T) error { person(v).Name += "!"; return nil }, opts...))
	}
	_, err := lifecycle.Of(b.s)
	require.Equal(t, c.soft, err == nil)
	found := map[bool]string{true: "ok", false: "NotFound"}
	for _, state := range states {
		require.Equal(t, table("Modify", state, c), classesOf(modify(b.item(t, state))), "Modify, %s", state)
		if c.lock || c.retain {
			require.Equal(t, expecting("Modify", state), classesOf(modify(b.item(t, state), versioned.Expect(77))), "Modify, %s", state)
		}
		_, err := b.s.Get(t.Context(), as[T](b.item(t, state)))
		there := state == live || state == copied
		require.Equal(t, found[there], classesOf(err), "Get, %s", state)
		if b.bin != nil {
			_, err = b.bin.Get(t.Context(), as[T](b.item(t, state)))
			require.Equal(t, found[state == deleted || state == copied], classesOf(err), "Get of the deleted item, %s", state)
		}
		require.NoError(t, b.s.Purge(t.Context(), as[T](b.item(t, state))), "Purge, %s", state)
		require.Equal(t, found[there], classesOf(runJoined(b.Bench, b.s.Op().CheckExists(as[T](b.item(t, state))))), "CheckExists, %s", state)
		require.Equal(t, map[bool]string{true: "Exists", false: "ok"}[there], classesOf(runJoined(b.Bench, b.s.Op().CheckNotExists(as[T](b.item(t, state))))), "CheckNotExists, %s", state)
	}
}

// Every cell of the verb table, for every way in which features change it; the same classes alone and in a transaction.
func TestVerbTable(t *testing.T) {
	t.Parallel()
	// Each trait is in one of these, present and absent.
	for _, table := range []func(*testing.T){verbTable[u1VNoneSFree], verbTable[u1VLockSReserve], verbTable[u0VLockSNone], verbTable[u0VRetainSNone], verbTable[u0VRetainTTLSFreeTTL]} {
		table(t)
	}
	if testsize.Long() {
		for _, table := range []func(*testing.T){verbTable[u1VLockSFree], verbTable[u1VRetainSReserveTTL]} {
			table(t)
		}
	}
}

// Expect(0) is for items from before the struct had versions, or from a library whose versions begin at 0.
func TestExpect_ZeroIsAnItemThatHasNoVersionYet(t *testing.T) {
	t.Parallel()
	t.Run("Lock", func(t *testing.T) { expectZero(t, newBench[u1VLockSFree](t), false) })
	t.Run("Retain", func(t *testing.T) { expectZero(t, newBench[u1VRetainSFree](t), true) })
}

func expectZero[T any](t *testing.T, b *bench[T], retains bool) {
	for _, version := range []types.AttributeValue{nil, dbtest.N("0")} {
		for verb, op := range b.verbs() {
			if verb == "Create" || verb == "Restore" {
				continue
			}
			for i, joined := range []bool{false, true} {
				if !testsize.Long() && (i == 0) == ((len(verb)%2 == 0) == (version == nil)) {
					continue // each verb goes both routes
				}
				p := b.item(t, live)
				pk := "$app#v1#person#" + p.ID
				b.ChangeItem(pk, personSK, dbtest.Item{"version": version})
				if retains {
					b.RemoveItem(b.Key(pk, personSK+"#v#0000001"))
				}
				run := func(n int64) error { return b.run(t, op(p, versioned.Expect(n)), joined) }
				var conflict *versioned.ConflictError
				require.ErrorAs(t, run(1), &conflict, verb)
				require.Equal(t, versioned.ConflictError{Expected: 1}, *conflict, verb)
				b.Clock.Move(time.Second)
				require.NoError(t, run(0), verb)
				if retains {
					require.Contains(t, b.ItemsByKey(), pk+" "+personSK+"#v#0000000", verb)
				}
				if verb == "Delete" {
					continue
				}
				got := entity.Must(b.quiet.Get(t.Context(), as[T](p)))
				require.Equal(t, int64(1), person(&got).Version, verb)
				require.ErrorAs(t, run(0), &conflict, verb)
				require.Equal(t, versioned.ConflictError{Actual: 1}, *conflict, verb)
			}
		}
	}
}

// A condition of the caller's that fails is not a conflict, whether or not a version is expected too.
func TestExpect_WithAFailedConditionIsTheCondition(t *testing.T) {
	t.Parallel()
	t.Run("Lock", func(t *testing.T) { failedCondition(t, newBench[u1VLockSFree](t)) })
	t.Run("Retain", func(t *testing.T) { failedCondition(t, newBench[u1VRetainSFree](t)) })
}

func failedCondition[T any](t *testing.T, b *bench[T]) {
	no := entity.If(entity.Eq(&b.f.Tenant, "another"))
	for verb, op := range b.verbs() {
		state, expect := live, []entity.WriteOption{versioned.Expect(1)}
		switch verb {
		case "Create":
			state, expect = absent, nil
		case "Restore":
			state, expect = deleted, []entity.WriteOption{versioned.Expect(2)}
		}
		for _, joined := range []bool{false, true} {
			for _, opts := range [][]entity.WriteOption{{no}, append(expect, no)} {
				p := b.item(t, state)
				err := b.run(t, op(p, opts...), joined)
				require.Equal(t, "Condition", classesOf(err), verb)
				if stored, ok := entity.StoredItem[T](err); state == live {
					require.True(t, ok, verb)
					require.Equal(t, p.Email, person(&stored).Email, verb)
				}
			}
		}
		if verb != "Create" {
			require.Equal(t, "Conflict", classesOf(runAlone(t, op(b.item(t, state), no, versioned.Expect(9)))), verb)
		}
	}
	_, err := b.s.Update(t.Context(), as[T](b.item(t, live)), entity.Set(&b.f.Name, "x"), entity.If())
	require.Equal(t, "EDD-9108", dbtest.InputCode(err), "no condition guards nothing")
}
