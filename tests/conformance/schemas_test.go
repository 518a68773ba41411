package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

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

func TestSchemas_AttributesCanHaveOtherNamesThanTheirFields(t *testing.T) {
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

// plainNote and keptNote are one entity before and after the features were declared.
type plainNote struct {
	_    entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Body string     `dynamodbav:"body"`
	Mail string     `dynamodbav:"mail,omitempty"`
}

type keptNote struct {
	_       entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete `unique:"reserve"`
	_       unique.Constraint    `name:"mail" fields:"mail"`
	ID      string               `dynamodbav:"id"`
	Body    string               `dynamodbav:"body"`
	Mail    string               `dynamodbav:"mail,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
	Created time.Time            `dynamodbav:"createdAt" entity:"created_at"`
	Updated time.Time            `dynamodbav:"updatedAt" entity:"updated_at"`
}

func TestSchemas_FeaturesCanBeAddedToStoredItems(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[keptNote](t)
	before := dbtest.Declare[plainNote](t, l.Open(l.Raw))
	for _, id := range []string{"a", "b", "c"} {
		_, err := before.Create(t.Context(), plainNote{ID: id, Body: "old", Mail: id + "@example.com"})
		require.NoError(t, err)
	}
	f := entity.Fields[keptNote]()
	got, err := s.Get(t.Context(), keptNote{ID: "a"})
	require.NoError(t, err)
	require.Zero(t, got.Version)
	got, err = s.Update(t.Context(), keptNote{ID: "a"}, entity.Set(&f.Body, "new"), versioned.Expect(0))
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	history := entity.Must(versioned.Of(s))
	first, err := history.Get(t.Context(), keptNote{ID: "a"}, 0)
	require.NoError(t, err)
	require.Equal(t, "old", first.Item.Body)
	require.True(t, first.ValidFrom.IsZero())
	got, err = history.Revert(t.Context(), keptNote{ID: "a"}, 0)
	require.NoError(t, err)
	require.Equal(t, "old", got.Body)
	// A delete and a restore claim the value that was never claimed.
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), keptNote{ID: "b"}))
	require.Equal(t, "$note#b", owners(l)["$note.mail#b@example.com"])
	got, err = entity.Must(lifecycle.Of(s)).Restore(t.Context(), keptNote{ID: "b"})
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Version)
	got, err = s.Put(t.Context(), keptNote{ID: "c", Body: "put", Mail: "new@example.com"})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	require.Equal(t, "$note#c", owners(l)["$note.mail#new@example.com"])
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
