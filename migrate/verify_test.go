package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// damaged has items a to f, made by make, with one damage of every kind.
func damaged(t *testing.T, b *lab, attr string, make func(id string) error) {
	t.Helper()
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, make(id))
	}
	b.RemoveItem(b.Sentinel("value-a")) // a claims nothing
	b.RemoveItem(b.Current("b"))        // the sentinel of b stands alone
	wrongOwner := b.Sentinel("value-c") // and names b instead of c
	orphan := b.Sentinel("value-b")
	wrongOwner["_entity_pk"], wrongOwner["_entity_sk"] = orphan["_entity_pk"], orphan["_entity_sk"]
	b.PutItem(wrongOwner)
	d := b.Current("d") // d has the value of e, and its sentinel stands alone
	d[attr] = dbtest.S("value-e")
	b.PutItem(d)
}

func checkDamaged[T any](t *testing.T, b *lab, attr string, l *unique.Lookup[T], value func(string) T) {
	t.Helper()
	before := b.Items()
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Equal(t, []string{"conflict of 2 items", "missing claim", "orphaned", "orphaned", "wrong owner"}, dbtest.Sorted(r.Findings))
	require.Equal(t, []int{5, 5, 0}, []int{r.Items, r.Sentinels, r.Unreadable})
	require.ElementsMatch(t, before, b.Items(), "Verify changes nothing")
	r = entity.Must(migrate.VerifyUnique(t.Context(), l, entity.Segments(3)))
	require.Len(t, r.Findings, 5)
	for _, f := range r.Findings {
		wanted := map[migrate.Kind]int{migrate.Orphaned: 0, migrate.WrongOwner: 1, migrate.MissingClaim: 1, migrate.Conflict: 2}
		require.Len(t, f.Owners, wanted[f.Kind])
		require.Equal(t, f.Kind == migrate.MissingClaim, f.ClaimedBy == nil)
	}

	done := entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Equal(t, []string{"missing claim", "orphaned", "orphaned", "wrong owner"}, dbtest.Sorted(done.Fixed))
	require.Equal(t, []string{"conflict of 2 items"}, dbtest.Sorted(done.Remaining), "only the caller knows which of the two keeps the value")
	for _, id := range []string{"a", "c", "e", "f"} {
		_, err := l.Find(t.Context(), value("value-"+id))
		require.NoError(t, err, id)
	}
	after := b.Items()
	again := entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Empty(t, again.Fixed)
	require.Len(t, again.Remaining, 1)
	require.ElementsMatch(t, after, b.Items(), "a second time changes nothing")

	d := b.Current("d")
	d[attr] = dbtest.S("value-new")
	b.PutItem(d)
	done = entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Equal(t, []string{"missing claim"}, dbtest.Sorted(done.Fixed))
	require.Empty(t, done.Remaining)
	b.bijective(attr)
}

func TestVerify_FindsAndRepairFixesDamage(t *testing.T) {
	t.Parallel()
	t.Run("$", func(t *testing.T) {
		t.Parallel()
		b := newLab(t)
		s, l := prepare[Person](t, b, "email")
		damaged(t, b, "email", func(id string) error {
			_, err := s.Create(t.Context(), Person{ID: id, Email: "value-" + id})
			return err
		})
		checkDamaged(t, b, "email", l, func(v string) Person { return Person{Email: v} })
	})
	t.Run("verbatim", func(t *testing.T) {
		t.Parallel()
		b := newLab(t)
		s, l := prepare[Part](t, b, "serial")
		damaged(t, b, "serial", func(id string) error {
			_, err := s.Create(t.Context(), Part{ID: id, Kind: "wheel", Serial: "value-" + id})
			return err
		})
		checkDamaged(t, b, "serial", l, func(v string) Part { return Part{Serial: v} })
	})
}

