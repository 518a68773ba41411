package expr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

func TestRender_EveryNameAndValueIsAPlaceholder(t *testing.T) {
	var r expr.Renderer
	c := expr.All(
		expr.Compare(expr.Eq, path("size", "a.b", 2), item.N("1")),
		expr.Any(expr.Compare(expr.Exists, path("name")), expr.Negate(expr.Compare(expr.In, path("name"), item.S("x"), item.S("y")))),
		expr.Compare(expr.Between, path("size"), item.N("1"), item.N("2")),
		expr.Cond{},
	)
	require.Equal(t, "#0.#1[2] = :0 AND (attribute_exists(#2) OR NOT (#2 IN (:1, :2))) AND #0 BETWEEN :3 AND :4", r.Cond(c))
	require.Equal(t, map[string]string{"#0": "size", "#1": "a.b", "#2": "name"}, r.NameMap())
	require.Len(t, r.Values, 5)
}

func TestRender_ClausesOfAnUpdate(t *testing.T) {
	var r expr.Renderer
	text := r.Update([]expr.Change{
		{Kind: expr.Remove, Path: path("a")},
		{Kind: expr.Set, Path: path("b"), Value: item.N("1")},
		{Kind: expr.AddToSet, Path: path("c"), Value: item.S("set")},
		{Kind: expr.Add, Path: path("d"), Value: item.N("2")},
		{Kind: expr.SetIfNotExists, Path: path("e"), Source: path("b"), Value: item.N("3")},
		{Kind: expr.DeleteFromSet, Path: path("f"), Value: item.S("set")},
		{Kind: expr.ListAppend, Path: path("g"), Value: item.S("list")},
	})
	require.Equal(t, "SET #1 = :0, #3 = if_not_exists(#3, :2) + :3, #4 = if_not_exists(#1, :4), #6 = list_append(if_not_exists(#6, :6), :7) REMOVE #0 ADD #2 :1 DELETE #5 :5", text)
	require.Empty(t, (&expr.Renderer{}).Update(nil))
	require.Empty(t, (&expr.Renderer{}).Cond(expr.Cond{}))
}

func TestCond_CombinationsDropTheEmptyAndCountOperators(t *testing.T) {
	a, b := expr.Compare(expr.Eq, path("a"), item.N("1")), expr.Compare(expr.Eq, path("b"), item.N("1"))
	require.Equal(t, a, expr.All(expr.Cond{}, a))
	require.Equal(t, expr.None, expr.Any().Op)
	require.True(t, expr.Cond{}.Holds(nil), "no condition holds")
	require.Equal(t, 3, expr.All(a, b).Operators())
	require.Equal(t, 3, expr.Compare(expr.In, path("a"), item.N("1"), item.N("2"), item.N("3")).Operators())
	var roots []string
	expr.Any(a, expr.Negate(b)).Roots(func(r string) { roots = append(roots, r) })
	require.Equal(t, []string{"a", "b"}, roots)
}

func TestPath_LookupAndOverlap(t *testing.T) {
	it := item.Item{
		"text": item.S("t"), "map": &m{Value: item.Item{"a.b": item.N("1"), "size": &l{Value: []av{item.N("1"), item.N("2"), item.N("3"), item.N("4")}}}},
		"list": &l{Value: []av{item.S("p"), item.S("q"), item.S("r"), &m{Value: item.Item{"k": item.N("7")}}}},
	}
	for _, c := range []struct {
		p     expr.Path
		found bool
	}{{path("map", "a.b"), true}, {path("map", "size", 3), true}, {path("map", "size", 4), false}, {path("list", 3, "k"), true}, {path("list", "k"), false}, {path("text", "x"), false}, {path("map", 0), false}, {path("none"), false}} {
		_, ok := c.p.Lookup(it)
		require.Equal(t, c.found, ok, c.p.String())
	}
	require.True(t, path("a").Overlaps(path("a", "b")))
	require.True(t, path("a", 1).Overlaps(path("a", 1)))
	require.False(t, path("a", 1).Overlaps(path("a", 0)))
	require.False(t, path("a", "b").Overlaps(path("a", "c")))
}
