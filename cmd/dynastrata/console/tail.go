package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/write"
	"github.com/dynastrata/dynastrata/stream"
)

// changeNames are the names of changes by the kind of the item: stored, changed, removed, expired; those of package stream.
var changeNames = map[Kind][4]stream.Kind{
	KindCurrent: {stream.Created, stream.Updated, stream.Deleted, stream.Expired},
	KindEvent:   {stream.Appended, stream.EventChanged, stream.EventRemoved, stream.EventExpired},
	KindVersion: {stream.SnapshotStored, stream.SnapshotChanged, stream.SnapshotRemoved, stream.SnapshotExpired},
	KindDeleted: {stream.SoftDeleted, stream.CopyChanged, stream.CopyRemoved, stream.CopyExpired},
}

// errEnough ends tail after --limit changes.
var errEnough = errors.New("enough")

// tailCommand prints changes as they happen.
func (s *session) tailCommand() *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "print the stream of the tables as changes, until interrupted", ArgsUsage: "[entity…]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "from-start", Usage: "begin with the oldest record, up to 24 hours ago"},
			&cli.IntFlag{Name: "limit", Usage: "end after so many changes"},
		},
		ShellComplete: s.complete(s.nextEntities),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			t := &tail{s: s, chosen: map[string]bool{}, left: int(c.Int("limit")), from: streamtypes.ShardIteratorTypeLatest}
			if c.Bool("from-start") {
				t.from = streamtypes.ShardIteratorTypeTrimHorizon
			}
			for _, name := range c.Args().Slice() {
				e, err := s.m.entity(name)
				if err != nil {
					return err
				}
				t.chosen[e.s.Name] = true
			}
			err := t.run(ctx)
			if ctx.Err() != nil {
				s.err.line("interrupted; tail --from-start begins with the oldest record, up to 24 hours ago")
				return nil
			}
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}),
	}
}

// streamClient is what tail needs of a *dynamodbstreams.Client.
type streamClient interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// tail is one run of tail. It goes on after everything that happens to a stream that is read for days: iterators that expire,
// records that are removed before they are read, shards that are gone, and throttling.
type tail struct {
	s      *session
	chosen map[string]bool
	left   int // changes to print; 0 without a limit
	from   streamtypes.ShardIteratorType
	shards []*shard
}

// source is the stream of a table.
type source struct{ table, arn string }

// shard is a shard of a stream.
type shard struct {
	source
	id, parent string

	from  streamtypes.ShardIteratorType // where to begin while nothing is read
	asked time.Time                     // when the iterator for LATEST was given, by DynamoDB's clock; zero without one
	again bool                          // the shard is read from its beginning, because that iterator was lost; records of earlier minutes are passed over
	last  string                        // sequence number of the last record that was read; "" for none
	next  *string                       // iterator; nil if a new one is needed
	ended bool
}

// How long tail waits when there is nothing to read, and at most when it is throttled. DynamoDB allows five reads of a shard a
// second, and keeps an iterator for 15 minutes.
const (
	pause    = time.Second
	maxPause = 30 * time.Second
)

func (t *tail) run(ctx context.Context) error {
	var streams []source
	for _, table := range t.s.m.tables() {
		d, err := t.s.describe(ctx, table)
		if err != nil {
			return err
		}
		if d.LatestStreamArn == nil {
			continue
		}
		streams = append(streams, source{table, *d.LatestStreamArn})
	}
	if len(streams) == 0 {
		return invalid(write.CodeConsoleProgram, "no table has a stream; declare one with stream:\"both\" on entity.Key")
	}
	return t.follow(ctx, streams)
}

// follow prints the records of streams, until ctx ends.
func (t *tail) follow(ctx context.Context, streams []source) error {
	for _, of := range streams {
		if err := t.discover(ctx, of, t.from); err != nil {
			return err
		}
	}
	for {
		quiet := true
		for _, x := range slices.Clone(t.shards) {
			if x.ended || t.waits(x) {
				continue
			}
			n, err := t.read(ctx, x)
			if err != nil {
				return err
			}
			quiet = quiet && n == 0
		}
		for _, of := range streams {
			if !t.childless(of) {
				continue
			}
			known := len(t.shards)
			if err := t.discover(ctx, of, streamtypes.ShardIteratorTypeTrimHorizon); err != nil {
				return err
			}
			quiet = quiet && len(t.shards) == known
		}
		if quiet {
			if err := t.s.app.wait(ctx, pause); err != nil {
				return err
			}
		}
	}
}

