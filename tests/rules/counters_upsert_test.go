package rules_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

func TestUpsert_BeginsCountersWithTheirChangesInOneRequest(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	visit := func(v page) (page, bool) {
		got, created, err := b.Upsert(t.Context(), v, entity.Add(&p.Hits, 3), entity.ListAppend(&p.Log, "seen", "read"), entity.SetIfNotExists(&p.First, v.Title), entity.AddToSet(&p.Tags, "a"))
		require.NoError(t, err)
		require.Equal(t, []string{"UpdateItem"}, b.Operations())
		return got, created
	}
	got, created := visit(page{ID: "x", Title: "one", Hits: 40, Log: []string{"of the value"}})
	require.True(t, created)
	ends := b.Clock.Now().Truncate(time.Second).Add(time.Hour)
	require.Equal(t, page{ID: "x", Title: "one", Hits: 3, Log: []string{"seen", "read"}, First: "one", Tags: []string{"a"}, Ends: ends, Made: b.Clock.Now()}, got, "what a change names is left out of the value")

	got, created = visit(page{ID: "x", Title: "two"})
	require.False(t, created)
	want := page{ID: "x", Title: "two", Hits: 6, Log: []string{"seen", "read", "seen", "read"}, First: "one", Tags: []string{"a"}, Ends: ends, Made: b.Clock.Now()}
	require.Equal(t, want, got)
	read := entity.Must(b.Get(t.Context(), page{ID: "x"}, entity.Consistent()))
	require.Equal(t, want, read)

	b.Clock.Move(2 * time.Hour)
	b.Operations()
	got, created, err := b.Upsert(t.Context(), page{ID: "x"}, entity.Add(&p.Hits, 1), entity.Set(&p.Ends, time.Time{}))
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem", "PutItem"}, b.Operations())
	require.True(t, created)
	require.Equal(t, page{ID: "x", Hits: 1, Made: b.Clock.Now()}, got, "an expired item has no counters, and a change can say that the new one lives for ever")
}

func TestUpsert_PlannedFromTheStoredItemMakesTheSameChanges(t *testing.T) {
	b, r := open[rank](t), entity.Fields[rank]()
	play := func(v rank, n int, opts ...entity.UpdateOption) (rank, bool) {
		got, created, err := b.Upsert(t.Context(), v, append(opts, entity.Add(&r.Score, n), entity.ListAppend(&r.Log, "+"+strconv.Itoa(n)))...)
		require.NoError(t, err)
		return got, created
	}
	got, created := play(rank{ID: "x", Board: "b", Nick: "n"}, 5)
	require.True(t, created)
	require.Equal(t, rank{ID: "x", Board: "b", Nick: "n", Score: 5, Log: []string{"+5"}, Version: 1}, got)
	got, created = play(rank{ID: "x"}, 7, entity.Idempotent())
	require.False(t, created)
	require.Equal(t, rank{ID: "x", Board: "b", Nick: "n", Score: 12, Log: []string{"+5", "+7"}, Version: 2}, got)
	found := entity.Must(entity.Must(b.Index("byScore")).Query(rank{Board: "b"}).Collect(t.Context()))
	require.Equal(t, []rank{got}, found, "the index key follows the counter")
	_, _, err := b.Upsert(t.Context(), rank{ID: "y"}, entity.Set(&r.Nick, "n"))
	var taken *unique.ViolationError
	require.ErrorAs(t, err, &taken, "a change claims a unique value as a value does")
}

func TestUpsert_CountsFromNullAsFromNothing(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	b.OK(b.Create(t.Context(), page{ID: "x"}))
	b.ChangeItem("$app#v1#page#x", "$app#v1#page", map[string]av{"hits": &types.AttributeValueMemberNULL{Value: true}, "log": &types.AttributeValueMemberNULL{Value: true}})
	got, created, err := b.Upsert(t.Context(), page{ID: "x"}, entity.Add(&p.Hits, 2), entity.ListPrepend(&p.Log, "a"))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, 2, got.Hits)
	require.Equal(t, []string{"a"}, got.Log)
}

func TestUpsert_RefusesChangesThatCannotBeMade(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	x := page{ID: "x", By: map[string]int{"ch": 1}}
	for name, change := range map[string]entity.UpdateOption{
		"a key part":              entity.Set(&p.ID, "y"),
		"what the library sets":   entity.Set(&p.Made, b.Clock.Now()),
		"two that meet":           entity.Add(&p.Hits, 1),
		"no element":              entity.ListPrepend(&p.Log),
		"no list":                 entity.Attr[int]("hits").ListAppend(1),
		"an element of no number": entity.Elem(&p.Log, 0).Add("x"),
		"a negative index":        entity.Elem(&p.Log, -1).Set("x"),
		"a malformed path":        entity.Inside[int](entity.MapEntry(&p.Devices, "d"), "ports[").Set(1),
		"no path":                 entity.Inside[int](entity.MapEntry(&p.Devices, "d"), "").Set(1),
	} {
		_, _, err := b.Upsert(t.Context(), x, change, entity.Set(&p.Hits, 1))
		var input *entity.InputError
		require.ErrorAs(t, err, &input, name)
	}
	require.Empty(t, b.Operations())

	_, _, err := b.Upsert(t.Context(), x, entity.MapEntry(&p.By, "ch").Add(1))
	var parent *entity.ConditionError
	require.ErrorAs(t, err, &parent, "there is no map to count in")
	require.Equal(t, "By", parent.Attr)
	require.Nil(t, b.stored(t))

	b.OK(b.Create(t.Context(), x))
	got, created, err := b.Upsert(t.Context(), page{ID: "x"}, entity.MapEntry(&p.By, "ch").Add(1), entity.MapEntry(&p.By, "it").Add(5))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, map[string]int{"ch": 2, "it": 5}, got.By)

	b.ChangeItem("$app#v1#page#x", "$app#v1#page", map[string]av{"hits": dbtest.S("many")})
	_, _, err = b.Upsert(t.Context(), page{ID: "x", Title: "t"}, entity.Add(&p.Hits, 1))
	require.ErrorAs(t, err, &parent)
	require.Equal(t, "hits", parent.Attr)
	require.NotContains(t, b.stored(t), "title")
}

func TestUpsert_IsNotSentAgainWhenItCouldCountTwice(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	b.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	_, _, err := b.Upsert(t.Context(), page{ID: "x"}, entity.Add(&p.Hits, 1))
	if err != nil {
		require.True(t, entity.IsAmbiguous(err))
	}
	require.Equal(t, dbtest.N("1"), b.stored(t)["hits"])
	require.Equal(t, 1, b.Wire.Count("UpdateItem"))
}
