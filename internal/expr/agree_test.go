package expr_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/exprtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// perRequest is how many conditions or changes go out together: what a transaction can have.
const perRequest = 100

// tries is how often a property is tried. DYNASTRATA_ROUNDS multiplies it.
func tries(t *testing.T) int {
	t.Helper()
	return testsize.Pick(12, 240) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
}

// check tries a property that often.
func check(t *testing.T, property func(*rapid.T)) { t.Helper(); testsize.Check(t, tries(t), property) }

// bare is a table with the key id alone.
type bare struct {
	client *dynamodb.Client
	table  string
}

func newBare(t *testing.T) bare {
	t.Helper()
	client, table := dbtest.Database(t)
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	return bare{client, table}
}

// fill replaces the items by number.
func (b bare) fill(t require.TestingT, items []item.Item) {
	for start := 0; start < len(items); start += 25 {
		var writes []types.WriteRequest
		for _, it := range items[start:min(start+25, len(items))] {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		out, err := b.client.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{b.table: writes}})
		require.NoError(t, err)
		require.Empty(t, out.UnprocessedItems)
	}
}

// verdicts asks DynamoDB which of conds hold, condition i on item i, in one transaction of checks.
func (b bare) verdicts(t require.TestingT, conds []expr.Cond) []bool {
	in := &dynamodb.TransactWriteItemsInput{}
	for i, c := range conds {
		var r expr.Renderer
		text := r.Cond(c)
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &b.table, Key: item.Item{"id": id(i)}, ConditionExpression: &text,
			ExpressionAttributeNames: r.NameMap(), ExpressionAttributeValues: r.ValueMap(),
		}})
	}
	held := make([]bool, len(conds))
	_, err := b.client.TransactWriteItems(context.Background(), in)
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for i, reason := range cancelled.CancellationReasons {
			require.Contains(t, []string{"None", "ConditionalCheckFailed"}, *reason.Code, "condition %s: %s", printed(conds[i]), aws.ToString(reason.Message))
			held[i] = *reason.Code == "None"
		}
		return held
	}
	require.NoError(t, err)
	for i := range held {
		held[i] = true
	}
	return held
}

// refused asks DynamoDB whether it refuses c as malformed.
func (b bare) refused(t require.TestingT, c expr.Cond) bool {
	var r expr.Renderer
	text := r.Cond(c)
	_, err := b.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: &b.table, Key: item.Item{"id": item.S("nobody")}, ConditionExpression: &text,
		ExpressionAttributeNames: r.NameMap(), ExpressionAttributeValues: r.ValueMap(),
	})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationException" {
		return true
	}
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		require.NoError(t, err)
	}
	return false
}

func printed(c expr.Cond) string {
	return expr.Printer(expr.Path.String, func(_ []expr.Path, v av) string { return fmt.Sprintf("%s %v", exprtest.Type(v), shown(v)) }).Cond(c)
}