// waits reports whether the parent of a shard is not read to its end yet. Its records come first.
func (t *tail) waits(x *shard) bool {
	return slices.ContainsFunc(t.shards, func(p *shard) bool { return p.source == x.source && p.id == x.parent && !p.ended })
}

// childless reports whether a shard that was read to its end has no known child. It can take a while until the stream lists it.
func (t *tail) childless(of source) bool {
	return slices.ContainsFunc(t.shards, func(p *shard) bool {
		return p.source == of && p.ended && !slices.ContainsFunc(t.shards, func(x *shard) bool { return x.source == of && x.parent == p.id })
	})
}

// discover adds the shards of a stream that are not known yet.
func (t *tail) discover(ctx context.Context, of source, from streamtypes.ShardIteratorType) error {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &of.arn}
	for {
		var out *dynamodbstreams.DescribeStreamOutput
		err := t.patiently(ctx, func() (err error) {
			out, err = t.s.streams.DescribeStream(ctx, in)
			return err
		})
		if err != nil {
			return streamFailed(of.table, err)
		}
		for _, d := range out.StreamDescription.Shards {
			id := aws.ToString(d.ShardId)
			if slices.ContainsFunc(t.shards, func(x *shard) bool { return x.source == of && x.id == id }) {
				continue
			}
			x := &shard{source: of, id: id, parent: aws.ToString(d.ParentShardId), from: from}
			t.shards = append(t.shards, x)
			if from != streamtypes.ShardIteratorTypeLatest {
				continue
			}
			if closed := d.SequenceNumberRange != nil && d.SequenceNumberRange.EndingSequenceNumber != nil; closed {
				x.ended = true
			} else if err := t.position(ctx, x); err != nil { // now, because LATEST means now
				return err
			}
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return nil
		}
	}
}

// position gets an iterator for what was not read yet, after the last record that was read. Without one, the beginning of the
// shard is the only place that is surely not too late.
func (t *tail) position(ctx context.Context, x *shard) error {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &x.arn, ShardId: &x.id, ShardIteratorType: x.from}
	if x.last != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &x.last
	}
	var out *dynamodbstreams.GetShardIteratorOutput
	err := t.patiently(ctx, func() (err error) {
		out, err = t.s.streams.GetShardIterator(ctx, in)
		return err
	})
	if err != nil {
		return t.recover(x, err)
	}
	x.next = out.ShardIterator
	if x.from == streamtypes.ShardIteratorTypeLatest {
		x.from, x.asked = streamtypes.ShardIteratorTypeTrimHorizon, t.s.app.Clock()
		if at, ok := middleware.GetServerTime(out.ResultMetadata); ok {
			x.asked = at
		}
	}
	return nil
}

// read prints the next records of a shard, and returns how many there were. It returns 0 after an error that it goes on from.
func (t *tail) read(ctx context.Context, x *shard) (n int, err error) {
	if x.next == nil {
		if err := t.position(ctx, x); err != nil || x.next == nil {
			return 0, err
		}
	}
	var out *dynamodbstreams.GetRecordsOutput
	err = t.patiently(ctx, func() (err error) {
		out, err = t.s.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: x.next})
		return err
	})
	if err != nil {
		return 0, t.recover(x, err)
	}
	for _, r := range out.Records {
		record := stream.FromSDK(x.arn, r)
		if !x.again || !record.Time.Before(x.asked.Truncate(time.Minute)) {
			if err := t.print(x.table, record); err != nil {
				return n, err
			}
		}
		if r.Dynamodb != nil {
			x.last = aws.ToString(r.Dynamodb.SequenceNumber)
		}
		n++
	}
	x.next, x.ended = out.NextShardIterator, out.NextShardIterator == nil
	return n, nil
}

