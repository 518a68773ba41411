package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// lambdaEvent is an event as Lambda sends it, with a value of every type.
const lambdaEvent = `{
  "Records": [
    {
      "eventID": "c4ca4238a0b923820dcc509a6f75849b",
      "eventName": "INSERT",
      "eventVersion": "1.1",
      "eventSource": "aws:dynamodb",
      "awsRegion": "eu-west-1",
      "dynamodb": {
        "ApproximateCreationDateTime": 1479499740.25,
        "Keys": {"pk": {"S": "$app#v1#thing#1"}, "sk": {"S": "$app#v1#thing"}},
        "NewImage": {
          "pk": {"S": "$app#v1#thing#1"}, "sk": {"S": "$app#v1#thing"}, "__edd_e__": {"S": "Thing"}, "_w": {"S": "w"},
          "id": {"S": "1"}, "n": {"N": "12345678901234567890123456789012345678"}, "f": {"N": "1.5E+3"}, "raw": {"B": "AAECgP8="},
          "tags": {"SS": ["a", "b"]}, "nums": {"NS": ["1", "2.5"]}, "blobs": {"BS": ["AA==", "/w=="]},
          "on": {"BOOL": true}, "none": {"NULL": true}, "deep": {"M": {"list": {"L": [{"S": ""}, {"M": {}}, {"L": []}, {"B": ""}]}}},
          "at": {"S": "2026-04-22T12:00:00.123456789Z"}
        },
        "SequenceNumber": "4421584500000000017450439091",
        "SizeBytes": 26,
        "StreamViewType": "NEW_AND_OLD_IMAGES"
      },
      "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/app/stream/2015-06-27T00:48:05.899"
    },
    {
      "eventID": "c81e728d9d4c2f636f067f89cc14862c",
      "eventName": "REMOVE",
      "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
      "dynamodb": {
        "ApproximateCreationDateTime": 1.47949974E9,
        "Keys": {"pk": {"S": "$app#v1#thing#2"}, "sk": {"S": "$app#v1#thing"}},
        "OldImage": {"pk": {"S": "$app#v1#thing#2"}, "sk": {"S": "$app#v1#thing"}, "__edd_e__": {"S": "Thing"}, "id": {"S": "2"}},
        "SequenceNumber": "4421584500000000017450439092",
        "StreamViewType": "NEW_AND_OLD_IMAGES"
      }
    }
  ]
}`

// Thing has a field of every type of DynamoDB, under other names than the struct's.
type Thing struct {
	_ entity.Key `name:"Thing" pk:"$#{id}" sk:"$"`

	ID      string         `dynamodbav:"id"`
	Float   float64        `dynamodbav:"f"`
	Raw     []byte         `dynamodbav:"raw"`
	Tags    []string       `dynamodbav:"tags,stringset"`
	Numbers []float64      `dynamodbav:"nums,numberset"`
	Blobs   [][]byte       `dynamodbav:"blobs,binaryset"`
	On      *bool          `dynamodbav:"on"`
	None    *int           `dynamodbav:"none"`
	Deep    map[string]any `dynamodbav:"deep"`
	At      time.Time      `dynamodbav:"at"`
}

func things(t testing.TB) *entity.Store[Thing] {
	t.Helper()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	return entity.Must(entity.New[Thing](db))
}

func parse(t testing.TB, text string) stream.Event {
	t.Helper()
	var e stream.Event
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	return e
}

