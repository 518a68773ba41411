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

// single sends one action as a plain call and returns the image that the action asked for.
func (r *Runner) single(ctx context.Context, a *plan.Action, sent *writeRequest) (returned plan.Returned, err error) {
	f := newForm(&sent.Call)
	switch a.Kind {
	case plan.Put:
		in := &dynamodb.PutItemInput{}
		f.action(a, inputs{
			table: &in.TableName, item: &in.Item, condition: &in.ConditionExpression, names: &in.ExpressionAttributeNames,
			values: &in.ExpressionAttributeValues, failure: &in.ReturnValuesOnConditionCheckFailure,
		})
		if err := f.end(in.TableName, sent.capacity, &in.ReturnConsumedCapacity); err != nil {
			return plan.Returned{}, err
		}
		out, err := r.Client.PutItem(ctx, in, sent.options)
		if err == nil {
			sent.answered(out.ResultMetadata, &sent.WriteUnits, out.ConsumedCapacity)
		}
		return plan.Returned{}, err
	case plan.Update:
		in := &dynamodb.UpdateItemInput{}
		f.action(a, inputs{
			table: &in.TableName, key: &in.Key, condition: &in.ConditionExpression, update: &in.UpdateExpression, names: &in.ExpressionAttributeNames,
			values: &in.ExpressionAttributeValues, failure: &in.ReturnValuesOnConditionCheckFailure, returned: &in.ReturnValues,
		})
		if err := f.end(in.TableName, sent.capacity, &in.ReturnConsumedCapacity); err != nil {
			return plan.Returned{}, err
		}
		out, err := r.Client.UpdateItem(ctx, in, sent.options)
		if err != nil {
			return plan.Returned{}, err
		}
		sent.answered(out.ResultMetadata, &sent.WriteUnits, out.ConsumedCapacity)
		return returnedBy(a, sent.item(out.Attributes))
	default:
		in := &dynamodb.DeleteItemInput{}
		f.action(a, inputs{
			table: &in.TableName, key: &in.Key, condition: &in.ConditionExpression, names: &in.ExpressionAttributeNames,
			values: &in.ExpressionAttributeValues, failure: &in.ReturnValuesOnConditionCheckFailure, returned: &in.ReturnValues,
		})
		if err := f.end(in.TableName, sent.capacity, &in.ReturnConsumedCapacity); err != nil {
			return plan.Returned{}, err
		}
		out, err := r.Client.DeleteItem(ctx, in, sent.options)
		if err != nil {
			return plan.Returned{}, err
		}
		sent.answered(out.ResultMetadata, &sent.WriteUnits, out.ConsumedCapacity)
		return returnedBy(a, sent.item(out.Attributes))
	}
}

// returnedBy returns the image in the answer to a. An answer without the item that a asked for, which exists, says nothing: a broken
// proxy may have made it. Some emulators return an empty map for a new item.
func returnedBy(a *plan.Action, answered wire.Item) (plan.Returned, error) {
	if a.Returns == plan.ReturnNothing {
		return plan.Returned{}, nil
	}
	if a.Returns == plan.ReturnNew && answered.Len() > 0 {
		return plan.Returned{New: answered}, nil
	}
	image := answered.Detach()
	switch {
	case len(image) == 0 && (a.Returns == plan.ReturnNew || a.Returns == plan.ReturnOld && failsAbsent(a.Cond)):
		return plan.Returned{}, &smithy.DeserializationError{Err: errNoAttributes}
	case len(image) == 0:
		return plan.Returned{}, nil
	}
	return plan.Returned{Image: image, Again: a.Returns == plan.ReturnOld && wroteBy(image, a.WriteID)}, nil
}

var errNoAttributes = errors.New("the answer lacks the attributes that the request asked for")

// failsAbsent reports whether c certainly fails where there is no item.
func failsAbsent(c expr.Cond) bool {
	if c.Op == expr.And {
		return slices.ContainsFunc(c.Conds, failsAbsent)
	}
	return c.DatabaseOnly() == "" && !c.Holds(nil)
}

