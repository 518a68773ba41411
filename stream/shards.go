package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
)

const (
	readVerb    = "ReadStream"
	mostRecords = 1000
	mostPause   = 30 * time.Second
	kept        = 24 * time.Hour // how long DynamoDB keeps records, at least
)

// A checkpoint records how far a reader has come in a shard, with the lease of the shard; docs/streams.md describes it.
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
	From     time.Time `dynamodbav:"from,omitempty"`     // of such a beginning: a time before it, by the clock of DynamoDB
	Source   string    `dynamodbav:"source,omitempty"`   // of the beginning: the table that is read
	Next     string    `dynamodbav:"next,omitempty"`     // the iterator with which a reader that began at the latest record goes on; "" with a Sequence
	Saved    time.Time `dynamodbav:"saved" entity:"updated_at"`
	Mark     bool      `dynamodbav:"_reader,omitempty"` // of what readers pass over; no other entity can have it
	lease.Term
}

// shardID identifies a shard; beginning is that of the checkpoint which says when a reader began.
type shardID struct{ stream, shard string }

var beginning = shardID{"beginning", "beginning"}

// leaseName names the lease of a shard in errors.
func leaseName(of shardID) string { return of.stream + " " + of.shard }

func (c *checkpoint) id() shardID     { return shardID{c.Stream, c.Shard} }
func (c *checkpoint) parent() shardID { return shardID{c.Stream, c.Parent} }

// run is one call of Run.
type run struct {
	*Reader
	handle func(context.Context, Event) (Response, error)
	known  map[shardID]checkpoint // as last read; those of a reader alone are nowhere else
	held   map[shardID]bool       // shards that are read
	free   []*reading             // shards that can be read
}

