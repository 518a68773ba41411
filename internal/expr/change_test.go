package expr_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

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
