package unique_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// start is so far ahead that the database removes nothing itself.
var start = time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)

// Person is a `$` entity.
type Person struct {
	_     entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_     entity.GSI        `name:"byMail" index:"gsi1" pk:"$#{email}" sk:"$#{id}"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email,omitempty"`
}

// lab is one test's database.
type lab struct{ *dbtest.Bench }

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	dbtest.Parallel(t)
	b := &lab{dbtest.Open(t, configure...)}
	b.Clock.Set(start, 0)
	return b
}

// prepare declares T, creates the table, and opens the constraint.
func prepare[T any](t *testing.T, b *lab, constraint string) (*entity.Store[T], *unique.Lookup[T]) {
	t.Helper()
	s := dbtest.Declare[T](t, b.DB)
	require.NoError(t, tables.Create(t.Context(), b.DB))
	l := entity.Must(unique.Of(s, constraint))
	return s, l
}

// Seat is one of several in a room, all in one partition; a claim ends after an hour.
type Seat struct {
	_    entity.Key        `name:"Seat" pk:"$#{room}" sk:"$#{id}"`
	_    unique.Constraint `name:"code" fields:"code" ttl:"1h"`
	Room string            `dynamodbav:"room"`
	ID   string            `dynamodbav:"id"`
	Code string            `dynamodbav:"code,omitempty"`
}

// StoredSeat is a Seat with soft delete.
type StoredSeat struct {
	_    entity.Key           `name:"Seat" pk:"$#{room}" sk:"$#{id}"`
	_    unique.Constraint    `name:"code" fields:"code" ttl:"1h"`
	_    lifecycle.SoftDelete ``
	Room string               `dynamodbav:"room"`
	ID   string               `dynamodbav:"id"`
	Code string               `dynamodbav:"code,omitempty"`
}