// coordinate reads shards as they come and get free, until ctx is done or one fails.
func (u *run) coordinate(outer context.Context) (err error) {
	ctx, stop := context.WithCancel(outer)
	defer stop()
	ended := make(chan *reading)
	var looked time.Time // when shards were looked for
	var wait time.Duration
	for err == nil && ctx.Err() == nil {
		if time.Since(looked) >= wait {
			if err = u.measured(ctx, "", u.discover); err != nil {
				break
			}
			looked, wait = time.Now(), 10*u.o.Poll
		}
		for ; len(u.free) > 0 && (u.o.MaxShards == 0 || len(u.held) < u.o.MaxShards); u.free = u.free[1:] {
			x := u.free[0]
			u.held[x.shardID] = true
			go func() { x.err = x.read(ctx); ended <- x }()
		}
		select {
		case x := <-ended:
			err, wait = u.ended(x), u.o.Poll // it may have children, or have lost its lease
		case <-ctx.Done():
		case <-time.After(wait - time.Since(looked)):
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
	err = u.runner.Repeat(ctx, operation, u.o.Source, func(ctx context.Context) (n int, err error) {
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
		if err := u.foreign(u.known[beginning]); err != nil {
			return err
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
		case c.Finished && !there && now.Sub(c.Saved) > kept: // before, an answer left it out
			if delete(u.known, c.id()); u.store != nil {
				err = cmp.Or(err, u.store.Delete(ctx, c, entity.IfPresent(nil)))
			}
		case !c.Finished:
			oldest = cmp.Or(oldest, c.Stream)
			if c.Stream == oldest && (p.Shard == "" || p.Finished) && !u.held[c.id()] && (u.store == nil || u.leases.Free(leaseName(c.id()), c.Term) == nil) {
				x := &reading{run: u, shardID: c.id(), saved: c, whole: c.Since, from: began.From}
				if p.Since.After(c.Since) {
					x.whole = p.Since // the last record of the parent was there, which is older than all of the shard
				}
				u.free = append(u.free, x)
			}
		}
	}
	if over != nil && oldest == "" {
		return over
	}
	return err
}

// foreign refuses a name under which another table is read.
func (u *run) foreign(began checkpoint) error {
	if began.Source == "" || began.Source == u.o.Source {
		return nil
	}
	return &entity.InputError{Code: bind.CodeReaderName, Type: "stream.ReaderOptions", Problem: "the Name belongs to a reader of the table " + began.Source + "; give each table a reader with a name of its own"}
}

// list returns the shards of the newest stream of the table, and of older ones that were not read to their end. Those that are closed are
// finished. over is an [ErrNoStream] if no shard will be added.
func (u *run) list(ctx context.Context) (listed map[shardID]checkpoint, over, err error) {
	table, err := u.runner.DescribeTable(ctx, u.o.Source)
	if err != nil {
		return nil, nil, err
	}
	newest := aws.ToString(table.LatestStreamArn)
	arns := []string{newest}
	for id := range u.known {
		arns = append(arns, id.stream)
	}
	slices.Sort(arns)
	listed = map[shardID]checkpoint{}
	if newest == "" {
		over = ErrNoStream
	}
	for _, arn := range slices.Compact(arns) {
		for in := (&dynamodbstreams.DescribeStreamInput{StreamArn: &arn}); arn != "" && arn != beginning.stream; {
			out, err := ask(ctx, u, u.client.DescribeStream, "DescribeStream", in)
			if isGone(err) {
				if arn == newest {
					over = fmt.Errorf("%w: %s is not found: %w", ErrNoStream, arn, err)
				}
				break
			} else if err != nil {
				return nil, nil, err
			}
			for _, s := range out.StreamDescription.Shards {
				c := checkpoint{Reader: u.o.Name, Stream: arn, Shard: aws.ToString(s.ShardId), Parent: aws.ToString(s.ParentShardId)}
				c.Finished = s.SequenceNumberRange != nil && s.SequenceNumberRange.EndingSequenceNumber != nil
				listed[c.id()] = c
			}
			if arn == newest && out.StreamDescription.StreamStatus == streamtypes.StreamStatusDisabled {
				over = ErrNoStream
			}
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
	latest := map[shardID]string{} // iterators for what comes after the beginning
	if !again {
		began = checkpoint{Reader: u.o.Name, Stream: beginning.stream, Shard: beginning.shard, Latest: u.o.Latest, Since: u.runner.Clock(), Source: u.o.Source}
		for _, c := range sorted(listed) {
			if !u.o.Latest || c.Finished {
				continue
			}
			out, err := u.iterator(ctx, c.id(), streamtypes.ShardIteratorTypeLatest, "")
			if err == nil {
				latest[c.id()] = aws.ToString(out.ShardIterator)
				if at, ok := middleware.GetServerTime(out.ResultMetadata); ok && began.From.IsZero() {
					began.From = at.Add(-time.Minute).Truncate(time.Minute) // times of records are rounded, and from other machines
				}
			} else if !isGone(err) {
				return began, err
			}
		}
		if err := u.create(ctx, began); errors.Is(err, entity.ErrExists) { // another process began
			clear(latest)
			if began, err = u.store.Get(ctx, began, entity.Consistent()); err == nil {
				err = u.foreign(began)
			}
			if err != nil {
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
			c.Since = p.Since
		case !there && c.Parent != "":
			c.Since = began.Since // the parent was gone before, or has come and gone since
		}
		c.Next = latest[c.id()]
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
	c.Writes, c.Saved, c.Mark = 1, u.runner.Clock(), true
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

// reading is a shard that this process reads.
type reading struct {
	*run
	shardID
	mu    sync.Mutex
	saved checkpoint // guarded by mu: what was done, to be stored by this process and by renewals of its lease

	lease *lease.Held // nil for a reader alone, and before it is taken
	whole time.Time   // no record of the shard was missing then
	from  time.Time   // records from before are passed over
	next  *string     // iterator; nil if a new one is needed
	last  string      // sequence number of the last record that was done; "" before the first, and after a gap
	err   error       // of read
}

// Load implements lease.Record.
func (x *reading) Load(ctx context.Context) (lease.Term, error) {
	c, err := x.store.Get(ctx, checkpoint{Reader: x.o.Name, Stream: x.stream, Shard: x.shard}, entity.Consistent())
	if x.lease == nil {
		x.saved = c
	}
	return c.Term, err
}

// Store implements lease.Record.
func (x *reading) Store(ctx context.Context, t *lease.Term) error {
	x.mu.Lock()
	c := x.saved
	x.mu.Unlock()
	c.Term, c.Mark = *t, true
	f := entity.Fields[checkpoint]() // it is removed when the shard is gone
	_, err := x.store.Put(ctx, c, append(lease.After(&f.Writes, t), entity.If(entity.Exists(&f.Shard)))...)
	return err
}

// done notes the last record that was done, and whether it is the last of the shard.
func (x *reading) done(sequence string, finished bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last, x.saved.Finished, x.saved.Saved = sequence, finished, x.runner.Clock()
	if x.saved.Sequence = cmp.Or(sequence, x.saved.Sequence); x.saved.Sequence != "" {
		x.saved.Next = ""
	}
}

// goOn notes the iterator with which the shard is read on, nil if a new one is needed.
func (x *reading) goOn(next *string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next = next; x.saved.Next != "" {
		x.saved.Next = aws.ToString(next)
	}
}

// read reads the shard until it ends, ctx is done, or the lease is lost or another's.
func (x *reading) read(ctx context.Context) (err error) {
	if x.store == nil {
		err = x.follow(ctx)
	} else if err = x.measured(ctx, x.shard, x.acquire); err == nil {
		err = x.lease.Keep(ctx, x.follow)
	}
	if ctx.Err() != nil {
		err = nil
	}
	if x.lease != nil {
		err = cmp.Or(err, x.measured(ctx, x.shard, x.lease.Release))
	}
	for _, away := range []error{lease.ErrLost, lease.ErrTaken, entity.ErrConflict, entity.ErrNotFound} {
		if x.err == nil && errors.Is(err, away) { // and not returned by the program
			err = nil
		}
	}
	return err
}

func (x *reading) acquire(ctx context.Context) error {
	held, err := lease.AcquireIn(ctx, x.leases, leaseName(x.shardID), x, x.Store)
	if err == nil { // until then Load takes over what is stored
		x.lease = held
	}
	return err
}

// follow handles the records of the shard.
func (x *reading) follow(ctx context.Context) (err error) {
	if x.last = x.saved.Sequence; x.last == "" && x.saved.Next != "" {
		x.next = aws.String(x.saved.Next)
	}
	if x.last == "" && !x.saved.Finished && x.runner.Clock().Sub(x.whole) > kept {
		err = x.lost(ctx)
	}
	for err == nil && !x.saved.Finished {
		err = x.page(ctx)
	}
	return err
}

// page handles the next records.
func (x *reading) page(ctx context.Context) error {
	page, at := &dynamodbstreams.GetRecordsOutput{}, x.runner.Clock()
	err := x.measured(ctx, x.shard, func(ctx context.Context) (err error) {
		if x.next == nil {
			out, err := x.iterator(ctx, x.shardID, streamtypes.ShardIteratorTypeTrimHorizon, x.last)
			if err != nil || out.ShardIterator == nil { // all was read
				return err
			}
			x.next = out.ShardIterator
		}
		page, err = ask(ctx, x.run, x.client.GetRecords, "GetRecords", &dynamodbstreams.GetRecordsInput{ShardIterator: x.next, Limit: aws.Int32(int32(x.o.Batch))})
		return err
	})
	if err != nil {
		expired, trimmed := errors.As(err, new(*streamtypes.ExpiredIteratorException)), errors.As(err, new(*streamtypes.TrimmedDataAccessException))
		if expired || trimmed || isGone(err) { // after others, and when ctx ends, the iterator is as good as before
			x.goOn(nil)
		}
		switch {
		case expired:
			err = nil
		case trimmed:
			err = x.lost(ctx)
		case isGone(err):
			if err = x.lost(ctx); err == nil {
				x.done("", true)
			}
		}
		if err == nil {
			err = engine.Sleep(ctx, x.o.Poll)
		}
		return err
	}
	x.mu.Lock()
	x.saved.Since = at // what comes after the last record that was done was there
	x.mu.Unlock()
	var records []Record
	last := x.last
	for _, r := range page.Records {
		record := FromSDK(x.stream, r)
		if last = record.SequenceNumber; !x.own(record) && !record.Time.Before(x.from) {
			records = append(records, record)
		}
	}
	if err := x.handleAll(ctx, records); err != nil {
		return err
	}
	x.goOn(page.NextShardIterator)
	if x.done(last, x.next == nil); x.next != nil && len(records) > 0 && x.lease != nil {
		return x.measured(ctx, x.shard, x.lease.Renew)
	} else if x.next != nil && len(page.Records) == 0 {
		return engine.Sleep(ctx, x.o.Poll)
	}
	return nil
}

// handleAll gives records to the function until each is handled or parked.
func (x *reading) handleAll(ctx context.Context, records []Record) error {
	for failures := 0; len(records) > 0; {
		resp, err := x.handle(ctx, Event{Records: records})
		done := len(records)
		for _, f := range resp.BatchItemFailures {
			i := slices.IndexFunc(records, func(r Record) bool { return r.SequenceNumber == f.ItemIdentifier })
			if i < 0 { // as on Lambda, all records fail
				err = cmp.Or(err, fmt.Errorf("the function named a failed record %q that is not in the batch", f.ItemIdentifier))
			}
			done = min(done, max(0, i))
		}
		if err != nil {
			done = 0
		}
		if done > 0 {
			x.done(records[done-1].SequenceNumber, false)
			records, failures = records[done:], 0
		}
		if ctx.Err() != nil || len(records) == 0 {
			return ctx.Err()
		}
		failure := Failure{Record: records[0], Err: cmp.Or(err, resp.Err(), errors.New("the function did not handle the record"))}
		switch failures++; {
		case failures < x.o.Attempts:
			if err := pause(ctx, x.o.Retry, failures-1); err != nil {
				return err
			}
			continue
		case err != nil || x.o.Park == nil:
			return x.failed(failure.Record, failure.Err)
		}
		if err := x.o.Park(ctx, failure); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return x.failed(failure.Record, err)
		}
		x.done(failure.Record.SequenceNumber, false)
		records, failures = records[1:], 0
	}
	return nil
}

// lost reports that records were removed before they were read.
func (x *reading) lost(ctx context.Context) (err error) {
	gap := &LostError{Stream: x.stream, Shard: x.shard, After: x.last}
	if x.last, err = "", gap; x.o.OnLost != nil {
		err = x.o.OnLost(ctx, gap)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return x.failed(Record{SequenceNumber: gap.After}, err)
	}
	return nil
}

// failed notes an error of the program, with the record that it is about.
func (x *reading) failed(r Record, err error) error {
	x.err = &entity.Error{Verb: readVerb, Key: x.shard + " " + r.SequenceNumber, Err: err}
	return x.err
}

// ownPart is the sort key of a checkpoint. It decides where the stream has no image of the item.
var ownPart = regexp.MustCompile(`^\$[^#]*#v\d+#streamreader(-[^#]*)?#(beginning#beginning$|arn:)`)

// own reports whether a record is about a checkpoint of a reader, of any program. If they were handled, each would make another.
func (x *reading) own(r Record) bool {
	if x.store == nil {
		return false
	}
	if old, now := r.images(); old != nil || now != nil {
		return old[schema.ReaderAttr] != nil || now[schema.ReaderAttr] != nil
	}
	sk, ok := r.Keys[engine.Of(x.store).Schema.SK.Attribute()].(*types.AttributeValueMemberS)
	return ok && ownPart.MatchString(sk.Value)
}
