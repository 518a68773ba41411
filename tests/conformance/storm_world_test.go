package conformance_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type item = dbtest.Item

// handles are a store and what its features add.
type handles[T any] struct {
	*entity.Store[T]
	db   *entity.DB
	bin  *lifecycle.Deleted[T] // nil without soft delete
	past *versioned.History[T] // nil without a history
}

// world is a kind of entity in a table of its own. Its own handles can be made to fail and to wait; those of
// look are never disturbed.
type world[T any] struct {
	handles[T]
	declares
	*dbtest.Bench
	look    handles[T]
	f       *Rival    // the prototype's fields
	written []written // what calls returned; see note
}

// written is a state that a call returned as written.
type written struct {
	Rival
	version int64
}

// in runs a test with an entity T, in parallel with others.
func in[T any](t *testing.T, test func(*testing.T, *world[T])) {
	t.Helper()
	t.Run(reflect.TypeFor[T]().Name(), func(t *testing.T) { t.Parallel(); test(t, open[T](t)) })
}

func open[T any](t testing.TB, change ...func(*entity.Config)) *world[T] {
	t.Helper()
	w := &world[T]{declares: declaredBy[T](), Bench: dbtest.Open(t), f: dbtest.Embedded[Rival](entity.Fields[T]())}
	w.Clock.Set(dbtest.Start, time.Microsecond) // no two readings are of one time
	w.handles = w.open(w.Client, change...)
	w.look = w.open(w.Raw)
	w.DB = w.db
	w.CreateTables()
	return w
}

func (w *world[T]) open(client entity.Client, change ...func(*entity.Config)) handles[T] {
	w.T.Helper()
	d := handles[T]{db: w.Open(client, change...)}
	d.Store = dbtest.Declare[T](w.T, d.db)
	if w.soft {
		d.bin = entity.Must(lifecycle.Of(d.Store))
	}
	if w.retain {
		d.past = entity.Must(versioned.Of(d.Store))
	}
	return d
}

// at is the Rival in v.
func (w *world[T]) at(v *T) *Rival { return dbtest.Embedded[Rival](v) }

// make returns a value with the given content.
func (w *world[T]) make(p Rival) T {
	var v T
	*w.at(&v) = p
	return v
}

// version is the version in v, 0 without one.
func (w *world[T]) version(v T) int64 {
	if f := reflect.ValueOf(v).FieldByName("Version"); f.IsValid() {
		return f.Int()
	}
	return 0
}

// key is a value with a key and nothing else.
func (w *world[T]) key(id string) T { return w.make(Rival{ID: id}) }

// pk is the partition key of an item, and sk the sort key of every item.
func (w *world[T]) pk(id string) string { return w.sk() + "#" + id }
func (w *world[T]) sk() string          { return "$app#v1#" + strings.ToLower(reflect.TypeFor[T]().Name()) }

// email is the change to an e-mail address.
func (w *world[T]) email(v string) entity.UpdateOption { return entity.Set(&w.f.Email, v) }

// name is the change to a name.
func (w *world[T]) name(v string) entity.UpdateOption { return entity.Set(&w.f.Name, v) }

// note remembers the state that a call returned.
func (w *world[T]) note(v T) { w.written = append(w.written, written{*w.at(&v), w.version(v)}) }

// done is for undisturbed writes, which have to succeed.
func (w *world[T]) done(v T, err error) T {
	w.T.Helper()
	require.NoError(w.T, err)
	w.note(v)
	return v
}

// add creates an item undisturbed.
func (w *world[T]) add(id, email, name string) T {
	w.T.Helper()
	return w.done(w.look.Create(w.Ctx, w.make(Rival{ID: id, Email: email, Name: name})))
}

// update changes an item undisturbed.
func (w *world[T]) update(id string, changes ...entity.UpdateOption) T {
	w.T.Helper()
	return w.done(w.look.Update(w.Ctx, w.key(id), changes...))
}

// remove deletes an item undisturbed.
func (w *world[T]) remove(id string) {
	w.T.Helper()
	require.NoError(w.T, w.look.Delete(w.Ctx, w.key(id)))
}

