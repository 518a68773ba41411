package conformance_test

import (
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

// Dossier has values of every sort, all kept.
type Dossier struct {
	_      entity.Key `name:"Dossier" pk:"$#{id}" sk:"$"`
	_      versioned.Retain
	_      lifecycle.SoftDelete
	_      unique.Constraint `name:"code" fields:"code"`
	ID     string            `dynamodbav:"id"`
	Code   string            `dynamodbav:"code,omitempty"`
	Due    *time.Time        `dynamodbav:"due,omitempty"`
	Count  int64             `dynamodbav:"count"`
	Log    []string          `dynamodbav:"log"`
	Tags   []string          `dynamodbav:"tags,omitempty,stringset"`
	Labels map[string]string `dynamodbav:"labels"`
	Home   struct {
		City string `dynamodbav:"city"`
	} `dynamodbav:"home"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

const dossier = "$app#v1#dossier#d $app#v1#dossier"

// A write that is planned from the stored item keeps what it does not know, to the last digit.
func TestValues_KeepTheirFormInEveryKindOfItem(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Dossier](t)
	due := dbtest.Start.Add(time.Hour)
	v := entity.Must(s.Create(t.Context(), Dossier{ID: "d", Due: &due}))
	digits := dbtest.N("0.12345678901234567890123456789012345678")
	l.ChangeItem("$app#v1#dossier#d", "$app#v1#dossier", dbtest.Item{"unknown": digits, "count": dbtest.N("9007199254740993")})
	l.Clock.Move(time.Second)
	got := entity.Must(s.Update(t.Context(), v, entity.Add(&entity.Fields[Dossier]().Count, 2)))
	require.EqualValues(t, 9007199254740995, got.Count)
	require.NoError(t, s.Delete(t.Context(), v))
	for key, it := range l.ItemsByKey() {
		if !strings.Contains(key, ".code#") {
			require.Equal(t, dbtest.S("2101-05-06T08:08:09.123456789Z"), it["due"], key)
		}
	}
	got = entity.Must(entity.Must(lifecycle.Of(s)).Restore(t.Context(), v))
	require.Equal(t, due, *got.Due)
	for _, suffix := range []string{"", "#v#0000002", "#v#0000003"} {
		it := l.ItemsByKey()[dossier+suffix]
		require.Equal(t, digits, it["unknown"], suffix)
		require.Equal(t, dbtest.N("9007199254740995"), it["count"], suffix)
	}
	require.Equal(t, dbtest.N("9007199254740993"), l.ItemsByKey()[dossier+"#v#0000001"]["count"])
}

// The tests of batches and queries are named after defects that comparable libraries have.

// Batches have neither conditions nor transactions: what needs them refuses batches, whatever the caller says.
func TestBatch_WeakensNoOperation(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[u1VRetainSReserve](t)
	p := as[u1VRetainSReserve](Person{ID: "p-1", Tenant: "t", Email: "a@example.com"})
	l.OK(s.Create(t.Context(), p))
	before := l.ItemsByKey()
	left, err := s.PutMany(t.Context(), []u1VRetainSReserve{p}, entity.Unconditional())
	require.Equal(t, "EDD-9117", dbtest.InputCode(err))
	require.Len(t, left, 1)
	require.Equal(t, "EDD-9117", dbtest.InputCode(dbtest.ErrorOf(s.DeleteMany(t.Context(), []u1VRetainSReserve{p}, entity.Unconditional()))))
	require.Equal(t, before, l.ItemsByKey())
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
		v := entity.Must(s.Create(t.Context(), World{Org: "o", ID: id, Name: "n" + id}))
		l.Clock.Move(time.Second)
		l.OK(s.Update(t.Context(), v, entity.Set(&f.Name, "m"+id)))
	}
	require.NoError(t, s.Delete(t.Context(), World{Org: "o", ID: "c"}))
	ids := func(q entity.Query[World]) string {
		got, n := entity.Must(q.Collect(t.Context())), entity.Must(q.Count(t.Context()))
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
		list := entity.Must(history.List(World{Org: "o", ID: id}).Collect(t.Context()))
		require.Len(t, list, want, id)
		for _, v := range list {
			require.Equal(t, id, v.Item.ID)
		}
	}
	require.ErrorIs(t, dbtest.ErrorOf(bin.Get(t.Context(), World{Org: "o", ID: "a"})), entity.ErrNotFound)
}

// Note is from the guide to timestamps. The table's keys are called PK and SK.
type Note struct {
	_         entity.Key `name:"Note" pk:"PK" sk:"SK"`
	_         versioned.Lock
	PK        string    `dynamodbav:"PK"`
	SK        string    `dynamodbav:"SK"`
	Body      string    `dynamodbav:"body"`
	ExpiresAt int64     `dynamodbav:"_ttl,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func welcome() Note { return Note{PK: "USER#1", SK: "NOTE#welcome", Body: "Hi."} }

func onNotes(t *testing.T) (*dbtest.Bench, *entity.Store[Note]) {
	t.Helper()
	return dbtest.OpenStore[Note](t, func(c *entity.Config) { c.PK, c.SK, c.TTL = "PK", "SK", "expires" })
}

func TestTimestamps_CreatingWritesPopulateBothWithOneTime(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(*entity.Store[Note]) (Note, error){
		"Create": func(s *entity.Store[Note]) (Note, error) { return s.Create(t.Context(), welcome()) },
		"Put":    func(s *entity.Store[Note]) (Note, error) { return s.Put(t.Context(), welcome()) },
		"Upsert": func(s *entity.Store[Note]) (Note, error) {
			v, _, err := s.Upsert(t.Context(), welcome())
			return v, err
		},
	} {
		l, s := onNotes(t)
		n, err := create(s)
		require.NoError(t, err, name)
		require.Equal(t, dbtest.Start, n.CreatedAt, name)
		require.Equal(t, dbtest.Start, n.UpdatedAt, name)
		it := l.ItemsByKey()["USER#1 NOTE#welcome"]
		require.Equal(t, dbtest.S("2101-05-06T07:08:09.123456789Z"), it["createdAt"], "nine digits, UTC")
		require.Equal(t, it["createdAt"], it["updatedAt"], name)
	}
}

func TestTimestamps_TheLibraryOwnsThem(t *testing.T) {
	t.Parallel()
	l, s := onNotes(t)
	f, v := entity.Fields[Note](), welcome()
	v.CreatedAt, v.UpdatedAt, v.Version = dbtest.Start.Add(-time.Hour), dbtest.Start.Add(-time.Hour), 99
	n := entity.Must(s.Create(t.Context(), v))
	require.Equal(t, []any{dbtest.Start, dbtest.Start, int64(1)}, []any{n.CreatedAt, n.UpdatedAt, n.Version})
	l.Sent()
	for _, change := range []entity.UpdateOption{entity.Set(&f.CreatedAt, dbtest.Start), entity.Set(&f.UpdatedAt, dbtest.Start), entity.Set(&f.Version, 5), entity.Remove(&f.CreatedAt)} {
		require.Equal(t, "EDD-9104", dbtest.InputCode(dbtest.ErrorOf(s.Update(t.Context(), n, change))))
	}
	require.Empty(t, l.Sent())
}

// User is the model of a contract with another library.
type User struct {
	_         entity.Key `name:"User" pk:"PK" sk:"SK"`
	_         entity.GSI `name:"byEmail" index:"gsi-email" pk:"emailHash"`
	_         versioned.Lock
	PK        string    `dynamodbav:"PK"`
	SK        string    `dynamodbav:"SK"`
	EmailHash string    `dynamodbav:"emailHash,omitempty"`
	Nickname  string    `dynamodbav:"nickname,omitempty"`
	Tags      []string  `dynamodbav:"tags,omitempty,stringset"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	TTL       int64     `dynamodbav:"ttl,omitempty"`
}

func TestContract_EmptyValuesAreAbsentAndNothingIsAdded(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[User](t, func(c *entity.Config) { c.PK, c.SK = "PK", "SK" })
	l.OK(s.Create(t.Context(), User{PK: "USER#2", SK: "PROFILE", Tags: []string{}}))
	it := l.ItemsByKey()["USER#2 PROFILE"]
	for _, name := range []string{"nickname", "tags", "ttl", "emailHash"} {
		require.NotContains(t, it, name)
	}
	for _, name := range []string{"PK", "SK", "createdAt", "updatedAt", "version"} {
		require.Contains(t, it, name)
	}
	require.Len(t, it, 5, "nothing hidden")
	l.OK(s.Update(t.Context(), User{PK: "USER#2", SK: "PROFILE"}, entity.Set(&entity.Fields[User]().EmailHash, "hash_abc")))
	found := entity.Must(entity.Must(s.Index("byEmail")).Query(User{EmailHash: "hash_abc"}).Collect(t.Context()))
	require.Len(t, found, 1, "an attribute of the model is the index key")
	require.Len(t, l.ItemsByKey()["USER#2 PROFILE"], 6)
}
