package stream_test

import (
	"context"
	_ "embed"
	"encoding/base64"
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
//
//go:embed testdata/lambda.json
var lambdaEvent string

// Thing has a field of every type of DynamoDB, under other names than the struct's.
type Thing struct {
	_       entity.Key     `name:"Thing" pk:"$#{id}" sk:"$"`
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

	c, ok := changeOf(t, things(t), r)
	require.True(t, ok)
	require.Equal(t, stream.Created, c.Kind)
	require.Equal(t, Thing{
		ID: "1", Float: 1500, Raw: []byte{0, 1, 2, 128, 255}, Tags: []string{"a", "b"}, Numbers: []float64{1, 2.5}, Blobs: [][]byte{{0}, {255}}, On: ptr(true),
		Deep: map[string]any{"list": []any{"", map[string]any{}, []any{}, []byte{}}}, At: time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC),
	}, *c.New)
	c, _ = changeOf(t, things(t), e.Records[1])
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

// kinesisRecord is the data of a record as DynamoDB writes it into a Kinesis stream.
const kinesisRecord = `{"awsRegion":"eu-west-1","eventID":"5ae02780-3066-41f9-8837-749b978774ff","eventName":"MODIFY","userIdentity":null,"recordFormat":"application/json",` +
	`"tableName":"app","dynamodb":{"ApproximateCreationDateTime":1720740233012995,"Keys":{"pk":{"S":"$app#v1#thing#1"},"sk":{"S":"$app#v1#thing"}},` +
	`"NewImage":{"pk":{"S":"$app#v1#thing#1"},"sk":{"S":"$app#v1#thing"},"__edd_e__":{"S":"Thing"},"id":{"S":"1"},"f":{"N":"84.84"},"raw":{"B":"AAECgP8="},"tags":{"SS":["b","a"]}},` +
	`"OldImage":{"pk":{"S":"$app#v1#thing#1"},"sk":{"S":"$app#v1#thing"},"__edd_e__":{"S":"Thing"},"id":{"S":"1"},"on":{"BOOL":true}},` +
	`"SizeBytes":192,"ApproximateCreationDateTimePrecision":"MICROSECOND"},"eventSource":"aws:dynamodb"}`

func TestFromKinesis_ReadsARecordExactly(t *testing.T) {
	t.Parallel()
	r := stream.FromKinesis("4959", []byte(kinesisRecord))
	require.NoError(t, r.Err())
	require.Equal(t, []any{"5ae02780-3066-41f9-8837-749b978774ff", "eu-west-1", "app", "", "4959", int64(192), false},
		[]any{r.EventID, r.Region, r.Table, r.SourceARN, r.SequenceNumber, r.SizeBytes, r.ByTTL})
	require.EqualValues(t, "NEW_AND_OLD_IMAGES", r.View)
	require.Equal(t, time.Date(2024, 7, 11, 23, 23, 53, 12995e3, time.UTC), r.Time)

	c, ok := changeOf(t, things(t), r)
	require.True(t, ok)
	require.Equal(t, stream.Updated, c.Kind)
	require.Equal(t, Thing{ID: "1", Float: 84.84, Raw: []byte{0, 1, 2, 128, 255}, Tags: []string{"b", "a"}}, *c.New)
	require.Equal(t, Thing{ID: "1", On: ptr(true)}, *c.Old)
}

func TestFromKinesis_TimesHaveTheirPrecision(t *testing.T) {
	t.Parallel()
	const precision = `,"ApproximateCreationDateTimePrecision":`
	for _, x := range []struct {
		time, precision string
		want            time.Time // zero for a mistake
	}{
		{`1627046330199`, ``, time.UnixMilli(1627046330199)},
		{`1627046330199`, precision + `null`, time.UnixMilli(1627046330199)},
		{`1627046330199`, precision + `"MILLISECOND"`, time.UnixMilli(1627046330199)},
		{`1627046330199001`, precision + `"MICROSECOND"`, time.UnixMicro(1627046330199001)},
		{`1.627046330199E15`, precision + `"MICROSECOND"`, time.UnixMicro(1627046330199000)},
		{`9007199254740991`, precision + `"MICROSECOND"`, time.UnixMicro(9007199254740991)}, // 2255
		{`253402300799000`, precision + `"MILLISECOND"`, time.UnixMilli(253402300799000)},
		{`253402300800000`, precision + `"MILLISECOND"`, time.Time{}},
		{`253402300800000000`, precision + `"MICROSECOND"`, time.Time{}},
		{`-1`, precision + `"MICROSECOND"`, time.Time{}},
	} {
		text := strings.Replace(kinesisRecord, `1720740233012995`, x.time, 1)
		r := stream.FromKinesis("1", []byte(strings.Replace(text, precision+`"MICROSECOND"`, x.precision, 1)))
		part, want := x.time+x.precision, x.want
		if want.IsZero() {
			require.ErrorContains(t, r.Err(), "ApproximateCreationDateTime", part)
			continue
		}
		require.NoError(t, r.Err(), part)
		require.Equal(t, want.UTC(), r.Time, part)
	}
}

func TestFromKinesis_AMistakeNamesItsPartAndHasACode(t *testing.T) {
	t.Parallel()
	for part, change := range map[string][2]string{
		"JSON object":                    {kinesisRecord, `[]`},
		"eventID":                        {`"eventID":"5ae02780-3066-41f9-8837-749b978774ff"`, `"eventID":5`},
		"eventName":                      {`"MODIFY"`, `7`},
		"INSERT nor a MODIFY":            {`"MODIFY"`, `"UPSERT"`},
		"awsRegion":                      {`"eu-west-1"`, `{}`},
		"userIdentity is":                {`"userIdentity":null`, `"userIdentity":"me"`},
		"userIdentity.type":              {`"userIdentity":null`, `"userIdentity":{"type":1}`},
		"recordFormat":                   {`application/json`, `application/avro`},
		"tableName":                      {`"tableName":"app"`, `"tableName":null`},
		"tableName is":                   {`"tableName":"app"`, `"tableName":["app"]`},
		"another service":                {`aws:dynamodb`, `aws:s3`},
		"dynamodb is":                    {`"dynamodb":{`, `"dynamodb":[],"x":{`},
		"ApproximateCreationDateTime is": {`1720740233012995`, `"now"`},
		"no ApproximateCreationDateTime": {`1720740233012995`, `null`},
		"ApproximateCreationDateTimePrecision is": {`"MICROSECOND"`, `"NANOSECOND"`},
		"no Keys":   {`"Keys"`, `"Kees"`},
		"Keys has":  {`"Keys":{"pk":{"S"`, `"Keys":{"pk":{"X"`},
		"NewImage":  {`{"N":"84.84"}`, `{"N":84.84}`},
		"OldImage":  {`{"BOOL":true}`, `{"BOOL":"true"}`},
		"SizeBytes": {`192`, `"192"`},
	} {
		text := strings.Replace(kinesisRecord, change[0], change[1], 1)
		require.NotEqual(t, kinesisRecord, text, part)
		err := stream.FromKinesis("7", []byte(text)).Err()
		require.ErrorContains(t, err, part)
		bad := dbtest.As[*stream.RecordError](t, err, part)
		require.Equal(t, []string{"EDD-9232", "7"}, []string{bad.Code, bad.SequenceNumber}, part)
		require.True(t, strings.HasPrefix(err.Error(), "EDD-9232 the stream record"), err)
	}
	require.ErrorContains(t, stream.FromKinesis("", []byte(kinesisRecord)).Err(), "SequenceNumber")
}

func TestFromKinesis_IsOfTheTableThatItNames(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]bool{
		"app": true, "application": false,
		"arn:aws:dynamodb:eu-west-1:123456789012:table/app": true, "arn:aws:dynamodb:eu-west-2:123456789012:table/app": false,
		"arn:aws:dynamodb:eu-west-1:123456789012:table/other": false,
	} {
		s := entity.Must(entity.New[Thing](entity.Must(entity.Open(nil, entity.Config{Table: table}))))
		_, ok := changeOf(t, s, stream.FromKinesis("1", []byte(kinesisRecord)))
		require.Equal(t, want, ok, table)
	}
}

