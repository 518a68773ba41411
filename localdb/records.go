package localdb

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Records returns the ARN of the stream of a table and all its records so far: shard by shard, a shard after the one that it
// continues, and those of a shard in their order. Called again, it returns the same records and what came since. The client is that of
// [Test]; the table must have a stream, as UpdateTable of the SDK turns on with a StreamSpecification. Otherwise the test fails.
//
// stream.FromSDK takes the ARN and a record. A table costs a DescribeTable and a DescribeStream, a shard a GetShardIterator and at
// least a GetRecords.
func Records(t TB, client *dynamodb.Client, table string) (arn string, records []streamtypes.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	arn, records, err := readStream(ctx, client, table)
	if err != nil {
		t.Fatalf("localdb: read the stream of %s: %v", table, err)
	}
	return arn, records
}

func readStream(ctx context.Context, client *dynamodb.Client, table string) (arn string, all []streamtypes.Record, err error) {
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", nil, err
	}
	if described.Table.LatestStreamArn == nil {
		return "", nil, errors.New("the table has none")
	}
	arn = *described.Table.LatestStreamArn
	o := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	shards, err := shardsOf(ctx, streams, arn)
	for _, shard := range shards {
		var records []streamtypes.Record
		for again := true; err == nil && again; {
			records, again, err = readShard(ctx, streams, arn, shard)
		}
		all = append(all, records...)
	}
	return arn, all, err
}

// shardsOf returns the shards of a stream in the order in which they began, by the time that their ids begin with.
func shardsOf(ctx context.Context, streams *dynamodbstreams.Client, arn string) (shards []streamtypes.Shard, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := streams.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			slices.SortStableFunc(shards, func(a, b streamtypes.Shard) int { return strings.Compare(*a.ShardId, *b.ShardId) })
			return shards, nil
		}
	}
}

// readShard returns the records of a shard: of one that has ended all, of an open one, which never ends, those before the first answer
// without any. A local database may trim a shard while it is read, under load also one that was just begun: then it must be read
// again.
func readShard(ctx context.Context, streams *dynamodbstreams.Client, arn string, shard streamtypes.Shard) (records []streamtypes.Record, again bool, err error) {
	begin, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return nil, false, err
	}
	open := shard.SequenceNumberRange == nil || shard.SequenceNumberRange.EndingSequenceNumber == nil
	for next := begin.ShardIterator; next != nil; {
		page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		var trimmed *streamtypes.TrimmedDataAccessException
		if errors.As(err, &trimmed) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if open && len(page.Records) == 0 {
			break
		}
		records, next = append(records, page.Records...), page.NextShardIterator
	}
	return records, false, nil
}
