package engine

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

// request is one request, whose items are read without attribute values where that is possible.
type request struct{ wire.Call }

// item returns the item in an answer, which has it as attribute values if the SDK has read it.
func (a *request) item(typed item.Item) wire.Item {
	if a.Page == nil {
		return wire.Of(typed)
	}
	return a.Page.Item(0)
}

// items is item for an answer with several.
func (a *request) items(typed []item.Item) []wire.Item {
	page := a.Page
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
	err := r.read(ctx, "GetItem", []string{table}, func(ctx context.Context, x *attempt) error {
		if x != nil {
			x.Consistent = consistent
		}
		in := &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: x.capacity()}
		client, reading := r.reader(ctx, consistent)
		out, err := client.GetItem(ctx, in, reading.Options)
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

// ReadPage reads one page of a range. The caller releases its rows. If the index is missing, it makes another request and
// returns an *IndexError.
func (r *Runner) ReadPage(ctx context.Context, in *write.Range) (page write.Page, err error) {
	operation, scans := "Query", in.Key.Op == expr.None
	if scans {
		operation = "Scan"
	}
	var query *dynamodb.QueryInput // written once: the client may still be sending an earlier attempt
	var scan *dynamodb.ScanInput
	var of [1]wire.Placeholders
	err = r.read(ctx, operation, []string{in.Table}, func(ctx context.Context, x *attempt) error {
		client, reading := r.reader(ctx, in.Strong)
		switch {
		case query != nil || scan != nil:
		case scans:
			scan, of[0] = in.Scan(reading.Own)
		default:
			query, of[0] = in.Query(reading.Own)
		}
		if reading.Own {
			reading.Placeholders = of[:]
		}
		if x != nil {
			x.page(in)
		}
		if scans {
			page, err = reading.scan(ctx, client, scan, x)
		} else {
			page, err = reading.query(ctx, client, query, x)
		}
		return err
	})
	if err != nil && in.Index != "" {
		err = r.indexError(ctx, in.Table, in.Index, err)
	}
	return page, err
}

func (a *request) query(ctx context.Context, client Client, in *dynamodb.QueryInput, x *attempt) (write.Page, error) {
	if in.ReturnConsumedCapacity == "" {
		in.ReturnConsumedCapacity = x.capacity()
	}
	out, err := client.Query(ctx, in, a.Options)
	if err != nil {
		return write.Page{}, err
	}
	if x != nil {
		x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), out.ConsumedCapacity)
	}
	return write.Page{Rows: a.items(out.Items), Count: int(out.Count), Evaluated: int(out.ScannedCount), Last: out.LastEvaluatedKey}, nil
}

func (a *request) scan(ctx context.Context, client Client, in *dynamodb.ScanInput, x *attempt) (write.Page, error) {
	if in.ReturnConsumedCapacity == "" {
		in.ReturnConsumedCapacity = x.capacity()
	}
	out, err := client.Scan(ctx, in, a.Options)
	if err != nil {
		return write.Page{}, err
	}
	consumed := []*types.ConsumedCapacity{out.ConsumedCapacity}
	if x != nil {
		x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), consumed...)
	}
	return write.Page{Rows: a.items(out.Items), Count: int(out.Count), Evaluated: int(out.ScannedCount), Last: out.LastEvaluatedKey, Units: units(consumed)}, nil
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
	err := r.read(ctx, "TransactGetItems", tables, func(ctx context.Context, x *attempt) error {
		if x != nil {
			x.Batch = len(keys)
		}
		if in.ReturnConsumedCapacity == "" { // the client may still be sending an earlier attempt
			in.ReturnConsumedCapacity = x.capacity()
		}
		reading := &request{wire.Call{Own: r.Own}}
		out, err := r.Client.TransactGetItems(ctx, in, reading.Options)
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
