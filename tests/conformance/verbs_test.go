package conformance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/versioned"
)

// classes are the classes of errors that the verb table speaks of.
var classes = []struct {
	name string
	err  error
}{
	{"NotFound", entity.ErrNotFound}, {"Exists", entity.ErrExists}, {"Deleted", entity.ErrDeleted}, {"NotDeleted", entity.ErrNotDeleted},
	{"Conflict", entity.ErrConflict}, {"Condition", entity.ErrConditionFailed},
}

// classesOf says which of them err is; "ok" for none.
func classesOf(err error) string {
	if err == nil {
		return "ok"
	}
	var names []string
	for _, c := range classes {
		if errors.Is(err, c.err) {
			names = append(names, c.name)
		}
	}
	if names == nil {
		return err.Error()
	}
	return strings.Join(names, " ")
}

// states that the table has columns for.
const (
	absent  = "absent"
	live    = "live"
	deleted = "soft-deleted"
	beside  = "live with a deleted copy beside it"
)

// bench builds items in any state, past the requests that are looked at.
type bench[T any] struct {
	l     *dbtest.Bench
	s     *entity.Store[T]
	quiet *entity.Store[T]
	bin   *lifecycle.Deleted[T] // nil without soft delete
	back  *lifecycle.Deleted[T] // of quiet
	n     int
}

func newBench[T any](t *testing.T) *bench[T] {
	t.Helper()
	l, s := dbtest.OpenStore[T](t)
	b := &bench[T]{l: l, s: s, quiet: dbtest.Declare[T](t, l.Open(l.Raw))}
	if bin, err := lifecycle.Of(s); err == nil {
		b.bin = bin
		b.back, err = lifecycle.Of(b.quiet)
		require.NoError(t, err)
	}
	return b
}

// item returns the value of a new item that is in a state; a live one has version 1, a deleted one 2.
func (b *bench[T]) item(t *testing.T, state string) Person {
	t.Helper()
	b.n++
	p := Person{ID: fmt.Sprintf("x-%d", b.n), Tenant: "t", Email: fmt.Sprintf("e%d@example.com", b.n), Name: "N"}
	if state == absent {
		return p
	}
	_, err := b.quiet.Create(t.Context(), as[T](p))
	require.NoError(t, err)
	if state == live {
		return p
	}
	b.l.Clock.Move(time.Second)
	require.NoError(t, b.quiet.Delete(t.Context(), as[T](p)))
	if state == deleted {
		return p
	}
	for name, it := range b.l.ItemsByKey() {
		if strings.HasPrefix(name, "$app#v1#person#"+p.ID+" ") && strings.Contains(name, "#deleted#") {
			_, err = b.back.Restore(t.Context(), as[T](p))
			require.NoError(t, err)
			b.l.PutItem(it)
			return p
		}
	}
	require.Fail(t, "there is no deleted copy")
	return p
}

// verbs are the verbs that can be part of a transaction.
func (b *bench[T]) verbs() map[string]func(p Person, opts ...entity.WriteOption) entity.Write[T] {
	f := fields[T]()
	all := map[string]func(p Person, opts ...entity.WriteOption) entity.Write[T]{
		"Create": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Create(as[T](p), accepted[entity.CreateOption](opts)...)
		},
		"Put": func(p Person, opts ...entity.WriteOption) entity.Write[T] { return b.s.Op().Put(as[T](p), opts...) },
		"Upsert": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Upsert(as[T](p), accepted[entity.UpdateOption](opts)...)
		},
		"Update": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Update(as[T](p), append([]entity.UpdateOption{entity.Set(&f.Name, "U")}, accepted[entity.UpdateOption](opts)...)...)
		},
		"Update of a unique field": func(p Person, opts ...entity.WriteOption) entity.Write[T] {
			return b.s.Op().Update(as[T](p), append([]entity.UpdateOption{entity.Set(&f.Email, "new-"+p.Email)}, accepted[entity.UpdateOption](opts)...)...)
		},
		"Delete": func(p Person, opts ...entity.WriteOption) entity.Write[T] { return b.s.Op().Delete(as[T](p), opts...) },
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
		return map[string]string{absent: "ok", live: "Exists", deleted: creating, beside: "Exists"}[state]
	case "Put", "Upsert":
		return map[string]string{absent: "ok", live: "ok", deleted: creating, beside: "ok"}[state]
	case "Restore":
		return map[string]string{absent: "NotFound", live: "NotDeleted", deleted: "ok", beside: "Exists NotDeleted"}[state]
	}
	return map[string]string{absent: "NotFound", live: "ok", deleted: "NotFound Deleted", beside: "ok"}[state]
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

