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
)

// Event is the event that AWS Lambda invokes a function with for a DynamoDB stream: records of one shard, in order. It
// unmarshals Lambda's JSON. A program that reads a stream itself makes one of its records.
type Event struct {
	Records []Record
}

// UnmarshalJSON reads Lambda's JSON. A mistake in one record is kept in that record and does not affect the others.
// The error is a *[RecordError] if text is not such an event at all.
func (e *Event) UnmarshalJSON(text []byte) error {
	var raw struct{ Records *[]Record }
	if err := json.Unmarshal(text, &raw); err != nil || raw.Records == nil {
		return &RecordError{Problem: "the event is not a JSON object with a list of Records"}
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
}

type identity struct {
	Type        json.RawMessage `json:"type"`
	PrincipalID json.RawMessage `json:"principalId"`
}

type body struct {
	Time           json.RawMessage `json:"ApproximateCreationDateTime"`
	Keys           json.RawMessage
	NewImage       json.RawMessage
	OldImage       json.RawMessage
	SequenceNumber json.RawMessage
	SizeBytes      json.RawMessage
	StreamViewType json.RawMessage
}

// eventSource is the name of DynamoDB streams in eventSource.
const eventSource = "aws:dynamodb"

// UnmarshalJSON reads a record as Lambda writes it. It returns no error: mistakes are kept in the record, for
// [Record.Err].
func (r *Record) UnmarshalJSON(text []byte) error {
	*r = Record{}
	var e envelope
	if json.Unmarshal(text, &e) != nil {
		r.fail("it is not a JSON object")
		return nil //nolint:nilerr // the record keeps the mistake
	}
	r.EventID = r.text("eventID", e.EventID)
	r.Operation = streamtypes.OperationType(r.text("eventName", e.EventName))
	r.SourceARN = r.text("eventSourceARN", e.EventSourceARN)
	r.Region = r.text("awsRegion", e.AwsRegion)
	if from := r.text("eventSource", e.EventSource); from != "" && from != eventSource {
		r.fail("it is from another service than DynamoDB")
	}
	var id identity
	if r.part("userIdentity", e.UserIdentity, &id) {
		r.ByTTL = r.text("userIdentity.type", id.Type) == ttlType && r.text("userIdentity.principalId", id.PrincipalID) == ttlPrincipal
	}
	var b body
	if r.part("dynamodb", e.Dynamodb, &b) {
		r.SequenceNumber = r.text("SequenceNumber", b.SequenceNumber)
		r.View = streamtypes.StreamViewType(r.text("StreamViewType", b.StreamViewType))
		r.part("SizeBytes", b.SizeBytes, &r.SizeBytes)
		r.Time = r.seconds(b.Time)
		r.Keys, r.New, r.Old = r.image("Keys", b.Keys), r.image("NewImage", b.NewImage), r.image("OldImage", b.OldImage)
	}
	r.check()
	return nil
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

// seconds parses a time in seconds since 1970, possibly with a fraction.
func (r *Record) seconds(text json.RawMessage) time.Time {
	if !present(text) {
		return time.Time{}
	}
	const year10000 = 253402300800
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f < 0 || f >= year10000 {
		r.fail("ApproximateCreationDateTime is not a time in seconds since 1970")
		return time.Time{}
	}
	whole, fraction := math.Modf(f)
	// A float of this size has microsecond precision.
	return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1000).UTC()
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
