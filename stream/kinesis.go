package stream

import (
	"encoding/json"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// FromKinesis converts a record of Kinesis Data Streams, into which DynamoDB writes the changes of a table. data is the Data of
// the Kinesis record, a JSON document of DynamoDB, and sequence its SequenceNumber, by which a consumer says how far it came.
// Unmarshalling Lambda's JSON for a Kinesis stream into an [Event] makes such records too.
//
// Kinesis can deliver a change more than once and before an earlier one of the same item. Record.Time orders the changes of an
// item, and the same key and time is the same change. SequenceNumber does neither: it is the position in the Kinesis stream. The record has both images, the name
// of its Table and no SourceARN, so that tables of one name in several accounts need streams of their own.
//
// A mistake in the record is kept in it: [Of] and [Handle] report it, and [Record.Err] returns it.
func FromKinesis(sequence string, data []byte) Record {
	r := Record{SequenceNumber: sequence, View: streamtypes.StreamViewTypeNewAndOldImages}
	e := r.envelope(data)
	r.Table = r.text("tableName", e.TableName)
	if format := r.text("recordFormat", e.RecordFormat); format != "" && format != "application/json" {
		r.fail("recordFormat is not application/json")
	}
	var b body
	if r.part("dynamodb", e.Dynamodb, &b) {
		r.body(b, r.unit(b.Precision))
	}
	if r.Table == "" {
		r.fail("it has no tableName")
	}
	if r.Time.IsZero() {
		r.fail("it has no ApproximateCreationDateTime") // nothing else orders it
	}
	r.check()
	return r
}

// unit returns how many of the units that a time counts are in a second. Streams from before there was a precision count milliseconds.
func (r *Record) unit(precision json.RawMessage) float64 {
	switch r.text("ApproximateCreationDateTimePrecision", precision) {
	case "", "MILLISECOND":
		return 1e3
	case "MICROSECOND":
		return 1e6
	}
	r.fail("ApproximateCreationDateTimePrecision is neither MILLISECOND nor MICROSECOND")
	return 1e6
}

// fromLambda sets the record to what Lambda delivers for a Kinesis stream.
func (r *Record) fromLambda(text json.RawMessage) {
	var k struct {
		SequenceNumber json.RawMessage `json:"sequenceNumber"`
		Data           json.RawMessage `json:"data"`
	}
	var data []byte
	r.part("kinesis", text, &k)
	sequence := r.text("kinesis.sequenceNumber", k.SequenceNumber)
	r.part("kinesis.data", k.Data, &data) // base64
	problem := r.problem
	if *r = FromKinesis(sequence, data); problem != "" {
		r.problem = problem
	}
}
