package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The tests in this file are named after defects that comparable libraries have.

// An upsert that creates leaves an item like any other: readable, with its snapshot and its unique values.
func TestUpsertCreatesAWholeItem(t *testing.T) {
	t.Parallel()
	type T = u2VRetainSReserve
	l, s := dbtest.OpenStore[T](t)
	p := Person{ID: "p-1", Tenant: "t", Email: "a@example.com", Badge: "7"}
	got, created, err := s.Upsert(t.Context(), as[T](p))
	require.NoError(t, err)
	require.True(t, created)
	read, err := s.Get(t.Context(), as[T](p))
	require.NoError(t, err)
	require.Equal(t, got, read)
	require.Equal(t, "p-1", read.ID)
	require.Len(t, l.ItemsByKey(), 4)
	p.ID = "p-2"
	_, _, err = s.Upsert(t.Context(), as[T](p))
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation)
}

// Guards name the table's own key attribute, whatever it is called.
func TestUniqueValuesAreGuardedUnderOtherKeyNames(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSReserveTTL
	l, s := dbtest.OpenStore[T](t, func(c *entity.Config) { c.PK, c.SK, c.TTL = "hash key", "range-key", "gone" })
	p := Person{ID: "p-1", Tenant: "t", Email: "a@example.com"}
	_, err := s.Create(t.Context(), as[T](p))
	require.NoError(t, err)
	other := Person{ID: "p-2", Tenant: "t", Email: "a@example.com"}
	var violation *unique.ViolationError
	_, err = s.Create(t.Context(), as[T](other))
	require.ErrorAs(t, err, &violation)
	other.Email = "b@example.com"
	_, err = s.Create(t.Context(), as[T](other))
	require.NoError(t, err)
	_, err = s.Update(t.Context(), as[T](other), entity.Set(&fields[T]().Email, p.Email))
	require.ErrorAs(t, err, &violation)
	require.Equal(t, unique.Owner{PK: personPK, SK: personSK}, violation.Owner)
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), as[T](p)))
	_, err = entity.Must(lifecycle.Of(s)).Restore(t.Context(), as[T](p))
	require.NoError(t, err)
	found, err := entity.Must(unique.Of(s, "email")).Find(t.Context(), as[T](p))
	require.NoError(t, err)
	require.Equal(t, "p-1", found.ID)
	require.NoError(t, s.Purge(t.Context(), as[T](p)))
	require.NoError(t, s.Purge(t.Context(), as[T](other)))
	require.Empty(t, l.ItemsByKey())
}

func TestRestoreUnderReserveTakesTheItemsOwnSentinelsOver(t *testing.T) {
	t.Parallel()
	type T = u2VRetainTTLSReserveTTL
	l, s := dbtest.OpenStore[T](t)
	p := as[T](Person{ID: "p-1", Tenant: "t", Email: "a@example.com", Badge: "7"})
	_, err := s.Create(t.Context(), p)
	require.NoError(t, err)
	before := owners(l)
	bin := entity.Must(lifecycle.Of(s))
	for range 3 {
		l.Clock.Move(time.Second)
		require.NoError(t, s.Delete(t.Context(), p))
		require.Equal(t, before, owners(l))
		_, err = bin.Restore(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, before, owners(l))
	}
	for _, it := range l.ItemsByKey() {
		if it["_entity_pk"] != nil {
			require.NotContains(t, it, "_ttl", "the copy's time to live does not stay on the sentinel")
		}
	}
}

func TestAnIdempotencyKeyIsFreeAgainAfterItsTimeToLive(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Ticket](t)
	_, err := s.Create(t.Context(), Ticket{ID: "a", Request: "r"})
	require.NoError(t, err)
	l.Clock.Move(time.Hour)
	_, err = s.Create(t.Context(), Ticket{ID: "b", Request: "r"})
	require.NoError(t, err)
}

