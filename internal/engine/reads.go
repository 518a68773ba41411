package engine

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

// request is one request, whose items are read without attribute values where that is possible.
type request struct {
	wire.Call
	opts [1]func(*dynamodb.Options) // the options of the call
}

// newRequest returns a request, which is written and whose answer is read here if own is set.
func newRequest(own bool) *request { return new(request).begin(own) }

func (q *request) begin(own bool) *request {
	q.Own, q.opts[0] = own, q.Options
	return q
}

// finding is the read of one item: its request, the input, and what that points to.
type finding struct {
	request
	in         dynamodb.GetItemInput
	table      string
	consistent bool
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
	err := r.read(ctx, "GetItem", []string{table}, func(ctx context.Context, x *attempt) error {
		if x != nil {
			x.Consistent = consistent
		}
		client, own := r.reader(ctx, consistent)
		reading := &finding{table: table, consistent: consistent}
		in := &reading.in
		*in = dynamodb.GetItemInput{TableName: &reading.table, Key: unseen, ConsistentRead: &reading.consistent, ReturnConsumedCapacity: x.capacity()}
		if reading.begin(own); own {
			b := bodies.Get().(*body)
			b.get(table, key, consistent)
			reading.Table = in.TableName
			if err := reading.finish(b, in.ReturnConsumedCapacity); err != nil {
				return err
			}
		} else {
			in.Key = key.Map() // of this attempt: a middleware may replace attributes
		}
		out, err := client.GetItem(ctx, in, reading.opts[:]...)
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
	found, err := r.Find(ctx, table, wire.KeyOf(key), consistent)
	return found.Detach(), err
}

// ReadPage reads one page of a range. The caller releases its rows. If the index is missing, it makes another request and
// returns an *IndexError.
func (r *Runner) ReadPage(ctx context.Context, in *write.Range) (page write.Page, err error) {
	operation, scans := "Query", in.Key.Op == expr.None
	if scans {
		operation = "Scan"
	}
	err = r.read(ctx, operation, []string{in.Table}, func(ctx context.Context, x *attempt) (err error) {
		client, own := r.reader(ctx, in.Strong)
		reading := newRequest(own)
		capacity := x.capacity()
		if in.Units {
			capacity = types.ReturnConsumedCapacityTotal
		}
		if reading.Own {
			b := bodies.Get().(*body)
			b.page(in)
			if err := reading.finish(b, capacity); err != nil {
				return err
			}
		}
		if x != nil {
			x.page(in)
		}
		if scans {
			page, err = reading.scan(ctx, client, in, capacity, x)
		} else {
			page, err = reading.query(ctx, client, in, capacity, x)
		}
		return err
	})
	if err != nil && in.Index != "" {
		err = r.indexError(ctx, in.Table, in.Index, err)
	}
	return page, err
}

func (q *request) query(ctx context.Context, client Client, g *write.Range, capacity types.ReturnConsumedCapacity, x *attempt) (write.Page, error) {
	in := g.Query(!q.Own)
	if in.ReturnConsumedCapacity = capacity; q.Own {
		q.Table = in.TableName
	}
	out, err := client.Query(ctx, in, q.opts[:]...)
	if err != nil {
		return write.Page{}, err
	}
	if x != nil {
		x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), out.ConsumedCapacity)
	}
	return write.Page{Rows: q.items(out.Items), Count: int(out.Count), Evaluated: int(out.ScannedCount), Last: out.LastEvaluatedKey}, nil
}

func (q *request) scan(ctx context.Context, client Client, g *write.Range, capacity types.ReturnConsumedCapacity, x *attempt) (write.Page, error) {
	in := g.Scan(!q.Own)
	if in.ReturnConsumedCapacity = capacity; q.Own {
		q.Table = in.TableName
	}
	out, err := client.Scan(ctx, in, q.opts[:]...)
	if err != nil {
		return write.Page{}, err
	}
	consumed := []*types.ConsumedCapacity{out.ConsumedCapacity}
	if x != nil {
		x.answered(out.ResultMetadata, int(out.Count), int(out.ScannedCount), consumed...)
	}
	return write.Page{Rows: q.items(out.Items), Count: int(out.Count), Evaluated: int(out.ScannedCount), Last: out.LastEvaluatedKey, Units: units(consumed)}, nil
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
	err := r.read(ctx, "TransactGetItems", tables, func(ctx context.Context, x *attempt) error {
		if x != nil {
			x.Batch = len(keys)
		}
		reading := newRequest(r.Own)
		in := &dynamodb.TransactGetItemsInput{TransactItems: make([]types.TransactGetItem, len(keys)), ReturnConsumedCapacity: x.capacity()}
		for i := range keys {
			shown := &types.Get{TableName: aws.String(keys[i].Table), Key: unseen}
			if !reading.Own {
				shown.Key = maps.Clone(keys[i].Key)
			}
			in.TransactItems[i].Get = shown
		}
		if reading.Own {
			b := bodies.Get().(*body)
			b.gets(keys)
			if err := reading.finish(b, in.ReturnConsumedCapacity); err != nil {
				return err
			}
		}
		out, err := r.Client.TransactGetItems(ctx, in, reading.opts[:]...)
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
