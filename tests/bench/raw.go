package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// raw does the operations with the SDK, as one writes them by hand: attributevalue for items, expression for conditions and
// changes. It sends the conditions that the other libraries send, and returns what they return.
type raw struct {
	client *dynamodb.Client
	tables
}

var errNotFound = errors.New("not found")

// key returns a primary key.
func key(pk, sk string) item {
	return item{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}

var (
	absent  = expression.AttributeNotExists(expression.Name("pk"))
	present = expression.AttributeExists(expression.Name("pk"))
)

const oldOnFailure = types.ReturnValuesOnConditionCheckFailureAllOld

func (r raw) create(ctx context.Context) (any, error) { return r.createItem(ctx, order(1)) }

func (r raw) createItem(ctx context.Context, v Order) (any, error) {
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		return nil, err
	}
	expr, err := expression.NewBuilder().WithCondition(absent).Build()
	if err != nil {
		return nil, err
	}
	_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &r.plain, Item: it,
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
		ReturnValuesOnConditionCheckFailure: oldOnFailure,
	})
	return v, err
}

func (r raw) put(ctx context.Context) (any, error) {
	v := order(1)
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		return nil, err
	}
	_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.plain, Item: it})
	return v, err
}

func (r raw) upsert(ctx context.Context) (any, error) {
	v := order(1)
	return r.change(ctx, v, expression.NewBuilder().WithUpdate(expression.
		Set(expression.Name("customer"), expression.Value(v.Customer)).
		Set(expression.Name("status"), expression.Value(v.Status)).
		Set(expression.Name("note"), expression.Value(v.Note)).
		Set(expression.Name("placed"), expression.Value(v.Placed)).
		Set(expression.Name("quantity"), expression.Value(v.Quantity)).
		Set(expression.Name("cents"), expression.Value(v.Cents)).
		Set(expression.Name("paid"), expression.Value(v.Paid)).
		Set(expression.Name("tags"), expression.Value(v.Tags))))
}

func (r raw) update(ctx context.Context) (any, error) {
	return r.change(ctx, orderKey(1), expression.NewBuilder().WithCondition(present).WithUpdate(expression.
		Set(expression.Name("status"), expression.Value("sent")).
		Set(expression.Name("note"), expression.Value("with the neighbour")).
		Add(expression.Name("quantity"), expression.Value(2))))
}

func (r raw) change(ctx context.Context, k Order, what expression.Builder) (any, error) {
	expr, err := what.Build()
	if err != nil {
		return nil, err
	}
	out, err := r.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &r.plain, Key: key(k.PK, k.SK), UpdateExpression: expr.Update(),
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: oldOnFailure,
	})
	if err != nil {
		return nil, err
	}
	var stored Order
	err = attributevalue.UnmarshalMap(out.Attributes, &stored)
	return stored, err
}

func (r raw) get(ctx context.Context) (any, error) {
	k := orderKey(1)
	var v Order
	err := r.read(ctx, r.plain, key(k.PK, k.SK), false, &v)
	return v, err
}

func (r raw) read(ctx context.Context, table string, k item, consistent bool, into any) error {
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: k, ConsistentRead: &consistent})
	if err != nil {
		return err
	}
	if out.Item == nil {
		return errNotFound
	}
	return attributevalue.UnmarshalMap(out.Item, into)
}

func (r raw) delete(ctx context.Context) (any, error) {
	expr, err := expression.NewBuilder().WithCondition(present).Build()
	if err != nil {
		return nil, err
	}
	k := orderKey(1)
	_, err = r.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &r.plain, Key: key(k.PK, k.SK),
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(),
		ReturnValuesOnConditionCheckFailure: oldOnFailure,
	})
	return nil, err
}

func (r raw) transact(ctx context.Context) (any, error) {
	first, err := putIf(r.plain, order(1), absent)
	if err != nil {
		return nil, err
	}
	second, err := putIf(r.plain, order(2), absent)
	if err != nil {
		return nil, err
	}
	return nil, r.write(ctx, first, second)
}

// putIf makes the action of a transaction that stores v under a condition.
func putIf(table string, v any, condition expression.ConditionBuilder) (types.TransactWriteItem, error) {
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	expr, err := expression.NewBuilder().WithCondition(condition).Build()
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &table, Item: it, ReturnValuesOnConditionCheckFailure: oldOnFailure,
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	}}, err
}

func (r raw) write(ctx context.Context, actions ...types.TransactWriteItem) error {
	_, err := r.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	return err
}

func (r raw) query(ctx context.Context) (any, error) {
	var vs []Order
	err := r.page(ctx, r.plain, expression.NewBuilder().WithKeyCondition(expression.Key("pk").Equal(expression.Value("tenant-7"))), &vs)
	return vs, err
}

func (r raw) page(ctx context.Context, table string, what expression.Builder, into any) error {
	expr, err := what.Build()
	if err != nil {
		return err
	}
	out, err := r.client.Query(ctx, &dynamodb.QueryInput{
		TableName: &table, Limit: aws.Int32(100), KeyConditionExpression: expr.KeyCondition(), FilterExpression: expr.Filter(),
		ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	})
	if err != nil {
		return err
	}
	return attributevalue.UnmarshalListOfMaps(out.Items, into)
}

func (r raw) scan(ctx context.Context) (any, error) {
	var all []Order
	pages := dynamodb.NewScanPaginator(r.client, &dynamodb.ScanInput{TableName: &r.plain})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		var page []Order
		if err := attributevalue.UnmarshalListOfMaps(out.Items, &page); err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}

// batchGet returns the items in the order of their keys, which is not the order of the answer.
func (r raw) batchGet(ctx context.Context) (any, error) {
	wanted := many(100, orderKey)
	keys := make([]item, len(wanted))
	for i, k := range wanted {
		keys[i] = key(k.PK, k.SK)
	}
	ask := map[string]types.KeysAndAttributes{r.plain: {Keys: keys}}
	found := make(map[[2]string]Order, len(wanted))
	for len(ask) > 0 {
		out, err := r.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: ask})
		if err != nil {
			return nil, err
		}
		var page []Order
		if err := attributevalue.UnmarshalListOfMaps(out.Responses[r.plain], &page); err != nil {
			return nil, err
		}
		for _, v := range page {
			found[[2]string{v.PK, v.SK}] = v
		}
		ask = out.UnprocessedKeys
	}
	all := make([]Order, len(wanted))
	for i, k := range wanted {
		v, ok := found[[2]string{k.PK, k.SK}]
		if !ok {
			return nil, errNotFound
		}
		all[i] = v
	}
	return all, nil
}

func (r raw) batchWrite(ctx context.Context) (any, error) {
	vs := orders(25)
	requests := make([]types.WriteRequest, len(vs))
	for i, v := range vs {
		it, err := attributevalue.MarshalMap(v)
		if err != nil {
			return nil, err
		}
		requests[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: it}}
	}
	ask := map[string][]types.WriteRequest{r.plain: requests}
	for len(ask) > 0 {
		out, err := r.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: ask})
		if err != nil {
			return nil, err
		}
		ask = out.UnprocessedItems
	}
	return nil, nil
}
