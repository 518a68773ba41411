package stream_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
)

// asLambda is a record of the SDK as Lambda would hand it over.
func asLambda(arn string, r streamtypes.Record) map[string]any {
	d := r.Dynamodb
	body := map[string]any{
		"ApproximateCreationDateTime": float64(d.ApproximateCreationDateTime.UnixMilli()) / 1000, "Keys": imageJSON(d.Keys),
		"SequenceNumber": *d.SequenceNumber, "SizeBytes": *d.SizeBytes, "StreamViewType": d.StreamViewType,
	}
	if d.NewImage != nil {
		body["NewImage"] = imageJSON(d.NewImage)
	}
	if d.OldImage != nil {
		body["OldImage"] = imageJSON(d.OldImage)
	}
	return map[string]any{
		"eventID": *r.EventID, "eventName": r.EventName, "eventVersion": aws.ToString(r.EventVersion), "eventSource": *r.EventSource,
		"awsRegion": *r.AwsRegion, "eventSourceARN": arn, "dynamodb": body,
	}
}

func imageJSON(it map[string]streamtypes.AttributeValue) map[string]any {
	out := map[string]any{}
	for name, av := range it {
		out[name] = valueJSON(av)
	}
	return out
}

func valueJSON(av streamtypes.AttributeValue) map[string]any {
	switch v := av.(type) {
	case *streamtypes.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *streamtypes.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *streamtypes.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *streamtypes.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *streamtypes.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *streamtypes.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *streamtypes.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *streamtypes.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *streamtypes.AttributeValueMemberM:
		return map[string]any{"M": imageJSON(v.Value)}
	case *streamtypes.AttributeValueMemberL:
		list := []any{}
		for _, e := range v.Value {
			list = append(list, valueJSON(e))
		}
		return map[string]any{"L": list}
	}
	return nil
}

func TestLambda_ARecordOfTheSDKAndItsJSONAreTheSameRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Thing](l)
	l.create()
	v := Thing{
		ID: "ü#\x00", Float: 1.5e100, Raw: []byte{0, 255}, Tags: []string{"a", ""}, Numbers: []float64{-1, 2.5}, Blobs: [][]byte{{1}, {2, 3}}, On: ptr(false),
		Deep: map[string]any{"a": []any{1.5, "x", nil, true, []byte{7}, map[string]any{"b": []any{}}}}, At: l.clock.Now(),
	}
	entity.Must(s.Create(l.ctx, v))
	entity.Must(s.Update(l.ctx, v, entity.Remove(&entity.Fields[Thing]().On)))
	require.NoError(t, s.Delete(l.ctx, v))
	all := l.all()
	require.Len(t, all, 3)
	var list []any
	for _, r := range all {
		list = append(list, asLambda(l.arn, r))
	}
	text, err := json.Marshal(map[string]any{"Records": list})
	require.NoError(t, err)
	e := parse(t, string(text))
	records := l.next()
	require.Equal(t, records, e.Records)
	changes, _ := told(t, s, records)
	require.Equal(t, []stream.Kind{stream.Created, stream.Deleted, stream.Updated}, kinds(changes))
	require.Equal(t, *only(t, changes, stream.Updated).New, *only(t, changes, stream.Deleted).Old)
}

// effect-dynamodb decodes a record by the names of its model, takes the item from whatever lies at the key, and fails for
// what an event or an older item lacks.
func TestLambda_RenamedSparseAndOlderItemsAreReadAsGetReadsThem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Thing](l)
	l.create()
	// An item of an older program: it lacks most attributes, and has some that the struct does not know.
	_, err := l.raw.PutItem(l.ctx, &dynamodb.PutItemInput{TableName: &l.table, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "$app#v1#thing#old"}, "sk": &types.AttributeValueMemberS{Value: "$app#v1#thing"},
		"__edd_e__": &types.AttributeValueMemberS{Value: "Thing"}, "id": &types.AttributeValueMemberS{Value: "old"},
		"color": &types.AttributeValueMemberS{Value: "red"}, "at": &types.AttributeValueMemberS{Value: "2020-02-02T02:02:02+02:00"},
	}})
	require.NoError(t, err)
	changes, others := told(t, s, l.next())
	require.Zero(t, others)
	got, err := s.Get(l.ctx, Thing{ID: "old"})
	require.NoError(t, err)
	require.Equal(t, got, *only(t, changes, stream.Created).New)
	require.False(t, got.At.IsZero())
}