// shown is a value without its pointers.
func shown(v av) any {
	switch v := v.(type) {
	case *l:
		var all []any
		for _, e := range v.Value {
			all = append(all, shown(e))
		}
		return all
	case *m:
		all := map[string]any{}
		for name, e := range v.Value {
			all[name] = shown(e)
		}
		return all
	case *bin:
		return v.Value
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("%q", v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *ss:
		return fmt.Sprintf("%q", v.Value)
	case *ns:
		return v.Value
	case *bs:
		return v.Value
	case *flag:
		return v.Value
	}
	return nil
}

// What the double says of a condition is what DynamoDB says: every operator, on every type, at every depth.
func TestHolds_AgreesWithDynamoDB(t *testing.T) {
	t.Parallel()
	b, seen := newBare(t), map[string]int{}
	check(t, func(t *rapid.T) {
		items, conds := make([]item.Item, perRequest), make([]expr.Cond, perRequest)
		for i := range items {
			items[i] = content().Draw(t, "item")
			for {
				conds[i] = condition(t, items[i], 2)
				if !exprtest.Refused(conds[i]) {
					break
				}
			}
			items[i]["id"] = id(i)
		}
		b.fill(t, items)
		for i, held := range b.verdicts(t, conds) {
			require.Equal(t, exprtest.Holds(conds[i], items[i]), held, "DynamoDB says %v to %s on %v", held, printed(conds[i]), shown(&m{Value: items[i]}))
			require.Equal(t, held, conds[i].Holds(items[i]), "DynamoDB says %v to %s on %v, Cond.Holds the opposite", held, printed(conds[i]), shown(&m{Value: items[i]}))
			seen[fmt.Sprint(conds[i].Op, " ", held)]++
		}
	})
	if !testsize.Long() { // the sample of a usual run is too small to have everything
		return
	}
	for _, op := range append(operators, expr.And, expr.Or, expr.Not) {
		require.NotZero(t, seen[fmt.Sprint(op, " true")], op)
		require.NotZero(t, seen[fmt.Sprint(op, " false")], op)
	}
}

// Each comparison of attributes, once where it holds and once where it does not. Of random ones, hardly any holds.
func TestHolds_AgreesWithDynamoDBBetweenAttributes(t *testing.T) {
	t.Parallel()
	values := item.Item{"one": item.N("1"), "uno": item.N("1"), "two": item.N("2"), "three": item.N("3"), "word": item.S("abc")}
	comparisons := []struct {
		op           expr.Op
		holds, fails []string
	}{
		{expr.Eq, []string{"one", "uno"}, []string{"one", "two"}},
		{expr.Ne, []string{"one", "two"}, []string{"one", "uno"}},
		{expr.Lt, []string{"one", "two"}, []string{"one", "uno"}},
		{expr.Le, []string{"one", "uno"}, []string{"two", "one"}},
		{expr.Gt, []string{"two", "one"}, []string{"one", "uno"}},
		{expr.Ge, []string{"one", "uno"}, []string{"one", "two"}},
		{expr.Between, []string{"two", "one", "three"}, []string{"one", "two", "three"}},
		{expr.In, []string{"one", "two", "uno"}, []string{"one", "two", "three"}},
		{expr.Eq, []string{"size(word)", "three"}, []string{"size(word)", "two"}},
	}
	var conds []expr.Cond
	var items []item.Item
	for _, c := range comparisons {
		for _, names := range [][]string{c.holds, c.fails} {
			var operands []expr.Operand
			for _, name := range names {
				text, size := strings.CutPrefix(name, "size(")
				operands = append(operands, expr.Operand{Path: expr.Attr(strings.TrimSuffix(text, ")")), Size: size})
			}
			it := maps.Clone(values)
			it["id"] = id(len(items))
			conds, items = append(conds, expr.CompareAll(c.op, operands...)), append(items, it)
		}
	}
	b := newBare(t)
	b.fill(t, items)
	for i, held := range b.verdicts(t, conds) {
		require.Equal(t, i%2 == 0, held, "%s", printed(conds[i]))
		require.Equal(t, held, exprtest.Holds(conds[i], items[i]), "%s", printed(conds[i]))
		require.Equal(t, held, conds[i].Holds(items[i]), "%s", printed(conds[i]))
	}
}

// Which operands are refused does not depend on the item.
func TestRefused_AgreesWithDynamoDB(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	check(t, func(t *rapid.T) {
		for range 5 {
			c := anyComparison(t, nil)
			require.Equal(t, exprtest.Refused(c), b.refused(t, c), "%s", printed(c))
		}
	})
}

var kinds = []expr.Kind{expr.Set, expr.SetIfNotExists, expr.Remove, expr.Add, expr.ListAppend, expr.ListPrepend, expr.AddToSet, expr.DeleteFromSet}

// listsIn are the paths of the lists in an item.
func listsIn(it item.Item) (paths []expr.Path) {
	for _, p := range pathsIn(it) {
		if v, _ := p.Lookup(it); exprtest.Type(v) == "L" {
			paths = append(paths, p)
		}
	}
	return paths
}

// anyElement is a path of an element that the list at p has, or could have.
func anyElement(t *rapid.T, it item.Item, p expr.Path) expr.Path {
	v, _ := p.Lookup(it)
	return p.Child(expr.Step{Index: rapid.IntRange(0, len(v.(*l).Value)+4).Draw(t, "index")})
}

// anyChanges are changes of an item that can be made together: of any attributes, or of the elements of one list.
func anyChanges(t *rapid.T, it item.Item) (list []expr.Change) {
	sizes, lists := []int{1, 1, 1, 2, 3}, listsIn(it)
	var in expr.Path
	if len(lists) > 0 && rapid.IntRange(0, 2).Draw(t, "one list") == 0 {
		sizes, in = []int{2, 3, 4, 5}, rapid.SampledFrom(lists).Draw(t, "list")
	}
	for range rapid.SampledFrom(sizes).Draw(t, "changes") {
		at := anyPath().Draw(t, "path")
		if in != nil {
			at = anyElement(t, it, in)
		}
		c, meets := anyChange(t, it, at, in == nil), false
		for _, o := range list {
			meets = meets || o.Path.Overlaps(c.Path) || o.Path.Disagrees(c.Path)
		}
		if !meets {
			list = append(list, c)
		}
	}
	return list
}

// anyChange is one change of an item, mostly with a value of a type that fits: at a path or, where it may move, mostly of
// what the item has.
func anyChange(t *rapid.T, it item.Item, at expr.Path, moves bool) expr.Change {
	c := expr.Change{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Path: at}
	var there []expr.Path
	for _, p := range pathsIn(it) {
		v, _ := p.Lookup(it)
		if fitting(c.Kind, v) {
			there = append(there, p)
		}
	}
	if moves && len(there) > 0 && rapid.IntRange(0, 3).Draw(t, "there") > 0 {
		c.Path = rapid.SampledFrom(there).Draw(t, "path")
	}
	stored, _ := c.Path.Lookup(it)
	switch c.Kind {
	case expr.Set, expr.SetIfNotExists:
		c.Value = value(1).Draw(t, "value")
		if c.Kind == expr.SetIfNotExists && rapid.Bool().Draw(t, "other source") {
			c.Source = anyPath().Draw(t, "source")
		}
	case expr.Add:
		c.Value = item.N(rapid.SampledFrom(nums).Draw(t, "delta"))
	case expr.ListAppend, expr.ListPrepend:
		c.Value = &l{Value: rapid.SliceOfN(value(1), 1, 2).Draw(t, "pushed")}
	case expr.AddToSet, expr.DeleteFromSet:
		c.Value = set().Draw(t, "elements")
		if parts := partsOf(stored); fitting(c.Kind, stored) && rapid.IntRange(0, 3).Draw(t, "alike") > 0 {
			c.Value = setOf(stored, parts[:rapid.IntRange(1, len(parts)).Draw(t, "part")])
			if rapid.Bool().Draw(t, "more") {
				c.Value = grown(t, stored)
			}
		}
	}
	return c
}

// fitting reports that a change of that kind can be made to v.
func fitting(kind expr.Kind, v av) bool {
	switch v.(type) {
	case *types.AttributeValueMemberN:
		return !joins(kind) && kind != expr.AddToSet && kind != expr.DeleteFromSet
	case *l:
		return kind != expr.Add && kind != expr.AddToSet && kind != expr.DeleteFromSet
	case *ss, *ns, *bs:
		return kind != expr.Add && !joins(kind)
	}
	return kind == expr.Set || kind == expr.SetIfNotExists || kind == expr.Remove
}

// joins reports that a change of that kind adds to a list.
func joins(kind expr.Kind) bool { return kind == expr.ListAppend || kind == expr.ListPrepend }

// setOf is a set of the same type as v with other elements.
func setOf(v av, elements []av) av {
	switch v.(type) {
	case *ss:
		s := &ss{}
		for _, e := range elements {
			s.Value = append(s.Value, e.(*types.AttributeValueMemberS).Value)
		}
		return s
	case *ns:
		s := &ns{}
		for _, e := range elements {
			s.Value = append(s.Value, e.(*types.AttributeValueMemberN).Value)
		}
		return s
	}
	s := &bs{}
	for _, e := range elements {
		s.Value = append(s.Value, e.(*bin).Value)
	}
	return s
}

// grown is a random set of the same type as v.
func grown(t *rapid.T, v av) av {
	for {
		if s := set().Draw(t, "grown"); exprtest.Type(s) == exprtest.Type(v) {
			return s
		}
	}
}

// update is what a request has of changes.
func (b bare) update(i int, changes []expr.Change) *types.Update {
	var r expr.Renderer
	text := r.Update(changes)
	return &types.Update{TableName: &b.table, Key: item.Item{"id": id(i)}, UpdateExpression: &text, ExpressionAttributeNames: r.NameMap(), ExpressionAttributeValues: r.ValueMap()}
}

// refusesUpdate sends changes alone, and reports that DynamoDB refuses them on the item that there is.
func (b bare) refusesUpdate(t require.TestingT, i int, changes []expr.Change) bool {
	u := b.update(i, changes)
	_, err := b.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
	})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationException" {
		return true
	}
	require.NoError(t, err)
	return false
}