// together sends actions as one transaction under token.
func (r *Runner) together(ctx context.Context, actions []plan.Action, token string, sent *writeRequest) error {
	sent.Batch = len(actions)
	in, f := &dynamodb.TransactWriteItemsInput{TransactItems: make([]types.TransactWriteItem, len(actions))}, newForm(&sent.Call)
	f.Name("TransactItems")
	f.Begin('[')
	for i := range actions {
		a, w := &actions[i], &in.TransactItems[i]
		f.Begin('{')
		switch a.Kind {
		case plan.Put:
			f.Name("Put")
			f.Begin('{')
			w.Put = &types.Put{}
			f.action(a, inputs{
				table: &w.Put.TableName, item: &w.Put.Item, condition: &w.Put.ConditionExpression, names: &w.Put.ExpressionAttributeNames,
				values: &w.Put.ExpressionAttributeValues, failure: &w.Put.ReturnValuesOnConditionCheckFailure,
			})
		case plan.Update:
			f.Name("Update")
			f.Begin('{')
			w.Update = &types.Update{}
			f.action(a, inputs{
				table: &w.Update.TableName, key: &w.Update.Key, condition: &w.Update.ConditionExpression, update: &w.Update.UpdateExpression,
				names: &w.Update.ExpressionAttributeNames, values: &w.Update.ExpressionAttributeValues, failure: &w.Update.ReturnValuesOnConditionCheckFailure,
			})
		case plan.Delete:
			f.Name("Delete")
			f.Begin('{')
			w.Delete = &types.Delete{}
			f.action(a, inputs{
				table: &w.Delete.TableName, key: &w.Delete.Key, condition: &w.Delete.ConditionExpression, names: &w.Delete.ExpressionAttributeNames,
				values: &w.Delete.ExpressionAttributeValues, failure: &w.Delete.ReturnValuesOnConditionCheckFailure,
			})
		default:
			f.Name("ConditionCheck")
			f.Begin('{')
			w.ConditionCheck = &types.ConditionCheck{}
			f.action(a, inputs{
				table: &w.ConditionCheck.TableName, key: &w.ConditionCheck.Key, condition: &w.ConditionCheck.ConditionExpression,
				names: &w.ConditionCheck.ExpressionAttributeNames, values: &w.ConditionCheck.ExpressionAttributeValues,
				failure: &w.ConditionCheck.ReturnValuesOnConditionCheckFailure,
			})
		}
		f.End('}')
		f.End('}')
	}
	f.End(']')
	f.text("ClientRequestToken", token, &in.ClientRequestToken)
	if err := f.end(nil, sent.capacity, &in.ReturnConsumedCapacity); err != nil {
		return err
	}
	out, err := r.Client.TransactWriteItems(ctx, in, sent.options)
	if err == nil {
		sent.answered(out.ResultMetadata, &sent.WriteUnits, each(out.ConsumedCapacity)...)
	}
	return err
}

// DescribeTable returns the description of a table.
func (r *Runner) DescribeTable(ctx context.Context, name string) (*types.TableDescription, error) {
	var found *types.TableDescription
	err := r.read(ctx, "DescribeTable", []string{name}, func(ctx context.Context, q *request) error {
		out, err := r.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}, once)
		if err == nil {
			found = out.Table
			q.answered(out.ResultMetadata, nil)
		}
		return err
	})
	return found, err
}

// Manage sends a request about a table that can be repeated, and repeats it like a read. send gets the option that turns
// the SDK's retries off.
func (r *Runner) Manage(ctx context.Context, operation, table string, send func(ctx context.Context, once func(*dynamodb.Options)) error) error {
	return r.read(ctx, operation, []string{table}, func(ctx context.Context, _ *request) error { return send(ctx, once) })
}

// ErrNoIndex says that the table does not have the index of the read, or is still building it.
var ErrNoIndex = entitytype.ErrNoIndex

// IndexError is an ErrNoIndex.
type IndexError = entitytype.IndexError

// indexError returns an *IndexError if a read failed because of its index, and err otherwise. DynamoDB's error is a
// ValidationException, as for many mistakes, and only its text shows the reason, so this asks for the table's indexes. If that
// fails, it returns err.
func (r *Runner) indexError(ctx context.Context, table, index string, err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "ValidationException" {
		return err
	}
	found, failed := r.DescribeTable(ctx, table)
	if failed != nil || found == nil {
		return err
	}
	no := &IndexError{Table: table, Index: index, Err: err}
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

// Stream sends a request to the stream of a table, and repeats it like a read. send returns how many records the answer has.
func (r *Runner) Stream(ctx context.Context, operation, table string, send func(context.Context) (int, error)) error {
	return r.read(ctx, operation, []string{table}, func(ctx context.Context, q *request) error {
		n, err := send(ctx)
		if err == nil {
			q.Returned = n
		}
		return err
	})
}

// Passes reports whether a request whose error is err may succeed later.
func Passes(err error) bool {
	k := classify(context.Background(), err)
	return k != final && k != refused || errors.Is(err, context.DeadlineExceeded)
}
