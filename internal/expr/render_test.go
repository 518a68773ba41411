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
	require.Equal(t, map[string]string{"#0": "size", "#1": "a.b", "#2": "name"}, r.Names)
	require.Len(t, r.Values, 5)
}

func TestRender_ClausesOfAnUpdate(t *testing.T) {
	var r expr.Renderer
	text := r.Update([]expr.Change{
		{Kind: expr.Remove, Path: path("a")},
		{Kind: expr.Set, Path: path("b"), Value: item.N("1")},
		{Kind: expr.Insert, Path: path("c"), Value: item.S("set")},
		{Kind: expr.Increment, Path: path("d"), Value: item.N("2")},
		{Kind: expr.SetIfAbsent, Path: path("e"), Source: path("b"), Value: item.N("3")},
		{Kind: expr.Discard, Path: path("f"), Value: item.S("set")},
		{Kind: expr.Push, Path: path("g"), Value: item.S("list")},
	})
	require.Equal(t, "SET #1 = :0, #3 = if_not_exists(#3, :2) + :3, #4 = if_not_exists(#1, :4), #6 = list_append(if_not_exists(#6, :6), :7) REMOVE #0 ADD #2 :1 DELETE #5 :5", text)
	require.Empty(t, (&expr.Renderer{}).Update(nil))
	require.Empty(t, (&expr.Renderer{}).Cond(expr.Cond{}))
}

func TestCond_CombinationsDropTheEmptyAndCountOperators(t *testing.T) {
	a, b := expr.Compare(expr.Eq, path("a"), item.N("1")), expr.Compare(expr.Eq, path("b"), item.N("1"))
	require.Equal(t, a, expr.All(expr.Cond{}, a))
	require.Equal(t, expr.None, expr.Any().Op)
	require.Equal(t, 3, expr.All(a, b).Operators())
	require.Equal(t, 3, expr.Compare(expr.In, path("a"), item.N("1"), item.N("2"), item.N("3")).Operators())
	var roots []string
	expr.Any(a, expr.Negate(b)).Roots(func(r string) { roots = append(roots, r) })
	require.Equal(t, []string{"a", "b"}, roots)
}

func TestPath_LookupAndOverlap(t *testing.T) {
	it := start()
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

func TestHolds_KeyConditions(t *testing.T) {
	it := item.Item{"pk": item.S("p"), "n": item.N("10")}
	holds := map[bool][]expr.Cond{
		true: {{}, expr.Compare(expr.Eq, path("pk"), item.S("p")), expr.Compare(expr.Gt, path("n"), item.N("9")), expr.Compare(expr.Between, path("n"), item.N("10"), item.N("10")),
			expr.Compare(expr.BeginsWith, path("pk"), item.S("p")), expr.Compare(expr.Le, path("n"), item.N("10.0")), expr.All(expr.Compare(expr.Lt, path("n"), item.N("11")), expr.Compare(expr.Ge, path("n"), item.N("10")))},
		false: {expr.Compare(expr.Eq, path("pk"), item.N("1")), expr.Compare(expr.Lt, path("n"), item.N("9")), expr.Compare(expr.Eq, path("none"), item.N("9")),
			expr.Compare(expr.BeginsWith, path("n"), item.S("1")), expr.Compare(expr.Between, path("n"), item.N("11"), item.N("12"))},
	}
	for want, conds := range holds {
		for _, c := range conds {
			require.Equal(t, want, c.Holds(it), "%+v", c)
		}
	}
}
