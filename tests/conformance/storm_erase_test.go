package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Mail is what every entity of these tests holds.
type Mail struct {
	Box   string `dynamodbav:"box"`
	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner"`
	State string `dynamodbav:"state"`
	Note  string `dynamodbav:"note,omitempty"`
}

// Letter has no features.
type Letter struct {
	_ entity.Key `name:"Letter" pk:"$#{box}" sk:"$#{id}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}"`
	Mail
}

// Card has an index that carries keys alone.
type Card struct {
	_ entity.Key `name:"Card" pk:"$#{box}" sk:"$#{id}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}" project:"keys"`
	Mail
}

// Bare has no write ids.
type Bare struct {
	_ entity.Key `name:"Bare" pk:"pk=BOX#{box}" sk:"sk={id}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk=OWNER#{owner}" sk:"gsi1sk={id}"`
	Mail
}

// File leaves snapshots behind.
type File struct {
	_ entity.Key       `name:"File" pk:"$#{box}" sk:"$#{id}"`
	_ entity.GSI       `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}"`
	_ versioned.Retain `ttl:"90d"`
	Mail
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Record has everything.
type Record struct {
	_ entity.Key `name:"Record" pk:"$#{box}" sk:"$#{id}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"note" fields:"note"`
	Mail
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Pass expires.
type Pass struct {
	_ entity.Key    `name:"Pass" pk:"$#{box}" sk:"$#{id}"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`
	Mail
}

// office is a kind of mail in a table of its own; look is never disturbed.
type office[T any] struct {
	*dbtest.Bench
	store, look *entity.Store[T]
	f           *Mail
}

func newOffice[T any](t testing.TB, change ...func(*entity.Config)) *office[T] {
	t.Helper()
	dbtest.Parallel(t)
	b, store := dbtest.OpenStore[T](t, change...)
	return &office[T]{b, store, entity.Must(entity.New[T](b.Open(b.Raw, dbtest.Attempts(10)))), dbtest.Embedded[Mail](entity.Fields[T]())}
}

// mails are the calls of these tests, whatever the kind of mail.
type mails interface {
	bench() *dbtest.Bench
	fill(n int, owner string)
	read(id string) (Mail, bool)
	change(id string, f func(*Mail)) error
	remove(id string)
	purge(id string)
	query(source string, filter bool) run
	versions(id string) int
}

// run is a call of DeleteAll or PurgeAll.
type run func(ctx context.Context, verb, cursor string, opts ...entity.PurgeOption) (entity.Erased, error)

// kinds are the kinds of mail.
var kinds = map[string]func(testing.TB, ...func(*entity.Config)) mails{
	"Letter": func(t testing.TB, c ...func(*entity.Config)) mails { return newOffice[Letter](t, c...) },
	"Card":   func(t testing.TB, c ...func(*entity.Config)) mails { return newOffice[Card](t, c...) },
	"Bare":   func(t testing.TB, c ...func(*entity.Config)) mails { return newOffice[Bare](t, c...) },
	"File":   func(t testing.TB, c ...func(*entity.Config)) mails { return newOffice[File](t, c...) },
	"Record": func(t testing.TB, c ...func(*entity.Config)) mails { return newOffice[Record](t, c...) },
}

func (o *office[T]) bench() *dbtest.Bench { return o.Bench }

func (o *office[T]) of(m Mail) (v T) {
	*dbtest.Embedded[Mail](&v) = m
	return v
}

func (o *office[T]) key(id string) T { return o.of(Mail{Box: "b", ID: id}) }

func idOf(owner string, i int) string { return fmt.Sprintf("%s-%03d", owner, i) }

// fill makes n open items of an owner, and gives each a second version.
func (o *office[T]) fill(n int, owner string) {
	o.T.Helper()
	for i := range n {
		id := idOf(owner, i)
		o.OK(o.look.Create(o.Ctx, o.of(Mail{Box: "b", ID: id, Owner: owner, State: "open", Note: "first " + id})))
		o.OK(o.look.Update(o.Ctx, o.key(id), entity.Set(&o.f.Note, "note "+id)))
	}
	o.Wire.Reset()
}

func (o *office[T]) read(id string) (Mail, bool) {
	o.T.Helper()
	v, err := o.look.Get(o.Ctx, o.key(id), entity.Consistent())
	if err != nil {
		require.ErrorIs(o.T, err, entity.ErrNotFound)
	}
	return *dbtest.Embedded[Mail](&v), err == nil
}

func (o *office[T]) change(id string, f func(*Mail)) error {
	return dbtest.ErrorOf(o.look.Modify(o.Ctx, o.key(id), func(v *T) error { f(dbtest.Embedded[Mail](v)); return nil }))
}

func (o *office[T]) remove(id string) { o.T.Helper(); o.OK(o.look.Delete(o.Ctx, o.key(id))) }
func (o *office[T]) purge(id string)  { o.T.Helper(); o.OK(o.look.Purge(o.Ctx, o.key(id))) }

// versions is how many versions an item has, 0 without a history. None is missing.
func (o *office[T]) versions(id string) (n int) {
	o.T.Helper()
	past, err := versioned.Of(o.look)
	if err != nil {
		return 0
	}
	for v, err := range past.List(o.key(id), versioned.WithCurrent()).All(o.Ctx) {
		require.NoError(o.T, err)
		n++
		require.Equal(o.T, int64(n), v.Number)
	}
	return n
}

// query is of the mail of ann: in the table or the index, of all or of open mail.
func (o *office[T]) query(source string, filter bool) run {
	var opts []entity.QueryOption
	if filter {
		opts = append(opts, entity.Filter(entity.Eq(&o.f.State, "open")))
	}
	var q entity.Query[T]
	switch source {
	case "table":
		q = o.store.Query(o.of(Mail{Box: "b"}), append(opts, entity.BeginsWith(&o.f.ID, "ann"))...)
	case "index":
		q = o.index().Query(o.of(Mail{Owner: "ann"}), opts...)
	case "hydrated":
		q = o.index().Query(o.of(Mail{Owner: "ann"}), append(opts, entity.Hydrate())...)
	case "any":
		q = o.index().QueryAny([]T{o.of(Mail{Owner: "ann"}), o.of(Mail{Owner: "zoe"})}, append(opts, entity.Limit(12))...)
	case "scan":
		q = o.store.Scan(entity.Filter(entity.Eq(&o.f.Owner, "ann"), entity.Eq(&o.f.State, "open")), entity.Limit(4))
	}
	return o.run(q)
}

func (o *office[T]) index() *entity.Index[T] { return entity.Must(o.store.Index("byOwner")) }

func (o *office[T]) run(q entity.Query[T]) run {
	return func(ctx context.Context, verb, cursor string, opts ...entity.PurgeOption) (entity.Erased, error) {
		if verb == "PurgeAll" {
			return o.store.PurgeAll(ctx, q, cursor, opts...)
		}
		return o.store.DeleteAll(ctx, q, cursor, opts...)
	}
}

// counted are operations with their numbers.
func counted(operations []string) string {
	slices.Sort(operations)
	var all []string
	for len(operations) > 0 {
		n := max(1, len(operations)-len(slices.DeleteFunc(slices.Clone(operations), func(o string) bool { return o == operations[0] })))
		all = append(all, fmt.Sprintf("%s %d", operations[0], n))
		operations = operations[n:]
	}
	return strings.Join(all, ", ")
}

// What is found goes, and nothing else; the requests are those that the doc comments state.
func TestErase_RequestsAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	few := testsize.Pick(3, 30)
	for _, c := range []struct {
		kind, verb, source string
		filter             bool
		want               string
	}{
		{"Letter", "DeleteAll", "table", false, "BatchWriteItem 2, Query 1"},
		{"Letter", "DeleteAll", "table", true, "DeleteItem n, Query 1"},
		{"Letter", "DeleteAll", "index", false, "DeleteItem n, Query 1"},
		{"Card", "DeleteAll", "index", false, "DeleteItem n, GetItem n, Query 1"},
		{"Card", "DeleteAll", "hydrated", true, "BatchGetItem 1, DeleteItem n, Query 1"},
		{"Bare", "DeleteAll", "table", false, "BatchWriteItem 2, Query 1"},
		{"Bare", "DeleteAll", "index", false, "DeleteItem n, Query 1"},
		{"File", "DeleteAll", "table", false, "Query 1, TransactWriteItems n"},
		{"Record", "DeleteAll", "table", false, "Query n+1, TransactWriteItems n"},
		{"Record", "DeleteAll", "index", true, "Query n+1, TransactWriteItems n"},
		{"Letter", "PurgeAll", "index", true, "DeleteItem n, Query n+1"},
		{"Bare", "PurgeAll", "index", true, "DeleteItem n, GetItem n, Query 1"},
		{"File", "PurgeAll", "table", true, "Query n+1, TransactWriteItems n"},
		{"Record", "PurgeAll", "index", true, "Query n+1, TransactWriteItems n"},
	} {
		t.Run(fmt.Sprint(c.kind, c.verb, c.source, c.filter), func(t *testing.T) {
			o := kinds[c.kind](t)
			b := o.bench()
			o.fill(2, "bob")
			stays, items := b.Items(), few
			if strings.HasPrefix(c.want, "BatchWriteItem") {
				items = 30 // more than a batch
			}
			want := strings.NewReplacer(" n+1", fmt.Sprint(" ", items+1), " n", fmt.Sprint(" ", items)).Replace(c.want)
			o.fill(items, "ann")
			reported := 0
			done := entity.Must(o.query(c.source, c.filter)(b.Ctx, c.verb, "", entity.OnProgress(func(n int) { reported = n })))
			require.Equal(t, want, counted(b.Operations()))
			require.Equal(t, entity.Erased{Found: items, Deleted: items}, done)
			require.Equal(t, items, reported)
			if c.verb == "PurgeAll" || c.kind != "File" && c.kind != "Record" {
				require.ElementsMatch(t, stays, b.Items())
				return
			}
			for i := range items {
				_, there := o.read(idOf("ann", i))
				require.False(t, there)
			}
			_, there := o.read(idOf("bob", 1))
			require.True(t, there)
		})
	}
}

// What overtakes the write of an item decides what becomes of it.
func TestErase_AnItemThatNoLongerMatchesStays(t *testing.T) {
	t.Parallel()
	const id = "ann-000"
	races := []struct {
		name      string
		meanwhile func(mails) error
		want      entity.Erased
	}{
		{"closed", func(o mails) error { return o.change(id, func(m *Mail) { m.State = "closed" }) }, entity.Erased{Found: 1, Changed: 1}},
		{"handed", func(o mails) error { return o.change(id, func(m *Mail) { m.Owner = "bob" }) }, entity.Erased{Found: 1, Changed: 1}},
		{"noted", func(o mails) error { return o.change(id, func(m *Mail) { m.Note = "other" }) }, entity.Erased{Found: 1, Deleted: 1}},
		{"deleted", func(o mails) error { o.remove(id); return nil }, entity.Erased{Found: 1, Missing: 1}},
		{"purged", func(o mails) error { o.purge(id); return nil }, entity.Erased{Found: 1, Missing: 1}},
		{"begun again", func(o mails) error { o.purge(id); o.fill(1, "ann"); return nil }, entity.Erased{Found: 1, Deleted: 1}},
		{"begun otherwise", func(o mails) error {
			o.purge(id)
			o.fill(1, "ann")
			return o.change(id, func(m *Mail) { m.Owner, m.State = "bob", "closed" })
		}, entity.Erased{Found: 1, Changed: 1}},
	}
	for k, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			o := kinds[kind](t)
			b := o.bench()
			for r, race := range races {
				for s, source := range []string{"table", "index"} {
					for v, verb := range []string{"DeleteAll", "PurgeAll"} {
						if race.name == "handed" && source == "table" {
							continue // it is in the same box
						}
						if !testsize.Long() && (r+k+2*s+v)%4 > 0 {
							continue // each race of each kind is with one of the sources and verbs
						}
						t.Run(source+" "+verb+" "+race.name, func(t *testing.T) {
							b.Wipe()
							o.fill(1, "ann")
							from := source
							if kind == "Card" && source == "index" {
								from = "hydrated"
							}
							var done entity.Erased
							require.NoError(t, b.Overtake(dbtest.First(isWrite), func() (err error) {
								done, err = o.query(from, true)(b.Ctx, verb, "")
								return err
							}, func() { require.NoError(t, race.meanwhile(o)) }))
							if gone := race.name == "purged" || race.name == "deleted" && kind != "File" && kind != "Record"; gone && verb == "PurgeAll" {
								require.Empty(t, b.Items()) // whose request removed it is not known
								return
							}
							require.Equal(t, race.want, done)
							m, there := o.read(id)
							require.Equal(t, done.Changed == 1, there)
							switch {
							case done.Changed == 1:
								require.True(t, m.State == "closed" || m.Owner == "bob")
								if n := o.versions(id); n > 0 {
									require.GreaterOrEqual(t, n, 3, "the history is whole")
								}
							case done.Missing == 1 && race.name == "deleted":
								require.Equal(t, kind == "File" || kind == "Record", len(b.Items()) > 0, "what a delete keeps stays")
							case verb == "PurgeAll":
								require.Empty(t, b.Items())
							}
						})
					}
				}
			}
		})
	}
}

