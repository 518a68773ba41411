package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
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
	v, err := s.Create(t.Context(), Dossier{ID: "d", Due: &due})
	require.NoError(t, err)
	digits := dbtest.N("0.12345678901234567890123456789012345678")
	l.ChangeItem("$app#v1#dossier#d", "$app#v1#dossier", dbtest.Item{"unknown": digits, "count": dbtest.N("9007199254740993")})
	l.Clock.Move(time.Second)
	got, err := s.Update(t.Context(), v, entity.Add(&entity.Fields[Dossier]().Count, 2))
	require.NoError(t, err)
	require.EqualValues(t, 9007199254740995, got.Count)
	require.NoError(t, s.Delete(t.Context(), v))
	for key, it := range l.ItemsByKey() {
		if !strings.Contains(key, ".code#") {
			require.Equal(t, dbtest.S("2101-05-06T08:08:09.123456789Z"), it["due"], key)
		}
	}
	got, err = entity.Must(lifecycle.Of(s)).Restore(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, due, *got.Due)
	for _, suffix := range []string{"", "#v#0000002", "#v#0000003"} {
		it := l.ItemsByKey()[dossier+suffix]
		require.Equal(t, digits, it["unknown"], suffix)
		require.Equal(t, dbtest.N("9007199254740995"), it["count"], suffix)
	}
	require.Equal(t, dbtest.N("9007199254740993"), l.ItemsByKey()[dossier+"#v#0000001"]["count"])
}

func TestValues_PathsAndCollectionsChangeInTransactionsToo(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Dossier](t)
	f := entity.Fields[Dossier]()
	v, err := s.Create(t.Context(), Dossier{ID: "d", Log: []string{"a"}, Tags: []string{"x", "y"}, Labels: map[string]string{"k": "1", "gone": "1"}})
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	for name, run := range map[string]func(entity.Write[Dossier]) error{
		"alone": func(w entity.Write[Dossier]) error { return runAlone(t, w) }, "joined": func(w entity.Write[Dossier]) error { return runJoined(l, w) },
	} {
		require.NoError(t, run(s.Op().Update(v,
			entity.Set(&f.Code, name), entity.MapEntry(&f.Labels, "k").Set(name), entity.ListAppend(&f.Log, name), entity.AddToSet(&f.Tags, name),
			entity.Set(&f.Home.City, name), entity.Add(&f.Count, 3))), name)
		got, err := s.Get(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, name, got.Labels["k"])
		require.Equal(t, name, got.Log[len(got.Log)-1])
		require.Contains(t, got.Tags, name)
		require.Equal(t, name, got.Home.City)
	}
	got, err := s.Update(t.Context(), v, entity.MapEntry(&f.Labels, "gone").Remove(), entity.Attr[string]("log[0]").Remove(), entity.DeleteFromSet(&f.Tags, "x"))
	require.NoError(t, err)
	require.NotContains(t, got.Tags, "x")
	require.NotContains(t, got.Labels, "gone")
	require.Len(t, got.Log, 2)
	require.EqualValues(t, 6, got.Count)
	require.EqualValues(t, 4, got.Version)
	_, err = s.Update(t.Context(), v, entity.MapEntry(&f.Labels, "a").Set("b"), entity.If(entity.NotExists(&f.Code)))
	require.Equal(t, "Condition", classesOf(err))
}

// The tests in this file are named after defects that comparable libraries have.

// Batches have neither conditions nor transactions: what needs them refuses batches, whatever the caller says.
func TestBatch_WeakensNoOperation(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[u1VRetainSReserve](t)
	p := as[u1VRetainSReserve](Person{ID: "p-1", Tenant: "t", Email: "a@example.com"})
	_, err := s.Create(t.Context(), p)
	require.NoError(t, err)
	before := l.ItemsByKey()
	left, err := s.PutMany(t.Context(), []u1VRetainSReserve{p}, entity.Unconditional())
	require.Equal(t, "EDD-9117", dbtest.InputCode(err))
	require.Len(t, left, 1)
	_, err = s.DeleteMany(t.Context(), []u1VRetainSReserve{p}, entity.Unconditional())
	require.Equal(t, "EDD-9117", dbtest.InputCode(err))
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
