package engine

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// form makes one request from its parts, as text and as the SDK's input. Without Own, the input is sent, and the text has no items. It shares no
// map or pointer with the parts: a middleware may change it, and a client may send it while the next plan is made. With Own, the text is
// sent, and the input has the tables, by which the SDK finds the endpoint, the expressions, the flags of reads, and something for all
// else that the SDK requires.
type form struct {
	wire.Writer
	expr.Renderer // of the expressions of one item
	request       *request
	shown         []string // what the pointers of the input point to
}

// mostKept is how many bytes of memory a form keeps for the next request. More is left to the garbage collector.
const mostKept = 256 << 10

var forms = sync.Pool{New: func() any { return new(form) }}

func newForm(q *request) *form {
	f := forms.Get().(*form)
	f.request, f.shown, q.with[0] = q, q.shown[:0], q.Options
	f.Part("{")
	return f
}

// end adds the last part of every request, and ends the use of f. table is where the input has its table, if it has one itself.
func (f *form) end(table *string, capacity types.ReturnConsumedCapacity) error {
	if capacity != "" {
		f.Name("ReturnConsumedCapacity")
		f.String(string(capacity))
	}
	f.Part("}")
	err := f.Err
	if !f.request.Own {
		err = nil // of the text
	} else if err == nil {
		f.request.Text, f.request.Table = bytes.Clone(f.Text), table
	}
	f.Text, f.Err = f.Text[:0], nil
	if f.request, f.shown = nil, nil; cap(f.Text) <= mostKept {
		forms.Put(f)
	}
	return err
}