// A sibling in the partition has the value by now. It has the same partition key as the item that had it before, and is
// another one all the same: it keeps the value whatever becomes of the item.
func TestClaim_OfASiblingInThePartitionIsLeftAlone(t *testing.T) {
	t.Parallel()
	f, a := entity.Fields[Seat](), Seat{Room: "r", ID: "a"}
	for name, write := range map[string]func(*testing.T, *lab, *entity.Store[Seat]) error{
		"update": func(t *testing.T, _ *lab, s *entity.Store[Seat]) error {
			return dbtest.ErrorOf(s.Update(t.Context(), a, entity.Set(&f.Code, "2")))
		},
		"delete": func(t *testing.T, _ *lab, s *entity.Store[Seat]) error { return s.Delete(t.Context(), a) },
		"purge":  func(t *testing.T, _ *lab, s *entity.Store[Seat]) error { return s.Purge(t.Context(), a) },
		"soft delete": func(t *testing.T, b *lab, _ *entity.Store[Seat]) error {
			s := entity.Must(entity.New[StoredSeat](b.Open(b.Client)))
			return s.Delete(t.Context(), StoredSeat{Room: "r", ID: "a"})
		},
		"purge of a copy": func(t *testing.T, b *lab, _ *entity.Store[Seat]) error {
			s := entity.Must(entity.New[StoredSeat](b.Open(b.Client)))
			require.NoError(t, s.Delete(t.Context(), StoredSeat{Room: "r", ID: "a"}))
			return s.Purge(t.Context(), StoredSeat{Room: "r", ID: "a"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLab(t)
			s, l := prepare[Seat](t, b, "code")
			entity.Must(s.Create(t.Context(), Seat{Room: "r", ID: "a", Code: "1"}))
			taken := dbtest.As[*unique.ViolationError](t, dbtest.ErrorOf(s.Create(t.Context(), Seat{Room: "r", ID: "b", Code: "1"})))
			require.Equal(t, unique.Owner{PK: "$app#v1#seat#r", SK: "$app#v1#seat#a"}, taken.Owner)
			b.Clock.Move(time.Hour)
			entity.Must(s.Create(t.Context(), Seat{Room: "r", ID: "b", Code: "1"}))
			require.NoError(t, write(t, b, s))
			require.Equal(t, "b", entity.Must(l.Find(t.Context(), Seat{Code: "1"})).ID)
		})
	}
}

func TestKeyCase_InASharedTableValuesThatDifferInCaseAreOne(t *testing.T) {
	t.Parallel()
	_, store := dbtest.OpenStore[Person](t, func(c *entity.Config) { c.Namespace.Name, c.Interop, c.TimePrecision = "Shop", true, time.Millisecond })
	mail, ctx := entity.Must(unique.Of(store, "email")), t.Context()
	entity.Must(store.Create(ctx, Person{ID: "1", Email: "Ann.Lee@x"}))
	violation := dbtest.As[*unique.ViolationError](t, dbtest.ErrorOf(store.Create(ctx, Person{ID: "2", Email: "ann.lee@X"})))
	require.Equal(t, unique.Owner{PK: "$shop#v1#person#1", SK: "$shop#v1#person"}, violation.Owner)
	got := entity.Must(mail.Find(ctx, Person{Email: "ANN.LEE@x"}))
	require.Equal(t, Person{ID: "1", Email: "Ann.Lee@x"}, got)
	got, err := store.Update(ctx, Person{ID: "1"}, entity.Set(&entity.Fields[Person]().Email, "ann.lee@x"))
	require.NoError(t, err, "its own value in another case")
	require.Equal(t, "ann.lee@x", got.Email)
	require.NoError(t, store.Delete(ctx, Person{ID: "1"}))
	entity.Must(store.Create(ctx, Person{ID: "2", Email: "ANN.LEE@X"}))
}

// ledger has a key as it is, and so no write ids.
type ledger struct {
	_       entity.Key        `name:"Ledger" pk:"id" sk:"part"`
	_       unique.Constraint `name:"email" fields:"email"`
	ID      string            `dynamodbav:"id"`
	Part    string            `dynamodbav:"part"`
	Email   string            `dynamodbav:"email"`
	Note    string            `dynamodbav:"note"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

func TestModify_OfAnItemCreatedAgainStartsOver(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[ledger](t)
	key := ledger{ID: "l", Part: "p"}
	old, young := key, key
	old.Email, young.Email, young.Note = "old@x", "new@x", "young"
	entity.Must(s.Create(t.Context(), old))
	rounds := 0
	got := entity.Must(s.Modify(t.Context(), key, func(l *ledger) error {
		if rounds++; rounds == 1 {
			require.NoError(t, s.Delete(t.Context(), key))
			entity.Must(s.Create(t.Context(), young))
		}
		l.Note += "!"
		return nil
	}))
	require.Equal(t, 2, rounds)
	require.Equal(t, "new@x", got.Email)
	require.Equal(t, "young!", got.Note)
	require.Equal(t, got, entity.Must(entity.Must(unique.Of(s, "email")).Find(t.Context(), ledger{Email: "new@x"})))
}

// Gadget is verbatim; its index turns the table's key round, so that every item of the table is in it.
type Gadget struct {
	_      entity.Key        `name:"Gadget" pk:"pk" sk:"sk"`
	_      entity.GSI        `name:"turned" index:"turned" pk:"sk" sk:"pk" project:"keys"`
	_      entity.GSI        `name:"byMaker" index:"maker" pk:"maker"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	PK     string            `dynamodbav:"pk"`
	SK     string            `dynamodbav:"sk"`
	Maker  string            `dynamodbav:"maker,omitempty"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// Ledger has snapshots, copies and sentinels in a partition of verbatim text.
type Ledger struct {
	_       entity.Key        `name:"Ledger" pk:"pk={owner}" sk:"$#{id}"`
	_       unique.Constraint `name:"code" fields:"code"`
	_       versioned.Retain
	_       lifecycle.SoftDelete
	Owner   string `dynamodbav:"owner"`
	ID      string `dynamodbav:"id"`
	Code    string `dynamodbav:"code,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// What the library stores with items is no item of a verbatim entity.
func TestReads_OfVerbatimEntitiesHideSentinelsSnapshotsAndCopies(t *testing.T) {
	t.Parallel()
	for name, mixed := range map[string]bool{"alone": false, "beside a $ entity": true} {
		t.Run(name, func(t *testing.T) {
			b := newLab(t)
			var ledgers *entity.Store[Ledger]
			if mixed {
				ledgers = entity.Must(entity.New[Ledger](b.DB))
			}
			s, _ := prepare[Gadget](t, b, "serial")
			require.NoError(t, tables.Verify(t.Context(), b.DB), "the index has the attributes that distinguish items")
			for _, g := range []Gadget{{PK: "p", SK: "1", Serial: "s1", Maker: "m"}, {PK: "p", SK: "2", Serial: "s2", Maker: "m"}} {
				entity.Must(s.Create(t.Context(), g))
			}
			rows := 4
			if mixed {
				entity.Must(ledgers.Create(t.Context(), Ledger{Owner: "p", ID: "l", Code: "c"}))
				require.NoError(t, ledgers.Delete(t.Context(), Ledger{Owner: "p", ID: "l"}))
				entity.Must(ledgers.Create(t.Context(), Ledger{Owner: "p", ID: "k", Code: "c"}))
				rows = len(b.Items())
				require.Greater(t, rows, 8)
			}
			turned, byMaker := entity.Must(s.Index("turned")), entity.Must(s.Index("byMaker"))
			for name, q := range map[string]entity.Query[Gadget]{
				"Scan": s.Scan(), "segments": s.Scan(entity.Segments(3)), "Query": s.Query(Gadget{PK: "p"}), "Index.Scan": turned.Scan(),
				"other Index.Scan": byMaker.Scan(), "Index.Query": byMaker.Query(Gadget{Maker: "m"}),
			} {
				keys := []string{}
				for _, g := range entity.Must(q.Collect(t.Context())) {
					keys = append(keys, g.PK+g.SK)
				}
				slices.Sort(keys)
				require.Equal(t, []string{"p1", "p2"}, keys, name)
				require.Equal(t, 2, entity.Must(q.Count(t.Context())), name)
			}
			for _, it := range b.Items() {
				if it["__edd_e__"] == nil {
					continue
				}
				n := entity.Must(turned.Query(Gadget{SK: dbtest.Text(it["sk"])}).Count(t.Context()))
				require.Zero(t, n, "a sentinel's partition of the index")
			}
			require.Len(t, b.Items(), rows)
			if mixed {
				require.Len(t, entity.Must(ledgers.Scan().Collect(t.Context())), 1)
			}
		})
	}
}

// swapping is a value that two items hand to each other while it is looked for.
func swapping(t *testing.T, attempts int) (b *lab, find func() (Person, error), swap func()) {
	t.Helper()
	b = newLab(t)
	_, _ = prepare[Person](t, b, "email")
	wire := faults.New(b.Raw.Options().HTTPClient)
	db := b.Open(b.Through(wire))
	s, ctx, f := entity.Must(entity.New[Person](db)), t.Context(), entity.Fields[Person]()
	entity.Must(s.Create(ctx, Person{ID: "p", Email: "x"}))
	entity.Must(s.Create(ctx, Person{ID: "q"}))
	has, hasNot := "p", "q"
	swap = func() {
		require.NoError(t, db.Transact(ctx,
			s.Op().Update(Person{ID: has}, entity.Remove(&f.Email)), s.Op().Update(Person{ID: hasNot}, entity.Set(&f.Email, "x"))))
		has, hasNot = hasNot, has
	}
	looking := faults.New(b.Raw.Options().HTTPClient)
	seeker := entity.Must(entity.New[Person](b.Open(b.Through(looking), dbtest.Attempts(attempts))))
	l := entity.Must(unique.Of(seeker, "email"))
	b.Wire = looking
	return b, func() (Person, error) { return l.Find(ctx, Person{Email: "x"}) }, swap
}

// A value that always has an owner is never not found.
func TestFind_OfAValueThatChangesHands(t *testing.T) {
	t.Parallel()
	get, both := "GetItem", "TransactGetItems"
	for name, c := range map[string]struct {
		attempts int
		swaps    func(request int) bool // whether the value changes hands before a request
		err      error
		requests []string
	}{
		"always to the item that is not looked at": {4, func(n int) bool { return n == 2 || n >= 4 }, entity.ErrConflict, []string{get, get, both, both, both, both}},
		"twice": {0, func(n int) bool { return n == 2 || n == 4 }, nil, []string{get, get, both, both, both}},
		"not":   {0, func(int) bool { return false }, nil, []string{get, get}},
	} {
		t.Run(name, func(t *testing.T) {
			b, find, swap := swapping(t, c.attempts)
			n := 0
			b.Wire.Inject(func(faults.Request) faults.Fault {
				if n++; c.swaps(n) {
					swap()
				}
				return faults.None
			})
			got, err := find()
			require.ErrorIs(t, err, c.err)
			require.NotErrorIs(t, err, entity.ErrNotFound)
			if err == nil {
				require.Equal(t, Person{ID: "p", Email: "x"}, got)
			}
			require.Equal(t, c.requests, b.Operations())
		})
	}
}

func TestErrors_HideUniqueValuesInKeysOfIndexes(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[Person](t)
	q := entity.Must(s.Index("byMail")).Query(Person{Email: "ada@x"})
	_, err := q.One(b.Ctx)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorContains(t, err, "gsi1pk = <hidden>")
	require.Contains(t, q.String(), "ada@x", "a plan shows what is sent")
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "timeseries.Events": reflect.TypeFor[timeseries.Events](), "unique.Constraint": reflect.TypeFor[unique.Constraint](),
	})
}