// current is what Get finds; false for nothing.
func (w *world[T]) current(id string) (Rival, bool) {
	w.T.Helper()
	v, err := w.look.Get(w.Ctx, w.key(id), entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return Rival{}, false
	}
	require.NoError(w.T, err)
	return *w.at(&v), true
}

// copies are the deleted copies of an item.
func (w *world[T]) copies(id string) []lifecycle.DeletedItem[T] {
	w.T.Helper()
	return entity.Must(w.look.bin.List(w.key(id)).Collect(w.Ctx))
}

// isWrite matches requests that write.
var isWrite = dbtest.Is("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")

// overtake runs slow until its first write is ready to be sent, then fast, and then lets slow go on. It returns what
// slow returned.
func (w *world[T]) overtake(slow func() error, fast func()) error {
	w.T.Helper()
	return w.Overtake(dbtest.First(isWrite), slow, fast)
}

// saving returns a call whose result is noted.
func (w *world[T]) saving(write func() (T, error)) func() error {
	return func() error {
		v, err := write()
		if err == nil {
			w.note(v)
		}
		return err
	}
}

// The calls that races are between, with w's own handles. Their results are noted.

func (w *world[T]) creating(p Rival) func() error {
	return w.saving(func() (T, error) { return w.Create(w.Ctx, w.make(p)) })
}

func (w *world[T]) updating(id string, changes ...entity.UpdateOption) func() error {
	return w.saving(func() (T, error) { return w.Update(w.Ctx, w.key(id), changes...) })
}

func (w *world[T]) restoring(id string) func() error {
	return w.saving(func() (T, error) { return w.bin.Restore(w.Ctx, w.key(id)) })
}

func (w *world[T]) deleting(id string) func() error {
	return func() error { return w.Delete(w.Ctx, w.key(id)) }
}

func (w *world[T]) purging(id string) func() error {
	return func() error { return w.Purge(w.Ctx, w.key(id)) }
}

// Rival is what every entity of these tests holds. Name is a word that DynamoDB reserves.
type Rival struct {
	ID        string    `dynamodbav:"id"`
	Email     string    `dynamodbav:"email,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	Root      string    `dynamodbav:"root,omitempty"`          // which write stored the item whole
	Log       []string  `dynamodbav:"log,stringset,omitempty"` // that write, and the updates since
	Seen      time.Time `dynamodbav:"seen,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Free has everything, and gives unique values up when it is deleted.
type Free struct {
	_ entity.Key `name:"Free" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Reserve has everything, and keeps unique values for deleted copies, which expire.
type Reserve struct {
	_ entity.Key           `name:"Reserve" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Kept has a history and is deleted for good.
type Kept struct {
	_ entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Locked has versions without a history.
type Locked struct {
	_ entity.Key `name:"Locked" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Plain has nothing but a unique value.
type Plain struct {
	_ entity.Key        `name:"Plain" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
}

// Bin is deleted softly, without versions, so that an item can have several deleted copies.
type Bin struct {
	_ entity.Key `name:"Bin" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
}

// Leased gives unique values up an hour after they were claimed, so that others can take them.
type Leased struct {
	_ entity.Key `name:"Leased" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email" ttl:"1h"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// LeasedReserve is Leased whose deleted copies keep what they still have.
type LeasedReserve struct {
	_ entity.Key `name:"LeasedReserve" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email" ttl:"1h"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Shelf is an entity whose items share partitions.
type Shelf struct {
	_ entity.Key `name:"Shelf" pk:"$#{root}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// replacing are the options of a Put of a new struct over a stored item.
func replacing[T any]() (opts []entity.WriteOption) {
	if len(dbtest.Declarations[versioned.Lock, T]()) > 0 {
		opts = append(opts, versioned.AnyVersion())
	}
	return opts
}

// declares says which features an entity declares.
type declares struct{ retain, soft, reserve, lease bool }

func declaredBy[T any]() (k declares) {
	k.retain = len(dbtest.Declarations[versioned.Retain, T]()) > 0
	for _, tag := range dbtest.Declarations[lifecycle.SoftDelete, T]() {
		k.soft, k.reserve = true, tag.Get("unique") == "reserve"
	}
	for _, tag := range dbtest.Declarations[unique.Constraint, T]() {
		_, k.lease = tag.Lookup("ttl")
	}
	return k
}
