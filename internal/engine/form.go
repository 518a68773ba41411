package engine

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// form makes one request from its parts, as text and as the SDK's input together. Without Own, the input is sent. It shares no map
// or pointer with the parts: a middleware may change it, and a client may still be sending it when the next plan takes the place
// of this one. With Own, the text is sent, and the input has the tables, by which the SDK finds the endpoint, the expressions, the flags
// of reads, and something for all else that the SDK requires.
type form struct {
	wire.Writer
	expr.Renderer // of the expressions of one item
	call          *wire.Call
	shown         []string // what the pointers of the input point to
}

// mostKept is how many bytes of memory a form keeps for the next request. More is left to the garbage collector.
const mostKept = 256 << 10

var forms = sync.Pool{New: func() any { return new(form) }}

// newForm returns a form of the request of a call.
func newForm(call *wire.Call) *form {
	f := forms.Get().(*form)
	f.call = call
	f.Begin('{')
	return f
}

// end adds the last part of every request, and ends the use of f. table is where the input has its table, if it has one itself.
func (f *form) end(table *string, capacity types.ReturnConsumedCapacity, in *types.ReturnConsumedCapacity) error {
	if in != nil && capacity != "" {
		*in = capacity
		f.Name("ReturnConsumedCapacity")
		f.String(string(capacity))
	}
	f.End('}')
	err := f.Err
	if !f.call.Own {
		err = nil // of the text
	} else if err == nil {
		f.call.Text, f.call.Table = bytes.Clone(f.Text), table
	}
	f.Writer = wire.Writer{Text: f.Text[:0]}
	if f.call, f.shown = nil, nil; cap(f.Text) <= mostKept {
		forms.Put(f)
	}
	return err
}

// inputs points to the fields of one of the SDK's inputs, or of an element of one. A part without a field is not in that request.
type inputs struct {
	table, index                     **string
	item, key, start                 *item.Item
	condition, update                **string
	keyCondition, filter, projection **string
	names                            *map[string]string
	values                           *item.Item
	failure                          *types.ReturnValuesOnConditionCheckFailure
	returned                         *types.ReturnValue
	limit, segment, segments         **int32
	strong, forward                  **bool
	choose                           *types.Select
}

// action adds the parts of a write, alone or in a transaction.
func (f *form) action(a *plan.Action, in inputs) {
	f.text("TableName", a.Table, in.table)
	if in.item != nil {
		f.item("Item", a.Item, in.item)
	} else {
		f.item("Key", a.Key, in.key)
	}
	f.text("ConditionExpression", f.Cond(a.Cond), in.condition)
	if in.update != nil {
		f.text("UpdateExpression", f.Update(a.Changes), in.update)
	}
	f.placeholders(in)
	*in.failure = types.ReturnValuesOnConditionCheckFailureAllOld
	f.Name("ReturnValuesOnConditionCheckFailure")
	f.String(string(*in.failure))
	if in.returned != nil {
		*in.returned = returns[a.Returns]
		f.Name("ReturnValues")
		f.String(string(*in.returned))
	}
}

// page adds the parts of a read of a range.
func (f *form) page(g *layout.Range, in inputs) {
	f.text("TableName", g.Table, in.table)
	f.text("IndexName", g.Index, in.index)
	f.text("KeyConditionExpression", f.Cond(g.Key), in.keyCondition)
	f.text("FilterExpression", f.Cond(g.Filter), in.filter)
	f.text("ProjectionExpression", f.Project(g.Project), in.projection)
	f.placeholders(in)
	if g.Start != nil {
		f.item("ExclusiveStartKey", g.Start, in.start)
	}
	if g.Limit > 0 {
		f.number("Limit", g.Limit, in.limit)
	}
	if g.Strong {
		f.flag("ConsistentRead", true, in.strong)
	}
	if g.Desc {
		f.flag("ScanIndexForward", false, in.forward)
	}
	if g.Count {
		*in.choose = types.SelectCount
		f.Name("Select")
		f.String(string(types.SelectCount))
	}
	if g.Segments > 0 {
		f.number("Segment", g.Segment, in.segment)
		f.number("TotalSegments", g.Segments, in.segments)
	}
}

// text adds a text, unless it is empty. The pointers of several in the input share an allocation.
func (f *form) text(name, s string, in **string) {
	if s == "" {
		return
	}
	f.Name(name)
	f.String(s)
	if len(f.shown) == cap(f.shown) {
		f.shown = make([]string, 0, 4)
	}
	f.shown = append(f.shown, s)
	*in = &f.shown[len(f.shown)-1]
}

// unseen stands in the input for what the SDK requires and only the text has.
var unseen = item.Item{}

// item adds an item or its key.
func (f *form) item(name string, it item.Item, in *item.Item) {
	f.Name(name)
	f.Item(it)
	if *in = unseen; !f.call.Own {
		*in = maps.Clone(it)
	}
}

// key adds the key of an item to read.
func (f *form) key(key item.Primary, in *item.Item) {
	f.Name("Key")
	f.Key(key)
	if *in = unseen; !f.call.Own {
		*in = key.Map()
	}
}

func (f *form) number(name string, n int, in **int32) {
	f.Name(name)
	f.Text = strconv.AppendInt(f.Text, int64(n), 10)
	shown := int32(n)
	*in = &shown
}