func TestEvent_OfLambdaIsReadExactly(t *testing.T) {
	t.Parallel()
	e := parse(t, lambdaEvent)
	require.Len(t, e.Records, 2)
	r := e.Records[0]
	require.NoError(t, r.Err())
	require.Equal(t, "c4ca4238a0b923820dcc509a6f75849b", r.EventID)
	require.EqualValues(t, "INSERT", r.Operation)
	require.Equal(t, "eu-west-1", r.Region)
	require.Equal(t, "4421584500000000017450439091", r.SequenceNumber)
	require.EqualValues(t, 26, r.SizeBytes)
	require.EqualValues(t, "NEW_AND_OLD_IMAGES", r.View)
	require.Equal(t, time.Date(2016, 11, 18, 20, 9, 0, 25e7, time.UTC), r.Time)
	require.Equal(t, time.Date(2016, 11, 18, 20, 9, 0, 0, time.UTC), e.Records[1].Time)
	require.False(t, r.ByTTL)
	require.True(t, e.Records[1].ByTTL)
	require.Equal(t, &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"}, r.New["n"])

	c, ok, err := stream.Of(things(t), r)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, stream.Created, c.Kind)
	require.Equal(t, Thing{
		ID: "1", Float: 1500, Raw: []byte{0, 1, 2, 128, 255}, Tags: []string{"a", "b"}, Numbers: []float64{1, 2.5}, Blobs: [][]byte{{0}, {255}}, On: ptr(true),
		Deep: map[string]any{"list": []any{"", map[string]any{}, []any{}, []byte{}}}, At: time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC),
	}, *c.New)
	c, _, err = stream.Of(things(t), e.Records[1])
	require.NoError(t, err)
	require.Equal(t, stream.Expired, c.Kind)
}