// A fault at each request. What a call has not done, another from its cursor does; a late request removes nothing that was made since.
func TestErase_FaultAtEachRequest(t *testing.T) {
	t.Parallel()
	items := testsize.Pick(2, 3)
	for _, round := range testsize.Rounds(faults.Drop, faults.Late, faults.Lost, faults.Throttle, faults.InternalApplied, faults.Conflict, faults.Cut) {
		for a, attempts := range []int{10, 1} {
			for i, c := range []struct{ kind, verb, source string }{
				{"Letter", "DeleteAll", "table"}, {"Letter", "DeleteAll", "index"}, {"Bare", "DeleteAll", "index"}, {"File", "DeleteAll", "index"}, {"Record", "DeleteAll", "index"},
				{"Letter", "PurgeAll", "index"}, {"Bare", "PurgeAll", "index"}, {"File", "PurgeAll", "index"}, {"Record", "PurgeAll", "index"},
			} {
				if !testsize.Long() && i%2 != a {
					continue // each kind and verb with one of the two
				}
				t.Run(fmt.Sprint(c.kind, c.verb, c.source, attempts, round), func(t *testing.T) {
					o := kinds[c.kind](t, dbtest.Attempts(attempts))
					b := o.bench()
					o.fill(1, "bob")
					stays, batches := b.Items(), c.source == "table"
					for n, more := 1, true; more; n++ {
						fault := round.At(n)
						o.fill(items, "ann")
						b.Wire.Inject(faults.Nth(n, fault))
						done, err := o.query(c.source, !batches)(b.Ctx, c.verb, "")
						more = len(b.Operations()) >= n
						b.Wire.Inject(nil)
						if err == nil {
							require.Equal(t, entity.Erased{Found: items, Deleted: items}, done, "%d: %v", n, fault)
						}
						total := done.Deleted
						for again := 0; err != nil; again++ { // requests that the first error cancelled can still arrive
							require.Less(t, again, 5, "%d: %v: %v", n, fault, err)
							done, err = o.query(c.source, !batches)(b.Ctx, c.verb, done.Cursor)
							total += done.Deleted
						}
						require.LessOrEqual(t, total, items)
						for i := range items {
							_, there := o.read(idOf("ann", i))
							require.False(t, there, "%d: %v", n, fault)
						}
						if c.verb == "PurgeAll" {
							require.ElementsMatch(t, stays, b.Items(), "%d: %v", n, fault)
						} else {
							for i := range items {
								o.purge(idOf("ann", i))
							}
						}
						if b.Wire.Kept() > 0 {
							o.fill(items, "ann")
							b.OK(b.Wire.Deliver())
							for i := range items {
								_, there := o.read(idOf("ann", i))
								require.True(t, there || batches || c.kind == "Bare", "%d: a late request has removed a new item", n)
								o.purge(idOf("ann", i))
							}
						}
					}
				})
			}
		}
	}
}