// Examples that need a database have no output that go test would compare, since there may be none. This test compares it.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := directory()
	entity.Must(entity.New[User](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleConstraint, ExampleLookup_Find, ExampleOf))
}

// Caller has an address whose case does not count.
type Caller struct {
	_      entity.Key        `name:"Caller" pk:"$#{id}" sk:"$"`
	_      unique.Constraint `name:"email" fields:"tenant,{email|lower}"`
	ID     string            `dynamodbav:"id"`
	Tenant string            `dynamodbav:"tenant"`
	Email  string            `dynamodbav:"email,omitempty"`
}

// Author is a Caller with a history, whose deleted copies keep their addresses.
type Author struct {
	_       entity.Key `name:"Author" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete `unique:"reserve"`
	_       unique.Constraint    `name:"email" fields:"tenant,{email|lower}"`
	ID      string               `dynamodbav:"id"`
	Tenant  string               `dynamodbav:"tenant"`
	Email   string               `dynamodbav:"email,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
}

// claims are the sentinels: the texts of their values with their owners.
func (b *lab) claims() map[string]string {
	b.T.Helper()
	all := map[string]string{}
	for _, it := range b.Items() {
		if dbtest.IsSentinel(it) {
			_, value, _ := strings.Cut(dbtest.Text(it["pk"]), ".email#")
			all[value] = dbtest.Text(it["_entity_pk"])[strings.LastIndex(dbtest.Text(it["_entity_pk"]), "#")+1:]
		}
	}
	return all
}