// stored reads the items by number.
func (b bare) stored(t require.TestingT, n int) map[string]item.Item {
	var keys []map[string]av
	for i := range n {
		keys = append(keys, item.Item{"id": id(i)})
	}
	out, err := b.client.BatchGetItem(context.Background(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{b.table: {Keys: keys, ConsistentRead: aws.Bool(true)}}})
	require.NoError(t, err)
	require.Empty(t, out.UnprocessedKeys)
	found := map[string]item.Item{}
	for _, it := range out.Responses[b.table] {
		found[it["id"].(*types.AttributeValueMemberS).Value] = it
	}
	return found
}

func printedChanges(changes []expr.Change) string {
	return expr.Printer(expr.Path.String, func(_ []expr.Path, v av) string { return fmt.Sprintf("%s %v", exprtest.Type(v), shown(v)) }).Update(changes)
}

// What Apply makes of an item is what DynamoDB makes of it, and it refuses what DynamoDB refuses.
func TestApply_AgreesOnRandomItems(t *testing.T) {
	t.Parallel()
	b, seen := newBare(t), map[string]int{}
	check(t, func(t *rapid.T) {
		const n = 40
		items, lists, want := make([]item.Item, n), make([][]expr.Change, n), make([]item.Item, n)
		for i := range items {
			items[i] = content().Draw(t, "item")
			lists[i] = anyChanges(t, items[i])
			items[i]["id"] = id(i)
		}
		b.fill(t, items)
		together := &dynamodb.TransactWriteItemsInput{}
		for i, changes := range lists {
			made, err := expr.Apply(items[i], changes)
			seen[fmt.Sprint(changes[0].Kind, " ", err == nil)]++
			if err != nil {
				require.True(t, b.refusesUpdate(t, i, changes), "DynamoDB takes %s on %v, Apply says %v", printedChanges(changes), shown(&m{Value: items[i]}), err)
				want[i] = items[i]
				continue
			}
			want[i] = made
			together.TransactItems = append(together.TransactItems, types.TransactWriteItem{Update: b.update(i, changes)})
		}
		_, err := b.client.TransactWriteItems(context.Background(), together)
		var cancelled *types.TransactionCanceledException
		if errors.As(err, &cancelled) {
			for j, reason := range cancelled.CancellationReasons {
				if *reason.Code != "None" {
					u := together.TransactItems[j].Update
					for i := range items {
						if item.Equal(u.Key["id"], id(i)) {
							require.Fail(t, "Apply takes what DynamoDB refuses", "%s on %v: %s", printedChanges(lists[i]), shown(&m{Value: items[i]}), aws.ToString(reason.Message))
						}
					}
				}
			}
		}
		require.NoError(t, err)
		got := b.stored(t, n)
		for i := range want {
			it := got[id(i).(*types.AttributeValueMemberS).Value]
			require.True(t, exprtest.Same(want[i], it), "%s on %v: DynamoDB made %v, Apply %v", printedChanges(lists[i]), shown(&m{Value: items[i]}), shown(&m{Value: it}), shown(&m{Value: want[i]}))
		}
	})
	if !testsize.Long() { // the sample of a usual run is too small to have everything
		return
	}
	for _, k := range kinds {
		require.NotZero(t, seen[fmt.Sprint(k, " true")], k)
		require.NotZero(t, seen[fmt.Sprint(k, " false")], k)
	}
}
