package wire

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// targetHeaders has the header of each operation that is written here.
var targetHeaders = func() map[string]string {
	all := map[string]string{}
	for _, op := range []*smithy.Schema{
		schemas.PutItem, schemas.UpdateItem, schemas.DeleteItem, schemas.GetItem, schemas.Query, schemas.Scan,
		schemas.BatchGetItem, schemas.BatchWriteItem, schemas.TransactGetItems, schemas.TransactWriteItems,
	} {
		all[op.ID().Name] = schemas.DynamoDB_20120810.ID().Name + "." + op.ID().Name
	}
	return all
}()

// payload is the body of a request, in memory of its own, with the values of its headers.
type payload struct {
	body    bytes.Reader
	headers [2]string
}

// shortPayload is a payload with its text.
type shortPayload struct {
	payload
	text [384]byte // of most bodies without an item
}

// SerializeRequest implements smithyhttp.ClientProtocol. It leaves to the SDK what it does not know: another operation, or a
// member of the old API without expressions.
func (p *protocol) SerializeRequest(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, req *smithyhttp.Request) error {
	if p.call == nil {
		return p.Protocol.SerializeRequest(ctx, op, in, req)
	}
	w := writers.Get().(*writer)
	defer func() {
		if cap(w.b) <= mostKept {
			*w = writer{b: w.b[:0]}
			writers.Put(w)
		}
	}()
	w.of, w.b = p.call.Placeholders, append(w.b, '{')
	if batch, ok := in.(*dynamodb.BatchGetItemInput); ok && p.call.Keys != nil {
		w.keysOf(batch, p.call.Keys)
	} else if !w.input(in) {
		return p.Protocol.SerializeRequest(ctx, op, in, req)
	}
	if w.unknown {
		return &smithy.SerializationError{Err: errUnknown}
	}
	return send(append(w.b, '}'), op, req)
}

var errUnknown = errors.New("a value is nil or of a type that is not DynamoDB's")

// send makes req a request with a text, which it copies.
func send(text []byte, op *smithy.OperationSchema, req *smithyhttp.Request) error {
	var p *payload
	if short := (*shortPayload)(nil); len(text) <= len(short.text) {
		short = new(shortPayload)
		p = &short.payload
		p.body.Reset(short.text[:copy(short.text[:], text)])
	} else {
		p = new(payload)
		p.body.Reset(bytes.Clone(text))
	}
	p.headers = [...]string{targetHeaders[op.ID().Name], "application/x-amz-json-1.0"}
	address, header := req.URL, req.Header
	req.URL, req.Header = nil, nil // which SetStream would copy
	sent, err := req.SetStream(&p.body)
	if err == nil {
		*req = *sent
	}
	if req.URL, req.Header = address, header; err != nil {
		return err
	}
	req.Method = http.MethodPost
	if req.URL.Path == "" {
		req.URL.Path = "/"
	}
	req.Header["X-Amz-Target"], req.Header["Content-Type"] = p.headers[0:1:1], p.headers[1:2:2]
	return nil
}

