// Package storm_test holds tests of the features that keep versions, deleted copies and unique values, all of them together:
// what concurrent writers, lost answers and stops in the middle must never break.
package storm_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/versioned"
)

type item = dbtest.Item

// door is one way into a table: a store and what its features add.
type door[T any] struct {
	*entity.Store[T]
	db   *entity.DB
	bin  *lifecycle.Deleted[T] // nil without soft delete
	past *versioned.History[T] // nil without a history
}

// world is a kind of entity in a table of its own. Its own door can be made to fail and to wait; look is that of
// somebody else, who is never disturbed.
type world[T any] struct {
	door[T]
	kind[T]
	*dbtest.Bench
	look  door[T]
	proto *T
	f     *Person // the prototype's fields
	told  []told  // what writers were told; see tell
}

// told is a state that a call says it wrote.
type told struct {
	Person
	version int64
}

func open[T any](t testing.TB, k kind[T], change ...func(*entity.Config)) *world[T] {
	t.Helper()
	w := &world[T]{kind: k, Bench: dbtest.Open(t)}
	w.Clock.Set(dbtest.Start, time.Microsecond) // no two readings are of one time
	w.door = w.enter(w.Client, change...)
	w.look = w.enter(w.Raw)
	w.DB = w.db
	w.proto = entity.Fields[T]()
	w.f = k.at(w.proto)
	w.CreateTables()
	return w
}

func (w *world[T]) enter(client entity.Client, change ...func(*entity.Config)) door[T] {
	w.T.Helper()
	d := door[T]{db: w.Open(client, change...)}
	d.Store = dbtest.Declare[T](w.T, d.db)
	var err error
	if w.soft {
		d.bin, err = lifecycle.Of(d.Store)
		require.NoError(w.T, err)
	}
	if w.retain {
		d.past, err = versioned.Of(d.Store)
		require.NoError(w.T, err)
	}
	return d
}

// key is a value with a key and nothing else.
func (w *world[T]) key(id string) T { return w.make(Person{ID: id}) }

// pk is the partition key of an item, and sk the sort key of every item.
func (w *world[T]) pk(id string) string { return w.sk() + "#" + id }

func (w *world[T]) sk() string {
	return "$app#v1#" + strings.ToLower(reflect.TypeFor[T]().Name())
}

// email is the change to an e-mail address.
func (w *world[T]) email(v string) entity.UpdateOption { return entity.Set(&w.f.Email, v) }

// name is the change to a name.
func (w *world[T]) name(v string) entity.UpdateOption { return entity.Set(&w.f.Name, v) }

// tell remembers what a call said that it wrote.
func (w *world[T]) tell(v T) {
	w.told = append(w.told, told{*w.at(&v), w.version(v)})
}

// done is for writes by the undisturbed door that have to succeed.
func (w *world[T]) done(v T, err error) T {
	w.T.Helper()
	require.NoError(w.T, err)
	w.tell(v)
	return v
}

// add creates an item through the undisturbed door.
func (w *world[T]) add(id, email, name string) T {
	w.T.Helper()
	return w.done(w.look.Create(w.Ctx, w.make(Person{ID: id, Email: email, Name: name})))
}

// update changes an item through the undisturbed door.
func (w *world[T]) update(id string, changes ...entity.UpdateOption) T {
	w.T.Helper()
	return w.done(w.look.Update(w.Ctx, w.key(id), changes...))
}

// remove deletes an item through the undisturbed door.
func (w *world[T]) remove(id string) {
	w.T.Helper()
	require.NoError(w.T, w.look.Delete(w.Ctx, w.key(id)))
}

// current is what Get finds; false for nothing.
func (w *world[T]) current(id string) (Person, bool) {
	w.T.Helper()
	v, err := w.look.Get(w.Ctx, w.key(id), entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return Person{}, false
	}
	require.NoError(w.T, err)
	return *w.at(&v), true
}

// copies are the deleted copies of an item.
func (w *world[T]) copies(id string) []lifecycle.DeletedItem[T] {
	w.T.Helper()
	all, err := w.look.bin.List(w.key(id)).Collect(w.Ctx)
	require.NoError(w.T, err)
	return all
}

// isWrite matches requests that write.
var isWrite = dbtest.Is("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")

// overtake runs slow until its first write is ready to be sent, then fast, and then lets slow go on. It returns what
// slow returned.
func (w *world[T]) overtake(slow func() error, fast func()) error {
	w.T.Helper()
	return w.Overtake(dbtest.First(isWrite), slow, fast)
}

// saving returns a call whose result is told.
func (w *world[T]) saving(write func() (T, error)) func() error {
	return func() error {
		v, err := write()
		if err == nil {
			w.tell(v)
		}
		return err
	}
}

// isA is errors.Is for tables of expectations.
func isA(err, class error) bool { return errors.Is(err, class) }
