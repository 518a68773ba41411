package expr_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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

type (
	av = types.AttributeValue
	m  = types.AttributeValueMemberM
	l  = types.AttributeValueMemberL
	ss = types.AttributeValueMemberSS
	ns = types.AttributeValueMemberNS
)

func path(steps ...any) expr.Path {
	var p expr.Path
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = append(p, expr.Step{Name: s})
		case int:
			p = append(p, expr.Step{Index: s})
		}
	}
	return p
}

func TestApply_ChangesSeeTheItemAsItWas(t *testing.T) {
	before := item.Item{"a": item.N("1"), "l": &l{Value: []av{item.S("x"), item.S("y"), item.S("z")}}}
	got, err := expr.Apply(before, []expr.Change{
		{Kind: expr.Set, Path: path("a"), Value: item.N("2")},
		{Kind: expr.SetIfNotExists, Path: path("b"), Source: path("a"), Value: item.N("9")},
		{Kind: expr.Remove, Path: path("l", 0)},
		{Kind: expr.Remove, Path: path("l", 1)},
	})
	require.NoError(t, err)
	require.Equal(t, item.Item{"a": item.N("2"), "b": item.N("1"), "l": &l{Value: []av{item.S("z")}}}, got)
	require.Equal(t, item.N("1"), before["a"], "the item that was read is not changed")
	require.Len(t, before["l"].(*l).Value, 3)
}

func TestApply_AMissingParentIsNamed(t *testing.T) {
	for _, kind := range []expr.Kind{expr.Set, expr.Remove, expr.Add} {
		_, err := expr.Apply(item.Item{"a": item.S("x")}, []expr.Change{{Kind: kind, Path: path("m", "k"), Value: item.N("1")}})
		var e *expr.ApplyError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "m", e.Path.String())
	}
}

func TestApply_RemovalInsideAnElementMeansTheElementThatWasThere(t *testing.T) {
	t.Parallel()
	element := func(v string) av { return &m{Value: item.Item{"k": item.S(v), "rest": item.S(v)}} }
	of := func(values ...av) item.Item { return item.Item{"list": &types.AttributeValueMemberL{Value: values}} }
	at := func(steps ...expr.Step) expr.Change {
		return expr.Change{Kind: expr.Remove, Path: append(expr.Attr("list"), steps...)}
	}
	inside, before := at(expr.Step{Index: 2}, expr.Step{Name: "k"}), at(expr.Step{Index: 0})
	want := of(element("1"), &m{Value: item.Item{"rest": item.S("2")}}, element("3"))
	for _, changes := range [][]expr.Change{{inside, before}, {before, inside}} {
		got, err := expr.Apply(of(element("0"), element("1"), element("2"), element("3")), changes)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestApply_WhatIsSetBeyondTheEndOfAListIsAppendedByIndex(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	stored := item.Item{"id": id(0), "list": &l{Value: []av{item.S("p"), item.S("q"), item.S("r")}}}
	set := func(i int, v string) expr.Change {
		return expr.Change{Kind: expr.Set, Path: path("list", i), Value: item.S(v)}
	}
	remove := func(i int) expr.Change { return expr.Change{Kind: expr.Remove, Path: path("list", i)} }
	for _, c := range []struct {
		changes []expr.Change
		want    []string
	}{
		{[]expr.Change{set(4, "b"), set(3, "a")}, []string{"p", "q", "r", "a", "b"}},
		{[]expr.Change{set(3, "a"), set(4, "b")}, []string{"p", "q", "r", "a", "b"}},
		{[]expr.Change{set(20, "c"), set(4, "a"), set(10, "b"), set(1, "x")}, []string{"p", "x", "r", "a", "b", "c"}},
		{[]expr.Change{set(9, "b"), remove(0), set(3, "a"), remove(4)}, []string{"q", "r", "a", "b"}},
		{[]expr.Change{remove(2), set(9, "b"), remove(3), set(1, "x"), remove(0)}, []string{"x", "b"}},
	} {
		var want []av
		for _, v := range c.want {
			want = append(want, item.S(v))
		}
		made, err := expr.Apply(stored, c.changes)
		require.NoError(t, err)
		require.Equal(t, item.Item{"id": id(0), "list": &l{Value: want}}, made, printedChanges(c.changes))
		b.fill(t, []item.Item{stored})
		require.False(t, b.refusesUpdate(t, 0, c.changes))
		require.Equal(t, made, b.stored(t, 1)["item-0"], printedChanges(c.changes))
	}
}

func TestApply_ASetThatLosesAllElementsIsRemoved(t *testing.T) {
	t.Parallel()
	for _, set := range []av{&ss{Value: []string{"a", "b"}}, &ns{Value: []string{"1", "2.0"}}, &bs{Value: [][]byte{{1}, {2}}}} {
		got, err := expr.Apply(item.Item{"id": id(0), "set": set}, []expr.Change{{Kind: expr.DeleteFromSet, Path: path("set"), Value: set}})
		require.NoError(t, err)
		require.Equal(t, item.Item{"id": id(0)}, got)
	}
}
