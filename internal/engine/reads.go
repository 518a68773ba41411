package engine

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// A request is sent once. Its items are read without attribute values where that is possible.
type request struct {
	wire.Call
	attempt
}

// item returns the item in an answer, which has it as attribute values if the SDK has read it.
func (q *request) item(typed item.Item) wire.Item {
	if q.Page == nil {
		return wire.Of(typed)
	}
	return q.Page.Item(0)
}

// items is item for an answer with several.
func (q *request) items(typed []item.Item) []wire.Item {
	page := q.Page
	if page == nil {
		return wire.OfAll(typed)
	}
	items := page.Items()
	if len(items) == 0 {
		page.Release()
	}
	return items
}

// Find reads one item; a missing one is the zero Item. The caller releases it.
func (r *Runner) Find(ctx context.Context, table string, key item.Primary, consistent bool) (wire.Item, error) {
	var found wire.Item
	err := r.read(ctx, "GetItem", []string{table}, func(ctx context.Context, q *request) error {
		var client Client
		client, q.Own = r.reader(ctx, consistent)
		q.Consistent = consistent
		in, f := &dynamodb.GetItemInput{}, newForm(&q.Call)
		f.text("TableName", table, &in.TableName)
		f.key(key, &in.Key)
		f.flag("ConsistentRead", consistent, &in.ConsistentRead)
		if err := f.end(in.TableName, q.capacity, &in.ReturnConsumedCapacity); err != nil {
			return err
		}
		out, err := client.GetItem(ctx, in, q.Options)
		if err != nil {
			return err
		}
		it, n := q.item(out.Item), 1
		if it.Len() == 0 {
			it.Release()
			it, n = wire.Item{}, 0
		}
		found = it
		q.Returned = n
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
	err = r.read(ctx, operation, []string{g.Table}, func(ctx context.Context, q *request) (err error) {
		var client Client
		client, q.Own = r.reader(ctx, g.Strong)
		f, capacity := newForm(&q.Call), q.capacity
		if g.Units {
			capacity = types.ReturnConsumedCapacityTotal
		}
		q.Index, q.Limit, q.Consistent, q.Descending = g.Index, g.Limit, g.Strong, g.Desc
		if g.Segments > 0 {
			q.Segment, q.Segments = g.Segment, g.Segments
		}
		if scans {
			in, err := f.scan(g, capacity)
			if err != nil {
				return err
			}
			out, err := client.Scan(ctx, in, q.Options)
			if err != nil {
				return err
			}
			q.Returned, q.Evaluated = int(out.Count), int(out.ScannedCount)
			q.answered(out.ResultMetadata, &q.ReadUnits, out.ConsumedCapacity)
			page = layout.Page{Rows: q.items(out.Items), Count: int(out.Count), Evaluated: int(out.ScannedCount), Last: out.LastEvaluatedKey}
			page.Units = q.ReadUnits
			return nil
		}
		in, err := f.query(g, capacity)
		if err != nil {
			return err
		}
		out, err := client.Query(ctx, in, q.Options)
		if err != nil {
			return err
		}
		q.Returned, q.Evaluated = int(out.Count), int(out.ScannedCount)
		q.answered(out.ResultMetadata, &q.ReadUnits, out.ConsumedCapacity)
		page = layout.Page{Rows: q.items(out.Items), Count: int(out.Count), Evaluated: int(out.ScannedCount), Last: out.LastEvaluatedKey}
		return nil
	})
	if err != nil && g.Index != "" {
		err = r.indexError(ctx, g.Table, g.Index, err)
	}
	return page, err
}

// FindTogether reads the items at one instant, in the order of keys; a missing one is the zero Item. The caller releases
// them.
func (r *Runner) FindTogether(ctx context.Context, keys []Key) ([]wire.Item, error) {
	if err := r.transactions(); err != nil {
		return nil, err
	}
	tables := make([]string, len(keys))
	for i := range keys {
		tables[i] = keys[i].Table
	}
	var items []wire.Item
	err := r.read(ctx, "TransactGetItems", tables, func(ctx context.Context, q *request) error {
		q.Batch, q.Own = len(keys), r.Own
		in, f := &dynamodb.TransactGetItemsInput{TransactItems: make([]types.TransactGetItem, len(keys))}, newForm(&q.Call)
		f.Name("TransactItems")
		f.Begin('[')
		for i := range keys {
			get := &types.Get{}
			in.TransactItems[i].Get = get
			f.Begin('{')
			f.Name("Get")
			f.Begin('{')
			f.text("TableName", keys[i].Table, &get.TableName)
			f.item("Key", keys[i].Key, &get.Key)
			f.End('}')
			f.End('}')
		}
		f.End(']')
		if err := f.end(nil, q.capacity, &in.ReturnConsumedCapacity); err != nil {
			return err
		}
		out, err := r.Client.TransactGetItems(ctx, in, q.Options)
		if err != nil {
			return err
		}
		var typed []item.Item
		for _, response := range out.Responses {
			typed = append(typed, response.Item)
		}
		items = q.items(typed)
		n := 0
		for _, it := range items {
			if !it.Missing() {
				n++
			}
		}
		q.Returned = n
		q.answered(out.ResultMetadata, &q.ReadUnits, each(out.ConsumedCapacity)...)
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