func TestAFailedUserConditionIsErrConditionOnEveryPath(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSFree
	b := newBench[T](t)
	f := fields[T]()
	p := b.item(t, live)
	no := entity.If(entity.Eq(&f.Name, "another"))
	for name, changes := range map[string][]entity.UpdateOption{
		"another field":  {entity.Set(&f.Name, "x"), no},
		"a unique field": {entity.Set(&f.Email, "x@example.com"), no},
		"expected":       {entity.Set(&f.Email, "x@example.com"), no, versioned.Expect(1)},
	} {
		_, err := b.s.Update(t.Context(), as[T](p), changes...)
		require.Equal(t, "Condition", classesOf(err), name)
		stored, ok := entity.StoredItem[T](err)
		require.True(t, ok, name)
		require.Equal(t, p.Email, stored.Email)
	}
}

// Renamed has no attribute that is called like its field.
type Renamed struct {
	_       entity.Key           `name:"Renamed" pk:"$#{i}" sk:"$"`
	_       entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{tm}" sk:"$#{i}"`
	_       versioned.Retain     ``
	_       lifecycle.SoftDelete `unique:"free"`
	_       unique.Constraint    `name:"mail" fields:"m"`
	ID      string               `dynamodbav:"i"`
	Team    string               `dynamodbav:"tm"`
	Email   string               `dynamodbav:"m"`
	Version int64                `dynamodbav:"v" entity:"version"`
	Created time.Time            `dynamodbav:"c" entity:"created_at"`
	Deleted *time.Time           `dynamodbav:"d,omitempty" entity:"deleted_at"`
}

func TestRenamedAttributesLiveThroughTheWholeLifecycle(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Renamed](t)
	bin, history := entity.Must(lifecycle.Of(s)), entity.Must(versioned.Of(s))
	f := entity.Fields[Renamed]()
	v := Renamed{ID: "a", Team: "blue", Email: "a@example.com"}
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Create(v)))
	it := l.ItemsByKey()["$app#v1#renamed#a $app#v1#renamed"]
	require.Equal(t, []types.AttributeValue{dbtest.S("a"), dbtest.S("blue"), dbtest.S("a@example.com")}, []types.AttributeValue{it["i"], it["tm"], it["m"]})
	l.Clock.Move(time.Second)
	at := l.Clock.Now()
	require.NoError(t, s.Delete(t.Context(), v))
	require.Empty(t, owners(l), "the sentinel is given up")
	copied, err := bin.Get(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, "blue", copied.Item.Team)
	require.Equal(t, at, *copied.Item.Deleted)
	restored, err := bin.Restore(t.Context(), v)
	require.NoError(t, err)
	require.Nil(t, restored.Deleted)
	byTeam := entity.Must(s.Index("byTeam"))
	found, err := byTeam.Query(Renamed{Team: "blue"}, entity.Filter(entity.Eq(&f.Email, "a@example.com"))).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, restored, found)
	first, err := history.Get(t.Context(), v, 1)
	require.NoError(t, err)
	require.Equal(t, v.Email, first.Item.Email)
	got, err := history.List(v, entity.Le(&f.Version, 1)).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, got)
}

// World holds the related items of several items in one partition.
type World struct {
	_       entity.Key `name:"World" pk:"$#{org}" sk:"$#{id}"`
	_       entity.GSI `name:"byName" index:"gsi1" pk:"$#{name}" sk:"$#{id}"`
	_       versioned.Retain
	_       lifecycle.SoftDelete
	_       unique.Constraint `name:"name" fields:"org,name"`
	Org     string            `dynamodbav:"org"`
	ID      string            `dynamodbav:"id"`
	Name    string            `dynamodbav:"name"`
	Version int64             `dynamodbav:"version" entity:"version"`
	Created time.Time         `dynamodbav:"createdAt" entity:"created_at"`
}

