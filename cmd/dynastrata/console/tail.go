package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
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
		ShellComplete: s.complete(false),
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
			if errors.Is(err, errEnough) || ctx.Err() != nil {
				return nil
			}
			return err
		}),
	}
}

// tail is one run of tail.
type tail struct {
	s      *session
	chosen map[string]bool
	left   int // changes to print; 0 without a limit
	from   streamtypes.ShardIteratorType
	shards []*shard
}

// shard is a shard that is read.
type shard struct {
	table, arn, id string
	next           *string // nil at its end
}

// pause is how long tail waits when there is nothing to read. DynamoDB allows five reads of a shard a second.
const pause = time.Second

func (t *tail) run(ctx context.Context) error {
	found := 0
	for _, table := range t.s.m.tables() {
		d, err := t.s.describe(ctx, table)
		if err != nil {
			return err
		}
		if d.LatestStreamArn == nil {
			continue
		}
		found++
		if err := t.discover(ctx, table, *d.LatestStreamArn, t.from); err != nil {
			return err
		}
	}
	if found == 0 {
		return invalid(bind.CodeConsoleProgram, "no table has a stream; declare one with stream:\"both\" on entity.Key")
	}
	for {
		quiet := true
		for _, x := range slices.Clone(t.shards) {
			if x.next == nil {
				continue
			}
			n, err := t.read(ctx, x)
			if err != nil {
				return err
			}
			quiet = quiet && n == 0
			if x.next == nil { // its children follow
				if err := t.discover(ctx, x.table, x.arn, streamtypes.ShardIteratorTypeTrimHorizon); err != nil {
					return err
				}
				quiet = false
			}
		}
		if quiet {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
		}
	}
}

// discover adds the shards of a stream that are not read yet.
func (t *tail) discover(ctx context.Context, table, arn string, from streamtypes.ShardIteratorType) error {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := t.s.streams.DescribeStream(ctx, in)
		if err != nil {
			return failed("describe the stream of "+table, err)
		}
		for _, d := range out.StreamDescription.Shards {
			id := aws.ToString(d.ShardId)
			known := slices.ContainsFunc(t.shards, func(x *shard) bool { return x.arn == arn && x.id == id })
			closed := d.SequenceNumberRange != nil && d.SequenceNumberRange.EndingSequenceNumber != nil
			if known || closed && from == streamtypes.ShardIteratorTypeLatest {
				continue
			}
			it, err := t.s.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &id, ShardIteratorType: from})
			if err != nil {
				return failed("read the stream of "+table, err)
			}
			t.shards = append(t.shards, &shard{table, arn, id, it.ShardIterator})
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return nil
		}
	}
}

// read prints the next records of a shard.
func (t *tail) read(ctx context.Context, x *shard) (n int, err error) {
	out, err := t.s.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: x.next})
	if err != nil {
		return 0, failed("read the stream of "+x.table, err)
	}
	x.next = out.NextShardIterator
	for _, r := range out.Records {
		if err := t.print(x.table, stream.FromSDK(x.arn, r)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
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
			text += p.faint("  " + strings.Join(changed, ", "))
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
