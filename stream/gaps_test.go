package stream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/stream"
)

// A process whose acquisitions fail for a while, in which another one reads the shard and stops, goes on where that one stopped.
func TestReader_AnAcquisitionThatFailedTakesOverWhatIsStored(t *testing.T) {
	t.Parallel()
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2", "t-3", "t-4")
	first := l.process(t, b, stream.ReaderOptions{})
	first.each = func(id string) {
		if id == "t-2" {
			first.stop()
		}
	}
	first.start()
	require.NoError(t, <-first.done)
	var failed atomic.Int64
	late := l.process(t, b, stream.ReaderOptions{})
	late.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "UpdateItem" {
			failed.Add(1)
			return faults.Throttle
		}
		return faults.None
	})
	late.start()
	eventually(t, "an acquisition fails", func() bool { return failed.Load() > 10 })
	other := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "the other reads on", other.has("t-4"))
	other.end()
	late.wire.Inject(nil)
	b.do(func() { b.shards[0].add(time.Now(), "t-5") })
	eventually(t, "the first one takes over", late.has("t-5"))
	require.NotContains(t, late.end(), "t-2", "it was handled, and saved")
}

// The checkpoints of a name are of one table.
func TestReader_OneNameReadsOneTable(t *testing.T) {
	t.Parallel()
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1")
	p := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "the first", p.has("t-1"))
	p.end()
	err := stream.NewReader(b, p.db, stream.ReaderOptions{Name: "search", Source: "another"}).Run(l.Ctx, stream.On(entity.Must(entity.New[Team](p.db)), func(context.Context, stream.Change[Team]) error { return nil }))
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9231", bad.Code)
}

// A lease that is lost while a record is parked ends the shard, and not the reader.
func TestReader_GoesOnIfTheLeaseIsLostWhileParking(t *testing.T) {
	t.Parallel()
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2")
	parking, lost := make(chan bool), make(chan bool)
	var begin, end sync.Once
	old := l.process(t, b, stream.ReaderOptions{Attempts: 1, Park: func(ctx context.Context, _ stream.Failure) error {
		begin.Do(func() { close(parking) })
		<-ctx.Done()
		end.Do(func() { close(lost) })
		return ctx.Err()
	}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- old.reader.Run(ctx, stream.On(entity.Must(entity.New[Team](old.db)), func(context.Context, stream.Change[Team]) error { return errors.New("bad") }))
	}()
	<-parking
	old.wire.Inject(func(r faults.Request) faults.Fault { // or it could take the lease again
		if r.Operation == "UpdateItem" {
			return faults.Throttle
		}
		return faults.None
	})
	l.Clock.Move(31 * time.Second)
	fresh := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "another takes over", fresh.has("t-2"))
	<-lost // when the lease is renewed the next time
	old.wire.Inject(nil)
	queries := old.wire.Count("Query")
	eventually(t, "the first one looks for shards again", func() bool { return old.wire.Count("Query") > queries+1 || len(done) > 0 })
	require.Empty(t, done)
	stop()
	require.NoError(t, <-done)
	fresh.end()
}

// While the last page of a shard waits for more than a day, records of its child are removed: that is reported.
func TestReader_ReportsTheGapOfAChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &brook{arn: "arn:aws:dynamodb:eu-central-1:1:table/app/stream/2026"}
		b.shard("a", "", time.Now(), "t-1").closed = true
		db := entity.Must(entity.Open(b, entity.Config{Table: "app"}))
		var seen []string
		note := func(what string) { b.do(func() { seen = append(seen, what) }) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- stream.NewReader(b, db, stream.ReaderOptions{Alone: true, Source: "app", OnLost: func(_ context.Context, g *stream.LostError) error {
				note("lost " + g.Shard)
				return nil
			}}).Run(ctx, stream.On(entity.Must(entity.New[Team](db)), func(_ context.Context, c stream.Change[Team]) error {
				if c.New.ID == "t-1" {
					time.Sleep(30 * time.Hour)
				}
				note(c.New.ID)
				return nil
			}))
		}()
		time.Sleep(time.Minute)
		b.do(func() { b.shard("b", "a", time.Now(), "t-2", "t-3") })
		time.Sleep(29 * time.Hour)
		b.do(func() { b.shards[1].trimmed = 1 })
		time.Sleep(2 * time.Hour)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, []string{"t-1", "lost b", "t-3"}, seen)
	})
}

// blink leaves the first shard out of some answers.
type blink struct {
	*brook
	n int
}

func (c *blink) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, o ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, err := c.brook.DescribeStream(ctx, in, o...)
	if c.n++; c.n > 3 && c.n%2 == 0 {
		out.StreamDescription.Shards = out.StreamDescription.Shards[1:]
	}
	return out, err
}

// A shard that is missing from an answer is not forgotten, and so not read again after its child.
func TestReader_KeepsWhatAnAnswerLeavesOut(t *testing.T) {
	t.Parallel()
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1").closed = true
	b.shard("b", "a", time.Now(), "t-2")
	p := l.process(t, b, stream.ReaderOptions{})
	c := &blink{brook: b}
	p.reader = stream.NewReader(c, p.db, stream.ReaderOptions{Name: "search", Poll: time.Millisecond})
	p.start()
	eventually(t, "the child", p.has("t-2"))
	queries := p.wire.Count("Query")
	eventually(t, "more answers", func() bool { return p.wire.Count("Query") > queries+6 })
	require.Equal(t, []string{"t-1", "t-2"}, p.end())
}

// Shards that end at once are not looked for after each.
func TestReader_LooksForShardsOncePerPoll(t *testing.T) {
	t.Parallel()
	l, b := brookLab(t)
	for i := range 60 {
		b.shard(fmt.Sprintf("%03d", i), "", time.Now()).closed = true
	}
	b.shard("z", "", time.Now(), "t-1")
	p := l.process(t, b, stream.ReaderOptions{MaxShards: 1})
	p.reader = stream.NewReader(b, p.db, stream.ReaderOptions{Name: "search", MaxShards: 1, Poll: 10 * time.Minute})
	p.start()
	eventually(t, "the last shard", p.has("t-1"))
	require.Equal(t, 1, p.wire.Count("Query"))
	p.end()
}

// DynamoDB Local sends an empty map without a type.
func TestFromSDK_ReadsEmptyMapsOfDynamoDBLocal(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store[Team](l)
	l.create()
	empty := func() types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	}
	for name, v := range map[string]types.AttributeValue{
		"map": empty(), "in a map": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": empty()}}, "in a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{empty()}},
	} {
		_, err := l.Raw.PutItem(l.Ctx, &dynamodb.PutItemInput{TableName: &l.Table, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: name}, "sk": &types.AttributeValueMemberS{Value: "s"}, "v": v,
		}})
		require.NoError(t, err)
		records := l.all()
		r := stream.FromSDK(l.arn, records[len(records)-1])
		require.NoError(t, r.Err(), name)
		require.Equal(t, v, r.New["v"], name)
	}
}
