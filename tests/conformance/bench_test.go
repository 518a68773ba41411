// Package conformance_test holds the tests of features together: combinations of unique values, versions and soft delete,
// on every verb, alone and in transactions; and what concurrent writers, lost answers and stops in the middle must never break.
package conformance_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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

// Bystander is the other entity of the table.
type Bystander struct {
	_  entity.Key `name:"Bystander" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// runJoined runs op in a transaction with a check of another item; the error is the operation's own.
func runJoined(b *dbtest.Bench, op entity.Op) error {
	b.T.Helper()
	err := b.DB.Transact(b.Ctx, op, dbtest.Declare[Bystander](b.T, b.DB).Op().CheckNotExists(Bystander{ID: "nobody"}))
	if failure := entity.FailureOf(err, op); failure != nil {
		return failure
	}
	return err
}

// runAlone runs op by itself.
func runAlone[T any](t *testing.T, op entity.Write[T]) error {
	t.Helper()
	var result T
	_, err := op.(*engine.Write[T]).Run(t.Context(), &result)
	return err
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
	expects := func(o entity.WriteOption) bool { return reflect.TypeOf(o) == reflect.TypeOf(versioned.AnyVersion()) }
	if len(dbtest.Declarations[versioned.Lock, T]()) == 0 || slices.ContainsFunc(opts, expects) {
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