// A write of the same address in another case neither fails nor writes the sentinel, and the item has the new spelling.
func TestLower_AChangeOfCaseIsNoChangeOfTheValue(t *testing.T) {
	b := newLab(t)
	s, l := prepare[Caller](t, b, "email")
	f := entity.Fields[Caller]()
	b.OK(s.Create(b.Ctx, Caller{ID: "a", Tenant: "T", Email: "Ada@X"}))
	before := b.Sentinel("ada@x")
	require.NotNil(t, before)
	for name, write := range map[string]func(email string) error{
		"Update": func(email string) error {
			return dbtest.ErrorOf(s.Update(b.Ctx, Caller{ID: "a"}, entity.Set(&f.Email, email)))
		},
		"Put": func(email string) error {
			return dbtest.ErrorOf(s.Put(b.Ctx, Caller{ID: "a", Tenant: "T", Email: email}))
		},
		"Upsert": func(email string) error {
			return dbtest.ErrorOf(s.Upsert(b.Ctx, Caller{ID: "a", Tenant: "T", Email: email}))
		},
		"Modify": func(email string) error {
			return dbtest.ErrorOf(s.Modify(b.Ctx, Caller{ID: "a"}, func(u *Caller) error { u.Email = email; return nil }))
		},
		"Transact": func(email string) error {
			return b.DB.Transact(b.Ctx, s.Op().Update(Caller{ID: "a"}, entity.Set(&f.Email, email)))
		},
	} {
		for _, email := range []string{"ADA@x", "ada@x", "aDa@X"} {
			b.Wire.Reset()
			require.NoError(t, write(email), name)
			require.Zero(t, b.Wire.Count("TransactWriteItems"), "%s: the sentinel is not written", name)
			require.Equal(t, before, b.Sentinel("ada@x"), name)
			found := entity.Must(l.Find(b.Ctx, Caller{Tenant: "T", Email: "ADA@X"}))
			require.Equal(t, Caller{ID: "a", Tenant: "T", Email: email}, found, name)
		}
	}
	require.Equal(t, map[string]string{"T#ada@x": "a"}, b.claims())
	require.ErrorIs(t, dbtest.ErrorOf(l.Find(b.Ctx, Caller{Tenant: "t", Email: "Ada@X"})), entity.ErrNotFound, "the case of the other field counts")

	// Another item cannot have it in any case.
	b.OK(s.Create(b.Ctx, Caller{ID: "b", Tenant: "t", Email: "ada@x"}))
	moved := s.Op().Update(Caller{ID: "b"}, entity.Set(&f.Email, "z@x"))
	for name, err := range map[string]error{
		"Create":   dbtest.ErrorOf(s.Create(b.Ctx, Caller{ID: "c", Tenant: "T", Email: "ADA@X"})),
		"Put":      dbtest.ErrorOf(s.Put(b.Ctx, Caller{ID: "c", Tenant: "T", Email: "adA@X"})),
		"Upsert":   dbtest.ErrorOf(s.Upsert(b.Ctx, Caller{ID: "c", Tenant: "T", Email: "adA@X"})),
		"Update":   dbtest.ErrorOf(s.Update(b.Ctx, Caller{ID: "b"}, entity.Set(&f.Tenant, "T"))),
		"Modify":   dbtest.ErrorOf(s.Modify(b.Ctx, Caller{ID: "b"}, func(u *Caller) error { u.Tenant = "T"; return nil })),
		"Transact": b.DB.Transact(b.Ctx, s.Op().Create(Caller{ID: "c", Tenant: "T", Email: "ada@X"}), moved),
	} {
		taken := dbtest.As[*unique.ViolationError](t, err, name)
		require.Equal(t, unique.ViolationError{Constraint: "email", Owner: unique.Owner{PK: "$app#v1#caller#a", SK: "$app#v1#caller"}}, *taken, name)
		require.NotContains(t, strings.ToLower(err.Error()), "ada@x", name)
	}
	// In one transaction it moves, whatever its case.
	require.NoError(t, b.DB.Transact(b.Ctx, s.Op().Update(Caller{ID: "a"}, entity.Set(&f.Email, "Bea@X")), s.Op().Create(Caller{ID: "c", Tenant: "T", Email: "ADA@X"})))
	require.Equal(t, map[string]string{"T#ada@x": "c", "T#bea@x": "a", "t#ada@x": "b"}, b.claims())
	require.NoError(t, s.Delete(b.Ctx, Caller{ID: "c"}))
	require.NoError(t, s.Purge(b.Ctx, Caller{ID: "a"}))
	require.Equal(t, map[string]string{"t#ada@x": "b"}, b.claims())
}