// Until Repair has run, a constraint that was added later does not bind old items.
func TestRepair_AConstraintThatIsDeclaredLaterBindsOldItems(t *testing.T) {
	t.Parallel()
	type old struct {
		_     entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
		ID    string     `dynamodbav:"id"`
		Email string     `dynamodbav:"email,omitempty"`
	}
	b := newLab(t)
	earlier := entity.Must(entity.New[old](b.Open(b.Client)))
	s, l := prepare[Person](t, b, "email")
	n := testsize.Pick(20, 230)
	items := []old{{ID: "nothing"}}
	for i := range n {
		items = append(items, old{ID: fmt.Sprint("old-", i), Email: fmt.Sprint("v", i)})
	}
	b.OK(earlier.PutMany(t.Context(), items))
	done := entity.Must(migrate.RepairUnique(t.Context(), l, entity.Segments(2)))
	require.Len(t, done.Fixed, n)
	require.Equal(t, fmt.Sprintf("fixed %d missing claim; remaining nothing", n), done.String())
	b.bijective("email")
	_, err := s.Create(t.Context(), Person{ID: "new", Email: "v7"})
	var taken *unique.ViolationError
	require.ErrorAs(t, err, &taken)
}

// A reserved value belongs to the deleted copy, for as long as that lasts.
func TestVerify_ADeletedCopyIsAnOwnerUnderReserve(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Member](t, b, "handle")
	entity.Must(s.Create(t.Context(), Member{ID: "m", Handle: "mm"}))
	require.NoError(t, s.Delete(t.Context(), Member{ID: "m"}))
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Empty(t, r.Findings)
	require.Equal(t, []int{1, 1}, []int{r.Items, r.Sentinels})

	want := b.Sentinel("mm")
	b.RemoveItem(want)
	b.Clock.Move(time.Hour)
	done := entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Equal(t, []string{"missing claim"}, dbtest.Sorted(done.Fixed))
	got := b.Sentinel("mm")
	require.NotEqual(t, want["_w"], got["_w"])
	delete(want, "_w")
	delete(got, "_w")
	require.Equal(t, want, got, "with the copy's end")

	wrong := b.Sentinel("mm")
	wrong["_entity_pk"] = dbtest.S("$app#v1#member#other")
	b.PutItem(wrong)
	done = entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Equal(t, []string{"wrong owner"}, dbtest.Sorted(done.Fixed))

	lone := b.Sentinel("mm")
	lone["pk"] = dbtest.S("$app#v1#member.handle#nobody")
	b.PutItem(lone) // names an item that has another value
	done = entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Equal(t, []string{"orphaned"}, dbtest.Sorted(done.Fixed))

	b.Clock.Move(31 * 24 * time.Hour)
	r = entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Equal(t, migrate.UniqueReport{}, r, "what has expired does not count")
}

func TestVerify_IgnoresOtherItemsOfTheTable(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	people, l := prepare[Person](t, b, "email")
	members, _ := prepare[Member](t, b, "handle")
	entity.Must(people.Create(t.Context(), Person{ID: "p", Email: "x"}))
	entity.Must(members.Create(t.Context(), Member{ID: "p", Handle: "x"}))
	require.NoError(t, members.Delete(t.Context(), Member{ID: "p"}))
	for _, it := range b.Items() {
		if strings.HasPrefix(dbtest.Text(it["pk"]), "$app#v1#member") {
			it["pk"] = dbtest.S(strings.Replace(dbtest.Text(it["pk"]), "#member", "#stray", 1))
			b.PutItem(it)
		}
		if dbtest.Text(it["__edd_e__"]) == "Person" { // of another namespace
			it["pk"], it["sk"] = dbtest.S("$other#v1#person#p"), dbtest.S("$other#v1#person")
			b.PutItem(it)
		}
	}
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Equal(t, migrate.UniqueReport{Items: 1, Sentinels: 1}, r)
}

func TestVerify_OfAVerbatimEntityIgnoresOtherItemsOfTheTable(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	members := entity.Must(entity.New[Member](b.DB))
	gadgets, l := prepare[Gadget](t, b, "serial")
	for _, id := range []string{"1", "2"} {
		entity.Must(gadgets.Create(t.Context(), Gadget{PK: "p", SK: id, Serial: "s" + id}))
	}
	entity.Must(members.Create(t.Context(), Member{ID: "p", Handle: "x"}))
	require.NoError(t, members.Delete(t.Context(), Member{ID: "p"}))
	entity.Must(members.Create(t.Context(), Member{ID: "q", Handle: "y"}))
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Equal(t, migrate.UniqueReport{Items: 2, Sentinels: 2}, r)
}