// recover sets where to go on after an error of a shard. It returns the errors after which that is impossible.
func (t *tail) recover(x *shard, err error) error {
	var gone *streamtypes.ResourceNotFoundException
	x.next, x.again = nil, x.last == "" && !x.asked.IsZero()
	switch {
	case errors.As(err, new(*streamtypes.ExpiredIteratorException)):
		return nil
	case errors.As(err, new(*streamtypes.TrimmedDataAccessException)):
		x.last = "" // go on with the oldest record
	case errors.As(err, &gone):
		x.ended = true // go on with its children
	default:
		return streamFailed(x.table, err)
	}
	return t.lost(x)
}

// lost prints that records were removed before they were read.
func (t *tail) lost(x *shard) error {
	p := t.s.out
	if p.json {
		return p.object(map[string]any{"change": "records lost", "table": x.table, "time": t.s.app.Clock().UTC()})
	}
	p.line("%s  %s %s: they were older than 24 hours", t.s.app.Clock().UTC().Format(time.RFC3339), p.alarm("records lost"), x.table)
	return p.failed
}

// patiently calls f until it is not throttled, and waits in between.
func (t *tail) patiently(ctx context.Context, f func() error) error {
	for wait := pause; ; wait = min(2*wait, maxPause) {
		err := f()
		var coded smithy.APIError
		if !errors.As(err, &coded) || !slices.Contains(passing, coded.ErrorCode()) {
			return err
		}
		t.s.err.line("%s: going on in %s", coded.ErrorCode(), wait)
		if err := t.s.app.wait(ctx, wait); err != nil {
			return err
		}
	}
}

// passing are the codes of errors that pass.
var passing = []string{"LimitExceededException", "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError"}

// streamFailed adds to an error what was tried.
func streamFailed(table string, err error) error {
	var gone *streamtypes.ResourceNotFoundException
	if errors.As(err, &gone) {
		err = fmt.Errorf("the stream is gone; start again for a new one: %w", err)
	}
	return &requestError{"read the stream of " + table, err}
}

// print prints a record.
func (t *tail) print(table string, r stream.Record) error {
	image := item.Item(r.New)
	if image == nil {
		image = r.Old
	}
	if image == nil {
		image = r.Keys
	}
	x := t.s.m.decode(table, image, t.s.app.Clock())
	if len(t.chosen) > 0 && !t.chosen[x.Entity] {
		return nil
	}
	name := changeName(x, r)
	var changed []string
	if r.Old != nil && r.New != nil {
		for _, d := range differences(t.s.m.decode(table, r.Old, t.s.app.Clock()), x) {
			changed = append(changed, d.name)
		}
	}
	p := t.s.out
	if p.json {
		out := x.object()
		out["change"], out["time"] = name, r.Time
		if len(changed) > 0 {
			out["changed"] = changed
		}
		if err := p.object(out); err != nil {
			return err
		}
	} else {
		text := fmt.Sprintf("%s  %s %s %s", r.Time.Format(time.RFC3339), p.kind(x.Kind), p.bold(name), strings.TrimSpace(x.Entity+" "+x.keyText()+" "+x.Of))
		if len(changed) > 0 {
			text += p.faint("  " + printable(strings.Join(changed, ", "), false))
		}
		p.line("%s", text)
	}
	if p.failed != nil {
		return p.failed
	}
	if t.left--; t.left == 0 {
		return errEnough
	}
	return nil
}

// changeName returns what a record means for its item.
func changeName(x stored, r stream.Record) string {
	i := map[streamtypes.OperationType]int{streamtypes.OperationTypeInsert: 0, streamtypes.OperationTypeModify: 1, streamtypes.OperationTypeRemove: 2}[r.Operation]
	if i == 2 && r.ByTTL {
		i = 3
	}
	if x.Kind == KindCurrent && i == 0 && x.Restored {
		return string(stream.Restored)
	}
	if names, ok := changeNames[x.Kind]; ok {
		if x.Kind == KindCurrent && i == 2 && x.model.has("lifecycle.SoftDelete") {
			return string(stream.CurrentRemoved)
		}
		return string(names[i])
	}
	return [4]string{"stored", "changed", "removed", "expired"}[i]
}
