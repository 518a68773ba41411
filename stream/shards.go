package stream

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lease"
)

const (
	readVerb    = "ReadStream"
	mostRecords = 1000
	mostPause   = 30 * time.Second
	kept        = 24 * time.Hour // how long DynamoDB keeps records, at least
)

// checkpoint is how far a reader has come in a shard, with the lease of the shard; docs/layout.md describes it.
type checkpoint struct {
	_ entity.Key `name:"StreamReader" pk:"$#{reader}" sk:"$#{stream}#{shard}"`

	Reader   string    `dynamodbav:"reader"`
	Stream   string    `dynamodbav:"stream"` // ARN; those of a table sort by their age
	Shard    string    `dynamodbav:"shard"`
	Parent   string    `dynamodbav:"parent,omitempty"`
	Sequence string    `dynamodbav:"sequence,omitempty"` // of the last record that was handled
	Finished bool      `dynamodbav:"finished"`           // all records were handled
	Since    time.Time `dynamodbav:"since"`              // no record was missing then; of the beginning: when that was
	Latest   bool      `dynamodbav:"latest,omitempty"`   // of the beginning: records from before are passed over
	Saved    time.Time `dynamodbav:"saved" entity:"updated_at"`
	lease.Term
}

// shardID identifies a shard; beginning is that of the checkpoint which says when a reader began.
type shardID struct{ stream, shard string }

var beginning = shardID{"beginning", "beginning"}

func (c *checkpoint) id() shardID     { return shardID{c.Stream, c.Shard} }
func (c *checkpoint) parent() shardID { return shardID{c.Stream, c.Parent} }

// run is one call of Run.
type run struct {
	*Reader
	handle func(context.Context, Event) (Response, error)
	known  map[shardID]checkpoint // as last read; those of a reader alone are nowhere else
	latest map[shardID]*string    // iterators for what came after the beginning, if this run made it
	held   map[shardID]bool       // shards that are read
	free   []*reading             // shards that can be read
}

// coordinate reads shards as they come and get free, until ctx is done or one fails.
func (u *run) coordinate(outer context.Context) (err error) {
	ctx, stop := context.WithCancel(outer)
	defer stop()
	ended := make(chan *reading)
	for err == nil && ctx.Err() == nil {
		if err = u.measured(ctx, "", u.discover); err != nil {
			break
		}
		for _, x := range u.free {
			if u.o.MaxShards > 0 && len(u.held) >= u.o.MaxShards {
				break
			}
			u.held[x.shardID] = true
			go func() {
				x.err = x.read(ctx)
				ended <- x
			}()
		}
		select {
		case x := <-ended:
			err = u.ended(x)
		case <-ctx.Done():
		case <-time.After(10 * u.o.Poll):
		}
	}
	if stop(); outer.Err() != nil {
		err = nil
	}
	for len(u.held) > 0 {
		err = cmp.Or(err, u.ended(<-ended))
	}
	return err
}

// ended notes how far a shard was read, and returns the error after which none is read.
func (u *run) ended(x *reading) error {
	delete(u.held, x.shardID)
	u.known[x.shardID] = x.saved
	return x.err
}

// measured runs f as a call of the tracer, again and again while its errors pass. about is in the error.
func (u *run) measured(ctx context.Context, about string, f func(context.Context) error) error {
	for n := 0; ; n++ {
		err := u.runner.Measure(engine.Named(ctx, u.o.Name), entitytype.Call{Verb: readVerb, Table: u.o.Source}, f)
		if err == nil {
			return nil
		} else if ctx.Err() != nil || !engine.Passes(err) {
			return &entity.Error{Verb: readVerb, Key: about, Err: err}
		} else if err := pause(ctx, u.o.Poll, n); err != nil {
			return err
		}
	}
}

// pause waits after failure n, counted from 0.
func pause(ctx context.Context, first time.Duration, n int) error {
	return engine.Sleep(ctx, min(first<<min(n, 10), max(first, mostPause)))
}

// ask sends a request to the streams of the table.
func ask[I, O any](ctx context.Context, u *run, send func(context.Context, *I, ...func(*dynamodbstreams.Options)) (*O, error), operation string, in *I) (out *O, err error) {
	err = u.runner.Stream(ctx, operation, u.o.Source, func(ctx context.Context) (n int, err error) {
		out, err = send(ctx, in, func(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} })
		if page, ok := any(out).(*dynamodbstreams.GetRecordsOutput); ok && err == nil {
			n = len(page.Records)
		}
		return n, err
	})
	return out, err
}

// isGone reports that a stream or shard does not exist any more.
func isGone(err error) bool { return errors.As(err, new(*streamtypes.ResourceNotFoundException)) }

// sorted returns checkpoints by their streams and shards, oldest first.
func sorted(all map[shardID]checkpoint) []checkpoint {
	return slices.SortedFunc(maps.Values(all), func(a, b checkpoint) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Shard, b.Shard))
	})
}