// The value is nowhere but in the table.
func TestVerify_NeverShowsAValue(t *testing.T) {
	t.Parallel()
	type secretive struct {
		_     entity.Key        `name:"Secretive" pk:"$#{email}" sk:"$"`
		_     unique.Constraint `name:"email" fields:"email"`
		Email string            `dynamodbav:"email"`
	}
	b := newLab(t)
	s, l := prepare[secretive](t, b, "email")
	entity.Must(s.Create(t.Context(), secretive{Email: "hush"}))
	b.RemoveItem(b.Sentinel("hush"))
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Len(t, r.Findings, 1)
	b.Wire.Inject(func(q faults.Request) faults.Fault {
		if q.Operation == "TransactWriteItems" {
			return faults.Throttle
		}
		return faults.None
	})
	impatient, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	done, err := migrate.RepairUnique(impatient, l)
	require.Error(t, err)
	require.NotContains(t, fmt.Sprint(r, r.Findings, r.Findings[0].Kind, done, err), "hush")
	require.NotContains(t, fmt.Sprintf("%v %+v %v", r, done.Report, errors.Unwrap(err)), "hush")
}

// In a table that is shared with effect-dynamodb only the key distinguishes a snapshot or a copy from a current item.
func TestVerify_InASharedTableOnlyCurrentItemsOwnValues(t *testing.T) {
	t.Parallel()
	type account struct {
		_       entity.Key           `name:"Account" pk:"$#id_{id}" sk:"$"`
		_       lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
		_       unique.Constraint    `name:"email" fields:"email"`
		_       versioned.Retain
		ID      string `dynamodbav:"id"`
		Email   string `dynamodbav:"email,omitempty"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	b := newLab(t, shared)
	s, l := prepare[account](t, b, "email")
	f := entity.Fields[account]()
	for _, id := range []string{"a", "b", "c"} {
		entity.Must(s.Create(t.Context(), account{ID: id, Email: "old-" + id}))
		entity.Must(s.Update(t.Context(), account{ID: id}, entity.Set(&f.Email, "new-"+id)))
	}
	entity.Must(s.Create(t.Context(), account{ID: "none"}))
	require.NoError(t, s.Delete(t.Context(), account{ID: "b"}))
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Equal(t, migrate.UniqueReport{Items: 3, Sentinels: 3}, r)

	want := b.Items()
	for _, v := range []string{"email_new-a", "email_new-b", "new-a", "new-b"} {
		if it := b.Sentinel(v); it != nil {
			b.RemoveItem(it)
		}
	}
	require.Len(t, b.Items(), len(want)-2)
	done := entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Equal(t, []string{"missing claim", "missing claim"}, dbtest.Sorted(done.Fixed))
	require.ElementsMatch(t, want, b.Items(), "byte by byte what was there")
}

// Meter is a series whose enrichment has a unique value.
type Meter struct {
	_      entity.Key        `name:"Meter" pk:"$#{site}" sk:"$#{id}"`
	_      timeseries.Events `orderBy:"at" ttl:"7d"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	Site   string            `dynamodbav:"site"`
	ID     string            `dynamodbav:"id"`
	At     time.Time         `dynamodbav:"at"`
	Level  int               `dynamodbav:"level" entity:"append"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// The constraint of a series is opened from its handle; events are no owners.
func TestSeries_FindVerifyAndRepair(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := entity.Must(timeseries.New[Meter](b.DB))
	require.NoError(t, tables.Create(t.Context(), b.DB))
	l := entity.Must(unique.Of(s, "serial"))
	ctx := t.Context()
	for n, id := range []string{"a", "b", "c"} {
		_, _, err := s.Upsert(ctx, Meter{Site: "s", ID: id, Serial: "no-" + id})
		require.NoError(t, err)
		for i := range 3 {
			r := entity.Must(s.Append(ctx, Meter{Site: "s", ID: id, At: start.Add(time.Duration(n*3+i) * time.Second), Level: i}))
			require.True(t, r.Applied)
		}
	}
	var taken *unique.ViolationError
	_, err := s.Update(ctx, Meter{Site: "s", ID: "c"}, entity.Set(&entity.Fields[Meter]().Serial, "no-a"))
	require.ErrorAs(t, err, &taken)
	require.Equal(t, unique.Owner{PK: "$app#v1#meter#s", SK: "$app#v1#meter#a"}, taken.Owner)

	got := entity.Must(l.Find(ctx, Meter{Serial: "no-b"}))
	require.Equal(t, Meter{Site: "s", ID: "b", At: start.Add(5 * time.Second), Level: 2, Serial: "no-b"}, got)
	_, err = l.Find(ctx, Meter{Serial: "no-d"})
	require.ErrorIs(t, err, entity.ErrNotFound)

	r := entity.Must(migrate.VerifyUnique(ctx, l))
	require.Equal(t, migrate.UniqueReport{Items: 3, Sentinels: 3}, r)

	claim := b.Sentinel("no-a")
	b.RemoveItem(claim)
	claim["pk"] = dbtest.S("$app#v1#meter.serial#no-z")
	b.PutItem(claim) // orphaned: no item has it
	moved := b.Sentinel("no-b")
	moved["_entity_sk"] = dbtest.S("$app#v1#meter#c")
	b.PutItem(moved)
	done := entity.Must(migrate.RepairUnique(ctx, l, entity.Segments(3)))
	require.Equal(t, []string{"missing claim", "orphaned", "wrong owner"}, dbtest.Sorted(done.Fixed))
	require.Empty(t, done.Remaining)
	for _, id := range []string{"a", "b", "c"} {
		got := entity.Must(l.Find(ctx, Meter{Serial: "no-" + id}))
		require.Equal(t, id, got.ID)
	}

	_, err = unique.Of(s, "other")
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.NoError(t, s.Purge(ctx, Meter{Site: "s", ID: "a"}))
	_, err = l.Find(ctx, Meter{Serial: "no-a"})
	require.ErrorIs(t, err, entity.ErrNotFound)
}

// OnProgress counts what was compared: items and sentinels.
func TestVerify_ReportsItsProgress(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	people, emails := prepare[Person](t, b, "email")
	ops := make([]entity.Op, 120) // more than a batch
	for i := range ops {
		ops[i] = people.Op().Create(Person{ID: fmt.Sprint(i), Email: fmt.Sprint(i, "@x.org")})
	}
	for some := range slices.Chunk(ops, 40) {
		require.NoError(t, b.DB.Transact(t.Context(), some...))
	}
	var seen []int
	_, err := migrate.VerifyUnique(t.Context(), emails, migrate.OnProgress(func(p migrate.Progress) { seen = append(seen, p.Items) }))
	require.NoError(t, err)
	require.Equal(t, []int{100, 200, 240}, seen)
	seen = nil
	_, err = migrate.RepairUnique(t.Context(), emails, migrate.OnProgress(func(p migrate.Progress) { seen = append(seen, p.Items) }))
	require.NoError(t, err)
	require.Equal(t, []int{100, 200, 240}, seen)
	_, err = migrate.VerifyUnique(t.Context(), emails, migrate.OnProgress(nil))
	require.ErrorAs(t, err, new(*entity.InputError))
}

var errCache = errors.New("read from the cache")

// cache is a client of reads that answers none.
type cache struct{ entity.Client }

func (cache) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return nil, errCache
}

func (cache) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return nil, errCache
}

// What is verified is what DynamoDB has, not what a cache has.
func TestVerifyUnique_DoesNotUseTheClientOfReads(t *testing.T) {
	t.Parallel()
	b := newLab(t, func(c *entity.Config) { c.ReadClient = cache{} })
	s, l := prepare[Person](t, b, "email")
	b.OK(s.Create(b.Ctx, Person{ID: "a", Email: "a@x"}))
	_, err := s.Scan().Collect(b.Ctx)
	require.ErrorIs(t, err, errCache, "others do")
	report := entity.Must(migrate.VerifyUnique(b.Ctx, l))
	require.Equal(t, 1, report.Items)
	require.Empty(t, report.Findings)
}
