package conformance_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
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
	store *entity.Store[T]
	db    *entity.DB
	bin   *lifecycle.Deleted[T] // nil without soft delete
	past  *versioned.History[T] // nil without a history
}

// world is a kind of entity in a table of its own. Its own handles can be made to fail and to wait; those of
// look are never disturbed.
type world[T any] struct {
	handles[T]
	traits
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
	t.Run(reflect.TypeFor[T]().Name(), func(t *testing.T) { test(t, open[T](t)) })
}

func open[T any](t testing.TB, change ...func(*entity.Config)) *world[T] {
	t.Helper()
	dbtest.Parallel(t)
	w := &world[T]{traits: traitsOf[T](), Bench: dbtest.Open(t), f: dbtest.Embedded[Rival](entity.Fields[T]())}
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
	d.store = dbtest.Declare[T](w.T, d.db)
	if w.soft {
		d.bin = entity.Must(lifecycle.Of(d.store))
	}
	if w.retain {
		d.past = entity.Must(versioned.Of(d.store))
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
	return w.done(w.look.store.Create(w.Ctx, w.make(Rival{ID: id, Email: email, Name: name})))
}

// update changes an item undisturbed.
func (w *world[T]) update(id string, changes ...entity.UpdateOption) T {
	w.T.Helper()
	return w.done(w.look.store.Update(w.Ctx, w.key(id), changes...))
}

// remove deletes an item undisturbed.
func (w *world[T]) remove(id string) {
	w.T.Helper()
	require.NoError(w.T, w.look.store.Delete(w.Ctx, w.key(id)))
}

// current is what Get finds; false for nothing.
func (w *world[T]) current(id string) (Rival, bool) {
	w.T.Helper()
	v, err := w.look.store.Get(w.Ctx, w.key(id), entity.Consistent())
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
	return w.saving(func() (T, error) { return w.store.Create(w.Ctx, w.make(p)) })
}

func (w *world[T]) updating(id string, changes ...entity.UpdateOption) func() error {
	return w.saving(func() (T, error) { return w.store.Update(w.Ctx, w.key(id), changes...) })
}

func (w *world[T]) restoring(id string) func() error {
	return w.saving(func() (T, error) { return w.bin.Restore(w.Ctx, w.key(id)) })
}

func (w *world[T]) deleting(id string) func() error {
	return func() error { return w.store.Delete(w.Ctx, w.key(id)) }
}

func (w *world[T]) purging(id string) func() error {
	return func() error { return w.store.Purge(w.Ctx, w.key(id)) }
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
	_ entity.GSI `name:"byName" index:"gsi1" pk:"$#{name}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Rival
	Version int64 `dynamodbav:"version" entity:"version"`
}

// address is a primary key.
type address struct{ pk, sk string }

// being is everything in a table that belongs to one item.
type being struct {
	current   item
	snapshots map[int64]item
	copies    []item
}

// contents is a table, sorted by what its items are, from their keys alone.
type contents struct {
	beings    map[address]*being
	sentinels map[address]item
}

// sorted makes contents of items.
func sorted(items []item) (contents, error) {
	d := contents{map[address]*being{}, map[address]item{}}
	of := func(pk, sk string) *being {
		a := address{pk, sk}
		if d.beings[a] == nil {
			d.beings[a] = &being{snapshots: map[int64]item{}}
		}
		return d.beings[a]
	}
	for _, it := range items {
		pk, sk := text(it, "pk"), text(it, "sk")
		if strings.Contains(text(it, "__edd_e__"), "._unique.") {
			d.sentinels[address{pk, sk}] = it
		} else if base, version, ok := strings.Cut(sk, "#v#"); ok {
			n, err := strconv.ParseInt(strings.TrimPrefix(version, "~"), 10, 64)
			if err != nil || n != number(it, "version") {
				return d, fmt.Errorf("the snapshot %s holds version %d", sk, number(it, "version"))
			}
			of(pk, base).snapshots[n] = it
		} else if base, at, ok := strings.Cut(sk, "#deleted#"); ok {
			if at != text(it, "deletedAt") {
				return d, fmt.Errorf("the copy %s was deleted at %s", sk, text(it, "deletedAt"))
			}
			b := of(pk, base)
			b.copies = append(b.copies, it)
		} else {
			of(pk, sk).current = it
		}
	}
	return d, nil
}

func text(it item, name string) string { return dbtest.Text(it[name]) }

func number(it item, name string) int64 {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return -1
	}
	return v
}

// sound checks a table as it is stored against everything that must hold at every moment, and against what the test's
// writers got as results.
func (w *world[T]) sound() contents {
	w.T.Helper()
	d, err := sorted(w.Items())
	require.NoError(w.T, err)
	problems := d.problems(w.traits)
	if w.retain {
		problems = append(problems, d.missing(w.written)...)
	}
	if !assert.Empty(w.T, problems) {
		w.T.FailNow()
	}
	return d
}

// problems are the invariants that the table breaks, sorted.
func (d contents) problems(k traits) []string {
	all := d.ownership(k)
	for at, b := range d.beings {
		for _, p := range append(b.versions(k), b.shape(k)...) {
			all = append(all, at.pk+": "+p)
		}
	}
	slices.Sort(all)
	return all
}

// right is an item's right to a value.
type right struct {
	owner address
	email string
}

// ownership compares live e-mail addresses, and those of reserved copies, with the sentinels.
func (d contents) ownership(k traits) (all []string) {
	live, claims := map[string]address{}, map[right]bool{}
	for at, b := range d.beings {
		if email := text(b.current, "email"); email != "" {
			if other, twice := live[email]; twice {
				all = append(all, fmt.Sprintf("%s and %s have %s", min(at.pk, other.pk), max(at.pk, other.pk), email))
			}
			live[email] = at
			claims[right{at, email}] = true
		}
		for _, c := range b.copies {
			if email := text(c, "email"); email != "" && k.reserve {
				claims[right{at, email}] = true
			}
		}
	}
	for at, s := range d.sentinels {
		_, email, _ := strings.Cut(at.pk, ".email#")
		c := right{address{text(s, "_entity_pk"), text(s, "_entity_sk")}, email}
		if !claims[c] {
			all = append(all, fmt.Sprintf("the sentinel of %s names %s, which does not have it", email, c.owner.pk))
		}
		delete(claims, c)
	}
	for c := range claims {
		if !k.lease { // a lease can have ended
			all = append(all, fmt.Sprintf("%s has %s without a sentinel", c.owner.pk, c.email))
		}
	}
	return all
}

// shape checks what each kind of stored item must and must not have.
func (b *being) shape(k traits) (all []string) {
	if _, expires := b.current["_ttl"]; expires {
		all = append(all, "the current item expires")
	}
	if text(b.current, "deletedAt") != "" {
		all = append(all, "the current item has deletedAt")
	}
	if len(b.copies) > 0 && !k.soft {
		all = append(all, "there is a deleted copy")
	}
	if len(b.copies) > 0 && b.current != nil && (k.retain || k.reserve) {
		all = append(all, "there are a deleted copy and a current item")
	}
	for _, c := range b.copies {
		if text(c, "_k") != "d" || text(c, "_op") != "" {
			all = append(all, "a deleted copy is not marked as one")
		}
	}
	for n, s := range b.snapshots {
		_, deleted := s["_deleted"]
		if text(s, "_k") != "v" || text(s, "_op") != "" || deleted != (text(s, "deletedAt") != "") {
			all = append(all, fmt.Sprintf("snapshot %d is not marked as what it is", n))
		}
	}
	return all
}

// versions checks that the states of an item follow each other without a gap, and that two stored states of one
// version are the same state.
func (b *being) versions(k traits) (all []string) {
	if !k.retain {
		return nil
	}
	states, lowest, highest := map[int64]item{}, int64(0), int64(0)
	add := func(n int64, it item) {
		if other, twice := states[n]; twice && !same(other, it) {
			all = append(all, fmt.Sprintf("there are two states of version %d", n))
		}
		states[n] = it
		if lowest == 0 || n < lowest {
			lowest = n
		}
		highest = max(highest, n)
	}
	for n, s := range b.snapshots {
		add(n, s)
	}
	for _, c := range b.copies {
		add(number(c, "version"), c)
	}
	last := b.current
	if last == nil && len(b.copies) > 0 {
		last = b.copies[len(b.copies)-1]
	}
	if b.current != nil {
		add(number(b.current, "version"), b.current)
	}
	if last != nil && number(last, "version") != highest {
		all = append(all, fmt.Sprintf("version %d is not the last state, but version %d", highest, number(last, "version")))
	}
	for n := lowest; n <= highest; n++ {
		if states[n] == nil {
			all = append(all, fmt.Sprintf("version %d is missing between %d and %d", n, lowest, highest))
		}
	}
	if last == nil && highest > 0 && states[highest]["_deleted"] == nil {
		all = append(all, fmt.Sprintf("the item is gone, but its last version, %d, was not deleted", highest))
	}
	return all
}

// same reports that two stored items are one state: a touch aside, everything that is the model's is equal.
func same(a, b item) bool {
	for _, name := range []string{"id", "email", "name", "createdAt", "updatedAt", "deletedAt"} {
		if text(a, name) != text(b, name) {
			return false
		}
	}
	return number(a, "version") == number(b, "version")
}

// fixed is a time as it is stored.
const fixed = "2006-01-02T15:04:05.000000000Z"

// missing finds returned states that the history lacks or has with other content.
func (d contents) missing(all []written) (problems []string) {
	for _, x := range all {
		found := false
		for at, b := range d.beings {
			if !strings.HasSuffix(at.pk, "#"+x.ID) {
				continue
			}
			it := b.state(x.version)
			found = it != nil && text(it, "email") == x.Email && text(it, "name") == x.Name && text(it, "deletedAt") == "" &&
				text(it, "createdAt") == x.CreatedAt.Format(fixed) && text(it, "updatedAt") == x.UpdatedAt.Format(fixed)
		}
		if !found {
			problems = append(problems, fmt.Sprintf("version %d of %s is not stored as its writer got it: %+v", x.version, x.ID, x.Rival))
		}
	}
	return problems
}

// state is the stored state of a version, nil for none.
func (b *being) state(version int64) item {
	for _, it := range append(slices.Clone(b.copies), b.current) {
		if it != nil && number(it, "version") == version {
			return it
		}
	}
	return b.snapshots[version]
}
