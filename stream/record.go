package stream

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// RecordError is a record that cannot be used, whatever the store: its JSON is not that of a DynamoDB stream, or
// something is missing that every record has. Problem never quotes a value.
type RecordError struct {
	EventID        string // "" when it could not be read
	SequenceNumber string // "" when it could not be read
	Problem        string
}

func (e *RecordError) Error() string {
	text := "the stream record"
	if e.EventID != "" {
		text += " " + e.EventID
	}
	return text + " cannot be used: " + e.Problem
}

// Record is one record of a DynamoDB stream, undecoded: a write to one item of a table. [FromSDK] makes one of what
// GetRecords returns; of Lambda's JSON it is made by unmarshalling an [Event], or the record itself.
//
// A record that could not be read keeps what was read of it, and the mistake: see [Record.Err].
type Record struct {
	EventID        string // the same whenever the record is delivered again
	Operation      streamtypes.OperationType
	SourceARN      string // of the stream, which names the table; "" when it is not known
	Region         string
	Time           time.Time // about when the write took place, as DynamoDB says
	SequenceNumber string    // where in its shard the record stands
	View           streamtypes.StreamViewType
	SizeBytes      int64
	ByTTL          bool // DynamoDB removed the item because its time to live had passed

	Keys map[string]types.AttributeValue // primary key of the item
	New  map[string]types.AttributeValue // the item after the write; nil for a removal, or when the view leaves it out
	Old  map[string]types.AttributeValue // the item before the write; nil for an insertion, or when the view leaves it out

	problem string
}

// The identity that DynamoDB gives as the one who removed an expired item.
const (
	ttlType      = "Service"
	ttlPrincipal = "dynamodb.amazonaws.com"
)

// DynamoDB Local calls the removal of an expired item by a name that is none of DynamoDB's, and gives no identity.
const (
	localRegion = "ddblocal"
	localExpiry = streamtypes.OperationType("UNKNOWN_TO_SDK_VERSION")
)

// FromSDK returns a record as GetRecords of the AWS SDK gave it. streamARN is the stream that it was read from, so that a
// store can tell its own table from another with the same keys; "" when only one table's records are read.
//
// What is wrong with the record is kept in it: [Of] and [Handle] report it, and [Record.Err] returns it.
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

// fail notes a mistake; the first one counts.
func (r *Record) fail(problem string) {
	if r.problem == "" {
		r.problem = problem
	}
}

// check finds what no record of a stream lacks.
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

// tableOf is the name of the table in the ARN of a stream, or in that of a table.
func tableOf(arn string) string {
	_, resource, _ := strings.Cut(arn, ":table/")
	name, _, _ := strings.Cut(resource, "/")
	return name
}

// tableARN is the ARN of the table in that of its stream: account, region and name, without what follows.
func tableARN(arn string) string {
	owner, _, _ := strings.Cut(arn, ":table/")
	return owner + ":table/" + tableOf(arn)
}

// Err says why the record cannot be used: a *[RecordError], or nil.
func (r Record) Err() error {
	r.check() // a program may have put it together itself
	if r.problem == "" {
		return nil
	}
	return &RecordError{EventID: r.EventID, SequenceNumber: r.SequenceNumber, Problem: r.problem}
}

// images are the item before and after the write, as far as the record has them.
func (r *Record) images() (before, after map[string]types.AttributeValue) {
	if r.Operation != streamtypes.OperationTypeInsert && len(r.Old) > 0 {
		before = r.Old
	}
	if r.Operation != streamtypes.OperationTypeRemove && len(r.New) > 0 {
		after = r.New
	}
	return before, after
}
