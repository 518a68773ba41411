package stream

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lease"
)

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
	c.Term = *t
	f := entity.Fields[checkpoint]() // it is removed when the shard is gone
	_, err := x.store.Put(ctx, c, append(lease.After(&f.Writes, t), entity.If(entity.Exists(&f.Shard)))...)
	return err
}

// done notes the last record that was done, and whether it is the last of the shard.
func (x *reading) done(sequence string, finished bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last, x.saved.Finished, x.saved.Saved = sequence, finished, x.runner.Clock()
	x.saved.Sequence = cmp.Or(sequence, x.saved.Sequence)
}

// read reads the shard until it ends, ctx is done, or the lease is lost or another's.
func (x *reading) read(ctx context.Context) (err error) {
	if x.store == nil {
		err = x.follow(ctx)
	} else if err = x.measured(ctx, x.shard, x.acquire); err == nil {
		err = x.lease.Keep(ctx, x.follow)
	}
	for _, away := range []error{lease.ErrLost, lease.ErrTaken, entity.ErrConflict, entity.ErrNotFound} { // not if the program returned it
		if ctx.Err() != nil || x.err == nil && errors.Is(err, away) {
			err = nil
		}
	}
	if x.lease != nil {
		if e := x.measured(ctx, x.shard, x.lease.Release); !errors.Is(e, lease.ErrLost) {
			err = cmp.Or(err, e)
		}
	}
	return err
}

func (x *reading) acquire(ctx context.Context) (err error) {
	x.lease, err = lease.AcquireIn(ctx, x.leases, x.stream+" "+x.shard, x, x.Store)
	return err
}

// follow handles the records of the shard.
func (x *reading) follow(ctx context.Context) (err error) {
	if x.last = x.saved.Sequence; x.last != "" {
		x.next = nil // the one for what is new
	} else if !x.saved.Finished && x.runner.Clock().Sub(x.whole) > kept {
		err = x.lost(ctx)
	}
	for err == nil && !x.saved.Finished {
		err = x.page(ctx)
	}
	return err
}

// page handles the next records.
func (x *reading) page(ctx context.Context) error {
	page := &dynamodbstreams.GetRecordsOutput{}
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
		x.next = nil
		switch {
		case errors.As(err, new(*streamtypes.ExpiredIteratorException)):
			return engine.Sleep(ctx, x.o.Poll)
		case errors.As(err, new(*streamtypes.TrimmedDataAccessException)):
			return x.lost(ctx)
		case isGone(err):
			if err = x.lost(ctx); err == nil {
				x.done("", true)
			}
		}
		return err
	}
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
	x.next = page.NextShardIterator
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
		for _, f := range resp.BatchItemFailures { // as on Lambda, all records fail if one is not in the batch
			done = min(done, max(0, slices.IndexFunc(records, func(r Record) bool { return r.SequenceNumber == f.ItemIdentifier })))
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
		return x.failed(Record{SequenceNumber: gap.After}, err)
	}
	return nil
}

// failed notes an error of the program, with the record that it is about.
func (x *reading) failed(r Record, err error) error {
	x.err = &entity.Error{Verb: readVerb, Key: x.shard + " " + r.SequenceNumber, Err: err}
	return x.err
}

// ownKey is the partition key of checkpoints. If they were handled, each would make another.
var ownKey = regexp.MustCompile(`^\$[^#]*#v\d+#streamreader(-[^#]*)?#`)

// own reports whether a record is about a checkpoint of a reader.
func (x *reading) own(r Record) bool {
	if x.store == nil {
		return false
	}
	pk, ok := r.Keys[engine.Of(x.store).Schema.PK.Attribute()].(*types.AttributeValueMemberS)
	return ok && ownKey.MatchString(pk.Value)
}
