package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// These are the functions of the SDK's side that from-sdk.md counts and does not show.

func refused(err error) bool {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for _, reason := range cancelled.CancellationReasons {
			if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
				return true
			}
		}
		return false
	}
	var failed *types.ConditionalCheckFailedException
	return errors.As(err, &failed)
}

func (s *Shop) Create(ctx context.Context, o Order) error {
	it, err := encode(o)
	if err != nil {
		return err
	}
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: it, ConditionExpression: aws.String("attribute_not_exists(PK)"),
	})
	return err
}

var errNotFound = errors.New("no such order")

func (s *Shop) Get(ctx context.Context, customer string, number int) (o Order, err error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key(customer, number)})
	if err != nil {
		return o, err
	}
	if out.Item == nil {
		return o, errNotFound
	}
	return o, attributevalue.UnmarshalMap(out.Item, &o)
}

func (s *Shop) Waiting(ctx context.Context, status string) (list []Order, err error) {
	partition := expression.Key("GSI1PK").Equal(expression.Value("STATUS#" + status))
	expr, err := expression.NewBuilder().WithKeyCondition(partition).Build()
	if err != nil {
		return nil, err
	}
	pages := dynamodb.NewQueryPaginator(s.client, &dynamodb.QueryInput{
		TableName: &s.table, IndexName: aws.String("GSI1"), KeyConditionExpression: expr.KeyCondition(),
		ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		var page []Order
		if err := attributevalue.UnmarshalListOfMaps(out.Items, &page); err != nil {
			return nil, err
		}
		list = append(list, page...)
	}
	return list, nil
}

// Replace cancels an open order and creates another, both or neither.
func (s *Shop) Replace(ctx context.Context, old, renewed Order) error {
	set, open := move("cancelled")
	expr, err := expression.NewBuilder().WithUpdate(set).WithCondition(open).Build()
	if err != nil {
		return err
	}
	it, err := encode(renewed)
	if err != nil {
		return err
	}
	_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: &s.table, Key: key(old.Customer, old.Number), UpdateExpression: expr.Update(), ConditionExpression: expr.Condition(),
			ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
		}},
		{Put: &types.Put{TableName: &s.table, Item: it, ConditionExpression: aws.String("attribute_not_exists(PK)")}},
	}})
	return err
}

func (s *Shop) Page(ctx context.Context, customer string, from item) (page []Order, next item, err error) {
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.table, KeyConditionExpression: aws.String("PK = :p AND begins_with(SK, :s)"),
		ExpressionAttributeValues: item{":p": text("CUSTOMER#" + customer), ":s": text("ORDER#")},
		Limit:                     aws.Int32(2), ExclusiveStartKey: from,
	})
	if err != nil {
		return nil, nil, err
	}
	return page, out.LastEvaluatedKey, attributevalue.UnmarshalListOfMaps(out.Items, &page)
}

func (s *Shop) Import(ctx context.Context, all []Order) error {
	var writes []types.WriteRequest
	for _, o := range all {
		it, err := encode(o)
		if err != nil {
			return err
		}
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	for pause := 50 * time.Millisecond; len(writes) > 0; {
		n := min(25, len(writes))
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.table: writes[:n]}})
		if err != nil {
			return err
		}
		writes = append(writes[n:], out.UnprocessedItems[s.table]...)
		if len(out.UnprocessedItems) > 0 {
			time.Sleep(pause)
			pause *= 2
		}
	}
	return nil
}
