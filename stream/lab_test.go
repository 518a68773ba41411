package stream_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/stream"
)

// lab is a table with a stream, and what has been read of it.
type lab struct {
	t     testing.TB
	ctx   context.Context
	raw   *dynamodb.Client
	table string
	db    *entity.DB
	clock *clock
	arn   string
	view  types.StreamViewType
	read  int // records that were handed out
}

func newLab(t testing.TB, change ...func(*entity.Config)) *lab {
	t.Helper()
	raw, table := localdb.Test(t)
	l := &lab{t: t, ctx: t.Context(), raw: raw, table: table, clock: &clock{now: time.Date(2101, 1, 1, 0, 0, 0, 987654321, time.UTC)}, view: types.StreamViewTypeNewAndOldImages}
	l.db = l.open(table, change...)
	return l
}

func (l *lab) open(table string, change ...func(*entity.Config)) *entity.DB {
	l.t.Helper()
	cfg := entity.Config{Table: table, Clock: l.clock.Now}
	for _, f := range change {
		f(&cfg)
	}
	db, err := entity.Open(l.raw, cfg)
	require.NoError(l.t, err)
	return db
}

// store declares T on the lab's database.
func store[T any](l *lab) *entity.Store[T] {
	l.t.Helper()
	s, err := entity.New[T](l.db)
	require.NoError(l.t, err)
	return s
}

// create creates the tables, the lab's with a stream.
func (l *lab) create() *lab {
	l.t.Helper()
	require.NoError(l.t, l.db.CreateTables(l.ctx))
	on := true
	out, err := l.raw.UpdateTable(l.ctx, &dynamodb.UpdateTableInput{
		TableName: &l.table, StreamSpecification: &types.StreamSpecification{StreamEnabled: &on, StreamViewType: l.view},
	})
	require.NoError(l.t, err)
	l.arn = *out.TableDescription.LatestStreamArn
	return l
}

// streams is a client of the stream side of the same database.
func (l *lab) streams() *dynamodbstreams.Client {
	o := l.raw.Options()
	return dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
}

// all are the records of every shard from its beginning.
func (l *lab) all() []streamtypes.Record {
	l.t.Helper()
	client := l.streams()
	var records []streamtypes.Record
	var last *string
	for {
		described, err := client.DescribeStream(l.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &l.arn, ExclusiveStartShardId: last})
		require.NoError(l.t, err)
		for _, shard := range described.StreamDescription.Shards {
			at, err := client.GetShardIterator(l.ctx, &dynamodbstreams.GetShardIteratorInput{
				StreamArn: &l.arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
			})
			require.NoError(l.t, err)
			for iterator := at.ShardIterator; iterator != nil; {
				page, err := client.GetRecords(l.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
				require.NoError(l.t, err)
				records = append(records, page.Records...)
				if len(page.Records) == 0 { // an open shard never ends
					break
				}
				iterator = page.NextShardIterator
			}
		}
		if last = described.StreamDescription.LastEvaluatedShardId; last == nil {
			return records
		}
	}
}

// next are the records that came since it was called last.
func (l *lab) next() []stream.Record {
	l.t.Helper()
	all := l.all()[l.read:]
	l.read += len(all)
	var records []stream.Record
	for _, r := range all {
		records = append(records, stream.FromSDK(l.arn, r))
	}
	return records
}

// told are the changes of a store in records, and how many records are none.
func told[T any](t testing.TB, s stream.Source[T], records []stream.Record) (changes []stream.Change[T], others int) {
	t.Helper()
	for _, r := range records {
		c, ok, err := stream.Of(s, r)
		require.NoError(t, err)
		if !ok {
			others++
			continue
		}
		changes = append(changes, c)
	}
	return changes, others
}

// kinds are the kinds of changes, those of one write in a fixed order: the records of a transaction have none.
func kinds[T any](changes []stream.Change[T]) []stream.Kind {
	var all []stream.Kind
	for _, c := range changes {
		all = append(all, c.Kind)
	}
	slices.Sort(all)
	return all
}

// only is the one change of a kind.
func only[T any](t testing.TB, changes []stream.Change[T], k stream.Kind) stream.Change[T] {
	t.Helper()
	i := slices.IndexFunc(changes, func(c stream.Change[T]) bool { return c.Kind == k })
	require.GreaterOrEqual(t, i, 0, "there is no change %q", k)
	return changes[i]
}

// clock is a clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
