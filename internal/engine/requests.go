package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Key is the primary key of an item in a table.
type Key struct {
	Table string
	Key   item.Item
}

// returns maps what an action returns to DynamoDB's names.
var returns = [...]types.ReturnValue{write.ReturnNothing: types.ReturnValueNone, write.ReturnOld: types.ReturnValueAllOld, write.ReturnNew: types.ReturnValueAllNew}

const onFailure = types.ReturnValuesOnConditionCheckFailureAllOld

// unseen is the item or key, and noText an expression, in an input that need not have them.
var (
	unseen = item.Item{}
	noText = ""
)

// shown is what the SDK's input shows of an action: everything or, of one whose text is written here, the table. The client may
// still be sending the request when the next plan takes the place of the action, so the input does not point into that.
type shown struct {
	table             string
	item              item.Item // or its key
	condition, update *string
	names             map[string]string
	values            item.Item
	texts             [2]string // to which condition and update point
}

// show sets what the input of a shows of it.
func (e *shown) show(a *write.Action) {
	e.table = a.Table
	if e.item = a.Key; a.Kind == write.Put {
		e.item = a.Item
	}
	e.item = maps.Clone(e.item) // a middleware may replace attributes, for this attempt
	w := bodies.Get().(*body)
	e.texts = [...]string{w.Cond(a.Cond), w.Update(a.Changes)}
	if e.texts[0] != "" {
		e.condition = &e.texts[0]
	}
	if e.texts[1] != "" {
		e.update = &e.texts[1]
	}
	e.names, e.values = w.NameMap(), w.ValueMap()
	w.Reset()
	bodies.Put(w)
}

// single sends one action as a plain call and returns the image that the action asked for.
func (r *Runner) single(ctx context.Context, a *write.Action, sent *writeRequest, x *attempt) (write.Returned, error) {
	e, capacity := &sent.shown, x.capacity()
	if sent.Own {
		*e, sent.Table = shown{table: a.Table, item: unseen}, &e.table
		b := bodies.Get().(*body)
		b.action(a)
		if a.Kind != write.Put {
			b.String(`,"ReturnValues":`, string(returns[a.Returns]))
		}
		if err := sent.finish(b, capacity); err != nil {
			return write.Returned{}, err
		}
	} else {
		e.show(a)
	}
	switch a.Kind {
	case write.Put:
		out, err := r.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &e.table, Item: e.item, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: onFailure, ReturnConsumedCapacity: capacity,
		}, sent.opts[:]...)
		if err != nil {
			return write.Returned{}, err
		}
		if x != nil {
			x.written(out.ResultMetadata, out.ConsumedCapacity)
		}
		return write.Returned{}, nil
	case write.Update:
		out, err := r.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &e.table, Key: e.item, UpdateExpression: e.update, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values, ReturnValues: returns[a.Returns],
			ReturnValuesOnConditionCheckFailure: onFailure, ReturnConsumedCapacity: capacity,
		}, sent.opts[:]...)
		if err != nil {
			return write.Returned{}, err
		}
		if x != nil {
			x.written(out.ResultMetadata, out.ConsumedCapacity)
		}
		if a.Returns == write.ReturnNothing {
			return write.Returned{}, nil
		}
		image := sent.item(out.Attributes)
		if a.Undecoded && image.Len() > 0 {
			return write.Returned{Undecoded: image}, nil
		}
		return returnedBy(a, image)
	default:
		out, err := r.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &e.table, Key: e.item, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values, ReturnValues: returns[a.Returns],
			ReturnValuesOnConditionCheckFailure: onFailure, ReturnConsumedCapacity: capacity,
		}, sent.opts[:]...)
		if err != nil {
			return write.Returned{}, err
		}
		if x != nil {
			x.written(out.ResultMetadata, out.ConsumedCapacity)
		}
		if a.Returns == write.ReturnNothing {
			return write.Returned{}, nil
		}
		return returnedBy(a, sent.item(out.Attributes))
	}
}

