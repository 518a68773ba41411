package engine

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// reading is the answer to one request, whose items are read without attribute values where that is possible.
type reading struct {
	call wire.Call
	own  bool // call writes the request and reads the answer
}

// options is the options of the request.
func (a *reading) options(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	if a.own {
		a.call.Options(o)
	} else {
		wire.Options(o)
	}
}

// item returns the item in an answer, which has it as attribute values if the SDK has read it.
func (a *reading) item(typed item.Item) wire.Item {
	if a.call.Page == nil {
		return wire.Of(typed)
	}
	return a.call.Page.Item(0)
}

// items is item for an answer with several.
func (a *reading) items(typed []item.Item) []wire.Item {
	page := a.call.Page
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
func (r *Runner) Find(ctx context.Context, table string, key item.Item, consistent bool) (wire.Item, error) {
	var found wire.Item
	err := r.read(ctx, "GetItem", []string{table}, func(ctx context.Context, x *exchange) error {
		if x != nil {
			x.Consistent = consistent
		}
		in := &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: x.capacity()}
		client, reading := r.reader(ctx, consistent)
		out, err := client.GetItem(ctx, in, reading.options)
		if err != nil {
			return err
		}
		it, n := reading.item(out.Item), 1
		if it.Len() == 0 {
			it.Release()
			it, n = wire.Item{}, 0
		}
		found = it
		if x != nil {
			x.answered(out.ResultMetadata, n, 0, out.ConsumedCapacity)
		}
		return nil
	})
	return found, err
}

// Get is Find for an item as attribute values, nil if it is missing.
func (r *Runner) Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error) {
	found, err := r.Find(ctx, table, key, consistent)
	return found.Detach(), err
}

// QueryItems reads one page. The output lacks the items, which the caller releases. If the index is missing, it makes
// another request and returns an *IndexError.
func (r *Runner) QueryItems(ctx context.Context, in *dynamodb.QueryInput) (page *dynamodb.QueryOutput, items []wire.Item, err error) {
	err = r.read(ctx, "Query", []string{*in.TableName}, func(ctx context.Context, x *exchange) error {
		if x != nil {
			x.query(in)
		}
		if in.ReturnConsumedCapacity == "" { // not written again: the client may still be sending an earlier attempt
			in.ReturnConsumedCapacity = x.capacity()
		}
		client, reading := r.reader(ctx, in.ConsistentRead != nil && *in.ConsistentRead)
		out, err := client.Query(ctx, in, reading.options)
		if err != nil {
			return err
		}
		page, items = out, reading.items(out.Items)
		if x != nil {
			x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), out.ConsumedCapacity)
		}
		return nil
	})
	if err != nil {
		err = r.indexError(ctx, *in.TableName, in.IndexName, err)
	}
	return page, items, err
}

// Query is QueryItems for items as attribute values, which the output has. The caller may change in afterwards.
func (r *Runner) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	sent := *in // the client may keep the input, to send it again, and the output
	page, items, err := r.QueryItems(ctx, &sent)
	if err != nil {
		return nil, err
	}
	own := *page
	own.Items = wire.DetachAll(items)
	return &own, nil
}

// ScanItems is QueryItems for a table or index. The caller may set which consumed capacity to return.
func (r *Runner) ScanItems(ctx context.Context, in *dynamodb.ScanInput) (page *dynamodb.ScanOutput, items []wire.Item, err error) {
	err = r.read(ctx, "Scan", []string{*in.TableName}, func(ctx context.Context, x *exchange) error {
		if x != nil {
			x.scan(in)
		}
		if in.ReturnConsumedCapacity == "" {
			in.ReturnConsumedCapacity = x.capacity()
		}
		client, reading := r.reader(ctx, in.ConsistentRead != nil && *in.ConsistentRead)
		out, err := client.Scan(ctx, in, reading.options)
		if err != nil {
			return err
		}
		page, items = out, reading.items(out.Items)
		if x != nil {
			x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), out.ConsumedCapacity)
		}
		return nil
	})
	if err != nil {
		err = r.indexError(ctx, *in.TableName, in.IndexName, err)
	}
	return page, items, err
}

// Scan is ScanItems for items as attribute values, which the output has. The caller may change in afterwards.
func (r *Runner) Scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	sent := *in // the client may keep the input, to send it again, and the output
	page, items, err := r.ScanItems(ctx, &sent)
	if err != nil {
		return nil, err
	}
	own := *page
	own.Items = wire.DetachAll(items)
	return &own, nil
}

// FindTogether reads the items at one instant, in the order of keys; a missing one is the zero Item. The caller releases
// them.
func (r *Runner) FindTogether(ctx context.Context, keys []Key) ([]wire.Item, error) {
	if err := r.transactions(); err != nil {
		return nil, err
	}
	in := &dynamodb.TransactGetItemsInput{}
	tables := make([]string, len(keys))
	for i := range keys {
		tables[i] = keys[i].Table
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &keys[i].Table, Key: keys[i].Key}})
	}
	var items []wire.Item
	err := r.read(ctx, "TransactGetItems", tables, func(ctx context.Context, x *exchange) error {
		if x != nil {
			x.Batch = len(keys)
		}
		if in.ReturnConsumedCapacity == "" { // see QueryItems
			in.ReturnConsumedCapacity = x.capacity()
		}
		reading := &reading{own: r.Own}
		out, err := r.Client.TransactGetItems(ctx, in, reading.options)
		if err != nil {
			return err
		}
		var typed []item.Item
		for _, response := range out.Responses {
			typed = append(typed, response.Item)
		}
		items = reading.items(typed)
		n := 0
		for _, it := range items {
			if !it.Missing() {
				n++
			}
		}
		x.answered(out.ResultMetadata, n, 0, each(out.ConsumedCapacity)...)
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
