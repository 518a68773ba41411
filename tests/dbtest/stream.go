package dbtest

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Stream follows the stream of a table; [localdb.Records] reads it as a whole. A local database may trim a shard while it is read,
// under load also one that was just begun; then Stream reads the shard from its oldest record again.
type Stream struct {
	ARN string

	client *dynamodbstreams.Client
	next   map[string]*string // iterators of the shards that Next has begun
}

// OpenStream turns the stream of a table on, with what view shows of each item.
func OpenStream(ctx context.Context, client *dynamodb.Client, table string, view types.StreamViewType) (*Stream, error) {
	out, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: &table, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	})
	if err != nil {
		return nil, err
	}
	o := client.Options()
	return &Stream{
		ARN:    *out.TableDescription.LatestStreamArn,
		client: dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient}),
		next:   map[string]*string{},
	}, nil
}

// Next returns the records that have come since the last call, of each shard those of one answer. Records of a shard that was
// trimmed come again.
func (s *Stream) Next(ctx context.Context) (all []streamtypes.Record, err error) {
	shards, err := s.shards(ctx)
	for _, shard := range shards {
		if at, begun := s.next[shard]; err == nil && !(begun && at == nil) {
			var page []streamtypes.Record
			page, err = s.page(ctx, shard, !begun)
			all = append(all, page...)
		}
	}
	return all, err
}

// shards returns the ids of the shards.
func (s *Stream) shards(ctx context.Context) (ids []string, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.ARN}
	for {
		out, err := s.client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, shard := range out.StreamDescription.Shards {
			ids = append(ids, *shard.ShardId)
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return ids, nil
		}
	}
}

// page returns the next records of a shard, from its oldest one if begin is set, and none if they were trimmed.
func (s *Stream) page(ctx context.Context, shard string, begin bool) ([]streamtypes.Record, error) {
	if begin {
		out, err := s.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &s.ARN, ShardId: &shard, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			return nil, err
		}
		s.next[shard] = out.ShardIterator
	}
	out, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.next[shard]})
	var gone *streamtypes.TrimmedDataAccessException
	if errors.As(err, &gone) {
		delete(s.next, shard) // begun again by the next call
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.next[shard] = out.NextShardIterator
	return out.Records, nil
}