func (f *form) flag(name string, v bool, in **bool) {
	f.Name(name)
	f.Text = strconv.AppendBool(f.Text, v)
	*in = &v
}

// placeholders adds what those of the expressions so far stand for, and forgets it.
func (f *form) placeholders(in inputs) {
	if len(f.Names) > 0 {
		f.Name("ExpressionAttributeNames")
		f.Begin('{')
		for i, name := range f.Names {
			f.Name("#" + strconv.Itoa(i))
			f.String(name)
		}
		f.End('}')
	}
	if len(f.Values) > 0 {
		f.Name("ExpressionAttributeValues")
		f.Begin('{')
		for i, v := range f.Values {
			f.Name(":" + strconv.Itoa(i))
			f.Value(v)
		}
		f.End('}')
	}
	if !f.call.Own {
		*in.names, *in.values = f.NameMap(), f.ValueMap()
	}
	clear(f.Names)
	clear(f.Values)
	f.Names, f.Values = f.Names[:0], f.Values[:0]
}

// query returns the input of the request that reads a range with a Key.
func (f *form) query(g *layout.Range, capacity types.ReturnConsumedCapacity) (*dynamodb.QueryInput, error) {
	in := &dynamodb.QueryInput{}
	f.page(g, inputs{
		table: &in.TableName, index: &in.IndexName, keyCondition: &in.KeyConditionExpression, filter: &in.FilterExpression,
		projection: &in.ProjectionExpression, names: &in.ExpressionAttributeNames, values: &in.ExpressionAttributeValues,
		start: &in.ExclusiveStartKey, limit: &in.Limit, strong: &in.ConsistentRead, forward: &in.ScanIndexForward, choose: &in.Select,
	})
	return in, f.end(in.TableName, capacity, &in.ReturnConsumedCapacity)
}

// scan returns the input of the request that reads a range without a Key.
func (f *form) scan(g *layout.Range, capacity types.ReturnConsumedCapacity) (*dynamodb.ScanInput, error) {
	in := &dynamodb.ScanInput{}
	f.page(g, inputs{
		table: &in.TableName, index: &in.IndexName, filter: &in.FilterExpression, projection: &in.ProjectionExpression,
		names: &in.ExpressionAttributeNames, values: &in.ExpressionAttributeValues, start: &in.ExclusiveStartKey, limit: &in.Limit,
		strong: &in.ConsistentRead, choose: &in.Select, segment: &in.Segment, segments: &in.TotalSegments,
	})
	return in, f.end(in.TableName, capacity, &in.ReturnConsumedCapacity)
}

// QueryInput returns the whole input of the request that reads a range with a Key.
func QueryInput(g *layout.Range) *dynamodb.QueryInput {
	in, _ := newForm(&wire.Call{}).query(g, "") // whose text is not sent
	return in
}

// batchGet returns the input of the request that reads keys by table.
func (f *form) batchGet(keys map[string][]item.Primary, consistent bool, capacity types.ReturnConsumedCapacity) (*dynamodb.BatchGetItemInput, error) {
	in := &dynamodb.BatchGetItemInput{RequestItems: make(map[string]types.KeysAndAttributes, len(keys))}
	f.Name("RequestItems")
	f.Begin('{')
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		shown := types.KeysAndAttributes{Keys: []item.Item{}}
		f.Name(table)
		f.Begin('{')
		f.Name("Keys")
		f.Begin('[')
		for _, key := range keys[table] {
			f.Key(key)
			if !f.call.Own {
				shown.Keys = append(shown.Keys, key.Map())
			}
		}
		f.End(']')
		f.flag("ConsistentRead", consistent, &shown.ConsistentRead)
		f.End('}')
		in.RequestItems[table] = shown
	}
	f.End('}')
	return in, f.end(nil, capacity, &in.ReturnConsumedCapacity)
}

// batchWrite returns the input of the request that makes some of the writes, by table.
func (f *form) batchWrite(writes []BatchWrite, left []int, tables []string, capacity types.ReturnConsumedCapacity) (*dynamodb.BatchWriteItemInput, error) {
	in := &dynamodb.BatchWriteItemInput{RequestItems: make(map[string][]types.WriteRequest, len(tables))}
	f.Name("RequestItems")
	f.Begin('{')
	for _, table := range tables {
		var shown []types.WriteRequest
		f.Name(table)
		f.Begin('[')
		for _, k := range left {
			w := &writes[k]
			if w.Table != table {
				continue
			}
			var it item.Item
			f.Begin('{')
			if w.Put != nil {
				f.Name("PutRequest")
				f.Begin('{')
				f.item("Item", w.Put, &it)
			} else {
				f.Name("DeleteRequest")
				f.Begin('{')
				f.item("Key", w.Key, &it)
			}
			f.End('}')
			f.End('}')
			switch {
			case f.call.Own:
			case w.Put != nil:
				shown = append(shown, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
			default:
				shown = append(shown, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: it}})
			}
		}
		f.End(']')
		in.RequestItems[table] = shown
	}
	f.End('}')
	return in, f.end(nil, capacity, &in.ReturnConsumedCapacity)
}
