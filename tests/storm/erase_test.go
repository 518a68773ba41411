package storm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
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

// office is a kind of mail in a table of its own; look is never disturbed.
type office[T any] struct {
	*dbtest.Bench
	store, look *entity.Store[T]
	f           *Mail
}

func offices(t *testing.T, test func(*testing.T, string, func(...func(*entity.Config)) any)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB, ...func(*entity.Config)) any{
		"Letter": officeOf[Letter], "Card": officeOf[Card], "Bare": officeOf[Bare], "File": officeOf[File], "Record": officeOf[Record],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, func(change ...func(*entity.Config)) any { return open(t, change...) })
		})
	}
}

func officeOf[T any](t testing.TB, change ...func(*entity.Config)) any {
	b, store := dbtest.OpenStore[T](t, change...)
	return mails(&office[T]{b, store, entity.Must(entity.New[T](b.Open(b.Raw))), dbtest.Embedded[Mail](entity.Fields[T]())})
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
	versions(id string) []string
}

// run is a call of DeleteAll or PurgeAll.
type run func(ctx context.Context, verb, cursor string, opts ...entity.PurgeOption) (entity.Erased, error)

func (o *office[T]) bench() *dbtest.Bench { return o.Bench }

func (o *office[T]) of(m Mail) (v T) {
	*dbtest.Embedded[Mail](&v) = m
	return v
}

func (o *office[T]) key(id string) T { return o.of(Mail{Box: "b", ID: id}) }

// fill makes n items of an owner, all open, and gives each a second version.
func (o *office[T]) fill(n int, owner string) {
	o.T.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%03d", owner, i)
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
	_, err := o.look.Modify(o.Ctx, o.key(id), func(v *T) error { f(dbtest.Embedded[Mail](v)); return nil })
	return err
}

func (o *office[T]) remove(id string) { o.T.Helper(); o.OK(o.look.Delete(o.Ctx, o.key(id))) }

func (o *office[T]) purge(id string) { o.T.Helper(); o.OK(o.look.Purge(o.Ctx, o.key(id))) }

// versions are the versions of an item with a history.
func (o *office[T]) versions(id string) (all []string) {
	o.T.Helper()
	for v, err := range entity.Must(versioned.Of(o.look)).List(o.key(id), versioned.WithCurrent()).All(o.Ctx) {
		require.NoError(o.T, err)
		all = append(all, fmt.Sprint(v.Number))
	}
	return all
}

// query is of the mail of ann: in the table or the index, of all or of open mail.
func (o *office[T]) query(source string, filter bool) run {
	index := entity.Must(o.store.Index("byOwner"))
	var opts []entity.QueryOption
	if filter {
		opts = append(opts, entity.Filter(entity.Eq(&o.f.State, "open")))
	}
	var q entity.Query[T]
	switch source {
	case "table":
		q = o.store.Query(o.of(Mail{Box: "b"}), append(opts, entity.BeginsWith(&o.f.ID, "ann"))...)
	case "index":
		q = index.Query(o.of(Mail{Owner: "ann"}), opts...)
	case "hydrated":
		q = index.Query(o.of(Mail{Owner: "ann"}), append(opts, entity.Hydrate())...)
	case "any":
		q = index.QueryAny([]T{o.of(Mail{Owner: "ann"}), o.of(Mail{Owner: "zoe"})}, opts...)
	case "scan":
		q = o.store.Scan(entity.Filter(entity.Eq(&o.f.Owner, "ann"), entity.Eq(&o.f.State, "open")), entity.Limit(4))
	}
	return func(ctx context.Context, verb, cursor string, opts ...entity.PurgeOption) (entity.Erased, error) {
		if verb == "PurgeAll" {
			return o.store.PurgeAll(ctx, q, cursor, opts...)
		}
		return o.store.DeleteAll(ctx, q, cursor, opts...)
	}
}

var erasing = []string{"DeleteAll", "PurgeAll"}

