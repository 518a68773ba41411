package expr_test

import (
	"context"
	"errors"
	"fmt"
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
	return testsize.Pick(12, 80) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
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
			if conds[i].Operands != nil {
				seen[fmt.Sprint(conds[i].DatabaseOnly(), " ", held)]++
			}
		}
	})
	if !testsize.Long() { // the sample of a usual run is too small to have everything
		return
	}
	for _, op := range append(operators[:8:8], "size") {
		of := string(op)
		if op != "size" {
			of += " between attributes"
		}
		require.NotZero(t, seen[of+" true"], op)
		require.NotZero(t, seen[of+" false"], op)
	}
	for _, op := range append(operators, expr.And, expr.Or, expr.Not) {
		require.NotZero(t, seen[fmt.Sprint(op, " true")], op)
		require.NotZero(t, seen[fmt.Sprint(op, " false")], op)
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