func TestQueriesAndScansSeeCurrentItemsOnly(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[World](t)
	f := entity.Fields[World]()
	for _, id := range []string{"a", "b", "c", "a#v#0000001", "a#deleted#x"} {
		v, err := s.Create(t.Context(), World{Org: "o", ID: id, Name: "n" + id})
		require.NoError(t, err)
		l.Clock.Move(time.Second)
		_, err = s.Update(t.Context(), v, entity.Set(&f.Name, "m"+id))
		require.NoError(t, err)
	}
	require.NoError(t, s.Delete(t.Context(), World{Org: "o", ID: "c"}))
	ids := func(q entity.Query[World]) string {
		got, err := q.Collect(t.Context())
		require.NoError(t, err)
		n, err := q.Count(t.Context())
		require.NoError(t, err)
		require.Len(t, got, n)
		var ids []string
		for _, w := range got {
			ids = append(ids, w.ID)
		}
		return strings.Join(ids, " ")
	}
	require.Equal(t, "a a#deleted#x a#v#0000001 b", ids(s.Query(World{Org: "o"})))
	require.Equal(t, "a a#deleted#x a#v#0000001", ids(s.Query(World{Org: "o"}, entity.BeginsWith(&f.ID, "a"))))
	require.Len(t, strings.Fields(ids(s.Scan())), 4)
	byName := entity.Must(s.Index("byName"))
	require.Equal(t, "a", ids(byName.Query(World{Name: "ma"})))
	require.Equal(t, "", ids(byName.Query(World{Name: "na"})))
	// The histories of neighbours do not mix (and neither do their bins).
	history, bin := entity.Must(versioned.Of(s)), entity.Must(lifecycle.Of(s))
	for id, want := range map[string]int{"a": 1, "b": 1, "c": 3} {
		list, err := history.List(World{Org: "o", ID: id}).Collect(t.Context())
		require.NoError(t, err)
		require.Len(t, list, want, id)
		for _, v := range list {
			require.Equal(t, id, v.Item.ID)
		}
	}
	_, err := bin.Get(t.Context(), World{Org: "o", ID: "a"})
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestATransactionWeakensNoOperation(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSReserve
	b := newBench[T](t)
	p, q := b.item(t, live), b.item(t, live)
	before := b.l.ItemsByKey()
	require.Equal(t, "Exists", classesOf(runJoined(b.l, b.s.Op().Create(as[T](p)))), "create overwrites nothing")
	require.Equal(t, before, b.l.ItemsByKey())
	b.l.Clock.Move(time.Second)
	update := b.s.Op().Update(as[T](q), entity.Set(&fields[T]().Email, "new@example.com"))
	require.NoError(t, b.l.DB.Transact(t.Context(), b.s.Op().Delete(as[T](p)), update))
	copied, err := b.bin.Get(t.Context(), as[T](p))
	require.NoError(t, err, "a soft delete stays one")
	require.EqualValues(t, 2, copied.Item.Version)
	require.EqualValues(t, 2, update.Result().Version)
	require.Contains(t, b.l.ItemsByKey(), "$app#v1#person#"+q.ID+" "+personSK+"#v#0000001")
	require.Equal(t, "$person#"+q.ID, owners(b.l)["$person.email#new@example.com"])
	restore := b.bin.Op().Restore(as[T](p))
	require.NoError(t, b.l.DB.Transact(t.Context(), restore, b.s.Op().CheckExists(as[T](q))))
	require.EqualValues(t, 3, restore.Result().Version)
}

// Whole numbers of seconds on every related item, the table's TTL switched on, and nothing expired is seen or restored.
func TestTimesToLiveAreWholeEnabledAndObeyed(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	out, err := g.Raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &g.Table})
	require.NoError(t, err)
	require.Equal(t, "_ttl", *out.TimeToLiveDescription.AttributeName)
	require.Equal(t, types.TimeToLiveStatusEnabled, out.TimeToLiveDescription.TimeToLiveStatus)
	g.delete(t)
	for key, it := range g.ItemsByKey() {
		ttl, ok := it["_ttl"].(*types.AttributeValueMemberN)
		require.True(t, ok, key)
		require.Regexp(t, `^[0-9]{10}$`, ttl.Value, key)
	}
	g.Clock.Move(91 * 24 * time.Hour)
	_, err = g.bin.Restore(t.Context(), g.key)
	require.ErrorIs(t, err, entity.ErrNotFound)
	list, err := g.history.List(g.key).Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = g.s.Create(t.Context(), Employee{Staff: aliceStaff})
	require.NoError(t, err)
	current, err := g.s.Get(t.Context(), g.key)
	require.NoError(t, err)
	require.EqualValues(t, 4, current.Version, "a number is never given twice, also when the states have expired")
}