// kinds counts operations.
func kinds(operations []string) string {
	n := map[string]int{}
	for _, o := range operations {
		n[o]++
	}
	var all []string
	for o, k := range n {
		all = append(all, fmt.Sprintf("%s %d", o, k))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// What is found goes, and nothing else; the requests are those that the doc comments state.
func TestErase_RequestsAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, verb, source string
		filter             bool
		want               string
	}{
		{"Letter", "DeleteAll", "table", false, "BatchWriteItem 2, Query 1"},
		{"Letter", "DeleteAll", "table", true, "DeleteItem 30, Query 1"},
		{"Letter", "DeleteAll", "index", false, "DeleteItem 30, Query 1"},
		{"Letter", "DeleteAll", "any", true, "DeleteItem 30, Query 2"},
		{"Letter", "DeleteAll", "scan", true, "DeleteItem 4, Scan 1"},
		{"Card", "DeleteAll", "index", false, "DeleteItem 30, GetItem 30, Query 1"},
		{"Card", "DeleteAll", "hydrated", true, "BatchGetItem 1, DeleteItem 30, Query 1"},
		{"Bare", "DeleteAll", "table", false, "BatchWriteItem 2, Query 1"},
		{"Bare", "DeleteAll", "table", true, "DeleteItem 30, Query 1"},
		{"Bare", "DeleteAll", "index", false, "DeleteItem 30, Query 1"},
		{"File", "DeleteAll", "table", false, "Query 1, TransactWriteItems 30"},
		{"Record", "DeleteAll", "table", false, "Query 31, TransactWriteItems 30"},
		{"Record", "DeleteAll", "index", true, "Query 31, TransactWriteItems 30"},
		{"Letter", "PurgeAll", "index", true, "DeleteItem 30, Query 61"},
		{"Bare", "PurgeAll", "index", true, "DeleteItem 30, GetItem 60, Query 1"},
		{"File", "PurgeAll", "table", true, "DeleteItem 60, Query 61"},
		{"Record", "PurgeAll", "index", true, "DeleteItem 30, Query 61, TransactWriteItems 30"},
	} {
		t.Run(fmt.Sprint(c.kind, " ", c.verb, " ", c.source, " ", c.filter), func(t *testing.T) {
			t.Parallel()
			o := map[string]func(testing.TB, ...func(*entity.Config)) any{"Letter": officeOf[Letter], "Card": officeOf[Card], "Bare": officeOf[Bare], "File": officeOf[File], "Record": officeOf[Record]}[c.kind](t).(mails)
			b := o.bench()
			o.fill(2, "bob")
			stays := b.Items()
			o.fill(30, "ann")
			reported := 0
			done, err := o.query(c.source, c.filter)(b.Ctx, c.verb, "", entity.OnProgress(func(n int) { reported = n }))
			require.NoError(t, err)
			require.Equal(t, c.want, kinds(b.Operations()))
			want := 30
			if c.source == "scan" {
				want = 4
				require.NotEmpty(t, done.Cursor)
				done.Cursor = ""
			}
			require.Equal(t, entity.Erased{Found: want, Deleted: want}, done)
			require.Equal(t, want, reported)
			switch {
			case c.source == "scan":
			case c.verb == "PurgeAll" || c.want[0] == 'B' || c.want[0] == 'D' || c.kind == "Card":
				require.ElementsMatch(t, stays, b.Items())
			default:
				for i := range 30 {
					_, there := o.read(fmt.Sprintf("ann-%03d", i))
					require.False(t, there)
				}
			}
		})
	}
}

// The writes cost what a Delete of each item costs.
func TestErase_CostsTheUnitsOfDeletes(t *testing.T) {
	t.Parallel()
	units := map[string]float64{}
	observe := func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { units[r.Verb] += r.WriteUnits })
	}
	b, store := dbtest.OpenStore[Record](t, observe)
	o := officeOver(b, store)
	for _, verb := range []string{"Delete", "DeleteAll"} {
		o.fill(10, "ann")
		if verb == "DeleteAll" {
			o.OK(o.store.DeleteAll(b.Ctx, store.Query(o.of(Mail{Box: "b"})), ""))
		} else {
			for i := range 10 {
				o.OK(o.store.Delete(b.Ctx, o.key(fmt.Sprintf("ann-%03d", i))))
			}
		}
		for i := range 10 {
			o.purge(fmt.Sprintf("ann-%03d", i))
		}
	}
	require.NotZero(t, units["Delete"])
	require.Equal(t, units["Delete"], units["DeleteAll"])
}