func TestEvent_OfLambdaForKinesisIsHandled(t *testing.T) {
	t.Parallel()
	wrapped := func(sequence, data string) string {
		return `{"kinesis":{"kinesisSchemaVersion":"1.0","partitionKey":"A0F1","sequenceNumber":"` + sequence + `","data":"` + data +
			`","approximateArrivalTimestamp":1545084650.987},"eventSource":"aws:kinesis","eventVersion":"1.0","eventID":"shardId-000000000006:` + sequence +
			`","eventName":"aws:kinesis:record","invokeIdentityArn":"arn:aws:iam::123456789012:role/lambda","awsRegion":"us-east-2","eventSourceARN":"arn:aws:kinesis:us-east-2:123456789012:stream/s"}`
	}
	expired := strings.NewReplacer(`"MODIFY"`, `"REMOVE"`, `"userIdentity":null`, `"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`).Replace(kinesisRecord)
	base := base64.StdEncoding.EncodeToString
	e := parse(t, `{"Records":[`+wrapped("11", base([]byte(kinesisRecord)))+`,`+wrapped("12", base([]byte(expired)))+`,`+wrapped("13", "%")+`,`+wrapped("14", "")+
		`,{"eventSource":"aws:kinesis","kinesis":[]},{"eventSource":"aws:kinesis"}]}`)
	var kinds []stream.Kind
	s := things(t)
	resp, err := stream.Handle(t.Context(), e, stream.On(s, func(_ context.Context, c stream.Change[Thing]) error {
		kinds = append(kinds, c.Kind)
		return nil
	}))
	require.NoError(t, err)
	require.Equal(t, []stream.Kind{stream.Updated, stream.Expired}, kinds)
	require.Equal(t, []stream.BatchItemFailure{{ItemIdentifier: "13"}}, resp.BatchItemFailures, "by which Lambda knows the record")
	require.ErrorContains(t, resp.Err(), "kinesis.data")
	for _, r := range e.Records[3:] {
		require.Error(t, r.Err())
	}
	require.ErrorContains(t, e.Records[4].Err(), "kinesis is")
}

func FuzzFromKinesis(f *testing.F) {
	f.Add([]byte(kinesisRecord))
	f.Add([]byte(strings.Replace(kinesisRecord, "MODIFY", "REMOVE", 1)))
	f.Add([]byte(strings.Replace(kinesisRecord, `"MICROSECOND"`, `"MILLISECOND"`, 1)))
	f.Add([]byte(strings.Replace(kinesisRecord, `1720740233012995`, `1e308`, 1)))
	f.Add([]byte(`{"dynamodb":{"Keys":{"pk":{"L":[{"M":{}}]}}}}`))
	s := things(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := stream.FromKinesis("1", data)
		_, ok, err := stream.Of(s, r)
		if bad := r.Err(); bad != nil {
			require.Equal(t, "EDD-9232", dbtest.As[*stream.RecordError](t, bad).Code)
			require.Error(t, err)
		} else {
			require.True(t, json.Valid(data) && r.Table != "" && !r.Time.IsZero() && r.Time.Year() < 10000)
		}
		var wrapped *entity.Error
		require.True(t, err == nil || !ok && errors.As(err, &wrapped))
		again := stream.FromKinesis("1", data)
		require.Equal(t, r, again)
	})
}
