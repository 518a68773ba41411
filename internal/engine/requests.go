package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Key is the primary key of an item in a table.
type Key struct {
	Table string
	Key   item.Item
}

// returns maps what an action returns to DynamoDB's names.
var returns = [...]types.ReturnValue{plan.ReturnNothing: types.ReturnValueNone, plan.ReturnOld: types.ReturnValueAllOld, plan.ReturnNew: types.ReturnValueAllNew}

// single sends one action as a plain call and returns the image that the action asked for. An answer without the item that it asked
// for, which exists, says nothing: a broken proxy may have made it. Some emulators return an empty map for a new item.
func (r *Runner) single(ctx context.Context, a *plan.Action, q *request) (plan.Returned, error) {
	f := newForm(q)
	in, back := f.action(a), returns[a.Returns]
	if a.Kind != plan.Put {
		f.Name("ReturnValues")
		f.String(string(back))
	}
	if err := f.end(in.TableName, q.capacity); err != nil {
		return plan.Returned{}, err
	}
	var found wire.Item
	switch a.Kind {
	case plan.Put:
		out, err := r.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: in.TableName, Item: in.Key, ConditionExpression: in.ConditionExpression, ExpressionAttributeNames: in.ExpressionAttributeNames,
			ExpressionAttributeValues: in.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
			ReturnConsumedCapacity: q.capacity,
		}, q.with[:]...)
		if err == nil {
			q.answered(out.ResultMetadata, &q.WriteUnits, out.ConsumedCapacity)
		}
		return plan.Returned{}, err
	case plan.Update:
		out, err := r.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression, UpdateExpression: in.UpdateExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure, ReturnValues: back, ReturnConsumedCapacity: q.capacity,
		}, q.with[:]...)
		if err != nil {
			return plan.Returned{}, err
		}
		q.answered(out.ResultMetadata, &q.WriteUnits, out.ConsumedCapacity)
		found = q.Item(out.Attributes)
	default:
		out, err := r.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression, ExpressionAttributeNames: in.ExpressionAttributeNames,
			ExpressionAttributeValues: in.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
			ReturnValues: back, ReturnConsumedCapacity: q.capacity,
		}, q.with[:]...)
		if err != nil {
			return plan.Returned{}, err
		}
		q.answered(out.ResultMetadata, &q.WriteUnits, out.ConsumedCapacity)
		found = q.Item(out.Attributes)
	}
	switch {
	case a.Returns == plan.ReturnNothing:
		return plan.Returned{}, nil
	case found.Missing() && (a.Returns == plan.ReturnNew || failsAbsent(a.Cond)):
		return plan.Returned{}, &smithy.DeserializationError{Err: errNoAttributes}
	case a.Returns == plan.ReturnNew:
		return plan.Returned{New: found}, nil
	}
	image := found.Detach()
	return plan.Returned{Image: image, Again: wroteBy(image, a.WriteID)}, nil
}

var errNoAttributes = errors.New("the answer lacks the attributes that the request asked for")

// failsAbsent reports whether c certainly fails where there is no item.
func failsAbsent(c expr.Cond) bool {
	if c.Op == expr.And {
		return slices.ContainsFunc(c.Conds, failsAbsent)
	}
	return c.DatabaseOnly() == "" && !c.Holds(nil)
}

// openings are the texts with which actions begin in a transaction.
var openings = [...]string{plan.Put: `{"Put":{`, plan.Update: `{"Update":{`, plan.Delete: `{"Delete":{`, plan.Check: `{"ConditionCheck":{`}

// together sends actions as one transaction under token.
func (r *Runner) together(ctx context.Context, actions []plan.Action, token string, q *request) error {
	q.Batch = len(actions)
	in := &dynamodb.TransactWriteItemsInput{TransactItems: make([]types.TransactWriteItem, len(actions)), ReturnConsumedCapacity: q.capacity}
	f := newForm(q)
	f.shown = make([]string, 0, 3*len(actions)+1) // a table and two expressions of each, and the token
	f.Part(`"TransactItems":[`)
	for i := range actions {
		a, w := &actions[i], &in.TransactItems[i]
		f.Part(openings[a.Kind])
		switch p := f.action(a); a.Kind {
		case plan.Put:
			w.Put = &types.Put{
				TableName: p.TableName, Item: p.Key, ConditionExpression: p.ConditionExpression, ExpressionAttributeNames: p.ExpressionAttributeNames,
				ExpressionAttributeValues: p.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
			}
		case plan.Update:
			update := p // on the heap
			w.Update = &update
		case plan.Delete:
			w.Delete = &types.Delete{
				TableName: p.TableName, Key: p.Key, ConditionExpression: p.ConditionExpression, ExpressionAttributeNames: p.ExpressionAttributeNames,
				ExpressionAttributeValues: p.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
			}
		default:
			w.ConditionCheck = &types.ConditionCheck{
				TableName: p.TableName, Key: p.Key, ConditionExpression: p.ConditionExpression, ExpressionAttributeNames: p.ExpressionAttributeNames,
				ExpressionAttributeValues: p.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
			}
		}
		f.Part("}}")
	}
	f.Part("]")
	in.ClientRequestToken = f.text("ClientRequestToken", token)
	if err := f.end(nil, q.capacity); err != nil {
		return err
	}
	out, err := r.Client.TransactWriteItems(ctx, in, q.with[:]...)
	if err == nil {
		q.answered(out.ResultMetadata, &q.WriteUnits, nil, out.ConsumedCapacity...)
	}
	return err
}

func (r *Runner) DescribeTable(ctx context.Context, name string) (*types.TableDescription, error) {
	var found *types.TableDescription
	err := r.read(ctx, "DescribeTable", []string{name}, func(ctx context.Context, q *request) error {
		out, err := r.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}, Once)
		if err == nil {
			found = out.Table
			q.answered(out.ResultMetadata, nil, nil)
		}
		return err
	})
	return found, err
}

// Repeat sends a request about a table or its stream, and repeats it like a read. send makes the request without the SDK's retries, and
// returns how many records the answer has.
func (r *Runner) Repeat(ctx context.Context, operation, table string, send func(context.Context) (int, error)) error {
	return r.read(ctx, operation, []string{table}, func(ctx context.Context, q *request) (err error) {
		q.Returned, err = send(ctx)
		return err
	})
}

// indexError returns an *IndexError if a read failed because of its index, and err otherwise. DynamoDB's error is a ValidationException, as
// for many mistakes, and only its text shows the reason, so this asks for the table's indexes. If that fails, it returns err.
func (r *Runner) indexError(ctx context.Context, table, index string, err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "ValidationException" {
		return err
	}
	found, failed := r.DescribeTable(ctx, table)
	if failed != nil || found == nil {
		return err
	}
	no := &entitytype.IndexError{Table: table, Index: index, Err: err}
	for _, x := range found.GlobalSecondaryIndexes {
		if x.IndexName != nil && *x.IndexName == index {
			if no.Building = x.IndexStatus == types.IndexStatusCreating; no.Building {
				return no
			}
			return err
		}
	}
	for _, x := range found.LocalSecondaryIndexes {
		if x.IndexName != nil && *x.IndexName == index {
			return err
		}
	}
	return no
}

// Passes reports whether a request whose error is err may succeed later.
func Passes(err error) bool {
	k := classify(context.Background(), err)
	return k != final && k != refused || errors.Is(err, context.DeadlineExceeded)
}