func officeOver[T any](b *dbtest.Bench, store *entity.Store[T]) *office[T] {
	return &office[T]{b, store, entity.Must(entity.New[T](b.Open(b.Raw))), dbtest.Embedded[Mail](entity.Fields[T]())}
}

// writes of one item, and what precedes them, in the order of a run.
func anyWrite(r faults.Request) bool { return isWrite(r) }

// What overtakes the write of an item decides what becomes of it.
func TestErase_AnItemThatNoLongerMatchesStays(t *testing.T) {
	t.Parallel()
	offices(t, func(t *testing.T, name string, open func(...func(*entity.Config)) any) {
		const id = "ann-000"
		sources := []string{"table", "index"}
		if name == "Card" {
			sources[1] = "hydrated"
		}
		for _, source := range sources {
			for _, verb := range erasing {
				for change, c := range map[string]struct {
					meanwhile func(mails) error
					want      entity.Erased
				}{
					"closed":  {func(o mails) error { return o.change(id, func(m *Mail) { m.State = "closed" }) }, entity.Erased{Found: 1, Changed: 1}},
					"noted":   {func(o mails) error { return o.change(id, func(m *Mail) { m.Note = "other" }) }, entity.Erased{Found: 1, Deleted: 1}},
					"purged":  {func(o mails) error { o.purge(id); return nil }, entity.Erased{Found: 1, Missing: 1}},
					"handed":  {func(o mails) error { return o.change(id, func(m *Mail) { m.Owner = "bob" }) }, entity.Erased{Found: 1, Changed: 1}},
					"deleted": {func(o mails) error { o.remove(id); return nil }, entity.Erased{Found: 1, Missing: 1}},
					"begun again": {func(o mails) error { o.purge(id); o.fill(1, "ann"); return nil }, entity.Erased{Found: 1, Deleted: 1}},
				} {
					if change == "handed" && source == "table" {
						continue // it is in the same box
					}
					t.Run(strings.Join([]string{source, verb, change}, " "), func(t *testing.T) {
						t.Parallel()
						o := officeAt(t, name)
						b := o.bench()
						o.fill(1, "ann")
						before := len(b.Items())
						var done entity.Erased
						require.NoError(t, b.Overtake(dbtest.First(anyWrite), func() (err error) {
							done, err = o.query(source, true)(b.Ctx, verb, "")
							return err
						}, func() { require.NoError(t, c.meanwhile(o)) }))
						m, there := o.read(id)
						if verb == "PurgeAll" && change == "purged" { // a removal that finds nothing may be its own, delivered twice
							done.Deleted, done.Missing = 0, done.Deleted+done.Missing
						}
						if verb == "PurgeAll" && change == "deleted" && name != "File" && name != "Record" {
							done.Deleted, done.Missing = 0, done.Deleted+done.Missing
						}
						require.Equal(t, c.want, done)
						require.Equal(t, done.Changed == 1, there)
						switch {
						case change == "closed":
							require.Equal(t, "closed", m.State)
						case change == "handed":
							require.Equal(t, "bob", m.Owner)
						case verb == "PurgeAll" && (change == "purged" || change == "noted"):
							require.Empty(t, b.Items())
						case verb == "PurgeAll" && change == "deleted" && name == "Record":
							require.GreaterOrEqual(t, len(b.Items()), 1, "the deleted copy stays")
						}
						_ = before
					})
				}
			}
		}
	})
}

func officeAt(t testing.TB, name string, change ...func(*entity.Config)) mails {
	return map[string]func(testing.TB, ...func(*entity.Config)) any{
		"Letter": officeOf[Letter], "Card": officeOf[Card], "Bare": officeOf[Bare], "File": officeOf[File], "Record": officeOf[Record],
	}[name](t, change...).(mails)
}

var _ = []any{rand.N[int], reflect.TypeFor[int], sync.Mutex{}, expression.Name, testsize.Long}
