package main

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (r raw) queryPrefixed(ctx context.Context) (any, error) {
	var vs []Prefixed
	err := r.page(ctx, r.prefixed, expression.NewBuilder().WithKeyCondition(
		expression.Key("pk").Equal(expression.Value("$app#v1#prefixed#tenant-7")).
			And(expression.Key("sk").BeginsWith("$app#v1#prefixed#"))), &vs)
	return vs, err
}

// historyPage leaves out the events that have expired, which DynamoDB removes days late.
func (r raw) historyPage(ctx context.Context) (any, error) {
	var vs []Reading
	ttl := expression.Name("_ttl")
	err := r.page(ctx, r.prefixed, expression.NewBuilder().
		WithKeyCondition(expression.Key("pk").Equal(expression.Value("$app#v1#reading#device-7")).
			And(expression.Key("sk").BeginsWith("$app#v1#reading#e#"))).
		WithFilter(expression.AttributeNotExists(ttl).Or(ttl.GreaterThan(expression.Value(now.Unix())))), &vs)
	return vs, err
}

func (r raw) appendAlone(ctx context.Context) (any, error) {
	ev := reading(1)
	k, at := currentKeys("reading", ev.Device), expression.Name("at")
	expr, err := expression.NewBuilder().
		WithCondition(expression.AttributeNotExists(at).Or(at.LessThan(expression.Value(ev.At.Format(eventTime))))).
		WithUpdate(expression.
			Set(expression.Name("device"), expression.Value(ev.Device)).
			Set(at, expression.Value(ev.At.Format(eventTime))).
			Set(expression.Name("location"), expression.Value(ev.Location)).
			Set(expression.Name("battery"), expression.Value(ev.Battery)).
			Set(expression.Name("speed"), expression.Value(ev.Speed)).
			Set(expression.Name("_w"), expression.Value(k.Write))).Build()
	if err != nil {
		return nil, err
	}
	event, err := putIf(r.prefixed, eventOf(ev), absent)
	if err != nil {
		return nil, err
	}
	return nil, r.write(ctx, types.TransactWriteItem{Update: &types.Update{
		TableName: &r.prefixed, Key: key(k.PK, k.SK), UpdateExpression: expr.Update(),
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
		ReturnValuesOnConditionCheckFailure: oldOnFailure,
	}}, event)
}

func (r raw) appendCurrent(ctx context.Context) (any, error) {
	if _, err := r.appendAlone(ctx); err != nil {
		return nil, err
	}
	var v Reading
	k := currentKeys("reading", "device-7")
	err := r.read(ctx, r.prefixed, key(k.PK, k.SK), true, &v)
	return v, err
}

// readFor reads an item before a write, with the id of the write that it is from.
func (r raw) readFor(ctx context.Context, k keys, into any) error {
	return r.read(ctx, r.prefixed, key(k.PK, k.SK), true, into)
}

// unchanged is the condition that an item is still as it was read.
func unchanged(write string) expression.ConditionBuilder {
	return expression.Name("_w").Equal(expression.Value(write))
}

func (r raw) versionedUpdate(ctx context.Context) (any, error) {
	var old storedEmployee
	if err := r.readFor(ctx, currentKeys("employee", employee.ID), &old); err != nil {
		return nil, err
	}
	updated, snapshot := old, old
	updated.Level, updated.Version, updated.Write = 5, old.Version+1, rand.Text()
	snapshot.SK = versionKeys(old.Employee).SK
	first, err := putIf(r.prefixed, updated, unchanged(old.Write))
	if err != nil {
		return nil, err
	}
	second, err := putIf(r.prefixed, snapshot, absent.Or(unchanged(old.Write)))
	if err != nil {
		return nil, err
	}
	return updated.Employee, r.write(ctx, first, second)
}

func (r raw) softDelete(ctx context.Context) (any, error) {
	var old storedDocument
	k := currentKeys("document", document.ID)
	if err := r.readFor(ctx, k, &old); err != nil {
		return nil, err
	}
	expr, err := expression.NewBuilder().WithCondition(unchanged(old.Write)).Build()
	if err != nil {
		return nil, err
	}
	moved, err := putIf(r.prefixed, deletedOf(old.Document, k.Write), absent)
	if err != nil {
		return nil, err
	}
	return nil, r.write(ctx, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &r.prefixed, Key: key(k.PK, k.SK), ReturnValuesOnConditionCheckFailure: oldOnFailure,
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	}}, moved)
}

func (r raw) uniqueCreate(ctx context.Context) (any, error) {
	k := currentKeys("account", account.ID)
	first, err := putIf(r.prefixed, storedAccount{k, account}, absent)
	if err != nil {
		return nil, err
	}
	own := expression.Name("_entity_pk").Equal(expression.Value(k.PK)).And(expression.Name("_entity_sk").Equal(expression.Value(k.SK)))
	second, err := putIf(r.prefixed, claimOf(account, k), absent.Or(own))
	if err != nil {
		return nil, err
	}
	return account, r.write(ctx, first, second)
}

func (r raw) modify(ctx context.Context) (any, error) {
	k := prefixedKeys("tenant-7", order(1).SK)
	var v storedPrefixed
	if err := r.readFor(ctx, k, &v); err != nil {
		return nil, err
	}
	expr, err := expression.NewBuilder().WithCondition(unchanged(v.Write)).Build()
	if err != nil {
		return nil, err
	}
	v.Quantity += 2
	v.Status = "sent"
	v.Write = k.Write
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		return nil, err
	}
	_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &r.prefixed, Item: it, ReturnValuesOnConditionCheckFailure: oldOnFailure,
		ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	})
	return v.Prefixed, err
}