// Whoever sends a request again cannot know whether it removes something new.
func TestDeleteAll_ALostAnswerWithoutWriteIDsEndsIt(t *testing.T) {
	o := newOffice[Bare](t)
	o.fill(1, "ann")
	o.Wire.Inject(faults.Nth(1, faults.Lost, "DeleteItem"))
	done, err := o.query("index", false)(o.Ctx, "DeleteAll", "")
	require.True(t, entity.IsAmbiguous(err), "%v", err)
	require.Equal(t, entity.Erased{Found: 1}, done)
	require.Equal(t, 1, o.Wire.Count("DeleteItem"))
}

// More than one transaction can remove: the item goes last, and each transaction checks it.
func TestPurgeAll_OfALongHistoryKeepsTheItemToTheEnd(t *testing.T) {
	t.Parallel()
	for name, grow := range map[string]func(*office[File]){
		"many": func(o *office[File]) {
			for i := range 105 {
				o.OK(o.look.Update(o.Ctx, o.key("ann-000"), entity.Set(&o.f.Note, fmt.Sprint(i))))
			}
		},
		"large": func(o *office[File]) {
			for i := range 15 {
				o.OK(o.look.Update(o.Ctx, o.key("ann-000"), entity.Set(&o.f.Note, fmt.Sprint(i)+strings.Repeat("x", 350_000))))
			}
			o.OK(o.look.Update(o.Ctx, o.key("ann-000"), entity.Remove(&o.f.Note))) // large answers of a busy database break off
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice[File](t, dbtest.Attempts(1))
			q := o.query("table", true)
			o.fill(1, "ann")
			grow(o)
			o.Wire.Reset()
			o.Wire.Inject(faults.Nth(2, faults.Drop, "TransactWriteItems"))
			done, err := q(o.Ctx, "PurgeAll", "")
			require.ErrorIs(t, err, faults.ErrInjected)
			require.True(t, entity.IsAmbiguous(err))
			require.Equal(t, entity.Erased{Found: 1}, done)
			_, there := o.read("ann-000")
			require.True(t, there)
			seen := 0
			o.Wire.Inject(nil)
			require.NoError(t, o.Overtake(func(r faults.Request) bool {
				if r.Operation == "TransactWriteItems" || r.Operation == "DeleteItem" {
					seen++
				}
				return seen == 1
			}, func() error {
				done, err = q(o.Ctx, "PurgeAll", "")
				return err
			}, func() { require.NoError(t, o.change("ann-000", func(m *Mail) { m.State = "closed" })) }))
			require.Equal(t, entity.Erased{Found: 1, Changed: 1}, done)
			_, there = o.read("ann-000")
			require.True(t, there)
			done = entity.Must(q(o.Ctx, "PurgeAll", ""))
			require.Zero(t, done)
			require.NoError(t, o.change("ann-000", func(m *Mail) { m.State = "open" }))
			done = entity.Must(q(o.Ctx, "PurgeAll", ""))
			require.Equal(t, entity.Erased{Found: 1, Deleted: 1}, done)
			require.Empty(t, o.Items())
		})
	}
}