// Whatever is written in whatever case, also by a revert or a restore of a state with another spelling, items and sentinels agree with a map from lower-cased addresses to owners.
func TestLower_RandomWritesAgreeWithAMap(t *testing.T) {
	b := newLab(t)
	b.Clock.Set(start, time.Second)
	s, l := prepare[Author](t, b, "email")
	f, past, bin := entity.Fields[Author](), entity.Must(versioned.Of(s)), entity.Must(lifecycle.Of(s))
	ids, spellings := []string{"a", "b", "c"}, []string{"Ada@x", "ADA@X", "ada@x", "Bea@x", "BEA@X", ""}
	testsize.Check(t, testsize.Pick(20, 60), func(rt *rapid.T) {
		for _, id := range ids {
			b.OK(nil, s.Purge(b.Ctx, Author{ID: id}))
		}
		owner, email, deleted, versions := map[string]string{}, map[string]string{}, map[string]bool{}, map[string][]string{}
		for n := range rapid.IntRange(1, 12).Draw(rt, "writes") {
			id, to := rapid.SampledFrom(ids).Draw(rt, "id"), rapid.SampledFrom(spellings).Draw(rt, "email")
			verb := rapid.SampledFrom([]string{"Create", "Put", "Update", "Modify", "Revert", "Delete", "Restore"}).Draw(rt, "verb")
			v, key := Author{ID: id, Tenant: "T", Email: to}, Author{ID: id}
			was, exists := email[id]
			exists = exists && !deleted[id]
			var err error
			switch verb {
			case "Create":
				_, err = s.Create(b.Ctx, v)
			case "Put":
				_, err = s.Put(b.Ctx, v)
			case "Update":
				_, err = s.Update(b.Ctx, key, entity.Set(&f.Email, to))
			case "Modify":
				_, err = s.Modify(b.Ctx, key, func(a *Author) error { a.Email = to; return nil })
			case "Revert":
				to = was
				if len(versions[id]) > 0 {
					to = versions[id][0]
				}
				_, err = past.Revert(b.Ctx, key, 1)
			case "Delete":
				err = s.Delete(b.Ctx, key)
			case "Restore":
				to = was
				_, err = bin.Restore(b.Ctx, key)
			}
			what := fmt.Sprintf("%d: %s %s %q: %v", n, verb, id, to, err)
			refused := map[string]bool{
				"Create": exists || deleted[id], "Put": deleted[id], "Update": !exists, "Modify": !exists, "Revert": !exists, "Delete": !exists, "Restore": !deleted[id],
			}[verb]
			by, taken := owner[strings.ToLower(to)]
			switch {
			case refused:
				require.Error(rt, err, what)
				require.False(rt, errors.As(err, new(*unique.ViolationError)), what)
				continue
			case verb == "Delete":
				require.NoError(rt, err, what)
				deleted[id] = true
				versions[id] = append(versions[id], was)
			case to != "" && taken && by != id:
				require.ErrorAs(rt, err, new(*unique.ViolationError), what)
				continue
			default:
				require.NoError(rt, err, what)
				deleted[id] = false
				delete(owner, strings.ToLower(was))
				if email[id] = to; to != "" {
					owner[strings.ToLower(to)] = id
				}
				if verb != "Modify" || !exists || was != to { // which then writes nothing
					versions[id] = append(versions[id], to)
				}
			}
			want := map[string]string{}
			for value, id := range owner {
				want["T#"+value] = id
				found, err := l.Find(b.Ctx, Author{Tenant: "T", Email: strings.ToUpper(value)})
				if deleted[id] {
					require.ErrorIs(rt, err, entity.ErrNotFound, what)
				} else {
					require.NoError(rt, err, what)
					require.Equal(rt, []string{id, email[id]}, []string{found.ID, found.Email}, what)
				}
			}
			require.Equal(rt, want, b.claims(), what)
		}
	})
}
