package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Find reads one item; a missing one is the zero Item. The caller releases it.
func (r *Runner) Find(ctx context.Context, table string, key item.Primary, consistent bool) (wire.Item, error) {
	var found wire.Item
	consistent = consistent || ctx.Value(decisionKey{}) != nil
	err := r.read(ctx, "GetItem", []string{table}, func(ctx context.Context, q *request) error {
		var client Client
		client, q.Own = r.reader(ctx, consistent)
		q.Consistent = consistent
		f := newForm(q)
		in := &dynamodb.GetItemInput{TableName: f.text("TableName", table), Key: unseen, ConsistentRead: &consistent, ReturnConsumedCapacity: q.capacity}
		f.Name("Key")
		if f.Key(key); !q.Own {
			in.Key = key.Map()
		}
		f.Part(`"ConsistentRead":` + strconv.FormatBool(consistent))
		if err := f.end(in.TableName, q.capacity); err != nil {
			return err
		}
		out, err := client.GetItem(ctx, in, q.with[:]...)
		if err != nil {
			return err
		}
		if found = q.Item(out.Item); !found.Missing() {
			q.Returned = 1
		}
		saw(ctx, table, key, found)
		q.answered(out.ResultMetadata, &q.ReadUnits, out.ConsumedCapacity)
		return nil
	})
	return found, err
}

// Get is Find for an item as attribute values, nil if it is missing.
func (r *Runner) Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error) {
	found, err := r.Find(ctx, table, wire.KeyOf(key), consistent)
	return found.Detach(), err
}

// ReadPage reads one page of a range. The caller releases its rows. If the index is missing, it makes another request and
// returns an *IndexError.
func (r *Runner) ReadPage(ctx context.Context, g *layout.Range) (page layout.Page, err error) {
	operation, scans := "Query", g.Key.Op == expr.None
	if scans {
		operation = "Scan"
	}
	if g.Index == "" || g.Local {
		g.Strong = g.Strong || ctx.Value(decisionKey{}) != nil
	}
	err = r.read(ctx, operation, []string{g.Table}, func(ctx context.Context, q *request) (err error) {
		var client Client
		client, q.Own = r.reader(ctx, g.Strong)
		f, capacity := newForm(q), q.capacity
		if g.Units {
			capacity = types.ReturnConsumedCapacityTotal
		}
		q.Index, q.Limit, q.Consistent, q.Descending = g.Index, g.Limit, g.Strong, g.Desc
		if g.Segments > 0 {
			q.Segment, q.Segments = g.Segment, g.Segments
		}
		in, err := f.query(g, capacity)
		if err != nil {
			return err
		}
		var out *dynamodb.QueryOutput
		if scans {
			scanned, failed := client.Scan(ctx, scanInput(g, in), q.with[:]...)
			out, err = (*dynamodb.QueryOutput)(scanned), failed // they have the same fields
		} else {
			out, err = client.Query(ctx, &in, q.with[:]...)
		}
		if err != nil {
			return err
		}
		q.Returned, q.Evaluated = int(out.Count), int(out.ScannedCount)
		q.answered(out.ResultMetadata, &q.ReadUnits, out.ConsumedCapacity)
		page = layout.Page{Rows: q.Items(out.Items), Count: q.Returned, Evaluated: q.Evaluated, Last: out.LastEvaluatedKey, Units: q.ReadUnits}
		return nil
	})
	if err != nil && g.Index != "" {
		err = r.indexError(ctx, g.Table, g.Index, err)
	}
	return page, err
}

// FindTogether reads the items at one instant, in the order of keys; a missing one is the zero Item. The caller releases them.
func (r *Runner) FindTogether(ctx context.Context, keys []Key) ([]wire.Item, error) {
	if err := r.NoTransactions; err != nil {
		return nil, err
	}
	tables := make([]string, len(keys))
	for i := range keys {
		tables[i] = keys[i].Table
	}
	var items []wire.Item
	err := r.read(ctx, "TransactGetItems", tables, func(ctx context.Context, q *request) error {
		q.Batch, q.Own = len(keys), r.Own
		in := &dynamodb.TransactGetItemsInput{TransactItems: make([]types.TransactGetItem, len(keys)), ReturnConsumedCapacity: q.capacity}
		f := newForm(q)
		f.Part(`"TransactItems":[`)
		for i, key := range keys {
			f.Part(`{"Get":{`)
			in.TransactItems[i].Get = &types.Get{TableName: f.text("TableName", key.Table), Key: f.item("Key", key.Key)}
			f.Part("}}")
		}
		f.Part("]")
		if err := f.end(nil, q.capacity); err != nil {
			return err
		}
		out, err := r.Client.TransactGetItems(ctx, in, q.with[:]...)
		if err != nil {
			return err
		}
		var typed []item.Item
		for _, response := range out.Responses {
			typed = append(typed, response.Item)
		}
		items = q.Items(typed)
		for _, it := range items {
			if !it.Missing() {
				q.Returned++
			}
		}
		q.answered(out.ResultMetadata, &q.ReadUnits, nil, out.ConsumedCapacity...)
		if len(items) != len(keys) {
			wire.ReleaseAll(items)
			return errOtherCount
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return items, nil
}

// errOtherCount reports an answer whose items cannot be those that were asked for.
var errOtherCount = errors.New("the database answered with another number of items than was asked for")

// TransactGet is FindTogether for items as attribute values; nil if one is missing.
func (r *Runner) TransactGet(ctx context.Context, keys []Key) ([]item.Item, error) {
	items, err := r.FindTogether(ctx, keys)
	return wire.DetachAll(items), err
}