// The cursor goes on where a call ended: each item is found once.
func TestErase_GoesOnFromTheCursor(t *testing.T) {
	const items = 14 // of which ten are a page
	long := strings.Repeat("x", 100_000)
	for _, batches := range []bool{true, false} {
		o := newOffice[Letter](t)
		fill := func() {
			for i := range items {
				o.OK(o.look.Put(o.Ctx, o.of(Mail{Box: "b", ID: idOf("ann", i), Owner: "ann", State: "open", Note: long})))
			}
			o.Wire.Reset()
		}
		q := o.query("table", !batches)
		fill()
		ctx, cancel := context.WithCancel(o.Ctx)
		first, err := q(ctx, "DeleteAll", "", entity.OnProgress(func(int) { cancel() }))
		require.ErrorIs(t, err, context.Canceled)
		require.NotEmpty(t, first.Cursor)
		require.Less(t, first.Deleted, items)
		require.Equal(t, first.Found, first.Deleted)
		rest := entity.Must(q(o.Ctx, "DeleteAll", first.Cursor))
		require.Equal(t, entity.Erased{Found: items - first.Found, Deleted: items - first.Deleted}, rest)
		require.Empty(t, o.Items())

		fill() // cancelled in the middle of a page
		ctx, cancel = context.WithCancel(o.Ctx)
		o.Wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == "DeleteItem" || r.Operation == "BatchWriteItem" {
				cancel()
			}
			return faults.None
		})
		first, err = q(ctx, "DeleteAll", "")
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, first.Cursor)
		o.Wire.Inject(nil)
		rest = entity.Must(q(o.Ctx, "DeleteAll", first.Cursor))
		require.Empty(t, rest.Cursor)
		require.LessOrEqual(t, first.Deleted+rest.Deleted, items)
		require.Empty(t, o.Items())
	}

	for _, bound := range []entity.QueryOption{entity.Limit(7), entity.MaxRequests(2), entity.MaxEvaluated(7)} {
		o := newOffice[Card](t)
		for _, q := range []entity.Query[Card]{o.index().Query(o.of(Mail{Owner: "ann"}), bound), o.index().QueryAny([]Card{o.of(Mail{Owner: "zoe"}), o.of(Mail{Owner: "ann"})}, bound)} {
			o.fill(10, "ann")
			sum, calls := 0, 0
			for cursor := ""; calls == 0 || cursor != ""; calls++ {
				done := entity.Must(o.store.PurgeAll(o.Ctx, q, cursor))
				require.LessOrEqual(t, done.Found, 10)
				sum += done.Deleted
				cursor = done.Cursor
			}
			require.Equal(t, 10, sum)
		}
	}
}

