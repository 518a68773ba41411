// Package storm_test holds tests of the features that keep versions, deleted copies and unique values, all of them together:
// what concurrent writers, lost answers and stops in the middle must never break.
package storm_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/versioned"
)

type item = map[string]types.AttributeValue

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
	t     testing.TB
	ctx   context.Context
	look  door[T]
	raw   *dynamodb.Client
	table string
	sent  *faults.Transport
	clock *clock
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
	raw, table := localdb.Test(t)
	w := &world[T]{kind: k, t: t, ctx: t.Context(), raw: raw, table: table, sent: faults.New(raw.Options().HTTPClient), clock: newClock()}
	w.door = w.enter(dynamodb.New(raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = w.sent }), change...)
	w.look = w.enter(raw)
	w.proto = entity.Fields[T]()
	w.f = k.at(w.proto)
	require.NoError(t, w.look.db.CreateTables(t.Context()))
	return w
}

func (w *world[T]) enter(client entity.Client, change ...func(*entity.Config)) door[T] {
	w.t.Helper()
	cfg := entity.Config{Table: w.table, Clock: w.clock.Now}
	for _, f := range change {
		f(&cfg)
	}
	var d door[T]
	var err error
	d.db, err = entity.Open(client, cfg)
	require.NoError(w.t, err)
	d.Store, err = entity.New[T](d.db)
	require.NoError(w.t, err)
	if w.soft {
		d.bin, err = lifecycle.Of(d.Store)
		require.NoError(w.t, err)
	}
	if w.retain {
		d.past, err = versioned.Of(d.Store)
		require.NoError(w.t, err)
	}
	return d
}

// attempts limits how often a request is repeated.
func attempts(n int) func(*entity.Config) { return func(c *entity.Config) { c.MaxAttempts = n } }

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
	w.t.Helper()
	require.NoError(w.t, err)
	w.tell(v)
	return v
}

// add creates an item through the undisturbed door.
func (w *world[T]) add(id, email, name string) T {
	w.t.Helper()
	return w.done(w.look.Create(w.ctx, w.make(Person{ID: id, Email: email, Name: name})))
}

// update changes an item through the undisturbed door.
func (w *world[T]) update(id string, changes ...entity.UpdateOption) T {
	w.t.Helper()
	return w.done(w.look.Update(w.ctx, w.key(id), changes...))
}

// remove deletes an item through the undisturbed door.
func (w *world[T]) remove(id string) {
	w.t.Helper()
	require.NoError(w.t, w.look.Delete(w.ctx, w.key(id)))
}

// current is what Get finds; false for nothing.
func (w *world[T]) current(id string) (Person, bool) {
	w.t.Helper()
	v, err := w.look.Get(w.ctx, w.key(id), entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return Person{}, false
	}
	require.NoError(w.t, err)
	return *w.at(&v), true
}

// copies are the deleted copies of an item.
func (w *world[T]) copies(id string) []lifecycle.DeletedItem[T] {
	w.t.Helper()
	all, err := w.look.bin.List(w.key(id)).Collect(w.ctx)
	require.NoError(w.t, err)
	return all
}

// isWrite matches requests that write.
func isWrite(r faults.Request) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}, r.Operation)
}

// first matches only the first of the requests that match does.
func first(match func(faults.Request) bool) func(faults.Request) bool {
	seen := false
	return func(r faults.Request) bool {
		if seen || !match(r) {
			return false
		}
		seen = true
		return true
	}
}

// overtake runs slow until its first write is ready to be sent, then fast, and then lets slow go on. It returns what
// slow returned.
func (w *world[T]) overtake(slow func() error, fast func()) error {
	w.t.Helper()
	return w.overtakeAt(isWrite, slow, fast)
}

// overtakeAt is overtake at the first request that matches.
func (w *world[T]) overtakeAt(match func(faults.Request) bool, slow func() error, fast func()) error {
	w.t.Helper()
	arrived, release := w.sent.Hold(first(match))
	defer release()
	done := make(chan error, 1)
	go func() { done <- slow() }()
	select {
	case <-arrived:
	case err := <-done:
		require.FailNow(w.t, "the call ended without the request that was to be held back", "error: %v", err)
	}
	fast()
	release()
	return <-done
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

// clock gives every reading a time of its own, far enough in the future that the database expires nothing.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.advance(time.Microsecond) }

func (c *clock) advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// isA is errors.Is for tables of expectations.
func isA(err, class error) bool { return errors.Is(err, class) }