func verbTable[T any](t *testing.T, c combination) {
	b := newBench[T](t)
	states := []string{absent, live}
	if c.traits.soft {
		states = append(states, deleted, beside)
	}
	for verb, op := range b.verbs() {
		for i, state := range states {
			routes := []bool{false, true}
			if !testsize.Long() { // each verb goes both
				routes = []bool{(i+len(verb))%2 == 1}
			}
			for _, joined := range routes {
				run := func(p Person, opts ...entity.WriteOption) error {
					if joined {
						return runJoined(b.l, op(p, opts...))
					}
					return runAlone(t, op(p, opts...))
				}
				name := fmt.Sprintf("%s, %s, joined=%v", verb, state, joined)
				require.Equal(t, table(verb, state, c.traits), classesOf(run(b.item(t, state))), name)
				if verb == "Create" {
					continue
				}
				if !c.traits.lock && !c.traits.retain {
					b.l.Sent()
					require.Equal(t, "EDD-9108", dbtest.InputCode(run(b.item(t, state), versioned.Expect(1))), name)
					require.Empty(t, b.l.Sent(), name)
					continue
				}
				err := run(b.item(t, state), versioned.Expect(77))
				require.Equal(t, expecting(verb, state), classesOf(err), "%s, another version", name)
				var conflict *versioned.ConflictError
				if errors.As(err, &conflict) {
					want := versioned.ConflictError{Expected: 77, Actual: map[string]int64{live: 1, deleted: 2, beside: 3}[state]}
					if state == beside && verb == "Restore" {
						want.Actual = 2 // of the copy
					} else if state == absent || state == deleted && verb != "Restore" {
						want = versioned.ConflictError{Expected: 77, Absent: true}
					}
					require.Equal(t, want, *conflict, name)
				}
				if at := map[string]int64{live: 1, beside: 3, deleted: 2}[state]; at > 0 && (state == deleted) == (verb == "Restore") {
					require.Equal(t, "ok", classesOf(run(b.item(t, state), versioned.Expect(at))), "%s, the item's version", name)
				}
			}
		}
	}
	b.lone(t, c.traits, states)
}

// lone are the verbs that stand alone.
func (b *bench[T]) lone(t *testing.T, c traits, states []string) {
	modify := func(p Person, opts ...entity.WriteOption) error {
		_, err := b.s.Modify(t.Context(), as[T](p), func(v *T) error {
			person(v).Name += "!"
			return nil
		}, opts...)
		return err
	}
	for _, state := range states {
		require.Equal(t, table("Modify", state, c), classesOf(modify(b.item(t, state))), "Modify, %s", state)
		if c.lock || c.retain {
			require.Equal(t, expecting("Modify", state), classesOf(modify(b.item(t, state), versioned.Expect(77))), "Modify, %s", state)
		}
		_, err := b.s.Get(t.Context(), as[T](b.item(t, state)))
		there := state == live || state == beside
		require.Equal(t, map[bool]string{true: "ok", false: "NotFound"}[there], classesOf(err), "Get, %s", state)
		require.NoError(t, b.s.Purge(t.Context(), as[T](b.item(t, state))), "Purge, %s", state)
		require.Equal(t, map[bool]string{true: "ok", false: "NotFound"}[there], classesOf(runJoined(b.l, b.s.Op().CheckExists(as[T](b.item(t, state))))), "Require, %s", state)
		require.Equal(t, map[bool]string{true: "Exists", false: "ok"}[there], classesOf(runJoined(b.l, b.s.Op().CheckNotExists(as[T](b.item(t, state))))), "Absent, %s", state)
	}
}

// Every cell of the verb table, for every way in which features change it; the same classes alone and in a transaction.
func TestVerbTable(t *testing.T) {
	t.Parallel()
	tables := []combination{
		{"u1_none_free", traits{unique: 1, soft: true}, verbTable[u1VNoneSFree]},
		{"u0_lock_hard", traits{lock: true}, verbTable[u0VLockSNone]},
		{"u0_lock_free", traits{lock: true, soft: true}, verbTable[u0VLockSFree]},
		{"u1_lock_free", traits{unique: 1, lock: true, soft: true}, verbTable[u1VLockSFree]},
		{"u1_lock_reserve", traits{unique: 1, lock: true, soft: true, reserve: true}, verbTable[u1VLockSReserve]},
		{"u0_retain_hard", traits{retain: true}, verbTable[u0VRetainSNone]},
		{"u0_retain-ttl_free-ttl", traits{retain: true, soft: true, copyTTL: true}, verbTable[u0VRetainTTLSFreeTTL]},
		{"u1_retain_reserve-ttl", traits{unique: 1, retain: true, soft: true, reserve: true}, verbTable[u1VRetainSReserveTTL]},
	}
	if !testsize.Long() { // each trait is in one of them, present and absent
		tables = []combination{tables[0], tables[4], tables[5], tables[6]}
	}
	for _, c := range tables {
		require.True(t, slices.ContainsFunc(matrix, func(m combination) bool { return m.name == c.name }), c.name)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, c)
		})
	}
}