// Expired items are deleted already, and purged like others.
func TestErase_ExpiredItems(t *testing.T) {
	o := newOffice[Pass](t)
	o.fill(2, "ann")
	all := o.run(o.store.Query(o.of(Mail{Box: "b"}), entity.IncludeExpired()))
	o.Clock.Move(2 * time.Hour)
	done := entity.Must(o.query("table", false)(o.Ctx, "DeleteAll", ""))
	require.Zero(t, done)
	done = entity.Must(all(o.Ctx, "DeleteAll", ""))
	require.Equal(t, entity.Erased{Found: 2, Missing: 2}, done)
	done = entity.Must(all(o.Ctx, "PurgeAll", ""))
	require.Equal(t, entity.Erased{Found: 2, Deleted: 2}, done)
	require.Empty(t, o.Items())
}

// In a table shared with effect-dynamodb items have no write ids.
func TestErase_InASharedTable(t *testing.T) {
	o := newOffice[Record](t, func(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond })
	o.Clock.Set(dbtest.Start, time.Second)
	for _, verb := range []string{"DeleteAll", "PurgeAll"} {
		for i := range 5 {
			o.OK(o.store.Create(o.Ctx, o.of(Mail{Box: "b", ID: fmt.Sprint("Ann-", i), Owner: "ann", State: "open", Note: fmt.Sprint(i)})))
		}
		first := func(r faults.Request) bool { return isWrite(r) && strings.Contains(string(r.Body), `#ann-0"`) }
		var done entity.Erased
		require.NoError(t, o.Overtake(dbtest.First(first), func() (err error) {
			done, err = o.query("index", true)(o.Ctx, verb, "")
			return err
		}, func() {
			require.NoError(t, o.look.Purge(o.Ctx, o.key("Ann-0")))
			o.OK(o.look.Create(o.Ctx, o.of(Mail{Box: "b", ID: "Ann-0", Owner: "ann", State: "closed"})))
		}))
		require.Equal(t, entity.Erased{Found: 5, Deleted: 4, Changed: 1}, done)
		for i := range 5 {
			o.purge(fmt.Sprint("Ann-", i))
		}
		require.Empty(t, o.Items())
	}
}

