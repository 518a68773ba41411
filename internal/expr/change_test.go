package expr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/localdb"
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

// start is the item that every case begins with. Map keys hold what expressions have a syntax for.
func start() item.Item {
	return item.Item{
		"id":   item.S("x"),
		"n":    item.N("1234567890123456789012345678.5"),
		"text": item.S("t"),
		"map":  &m{Value: item.Item{"a.b": item.N("1"), "c[0]": item.S("bracket"), "size": &l{Value: []av{item.N("1"), item.N("2"), item.N("3"), item.N("4")}}}},
		"list": &l{Value: []av{item.S("p"), item.S("q"), item.S("r"), &m{Value: item.Item{"k": item.N("7")}}}},
		"set":  &ss{Value: []string{"a", "b"}},
		"nums": &ns{Value: []string{"1", "2"}},
	}
}

func changes() *rapid.Generator[expr.Change] {
	paths := []expr.Path{path("n"), path("new"), path("text"), path("map"), path("map", "a.b"), path("map", "c[0]"), path("map", "size"), path("map", "size", 1), path("map", "size", 0),
		path("list"), path("list", 0), path("list", 1), path("list", 2), path("list", 9), path("list", 3, "k"), path("gone", "x"), path("set"), path("nums"), path("text", "x")}
	return rapid.Custom(func(t *rapid.T) expr.Change {
		c := expr.Change{Path: rapid.SampledFrom(paths).Draw(t, "path"), Kind: rapid.SampledFrom([]expr.Kind{expr.Set, expr.SetIfAbsent, expr.Remove, expr.Increment, expr.Push, expr.Prepend, expr.Insert, expr.Discard}).Draw(t, "kind")}
		switch c.Kind {
		case expr.Set, expr.SetIfAbsent:
			c.Value = rapid.SampledFrom([]av{item.N("5"), item.S("v"), &m{Value: item.Item{"z": item.N("0")}}}).Draw(t, "value")
			if c.Kind == expr.SetIfAbsent && rapid.Bool().Draw(t, "other source") {
				c.Source = path(rapid.SampledFrom([]string{"text", "missing"}).Draw(t, "source"))
			}
		case expr.Increment:
			c.Value = item.N(rapid.SampledFrom([]string{"1", "-2.25", "0.000000000000000001"}).Draw(t, "delta"))
		case expr.Push, expr.Prepend:
			c.Value = &l{Value: []av{item.S("pushed")}}
		case expr.Insert, expr.Discard:
			c.Value = rapid.SampledFrom([]av{&ss{Value: []string{"b", "c"}}, &ss{Value: []string{"a", "b"}}, &ns{Value: []string{"2.0", "3"}}}).Draw(t, "elements")
		}
		return c
	})
}

// What a plan computes from an item that it read must be what DynamoDB would have made of it.
func TestApply_AgreesWithDynamoDB(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	id, ctx := "id", context.Background()
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &id, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &id, KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	key := item.Item{"id": item.S("x")}
	rapid.Check(t, func(t *rapid.T) {
		var list []expr.Change
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			c := changes().Draw(t, "change")
			overlaps := false
			for _, o := range list {
				overlaps = overlaps || o.Path.Overlaps(c.Path)
			}
			if !overlaps {
				list = append(list, c)
			}
		}
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: start()})
		require.NoError(t, err)
		var r expr.Renderer
		update := r.Update(list)
		out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: key, UpdateExpression: &update, ReturnValues: types.ReturnValueAllNew,
			ExpressionAttributeNames: r.Names, ExpressionAttributeValues: r.Values,
		})
		got, applyErr := expr.Apply(start(), list)
		var api smithy.APIError
		if errors.As(err, &api) {
			require.Equal(t, "ValidationException", api.ErrorCode())
			require.Error(t, applyErr, "DynamoDB refuses %s", expr.Printer(expr.Path.String, func(_ []expr.Path, v av) string { return "…" }).Update(list))
			return
		}
		require.NoError(t, err)
		require.NoError(t, applyErr)
		require.True(t, item.Equal(&m{Value: out.Attributes}, &m{Value: got}), "DynamoDB made %v, Apply %v", out.Attributes, got)
	})
}

func TestApply_ChangesSeeTheItemAsItWas(t *testing.T) {
	before := item.Item{"a": item.N("1"), "l": &l{Value: []av{item.S("x"), item.S("y"), item.S("z")}}}
	got, err := expr.Apply(before, []expr.Change{
		{Kind: expr.Set, Path: path("a"), Value: item.N("2")},
		{Kind: expr.SetIfAbsent, Path: path("b"), Source: path("a"), Value: item.N("9")},
		{Kind: expr.Remove, Path: path("l", 0)},
		{Kind: expr.Remove, Path: path("l", 1)},
	})
	require.NoError(t, err)
	require.Equal(t, item.Item{"a": item.N("2"), "b": item.N("1"), "l": &l{Value: []av{item.S("z")}}}, got)
	require.Equal(t, item.N("1"), before["a"], "the item that was read is not changed")
	require.Len(t, before["l"].(*l).Value, 3)
}

func TestApply_AMissingParentIsNamed(t *testing.T) {
	for _, kind := range []expr.Kind{expr.Set, expr.Remove, expr.Increment} {
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
