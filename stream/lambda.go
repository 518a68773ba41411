package stream

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/bind"
)

// Event is the event that AWS Lambda invokes a function with for a DynamoDB stream, or for a Kinesis stream into which DynamoDB
// writes: records of one shard, in order. It unmarshals Lambda's JSON. A program that reads a stream itself makes one of its records.
type Event struct {
	Records []Record
}

// UnmarshalJSON reads Lambda's JSON. A mistake in one record is kept in that record and does not affect the others.
// The error is a *[RecordError] if text is not such an event at all.
func (e *Event) UnmarshalJSON(text []byte) error {
	var raw struct{ Records *[]Record }
	if err := json.Unmarshal(text, &raw); err != nil || raw.Records == nil {
		return &RecordError{Code: bind.CodeRecord, Problem: "the event is not a JSON object with a list of Records"}
	}
	e.Records = *raw.Records
	return nil
}

// envelope is the JSON of a record. Each part is parsed by itself, so that a mistake in one does not affect the
// others.
type envelope struct {
	EventID        json.RawMessage `json:"eventID"`
	EventName      json.RawMessage `json:"eventName"`
	EventSource    json.RawMessage `json:"eventSource"`
	EventSourceARN json.RawMessage `json:"eventSourceARN"`
	AwsRegion      json.RawMessage `json:"awsRegion"`
	UserIdentity   json.RawMessage `json:"userIdentity"`
	Dynamodb       json.RawMessage `json:"dynamodb"`

	TableName    json.RawMessage `json:"tableName"`    // from DynamoDB to Kinesis
	RecordFormat json.RawMessage `json:"recordFormat"` // the same
}

type identity struct {
	Type        json.RawMessage `json:"type"`
	PrincipalID json.RawMessage `json:"principalId"`
}

type body struct {
	Time           json.RawMessage `json:"ApproximateCreationDateTime"`
	Precision      json.RawMessage `json:"ApproximateCreationDateTimePrecision"`
	Keys           json.RawMessage
	NewImage       json.RawMessage
	OldImage       json.RawMessage
	SequenceNumber json.RawMessage
	SizeBytes      json.RawMessage
	StreamViewType json.RawMessage
}

// Names of services in eventSource.
const (
	fromDynamoDB = "aws:dynamodb"
	fromKinesis  = "aws:kinesis"
)

// UnmarshalJSON reads a record as Lambda writes it. It returns no error: mistakes are kept in the record, for
// [Record.Err].
func (r *Record) UnmarshalJSON(text []byte) error {
	var source struct {
		Name json.RawMessage `json:"eventSource"`
		Data json.RawMessage `json:"kinesis"`
	}
	*r = Record{}
	if json.Unmarshal(text, &source) == nil && string(source.Name) == `"`+fromKinesis+`"` {
		r.fromLambda(source.Data)
		return nil
	}
	e := r.envelope(text)
	r.SourceARN = r.text("eventSourceARN", e.EventSourceARN)
	var b body
	if r.part("dynamodb", e.Dynamodb, &b) {
		r.SequenceNumber = r.text("SequenceNumber", b.SequenceNumber)
		r.View = streamtypes.StreamViewType(r.text("StreamViewType", b.StreamViewType))
		r.body(b, 1)
	}
	r.check()
	return nil
}

// envelope reads what a record says around its body, which is the same in all streams.
func (r *Record) envelope(text []byte) (e envelope) {
	if json.Unmarshal(text, &e) != nil {
		r.fail("it is not a JSON object")
		return envelope{}
	}
	r.EventID = r.text("eventID", e.EventID)
	r.Operation = streamtypes.OperationType(r.text("eventName", e.EventName))
	r.Region = r.text("awsRegion", e.AwsRegion)
	if from := r.text("eventSource", e.EventSource); from != "" && from != fromDynamoDB {
		r.fail("it is from another service than DynamoDB")
	}
	var id identity
	if r.part("userIdentity", e.UserIdentity, &id) {
		r.ByTTL = r.text("userIdentity.type", id.Type) == ttlType && r.text("userIdentity.principalId", id.PrincipalID) == ttlPrincipal
	}
	return e
}

// body reads what all streams say of the change. Its time counts units of which a second has that many.
func (r *Record) body(b body, unit float64) {
	r.part("SizeBytes", b.SizeBytes, &r.SizeBytes)
	r.Time = r.time(b.Time, unit)
	r.Keys, r.New, r.Old = r.image("Keys", b.Keys), r.image("NewImage", b.NewImage), r.image("OldImage", b.OldImage)
}

// present reports whether a part of the JSON is present and not null.
func present(text json.RawMessage) bool { return len(text) > 0 && !bytes.Equal(text, []byte("null")) }

// part parses a part into dst, and reports whether there is one.
func (r *Record) part(name string, text json.RawMessage, dst any) bool {
	if !present(text) {
		return false
	}
	if json.Unmarshal(text, dst) != nil {
		r.fail(name + " is of the wrong type")
		return false
	}
	return true
}

func (r *Record) text(name string, text json.RawMessage) string {
	var s string
	r.part(name, text, &s)
	return s
}

// time parses a time since 1970 in units of which a second has that many, possibly with a fraction.
func (r *Record) time(text json.RawMessage, unit float64) time.Time {
	if !present(text) {
		return time.Time{}
	}
	const year10000 = 253402300800
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f < 0 || f/unit >= year10000 {
		r.fail("ApproximateCreationDateTime is not a time since 1970 in its precision")
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(f * (1e6 / unit)))).UTC() // to the microsecond a float is exact until 2255
}

func (r *Record) image(name string, text json.RawMessage) map[string]types.AttributeValue {
	if !present(text) {
		return nil
	}
	it, problem := avjson.Item(text)
	if problem != "" {
		r.fail(name + " has an invalid attribute value: " + problem)
		return nil
	}
	if len(it) == 0 {
		return nil
	}
	return it
}