// returnedBy returns the image in the answer to a. An answer without the item that a asked for, which exists, says nothing: a broken
// proxy may have made it. Some emulators return an empty map for a new item.
func returnedBy(a *write.Action, answered wire.Item) (write.Returned, error) {
	image := answered.Detach()
	switch {
	case len(image) == 0 && (a.Returns == write.ReturnNew || a.Returns == write.ReturnOld && failsAbsent(a.Cond)):
		return write.Returned{}, &smithy.DeserializationError{Err: errNoAttributes}
	case len(image) == 0:
		return write.Returned{}, nil
	}
	return write.Returned{Image: image, Again: a.Returns == write.ReturnOld && wroteBy(image, a.WriteID)}, nil
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
func (r *Runner) together(ctx context.Context, actions []write.Action, token string, sent *writeRequest, x *attempt) error {
	if x != nil {
		x.Batch = len(actions)
	}
	in := &dynamodb.TransactWriteItemsInput{
		TransactItems: make([]types.TransactWriteItem, len(actions)), ClientRequestToken: &token, ReturnConsumedCapacity: x.capacity(),
	}
	all := make([]shown, len(actions))
	for i := range actions {
		if sent.Own {
			all[i] = shown{table: actions[i].Table, item: unseen, condition: &noText, update: &noText} // which the SDK requires
		} else {
			all[i].show(&actions[i])
		}
		in.TransactItems[i] = transactItem(&actions[i], &all[i])
	}
	if sent.Own {
		b := bodies.Get().(*body)
		b.actions(actions)
		b.String(`,"ClientRequestToken":`, token)
		if err := sent.finish(b, in.ReturnConsumedCapacity); err != nil {
			return err
		}
	}
	out, err := r.Client.TransactWriteItems(ctx, in, sent.opts[:]...)
	if err != nil {
		return err
	}
	if x != nil {
		x.written(out.ResultMetadata, each(out.ConsumedCapacity)...)
	}
	return nil
}

func transactItem(a *write.Action, e *shown) types.TransactWriteItem {
	switch a.Kind {
	case write.Put:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &e.table, Item: e.item, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: onFailure,
		}}
	case write.Update:
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &e.table, Key: e.item, UpdateExpression: e.update, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: onFailure,
		}}
	case write.Delete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &e.table, Key: e.item, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
			ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: onFailure,
		}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &e.table, Key: e.item, ConditionExpression: e.condition, ExpressionAttributeNames: e.names,
		ExpressionAttributeValues: e.values, ReturnValuesOnConditionCheckFailure: onFailure,
	}}
}

// DescribeTable returns the description of a table.
func (r *Runner) DescribeTable(ctx context.Context, name string) (*types.TableDescription, error) {
	var found *types.TableDescription
	err := r.read(ctx, "DescribeTable", []string{name}, func(ctx context.Context, x *attempt) error {
		out, err := r.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}, once)
		if err == nil {
			found = out.Table
			x.answered(out.ResultMetadata, 0, 0)
		}
		return err
	})
	return found, err
}

// Manage sends a request about a table that can be repeated, and repeats it like a read. send gets the option that turns
// the SDK's retries off.
func (r *Runner) Manage(ctx context.Context, operation, table string, send func(ctx context.Context, once func(*dynamodb.Options)) error) error {
	return r.read(ctx, operation, []string{table}, func(ctx context.Context, _ *attempt) error { return send(ctx, once) })
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
	return r.read(ctx, operation, []string{table}, func(ctx context.Context, x *attempt) error {
		n, err := send(ctx)
		if err == nil && x != nil {
			x.Returned = n
		}
		return err
	})
}

// Passes reports whether a request whose error is err may succeed later.
func Passes(err error) bool {
	k := classify(context.Background(), err)
	return k != final && k != refused || errors.Is(err, context.DeadlineExceeded)
}
