package stream_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

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

	c, ok, err := stream.Of(things(t), r)
	require.NoError(t, err)
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
		_, ok, err := stream.Of(s, stream.FromKinesis("1", []byte(kinesisRecord)))
		require.NoError(t, err)
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
