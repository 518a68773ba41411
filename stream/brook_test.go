package stream_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynastrata/dynastrata/entity"
)

// brook is the streams of one table, whose shards a test changes while they are read. DynamoDB Local has no shard that ends, expires or is
// trimmed on demand.
type brook struct {
	entity.Client // of the table; may be nil

	mu     sync.Mutex
	arn    string // of the newest stream; "" for none
	off    bool   // it is turned off
	shards []*brookShard
	epoch  int // iterators of earlier ones have expired
	fails  []error
	calls  []string
	page   int           // most records of an answer; default 2
	slow   time.Duration // how long an answer takes
}

type brookShard struct {
	arn, id, parent string
	records         []streamtypes.Record
	trimmed         int // records that are gone
	closed, gone    bool
}

// do changes the stream.
func (b *brook) do(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// shard adds a shard, with records of the items with these ids.
func (b *brook) shard(id, parent string, at time.Time, ids ...string) *brookShard {
	x := &brookShard{arn: b.arn, id: id, parent: parent}
	x.add(at, ids...)
	b.shards = append(b.shards, x)
	return x
}

// add adds records that report that teams were created. Sequence numbers count from 1.
func (x *brookShard) add(at time.Time, ids ...string) {
	for _, id := range ids {
		image := map[string]streamtypes.AttributeValue{}
		for name, text := range map[string]string{"pk": "$app#v1#team#" + id, "sk": "$app#v1#team", "__edd_e__": "Team", "id": id} {
			image[name] = &streamtypes.AttributeValueMemberS{Value: text}
		}
		image["version"] = &streamtypes.AttributeValueMemberN{Value: "1"}
		x.records = append(x.records, streamtypes.Record{
			EventID: &id, EventName: streamtypes.OperationTypeInsert,
			Dynamodb: &streamtypes.StreamRecord{
				NewImage: image, Keys: map[string]streamtypes.AttributeValue{"pk": image["pk"], "sk": image["sk"]},
				ApproximateCreationDateTime: &at, SequenceNumber: aws.String(strconv.Itoa(len(x.records) + 1)), StreamViewType: streamtypes.StreamViewTypeNewAndOldImages,
			},
		})
	}
}

func (b *brook) enter(call string) error {
	b.calls = append(b.calls, call)
	if len(b.fails) == 0 {
		return nil
	}
	err := b.fails[0]
	b.fails = b.fails[1:]
	return err
}

func (b *brook) find(arn, id string) (*brookShard, error) {
	i := slices.IndexFunc(b.shards, func(x *brookShard) bool { return x.arn == arn && x.id == id && !x.gone })
	if i < 0 {
		return nil, &streamtypes.ResourceNotFoundException{}
	}
	return b.shards[i], nil
}

func (b *brook) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := &types.TableDescription{}
	if b.arn != "" {
		d.LatestStreamArn = aws.String(b.arn)
	}
	return &dynamodb.DescribeTableOutput{Table: d}, nil
}

func (b *brook) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.enter("describe"); err != nil {
		return nil, err
	}
	d := &streamtypes.StreamDescription{StreamStatus: streamtypes.StreamStatusEnabled}
	if *in.StreamArn != b.arn || b.off {
		d.StreamStatus = streamtypes.StreamStatusDisabled
	}
	begun := in.ExclusiveStartShardId == nil
	for _, x := range b.shards {
		if x.gone || x.arn != *in.StreamArn {
			continue
		}
		if !begun {
			begun = x.id == *in.ExclusiveStartShardId
			continue
		}
		if len(d.Shards) == 2 { // a page
			d.LastEvaluatedShardId = d.Shards[1].ShardId
			break
		}
		numbers := &streamtypes.SequenceNumberRange{}
		if x.closed {
			numbers.EndingSequenceNumber = aws.String("9")
		}
		shard := streamtypes.Shard{ShardId: &x.id, SequenceNumberRange: numbers}
		if x.parent != "" {
			shard.ParentShardId = &x.parent
		}
		d.Shards = append(d.Shards, shard)
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (b *brook) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.enter("position " + string(in.ShardIteratorType)); err != nil {
		return nil, err
	}
	x, err := b.find(*in.StreamArn, *in.ShardId)
	if err != nil {
		return nil, err
	}
	at := x.trimmed
	switch in.ShardIteratorType {
	case streamtypes.ShardIteratorTypeLatest:
		at = len(x.records)
	case streamtypes.ShardIteratorTypeAfterSequenceNumber:
		if at, err = strconv.Atoi(*in.SequenceNumber); err != nil {
			return nil, err
		}
		if at < x.trimmed {
			return nil, &streamtypes.TrimmedDataAccessException{}
		}
	}
	metadata, err := serverTime(time.Now())
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: b.iterator(x, at), ResultMetadata: metadata}, err
}

// serverTime returns the metadata of an answer that was sent at a time.
func serverTime(at time.Time) (middleware.Metadata, error) {
	stack := middleware.NewStack("", smithyhttp.NewStackRequest)
	if err := awsmiddleware.AddRecordResponseTiming(stack); err != nil {
		return middleware.Metadata{}, err
	}
	_, metadata, err := middleware.DecorateHandler(middleware.HandlerFunc(func(context.Context, any) (any, middleware.Metadata, error) {
		header := http.Header{"Date": {at.UTC().Format(http.TimeFormat)}}
		return &smithyhttp.Response{Response: &http.Response{Header: header}}, middleware.Metadata{}, nil
	}), stack).Handle(context.Background(), nil)
	return metadata, err
}

func (b *brook) iterator(x *brookShard, at int) *string {
	if x.closed && at == len(x.records) {
		return nil
	}
	return aws.String(fmt.Sprintf("%s %s %d %d", x.arn, x.id, at, b.epoch))
}

func (b *brook) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	time.Sleep(b.slow)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.enter("read"); err != nil {
		return nil, err
	}
	var arn, id string
	var at, epoch int
	if _, err := fmt.Sscan(*in.ShardIterator, &arn, &id, &at, &epoch); err != nil {
		return nil, err
	}
	x, err := b.find(arn, id)
	switch {
	case err != nil:
		return nil, err
	case epoch != b.epoch:
		return nil, &streamtypes.ExpiredIteratorException{}
	case at < x.trimmed:
		return nil, &streamtypes.TrimmedDataAccessException{}
	}
	end := min(at+max(b.page, 2), at+int(*in.Limit), len(x.records))
	return &dynamodbstreams.GetRecordsOutput{Records: slices.Clone(x.records[at:end]), NextShardIterator: b.iterator(x, end)}, nil
}
