package stream

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// RecordError reports a record that cannot be used by any store. Its JSON is not that of DynamoDB, or a part that every
// record has is missing. Problem names the part, and never contains a value.
type RecordError struct {
	Code           string // EDD-9232
	EventID        string // "" if it could not be read
	SequenceNumber string // "" if it could not be read
	Problem        string
}

func (e *RecordError) Error() string {
	text := strings.TrimSpace(e.Code + " the stream record")
	if e.EventID != "" {
		text += " " + e.EventID
	}
	return text + " cannot be used: " + e.Problem
}

// Record is one record of a DynamoDB stream, undecoded: a write to one item of a table. [FromSDK] makes one of a
// record from GetRecords, [FromKinesis] of one from a Kinesis stream. Unmarshalling Lambda's JSON into an [Event], or a Record, makes one too.
//
// A malformed record keeps the parts that could be read, and its mistake: see [Record.Err].
type Record struct {
	EventID        string // the same for every delivery of the record
	Operation      streamtypes.OperationType
	SourceARN      string // of the stream, which names the table; "" if unknown
	Table          string // name of the table, if the record is from Kinesis, whose stream does not name it
	Region         string
	Time           time.Time // approximate time of the write, from DynamoDB
	SequenceNumber string    // position of the record in its shard
	View           streamtypes.StreamViewType
	SizeBytes      int64
	ByTTL          bool // DynamoDB removed the item because it had expired

	Keys map[string]types.AttributeValue // primary key of the item
	New  map[string]types.AttributeValue // the item after the write; nil for a removal, or if the view leaves it out
	Old  map[string]types.AttributeValue // the item before the write; nil for an insertion, or if the view leaves it out

	problem string
}

// The identity that removes expired items.
const (
	ttlType      = "Service"
	ttlPrincipal = "dynamodb.amazonaws.com"
)

// DynamoDB Local uses an operation of its own for the removal of an expired item, without an identity.
const (
	localRegion = "ddblocal"
	localExpiry = streamtypes.OperationType("UNKNOWN_TO_SDK_VERSION")
)

// FromSDK converts a record from GetRecords of the AWS SDK. streamARN is the stream that it was read from, so that a
// store can distinguish its table from others with the same keys; it may be "" if records of only one table are read.
//
// A mistake in the record is kept in it: [Of] and [Handle] report it, and [Record.Err] returns it.
func FromSDK(streamARN string, r streamtypes.Record) Record {
	out := Record{EventID: aws.ToString(r.EventID), Operation: r.EventName, SourceARN: streamARN, Region: aws.ToString(r.AwsRegion)}
	if id := r.UserIdentity; id != nil {
		out.ByTTL = aws.ToString(id.Type) == ttlType && aws.ToString(id.PrincipalId) == ttlPrincipal
	}
	if r.EventName == localExpiry && out.Region == localRegion {
		out.Operation, out.ByTTL = streamtypes.OperationTypeRemove, true
	}
	if d := r.Dynamodb; d != nil {
		out.SequenceNumber, out.View, out.SizeBytes = aws.ToString(d.SequenceNumber), d.StreamViewType, aws.ToInt64(d.SizeBytes)
		if at := d.ApproximateCreationDateTime; at != nil {
			out.Time = at.UTC()
		}
		for _, image := range []struct {
			name string
			from map[string]streamtypes.AttributeValue
			to   *map[string]types.AttributeValue
		}{{"Keys", d.Keys, &out.Keys}, {"NewImage", d.NewImage, &out.New}, {"OldImage", d.OldImage, &out.Old}} {
			if len(image.from) == 0 {
				continue
			}
			if out.Region == localRegion {
				image.from = filledMap(image.from)
			}
			it, err := attributevalue.FromDynamoDBStreamsMap(image.from)
			if err != nil {
				out.fail(image.name + " has a value of an unknown type")
				continue
			}
			*image.to = it
		}
	}
	out.check()
	return out
}

// filledMap returns a copy with empty maps where DynamoDB Local sends values without a type.
func filledMap(it map[string]streamtypes.AttributeValue) map[string]streamtypes.AttributeValue {
	out := make(map[string]streamtypes.AttributeValue, len(it))
	for name, av := range it {
		out[name] = filled(av)
	}
	return out
}

func filled(av streamtypes.AttributeValue) streamtypes.AttributeValue {
	switch v := av.(type) {
	case nil:
		return &streamtypes.AttributeValueMemberM{Value: map[string]streamtypes.AttributeValue{}}
	case *streamtypes.AttributeValueMemberM:
		return &streamtypes.AttributeValueMemberM{Value: filledMap(v.Value)}
	case *streamtypes.AttributeValueMemberL:
		list := make([]streamtypes.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = filled(e)
		}
		return &streamtypes.AttributeValueMemberL{Value: list}
	}
	return av
}

// fail sets the record's mistake, unless it has one.
func (r *Record) fail(problem string) {
	if r.problem == "" {
		r.problem = problem
	}
}

// check finds parts that are missing or wrong.
func (r *Record) check() {
	switch r.Operation {
	case streamtypes.OperationTypeInsert, streamtypes.OperationTypeModify, streamtypes.OperationTypeRemove:
	default:
		r.fail("it is neither an INSERT nor a MODIFY nor a REMOVE")
	}
	if len(r.Keys) == 0 {
		r.fail("it has no Keys")
	}
	if r.SequenceNumber == "" {
		r.fail("it has no SequenceNumber")
	}
	if r.SourceARN != "" && tableOf(r.SourceARN) == "" {
		r.fail("its source is not the stream of a table")
	}
}

// tableOf returns the table's name in the ARN of a stream or table, "" if it is neither.
func tableOf(arn string) string {
	_, resource, _ := strings.Cut(arn, ":table/")
	name, _, _ := strings.Cut(resource, "/")
	return name
}

// tableARN returns the ARN of the table in that of its stream: account, region and name.
func tableARN(arn string) string {
	owner, _, _ := strings.Cut(arn, ":table/")
	return owner + ":table/" + tableOf(arn)
}

// Err returns why the record cannot be used: a *[RecordError], or nil.
func (r Record) Err() error {
	r.check() // the program may have made the record itself
	if r.problem == "" {
		return nil
	}
	return &RecordError{Code: bind.CodeRecord, EventID: r.EventID, SequenceNumber: r.SequenceNumber, Problem: r.problem}
}

// images returns the item before and after the write, as far as the record has them.
func (r *Record) images() (before, after map[string]types.AttributeValue) {
	if r.Operation != streamtypes.OperationTypeInsert && len(r.Old) > 0 {
		before = r.Old
	}
	if r.Operation != streamtypes.OperationTypeRemove && len(r.New) > 0 {
		after = r.New
	}
	return before, after
}