// input writes the members of an input. It returns false if it cannot.
func (w *writer) input(in smithy.Serializable) bool {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		if in.ConditionalOperator != "" || in.Expected != nil {
			return false
		}
		w.expressions(in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		w.item("Item", in.Item)
		w.choices(in.ReturnValues, in.ReturnValuesOnConditionCheckFailure, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics)
	case *dynamodb.UpdateItemInput:
		if in.ConditionalOperator != "" || in.Expected != nil || in.AttributeUpdates != nil {
			return false
		}
		w.expressions(in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		w.item("Key", in.Key)
		w.text("UpdateExpression", in.UpdateExpression)
		w.choices(in.ReturnValues, in.ReturnValuesOnConditionCheckFailure, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics)
	case *dynamodb.DeleteItemInput:
		if in.ConditionalOperator != "" || in.Expected != nil {
			return false
		}
		w.expressions(in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		w.item("Key", in.Key)
		w.choices(in.ReturnValues, in.ReturnValuesOnConditionCheckFailure, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics)
	case *dynamodb.GetItemInput:
		if in.AttributesToGet != nil {
			return false
		}
		w.expressions(in.TableName, nil, in.ExpressionAttributeNames, nil)
		w.item("Key", in.Key)
		w.text("ProjectionExpression", in.ProjectionExpression)
		w.flag("ConsistentRead", in.ConsistentRead)
		w.choices("", "", in.ReturnConsumedCapacity, "")
	case *dynamodb.QueryInput:
		if in.AttributesToGet != nil || in.ConditionalOperator != "" || in.KeyConditions != nil || in.QueryFilter != nil {
			return false
		}
		w.expressions(in.TableName, nil, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		w.text("KeyConditionExpression", in.KeyConditionExpression)
		w.flag("ScanIndexForward", in.ScanIndexForward)
		w.page(in.IndexName, in.FilterExpression, in.ProjectionExpression, in.ExclusiveStartKey, in.Limit, in.ConsistentRead, in.Select)
		w.choices("", "", in.ReturnConsumedCapacity, "")
	case *dynamodb.ScanInput:
		if in.AttributesToGet != nil || in.ConditionalOperator != "" || in.ScanFilter != nil {
			return false
		}
		w.expressions(in.TableName, nil, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		w.number("Segment", in.Segment)
		w.number("TotalSegments", in.TotalSegments)
		w.page(in.IndexName, in.FilterExpression, in.ProjectionExpression, in.ExclusiveStartKey, in.Limit, in.ConsistentRead, in.Select)
		w.choices("", "", in.ReturnConsumedCapacity, "")
	case *dynamodb.BatchGetItemInput:
		for _, keys := range in.RequestItems {
			if keys.AttributesToGet != nil {
				return false
			}
		}
		if in.RequestItems != nil {
			w.name("RequestItems")
			object(w, in.RequestItems, (*writer).keys)
		}
		w.choices("", "", in.ReturnConsumedCapacity, "")
	case *dynamodb.BatchWriteItemInput:
		if in.RequestItems != nil {
			w.name("RequestItems")
			object(w, in.RequestItems, (*writer).writes)
		}
		w.choices("", "", in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics)
	case *dynamodb.TransactGetItemsInput:
		if in.TransactItems != nil {
			w.begin("TransactItems")
			for i := range in.TransactItems {
				w.get(&in.TransactItems[i])
			}
			w.end()
		}
		w.choices("", "", in.ReturnConsumedCapacity, "")
	case *dynamodb.TransactWriteItemsInput:
		if in.TransactItems != nil {
			w.name("TransactItems")
			w.b = append(w.b, '[')
			for i := range in.TransactItems {
				if i > 0 {
					w.b = append(w.b, ',')
				}
				w.action(&in.TransactItems[i])
			}
			w.b = append(w.b, ']')
		}
		w.text("ClientRequestToken", in.ClientRequestToken)
		w.choices("", "", in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics)
	default:
		return false
	}
	return true
}

func (w *writer) expressions(table, condition *string, names map[string]string, values map[string]types.AttributeValue) {
	w.text("TableName", table)
	w.text("ConditionExpression", condition)
	if len(w.of) > 0 {
		p := &w.of[0]
		w.of = w.of[1:]
		if len(p.Names) > 0 {
			w.name("ExpressionAttributeNames")
			w.b = append(w.b, '{')
			for i, name := range p.Names {
				w.name(Placeholder('#', i))
				w.b = appendText(w.b, name)
			}
			w.b = append(w.b, '}')
		}
		if len(p.Values) > 0 {
			w.name("ExpressionAttributeValues")
			w.b = append(w.b, '{')
			for i, v := range p.Values {
				w.name(Placeholder(':', i))
				w.value(v)
			}
			w.b = append(w.b, '}')
		}
		return
	}
	w.texts("ExpressionAttributeNames", names)
	w.item("ExpressionAttributeValues", values)
}

func (w *writer) page(index, filter, projection *string, start map[string]types.AttributeValue, limit *int32, consistent *bool, what types.Select) {
	w.text("IndexName", index)
	w.text("FilterExpression", filter)
	w.text("ProjectionExpression", projection)
	if start != nil {
		w.item("ExclusiveStartKey", start)
	}
	w.number("Limit", limit)
	w.flag("ConsistentRead", consistent)
	if what != "" {
		w.name("Select")
		w.b = appendText(w.b, string(what))
	}
}

// keys writes the keys of one table.
func (w *writer) keys(k types.KeysAndAttributes) {
	w.b = append(w.b, '{')
	w.flag("ConsistentRead", k.ConsistentRead)
	w.texts("ExpressionAttributeNames", k.ExpressionAttributeNames)
	w.text("ProjectionExpression", k.ProjectionExpression)
	if k.Keys != nil {
		w.name("Keys")
		array(w, k.Keys, func(w *writer, key map[string]types.AttributeValue) { object(w, key, (*writer).value) })
	}
	w.close()
}

// writes writes the writes to one table.
func (w *writer) writes(all []types.WriteRequest) {
	w.b = append(w.b, '[')
	for i := range all {
		w.element()
		if put := all[i].PutRequest; put != nil {
			w.open("PutRequest")
			w.item("Item", put.Item)
			w.close()
		}
		if del := all[i].DeleteRequest; del != nil {
			w.open("DeleteRequest")
			w.item("Key", del.Key)
			w.close()
		}
		w.close()
	}
	w.end()
}

// get writes one read of a transaction.
func (w *writer) get(it *types.TransactGetItem) {
	w.element()
	if g := it.Get; g != nil {
		w.open("Get")
		w.expressions(g.TableName, nil, g.ExpressionAttributeNames, nil)
		w.item("Key", g.Key)
		w.text("ProjectionExpression", g.ProjectionExpression)
		w.close()
	}
	w.close()
}

// action writes one action of a transaction.
func (w *writer) action(it *types.TransactWriteItem) {
	w.b = append(w.b, '{')
	if a := it.Put; a != nil {
		w.part("Put", "Item", a.Item, a.TableName, a.ConditionExpression, nil, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure)
	}
	if a := it.Update; a != nil {
		w.part("Update", "Key", a.Key, a.TableName, a.ConditionExpression, a.UpdateExpression, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure)
	}
	if a := it.Delete; a != nil {
		w.part("Delete", "Key", a.Key, a.TableName, a.ConditionExpression, nil, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure)
	}
	if a := it.ConditionCheck; a != nil {
		w.part("ConditionCheck", "Key", a.Key, a.TableName, a.ConditionExpression, nil, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure)
	}
	w.b = append(w.b, '}')
}

// part writes a part of an action: a put with its item, or another write with its key.
func (w *writer) part(kind, member string, it map[string]types.AttributeValue, table, condition, update *string, names map[string]string, values map[string]types.AttributeValue, onFailure types.ReturnValuesOnConditionCheckFailure) {
	w.name(kind)
	w.b = append(w.b, '{')
	w.expressions(table, condition, names, values)
	w.item(member, it)
	w.text("UpdateExpression", update)
	w.choices("", onFailure, "", "")
	w.b = append(w.b, '}')
}