// discover finds new shards, forgets those that are gone, and sets those that can be read: of the oldest stream that is not read to its end,
// with a parent that is, and a free lease. It reads checkpoints before it asks for shards, since they are removed after their shards.
func (u *run) discover(ctx context.Context) error {
	if u.store != nil {
		stored, err := u.store.Query(checkpoint{Reader: u.o.Name}, entity.Consistent()).Collect(ctx)
		if err != nil {
			return err
		}
		clear(u.known)
		for _, c := range stored {
			u.known[c.id()] = c
		}
	}
	listed, over, err := u.list(ctx)
	if err != nil {
		return err
	}
	began, err := u.add(ctx, listed)
	if err != nil {
		return err
	}
	oldest, now := "", u.runner.Clock()
	u.free = nil
	for _, c := range sorted(u.known) {
		p := u.known[c.parent()]
		switch _, there := listed[c.id()]; {
		case c.id() == beginning:
		case c.Finished && !there:
			if delete(u.known, c.id()); u.store != nil {
				err = cmp.Or(err, u.store.Delete(ctx, c, entity.IfPresent(nil)))
			}
		case !c.Finished:
			oldest = cmp.Or(oldest, c.Stream)
			if c.Stream == oldest && (p.Shard == "" || p.Finished) && !u.held[c.id()] && (c.Token == "" || now.After(c.Until)) {
				x := &reading{run: u, shardID: c.id(), saved: c, whole: c.Since, next: u.latest[c.id()]}
				if p.Saved.After(c.Since) {
					x.whole = p.Saved // the last record of the parent was there, which is older than all of the shard
				}
				if began.Latest {
					x.from = began.Since.Truncate(time.Minute)
				}
				u.free = append(u.free, x)
			}
		}
	}
	if over && oldest == "" {
		return ErrNoStream
	}
	return err
}

// list returns the shards of the newest stream of the table, and of older ones that were not read to their end. Those that are closed are
// finished. over is set if no shard will be added.
func (u *run) list(ctx context.Context) (listed map[shardID]checkpoint, over bool, err error) {
	table, err := u.runner.DescribeTable(ctx, u.o.Source)
	if err != nil {
		return nil, false, err
	}
	newest := aws.ToString(table.LatestStreamArn)
	arns := []string{newest}
	for id := range u.known {
		arns = append(arns, id.stream)
	}
	slices.Sort(arns)
	listed, over = map[shardID]checkpoint{}, newest == ""
	for _, arn := range slices.Compact(arns) {
		for in := (&dynamodbstreams.DescribeStreamInput{StreamArn: &arn}); arn != "" && arn != beginning.stream; {
			out, err := ask(ctx, u, u.client.DescribeStream, "DescribeStream", in)
			if isGone(err) {
				over = over || arn == newest
				break
			} else if err != nil {
				return nil, false, err
			}
			for _, s := range out.StreamDescription.Shards {
				c := checkpoint{Reader: u.o.Name, Stream: arn, Shard: aws.ToString(s.ShardId), Parent: aws.ToString(s.ParentShardId)}
				c.Finished = s.SequenceNumberRange != nil && s.SequenceNumberRange.EndingSequenceNumber != nil
				listed[c.id()] = c
			}
			over = over || arn == newest && out.StreamDescription.StreamStatus == streamtypes.StreamStatusDisabled
			if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
				break
			}
		}
	}
	return listed, over, nil
}

// add stores the checkpoint of the beginning, and those of new shards.
func (u *run) add(ctx context.Context, listed map[shardID]checkpoint) (began checkpoint, err error) {
	began, again := u.known[beginning]
	if !again {
		began = checkpoint{Reader: u.o.Name, Stream: beginning.stream, Shard: beginning.shard, Latest: u.o.Latest, Since: u.runner.Clock()}
		for _, c := range sorted(listed) {
			if !u.o.Latest || c.Finished {
				continue
			}
			out, err := u.iterator(ctx, c.id(), streamtypes.ShardIteratorTypeLatest, "")
			if err == nil {
				u.latest[c.id()] = out.ShardIterator
				if at, ok := middleware.GetServerTime(out.ResultMetadata); ok {
					began.Since = at // by the clock of the records
				}
			} else if !isGone(err) {
				return began, err
			}
		}
		if err := u.create(ctx, began); errors.Is(err, entity.ErrExists) { // another process began
			clear(u.latest)
			if began, err = u.store.Get(ctx, began, entity.Consistent()); err != nil {
				return began, err
			}
			again = true
		} else if err != nil {
			return began, err
		}
	}
	for _, c := range sorted(listed) {
		p, known := u.known[c.parent()]
		_, there := listed[c.parent()]
		switch c.Finished, c.Since = c.Finished && !again && began.Latest, u.runner.Clock(); {
		case known:
			c.Since = p.Saved
		case !there && c.Parent != "":
			c.Since = began.Since // the parent was gone before, or has come and gone since
		}
		if _, known := u.known[c.id()]; !known {
			if err := u.create(ctx, c); err != nil && !errors.Is(err, entity.ErrExists) {
				return began, err
			}
		}
	}
	return began, nil
}

// create stores a new checkpoint.
func (u *run) create(ctx context.Context, c checkpoint) (err error) {
	c.Writes, c.Saved = 1, u.runner.Clock()
	if u.known[c.id()] = c; u.store != nil {
		_, err = u.store.Create(ctx, c)
	}
	return err
}

// iterator returns an iterator of a shard, after a sequence number if there is one.
func (u *run) iterator(ctx context.Context, of shardID, from streamtypes.ShardIteratorType, after string) (*dynamodbstreams.GetShardIteratorOutput, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &of.stream, ShardId: &of.shard, ShardIteratorType: from}
	if after != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &after
	}
	return ask(ctx, u, u.client.GetShardIterator, "GetShardIterator", in)
}
