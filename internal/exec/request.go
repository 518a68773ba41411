package exec

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// returns are DynamoDB's names of what an action gives back.
var returns = [...]types.ReturnValue{plan.ReturnNothing: types.ReturnValueNone, plan.ReturnOld: types.ReturnValueAllOld, plan.ReturnNew: types.ReturnValueAllNew}

const onFailure = types.ReturnValuesOnConditionCheckFailureAllOld

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// single sends one action as a plain call and gives back the image that the action asked for.
func (r *Runner) single(ctx context.Context, a plan.Action, opts func(*dynamodb.Options)) (item.Item, error) {
	meter := meterOf(ctx)
	var e expr.Renderer
	cond := text(e.Cond(a.Cond))
	switch a.Kind {
	case plan.Put:
		out, err := r.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &a.Table, Item: a.Item, ConditionExpression: cond,
			ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values,
			ReturnValuesOnConditionCheckFailure: onFailure, ReturnConsumedCapacity: r.capacity(),
		}, opts)
		if err != nil {
			return nil, err
		}
		meter.writes(out.ConsumedCapacity)
		return nil, nil
	case plan.Update:
		update := text(e.Update(a.Changes))
		out, err := r.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &a.Table, Key: a.Key, UpdateExpression: update, ConditionExpression: cond,
			ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values,
			ReturnValues:                        returns[a.Returns],
			ReturnValuesOnConditionCheckFailure: onFailure, ReturnConsumedCapacity: r.capacity(),
		}, opts)
		if err != nil {
			return nil, err
		}
		meter.writes(out.ConsumedCapacity)
		if len(out.Attributes) == 0 {
			return nil, nil // no item has no attributes; some emulators give an empty map for a new one
		}
		return out.Attributes, nil
	default:
		out, err := r.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &a.Table, Key: a.Key, ConditionExpression: cond,
			ExpressionAttributeNames: e.Names, ExpressionAttributeValues: e.Values, ReturnValues: returns[a.Returns],
			ReturnValuesOnConditionCheckFailure: onFailure, ReturnConsumedCapacity: r.capacity(),
		}, opts)
		if err != nil {
			return nil, err
		}
		meter.writes(out.ConsumedCapacity)
		return out.Attributes, nil
	}
}

// together sends actions as one transaction under token.
func (r *Runner) together(ctx context.Context, actions []plan.Action, token string, opts func(*dynamodb.Options)) error {
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, ReturnConsumedCapacity: r.capacity()}
	for i := range actions {
		in.TransactItems = append(in.TransactItems, transactItem(&actions[i]))
	}
	out, err := r.Client.TransactWriteItems(ctx, in, opts)
	if err != nil {
		return err
	}
	for i := range out.ConsumedCapacity {
		meterOf(ctx).writes(&out.ConsumedCapacity[i])
	}
	return nil
}

func transactItem(a *plan.Action) types.TransactWriteItem {
	var e expr.Renderer
	cond := text(e.Cond(a.Cond))
	switch a.Kind {
	case plan.Put:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &a.Table, Item: a.Item, ConditionExpression: cond, ExpressionAttributeNames: e.Names,
			ExpressionAttributeValues: e.Values, ReturnValuesOnConditionCheckFailure: onFailure,
		}}
	case plan.Update:
		update := text(e.Update(a.Changes))
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &a.Table, Key: a.Key, UpdateExpression: update, ConditionExpression: cond, ExpressionAttributeNames: e.Names,
			ExpressionAttributeValues: e.Values, ReturnValuesOnConditionCheckFailure: onFailure,
		}}
	case plan.Delete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &a.Table, Key: a.Key, ConditionExpression: cond, ExpressionAttributeNames: e.Names,
			ExpressionAttributeValues: e.Values, ReturnValuesOnConditionCheckFailure: onFailure,
		}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &a.Table, Key: a.Key, ConditionExpression: cond, ExpressionAttributeNames: e.Names,
		ExpressionAttributeValues: e.Values, ReturnValuesOnConditionCheckFailure: onFailure,
	}}
}
