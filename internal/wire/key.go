package wire

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Key is a primary key, without the memory of a map. Its attributes are in the order of their names; a key without sort key
// has one, and the second name is "".
type Key struct {
	Names  *[2]string
	Values [2]types.AttributeValue
}

// KeyOf returns the key of a map with one or two attributes.
func KeyOf(m map[string]types.AttributeValue) Key {
	return KeyNamed(slices.Collect(maps.Keys(m))).With(m)
}

// KeyNamed returns a key without values that has one or two names.
func KeyNamed(names []string) Key {
	k := Key{Names: new([2]string)}
	copy(k.Names[:], slices.Sorted(slices.Values(names)))
	return k
}

// With returns the key of a map with the names of k.
func (k Key) With(m map[string]types.AttributeValue) Key {
	for i := range k.Len() {
		k.Values[i] = m[k.Names[i]]
	}
	return k
}

// Len returns the number of attributes.
func (k Key) Len() int {
	if k.Names[1] == "" {
		return 1
	}
	return 2
}

// Map returns the key as attribute values.
func (k Key) Map() map[string]types.AttributeValue {
	m := make(map[string]types.AttributeValue, 2)
	for i := range k.Len() {
		m[k.Names[i]] = k.Values[i]
	}
	return m
}

// key writes a key.
func (w *writer) key(k Key) {
	w.b = append(w.b, '{')
	for i := range k.Len() {
		w.next()
		w.b = append(appendText(w.b, k.Names[i]), ':')
		w.value(k.Values[i])
	}
	w.close()
}

// batchOf returns the payload of a BatchGetItem whose keys are not in its input, but in keys by table, or nil if a value is
// unknown.
func batchOf(in *dynamodb.BatchGetItemInput, op *smithy.OperationSchema, keys map[string][]Key) *payload {
	w := writers.Get().(*writer)
	defer w.release()
	w.b = append(w.b, '{')
	w.open("RequestItems")
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		w.next()
		w.b = append(appendText(w.b, table), ":{"...)
		w.flag("ConsistentRead", in.RequestItems[table].ConsistentRead)
		w.name("Keys")
		array(w, keys[table], (*writer).key)
		w.close()
	}
	w.close()
	w.costs(in.ReturnConsumedCapacity, "")
	w.close()
	if w.unknown {
		return nil
	}
	return newPayload(w.b, op)
}

// SerializeRequest implements smithyhttp.ClientProtocol.
func (p *protocol) SerializeRequest(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, req *smithyhttp.Request) error {
	if p.call == nil {
		return p.Protocol.SerializeRequest(ctx, op, in, req)
	}
	if of := p.call.Placeholders; of != nil {
		if to := payloadOf(in, op, of); to != nil {
			return send(to, req)
		}
		return p.Protocol.SerializeRequest(ctx, op, complete(in, of), req)
	}
	batch, ok := in.(*dynamodb.BatchGetItemInput)
	if !ok || p.call.Keys == nil {
		return p.requests.SerializeRequest(ctx, op, in, req)
	}
	if to := batchOf(batch, op, p.call.Keys); to != nil {
		return send(to, req)
	}
	full := *batch
	full.RequestItems = maps.Clone(batch.RequestItems)
	for table, keys := range p.call.Keys {
		of := full.RequestItems[table]
		of.Keys = nil
		for _, k := range keys {
			of.Keys = append(of.Keys, k.Map())
		}
		full.RequestItems[table] = of
	}
	return p.Protocol.SerializeRequest(ctx, op, &full, req)
}
