package exec

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// reading is the answer to one request, whose items are read without attribute values where that is possible.
type reading struct {
	call wire.Call
	sdk  bool // the SDK reads the items
}

func (r *Runner) reading() *reading { return &reading{sdk: r.SDKCodec} }

// codec is an option of a request whose answer has no items.
func (r *Runner) codec(o *dynamodb.Options) {
	if !r.SDKCodec {
		wire.Requests(o)
	}
}

// options is the options of the request.
func (a *reading) options(o *dynamodb.Options) {
	once(o)
	if !a.sdk {
		a.call.Options(o)
	}
}

// item returns the item in the answer out, which has it as attribute values if the SDK has read it.
func (a *reading) item(out smithy.Deserializable, typed item.Item) wire.Item {
	if page := a.call.Page(out); page != nil && typed == nil && page.Len() == 1 {
		return page.Item(0)
	}
	return wire.Of(typed)
}

// items is item for an answer with several.
func (a *reading) items(out smithy.Deserializable, typed []item.Item) []wire.Item {
	page := a.call.Page(out)
	if page == nil || typed != nil {
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
	err := r.read(ctx, "GetItem", []string{table}, func(ctx context.Context) error {
		x := exchangeOf(ctx)
		x.get(consistent)
		in := &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: x.capacity()}
		reading := r.reading()
		out, err := r.Client.GetItem(ctx, in, reading.options)
		if err != nil {
			return err
		}
		n := 1
		if found = reading.item(out, out.Item); found.Len() == 0 {
			found, n = wire.Item{}, 0
		}
		x.answered(out.ResultMetadata, n, 0, out.ConsumedCapacity)
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
	err = r.read(ctx, "Query", []string{*in.TableName}, func(ctx context.Context) error {
		x := exchangeOf(ctx)
		x.query(in)
		in.ReturnConsumedCapacity = x.capacity()
		reading := r.reading()
		out, err := r.Client.Query(ctx, in, reading.options)
		if err != nil {
			return err
		}
		page, items = out, reading.items(out, out.Items)
		x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), out.ConsumedCapacity)
		return nil
	})
	return page, items, r.indexError(ctx, *in.TableName, in.IndexName, err)
}

// Query is QueryItems for items as attribute values, which the output has.
func (r *Runner) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	page, items, err := r.QueryItems(ctx, in)
	if err != nil {
		return nil, err
	}
	page.Items = wire.DetachAll(items)
	return page, nil
}

// ScanItems is QueryItems for a table or index. The caller may set which consumed capacity to return.
func (r *Runner) ScanItems(ctx context.Context, in *dynamodb.ScanInput) (page *dynamodb.ScanOutput, items []wire.Item, err error) {
	err = r.read(ctx, "Scan", []string{*in.TableName}, func(ctx context.Context) error {
		x := exchangeOf(ctx)
		x.scan(in)
		if in.ReturnConsumedCapacity == "" {
			in.ReturnConsumedCapacity = x.capacity()
		}
		reading := r.reading()
		out, err := r.Client.Scan(ctx, in, reading.options)
		if err != nil {
			return err
		}
		page, items = out, reading.items(out, out.Items)
		x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), out.ConsumedCapacity)
		return nil
	})
	return page, items, r.indexError(ctx, *in.TableName, in.IndexName, err)
}

// Scan is ScanItems for items as attribute values, which the output has.
func (r *Runner) Scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	page, items, err := r.ScanItems(ctx, in)
	if err != nil {
		return nil, err
	}
	page.Items = wire.DetachAll(items)
	return page, nil
}

// FindTogether reads the items at one instant, in the order of keys; a missing one is the zero Item. The caller releases
// them.
func (r *Runner) FindTogether(ctx context.Context, keys []Key) ([]wire.Item, error) {
	in := &dynamodb.TransactGetItemsInput{}
	tables := make([]string, len(keys))
	for i := range keys {
		tables[i] = keys[i].Table
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &keys[i].Table, Key: keys[i].Key}})
	}
	var items []wire.Item
	err := r.read(ctx, "TransactGetItems", tables, func(ctx context.Context) error {
		x := exchangeOf(ctx)
		x.batch(len(keys))
		in.ReturnConsumedCapacity = x.capacity()
		reading := r.reading()
		out, err := r.Client.TransactGetItems(ctx, in, reading.options)
		if err != nil {
			return err
		}
		var typed []item.Item
		for _, response := range out.Responses {
			typed = append(typed, response.Item)
		}
		items = reading.items(out, typed)
		n := 0
		for _, it := range items {
			if !it.Missing() {
				n++
			}
		}
		x.answered(out.ResultMetadata, n, 0, each(out.ConsumedCapacity)...)
		return nil
	})
	return items, err
}

// TransactGet is FindTogether for items as attribute values; nil if one is missing.
func (r *Runner) TransactGet(ctx context.Context, keys []Key) ([]item.Item, error) {
	items, err := r.FindTogether(ctx, keys)
	return wire.DetachAll(items), err
}