func TestEvent_RejectsOtherJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"Records":null}`, `{"records":{}}`, `[]`, `null`, `1`, `{"detail":{}}`, `{"Records":"x"}`} {
		var e stream.Event
		dbtest.As[*stream.RecordError](t, json.Unmarshal([]byte(text), &e), text)
	}
	require.Empty(t, parse(t, `{"Records":[]}`).Records)
}

// good is a record that tests spoil.
const good = `{"eventID":"1","eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{"ApproximateCreationDateTime":1,` +
	`"Keys":{"pk":{"S":"$app#v1#thing#1"},"sk":{"S":"$app#v1#thing"}},"NewImage":{"pk":{"S":"x"},"v":VALUE},"SequenceNumber":"7"}}`

func TestEvent_AMistakeInOneRecordStaysInThatRecord(t *testing.T) {
	t.Parallel()
	whole := strings.Replace(good, "VALUE", `{"S":"x"}`, 1)
	require.NoError(t, parse(t, `{"Records":[`+whole+`]}`).Records[0].Err())
	spoiled := map[string]string{
		"no object":        `5`,
		"null":             `null`,
		"number as id":     strings.Replace(whole, `"eventID":"1"`, `"eventID":1`, 1),
		"operation":        strings.Replace(whole, `INSERT`, `UPSERT`, 1),
		"another service":  strings.Replace(whole, `aws:dynamodb`, `aws:sqs`, 1),
		"no keys":          strings.Replace(whole, `"Keys"`, `"Kees"`, 1),
		"no sequence":      strings.Replace(whole, `"SequenceNumber"`, `"Number"`, 1),
		"sequence type":    strings.Replace(whole, `"SequenceNumber":"7"`, `"SequenceNumber":7`, 1),
		"no body":          `{"eventID":"1","eventName":"INSERT"}`,
		"time text":        strings.Replace(whole, `Time":1`, `Time":"2026-01-01T00:00:00Z"`, 1),
		"time far":         strings.Replace(whole, `Time":1`, `Time":1e300`, 1),
		"time beyond":      strings.Replace(whole, `Time":1`, `Time":1e999`, 1),
		"time negative":    strings.Replace(whole, `Time":1`, `Time":-1`, 1),
		"size":             strings.Replace(whole, `"SequenceNumber"`, `"SizeBytes":"1","SequenceNumber"`, 1),
		"identity":         strings.Replace(whole, `"eventID"`, `"userIdentity":[],"eventID"`, 1),
		"principal":        strings.Replace(whole, `"eventID"`, `"userIdentity":{"type":1},"eventID"`, 1),
		"source":           strings.Replace(whole, `"eventID"`, `"eventSourceARN":"arn:aws:kinesis:eu-west-1:1:stream/s","eventID"`, 1),
		"image":            strings.Replace(whole, `{"pk":{"S":"x"},"v":{"S":"x"}}`, `[]`, 1),
		"value deep below": strings.Replace(whole, `{"S":"x"}}`, `{"M":{"a":{"L":[{"S":"x"},{"N":"x"}]}}}}`, 1),
	}
	for _, value := range []string{
		`"x"`, `{}`, `null`, `[]`, `{"S":null}`, `{"S":1}`, `{"N":1}`, `{"N":"x"}`, `{"N":""}`, `{"N":"1e999"}`, `{"B":"%"}`, `{"B":1}`, `{"BOOL":"true"}`, `{"BOOL":null}`,
		`{"NULL":false}`, `{"NULL":"true"}`, `{"SS":"a"}`, `{"SS":[null]}`, `{"SS":null}`, `{"NS":["x"]}`, `{"NS":[1]}`, `{"BS":["%"]}`, `{"BS":[null]}`, `{"L":{}}`, `{"L":null}`, `{"L":[1]}`,
		`{"M":[]}`, `{"M":null}`, `{"M":{"a":1}}`, `{"X":"a"}`, `{"s":"a"}`, `{"S":"a","N":"1"}`,
		strings.Repeat(`{"L":[`, 50) + `{"S":"a"}` + strings.Repeat(`]}`, 50),
	} {
		spoiled["value "+value] = strings.Replace(good, "VALUE", value, 1)
	}
	for name, text := range spoiled {
		e := parse(t, `{"Records":[`+whole+`,`+text+`,`+whole+`]}`)
		require.Len(t, e.Records, 3, name)
		require.NoError(t, e.Records[0].Err(), name)
		require.NoError(t, e.Records[2].Err(), name)
		var bad *stream.RecordError
		require.ErrorAs(t, e.Records[1].Err(), &bad, name)
		require.NotEmpty(t, bad.Problem)
		_, ok, err := stream.Of(things(t), e.Records[1])
		require.False(t, ok)
		require.ErrorAs(t, err, &bad, name)
		dbtest.As[*entity.Error](t, err, name)
	}
}

func TestEvent_AMistakeNeverQuotesAValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`{"N":"hunter2"}`, `{"hunter2":"x"}`, `{"B":"hunter2%"}`, `{"M":{"hunter2":1}}`, `"hunter2"`} {
		r := parse(t, `{"Records":[`+strings.Replace(good, "VALUE", value, 1)+`]}`).Records[0]
		require.Error(t, r.Err())
		require.NotContains(t, r.Err().Error(), "hunter2")
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(lambdaEvent))
	f.Add([]byte(`{"Records":[` + strings.Replace(good, "VALUE", `{"M":{"a":{"L":[{"NULL":true}]}}}`, 1) + `]}`))
	f.Add([]byte(`{"Records":[{"eventName":"REMOVE","dynamodb":{"Keys":{"pk":{"N":"1"}},"SequenceNumber":"1","StreamViewType":"KEYS_ONLY"}}]}`))
	f.Add([]byte(`{"Records":[{"eventName":"MODIFY","dynamodb":{"Keys":{"pk":{"S":"$app#v1#thing"},"sk":{"S":"$app#v1#thing#e#1"}},"SequenceNumber":"1"}}]}`))
	f.Add([]byte(`{"Records":[null,{},[]]}`))
	s := things(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var e stream.Event
		if err := json.Unmarshal(text, &e); err != nil {
			return
		}
		for _, r := range e.Records {
			c, ok, err := stream.Of(s, r)
			var wrapped *entity.Error
			switch {
			case err != nil:
				require.False(t, ok)
				require.True(t, errors.As(err, &wrapped))
			case ok:
				require.NotEmpty(t, c.Kind)
				require.NoError(t, r.Err())
			}
			if r.Err() != nil {
				require.Error(t, err)
			}
		}
		resp, err := stream.Handle(t.Context(), e, stream.On(s, func(context.Context, stream.Change[Thing]) error { return nil }))
		require.True(t, err != nil || resp.Handled+resp.Ignored+len(resp.BatchItemFailures) <= len(e.Records))
	})
}