// action adds the parts of a write, alone or in a transaction, and returns them as those of an update. The Key of a Put is its item.
func (f *form) action(a *plan.Action) (in types.Update) {
	in.TableName = f.text("TableName", a.Table)
	if a.Kind == plan.Put {
		in.Key = f.item("Item", a.Item)
	} else {
		in.Key = f.item("Key", a.Key)
	}
	in.ConditionExpression = f.text("ConditionExpression", f.Cond(a.Cond))
	if a.Kind == plan.Update {
		in.UpdateExpression = f.text("UpdateExpression", f.Update(a.Changes))
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = f.placeholders()
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	f.Part(`"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`)
	return in
}

// query returns the input of the request that reads a range with a Key. Of a range without one the text is that of a scan.
func (f *form) query(g *layout.Range, capacity types.ReturnConsumedCapacity) (in dynamodb.QueryInput, err error) {
	in.TableName = f.text("TableName", g.Table)
	in.IndexName = f.text("IndexName", g.Index)
	in.KeyConditionExpression = f.text("KeyConditionExpression", f.Cond(g.Key))
	in.FilterExpression = f.text("FilterExpression", f.Cond(g.Filter))
	in.ProjectionExpression = f.text("ProjectionExpression", f.Project(g.Project))
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = f.placeholders()
	if g.Start != nil {
		in.ExclusiveStartKey = f.item("ExclusiveStartKey", g.Start)
	}
	if g.Limit > 0 {
		in.Limit = aws.Int32(int32(g.Limit))
		f.Part(`"Limit":`)
		f.Text = strconv.AppendInt(f.Text, int64(g.Limit), 10)
	}
	if g.Strong {
		in.ConsistentRead = aws.Bool(true)
		f.Part(`"ConsistentRead":true`)
	}
	if g.Desc {
		in.ScanIndexForward = aws.Bool(false)
		f.Part(`"ScanIndexForward":false`)
	}
	if g.Count {
		in.Select = types.SelectCount
		f.Part(`"Select":"COUNT"`)
	}
	if g.Segments > 0 {
		f.Part(`"Segment":`)
		f.Text = strconv.AppendInt(f.Text, int64(g.Segment), 10)
		f.Part(`"TotalSegments":`)
		f.Text = strconv.AppendInt(f.Text, int64(g.Segments), 10)
	}
	in.ReturnConsumedCapacity = capacity
	return in, f.end(in.TableName, capacity)
}

// scanInput returns the input of the request that reads a range without a Key, from that of a query.
func scanInput(g *layout.Range, in dynamodb.QueryInput) *dynamodb.ScanInput {
	scan := &dynamodb.ScanInput{
		TableName: in.TableName, IndexName: in.IndexName, FilterExpression: in.FilterExpression, ProjectionExpression: in.ProjectionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ExclusiveStartKey: in.ExclusiveStartKey, Limit: in.Limit, ConsistentRead: in.ConsistentRead, Select: in.Select,
		ReturnConsumedCapacity: in.ReturnConsumedCapacity,
	}
	if g.Segments > 0 {
		scan.Segment, scan.TotalSegments = aws.Int32(int32(g.Segment)), aws.Int32(int32(g.Segments))
	}
	return scan
}

// QueryInput returns the whole input of the request that reads a range with a Key.
func QueryInput(g *layout.Range) *dynamodb.QueryInput {
	in, _ := newForm(new(request)).query(g, "") // whose text is not sent
	return &in
}

// text adds a text, unless it is empty. The pointers to several share an allocation.
func (f *form) text(name, s string) *string {
	if s == "" {
		return nil
	}
	f.Name(name)
	f.String(s)
	if len(f.shown) == cap(f.shown) {
		f.shown = make([]string, 0, 4)
	}
	f.shown = append(f.shown, s)
	return &f.shown[len(f.shown)-1]
}

// unseen stands in the input for what the SDK requires and only the text has.
var unseen = item.Item{}

// item adds an item or its key.
func (f *form) item(name string, it item.Item) item.Item {
	if !f.request.Own {
		return maps.Clone(it)
	}
	f.Name(name)
	f.Item(it)
	return unseen
}

// placeholders adds what those of the expressions so far stand for, and forgets it.
func (f *form) placeholders() (names map[string]string, values item.Item) {
	if len(f.Names) > 0 && f.request.Own {
		f.Part(`"ExpressionAttributeNames":{`)
		for i, name := range f.Names {
			f.Name("#" + strconv.Itoa(i))
			f.String(name)
		}
		f.Part("}")
	}
	if len(f.Values) > 0 && f.request.Own {
		f.Part(`"ExpressionAttributeValues":{`)
		for i, v := range f.Values {
			f.Name(":" + strconv.Itoa(i))
			f.Value(v)
		}
		f.Part("}")
	}
	if !f.request.Own {
		names, values = f.NameMap(), f.ValueMap()
	}
	clear(f.Names)
	clear(f.Values)
	f.Names, f.Values = f.Names[:0], f.Values[:0]
	return names, values
}

// batchGet returns the input of the request that reads keys by table.
func (f *form) batchGet(keys map[string][]item.Primary, consistent bool, capacity types.ReturnConsumedCapacity) (*dynamodb.BatchGetItemInput, error) {
	in := &dynamodb.BatchGetItemInput{RequestItems: make(map[string]types.KeysAndAttributes, len(keys)), ReturnConsumedCapacity: capacity}
	f.Part(`"RequestItems":{`)
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		shown := types.KeysAndAttributes{Keys: []item.Item{}, ConsistentRead: aws.Bool(consistent)}
		f.Name(table)
		f.Part(`{"Keys":[`)
		for _, key := range keys[table] {
			if f.request.Own {
				f.Key(key)
			} else {
				shown.Keys = append(shown.Keys, key.Map())
			}
		}
		f.Part(`],"ConsistentRead":` + strconv.FormatBool(consistent) + "}")
		in.RequestItems[table] = shown
	}
	f.Part("}")
	return in, f.end(nil, capacity)
}

// batchWrite returns the input of the request that makes some of the writes, by table.
func (f *form) batchWrite(writes []BatchWrite, left []int, tables []string, capacity types.ReturnConsumedCapacity) (*dynamodb.BatchWriteItemInput, error) {
	in := &dynamodb.BatchWriteItemInput{RequestItems: make(map[string][]types.WriteRequest, len(tables)), ReturnConsumedCapacity: capacity}
	f.Part(`"RequestItems":{`)
	for _, table := range tables {
		var shown []types.WriteRequest
		if !f.request.Own {
			shown = make([]types.WriteRequest, 0, len(left))
		}
		f.Name(table)
		f.Part("[")
		for _, k := range left {
			w := &writes[k]
			if w.Table != table {
				continue
			}
			name, part, it := "Item", `{"PutRequest":{`, w.Put
			if w.Put == nil {
				name, part, it = "Key", `{"DeleteRequest":{`, w.Key
			}
			f.Part(part)
			it = f.item(name, it)
			f.Part("}}")
			switch {
			case f.request.Own:
			case w.Put != nil:
				shown = append(shown, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
			default:
				shown = append(shown, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: it}})
			}
		}
		f.Part("]")
		in.RequestItems[table] = shown
	}
	f.Part("}")
	return in, f.end(nil, capacity)
}