func TestErase_MistakesAreFoundBeforeAnyRequest(t *testing.T) {
	o, other := newOffice[Letter](t), newOffice[Letter](t)
	o.Wire.Reset()
	own := o.store.Query(o.of(Mail{Box: "b"}))
	sized := o.store.Query(o.of(Mail{Box: "b"}), entity.Filter(entity.Where(expression.Name("note").Size().LessThan(expression.Value(3)))))
	require.Empty(t, entity.Must(own.Page(o.Ctx, "")).Next)
	o.Wire.Reset()
	for _, verb := range []string{"DeleteAll", "PurgeAll"} {
		for name, q := range map[string]entity.Query[Letter]{
			"of another database": other.store.Query(other.of(Mail{Box: "b"})), "of another client": entity.Must(entity.New[Letter](o.DB.WithClient(o.Client))).Query(o.of(Mail{Box: "b"})), "nil": nil,
			"a part of several partitions": entity.Project[Letter](o.store.QueryAny([]Letter{o.of(Mail{Box: "b"})})),
		} {
			done, err := o.run(q)(o.Ctx, verb, "c")
			require.Equal(t, "EDD-9240", dbtest.InputCode(err), "%s: %v", name, err)
			require.Equal(t, entity.Erased{Cursor: "c"}, done)
		}
		require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(o.run(own)(o.Ctx, verb, "", entity.OnProgress(nil)))))
		require.ErrorIs(t, dbtest.ErrorOf(o.run(own)(o.Ctx, verb, "nonsense")), entity.ErrInvalidCursor)
	}
	require.Equal(t, "EDD-9140", dbtest.InputCode(dbtest.ErrorOf(o.run(sized)(o.Ctx, "PurgeAll", ""))))
	require.Empty(t, o.Sent())
	require.NoError(t, dbtest.ErrorOf(o.run(sized)(o.Ctx, "DeleteAll", "")))
	o.fill(2, "ann")
	part := entity.Project[Letter](o.store.Query(o.of(Mail{Box: "b"})))
	require.Equal(t, entity.Erased{Found: 2, Deleted: 2}, entity.Must(o.run(part)(o.Ctx, "PurgeAll", "")))
}