func TestFromSDK_KeepsValuesOfEveryType(t *testing.T) {
	l := newLab(t)
	s := store[Thing](l)
	l.create()
	v := Thing{
		ID: "ü#\x00", Float: 1.5e100, Raw: []byte{0, 255}, Tags: []string{"a", "b"}, Numbers: []float64{-1, 2.5}, Blobs: [][]byte{{1}, {2, 3}}, On: ptr(false),
		Deep: map[string]any{"a": []any{1.5, "x", nil, true, []byte{7}, map[string]any{"b": []any{}}}}, At: l.Clock.Now(),
	}
	entity.Must(s.Create(l.Ctx, v))
	changes, _ := changesOf(t, s, l.next())
	require.Equal(t, v, *only(t, changes, stream.Created).New)
}

// effect-dynamodb decodes a record by the names of its model, takes the item from whatever is stored at the key, and fails for
// what an event or an older item lacks.
func TestLambda_RenamedSparseAndOlderItemsAreReadAsGetReadsThem(t *testing.T) {
	l := newLab(t)
	s := store[Thing](l)
	l.create()
	// An item of an older program: it lacks most attributes, and has some that the struct does not know.
	l.PutItem(dbtest.Item{
		"pk": dbtest.S("$app#v1#thing#old"), "sk": dbtest.S("$app#v1#thing"),
		"__edd_e__": dbtest.S("Thing"), "id": dbtest.S("old"),
		"color": dbtest.S("red"), "at": dbtest.S("2020-02-02T02:02:02+02:00"),
	})
	changes, others := changesOf(t, s, l.next())
	require.Zero(t, others)
	got := entity.Must(s.Get(l.Ctx, Thing{ID: "old"}))
	require.Equal(t, got, *only(t, changes, stream.Created).New)
	require.False(t, got.At.IsZero())
}

func TestEvent_OnlyTheServiceExpiresItems(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]bool{
		`{"type":"Service","principalId":"dynamodb.amazonaws.com"}`: true, `{"type":"Service","principalId":"replication.dynamodb.amazonaws.com"}`: false,
		`{"type":"AssumedRole","principalId":"dynamodb.amazonaws.com"}`: false, `{}`: false, `null`: false,
	} {
		e := parse(t, `{"Records":[{"eventName":"REMOVE","userIdentity":`+identity+`,"dynamodb":{"Keys":{"pk":{"S":"x"}},"SequenceNumber":"1"}}]}`)
		require.NoError(t, e.Records[0].Err())
		require.Equal(t, want, e.Records[0].ByTTL, identity)
	}
	e := parse(t, `{"Records":[{"eventName":"x","eventSource":"aws:s3","dynamodb":{}}]}`)
	require.ErrorContains(t, e.Records[0].Err(), "another service", "the first mistake is reported")
}

func TestFromSDK_KeepsMistakes(t *testing.T) {
	t.Parallel()
	s := things(t)
	for name, x := range map[string]struct {
		arn string
		r   streamtypes.Record
	}{
		"nothing": {},
		"no body": {r: streamtypes.Record{EventName: "INSERT"}},
		"a value of no type": {r: streamtypes.Record{EventName: "INSERT", Dynamodb: &streamtypes.StreamRecord{
			SequenceNumber: aws.String("1"), Keys: map[string]streamtypes.AttributeValue{"pk": &streamtypes.UnknownUnionMember{Tag: "X"}},
		}}},
		"another source": {arn: "arn:aws:dynamodb:eu-west-1:1:index/x", r: streamtypes.Record{EventName: "INSERT", Dynamodb: &streamtypes.StreamRecord{
			SequenceNumber: aws.String("1"), Keys: map[string]streamtypes.AttributeValue{"pk": &streamtypes.AttributeValueMemberS{Value: "x"}},
		}}},
	} {
		r := stream.FromSDK(x.arn, x.r)
		var bad *stream.RecordError
		require.ErrorAs(t, r.Err(), &bad, name)
		require.NotEmpty(t, bad.Error())
		_, ok, err := stream.Of(s, r)
		require.False(t, ok, name)
		require.ErrorAs(t, err, &bad, name)
	}
}
