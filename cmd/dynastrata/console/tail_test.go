package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// brook is a stream whose shards a test changes while they are read. DynamoDB Local has no shard that ends, expires or is trimmed
// on demand.
type brook struct {
	shards []*brookShard
	epoch  int     // iterators of earlier ones have expired
	fails  []error // of the next requests
	calls  int
}

type brookShard struct {
	id, parent   string
	records      []streamtypes.Record
	trimmed      int // records that are gone
	closed, gone bool
}

// add adds records that report that items were created.
func (x *brookShard) add(at time.Time, ids ...string) {
	for _, id := range ids {
		image := map[string]streamtypes.AttributeValue{}
		for name, text := range map[string]string{
			"pk": "$app#v1#employee#" + id, "sk": "$app#v1#employee", schema.EntityAttr: "Employee", "employeeId": id,
		} {
			image[name] = &streamtypes.AttributeValueMemberS{Value: text}
		}
		x.records = append(x.records, streamtypes.Record{
			EventID: &id, EventName: streamtypes.OperationTypeInsert,
			Dynamodb: &streamtypes.StreamRecord{
				NewImage: image, Keys: map[string]streamtypes.AttributeValue{"pk": image["pk"], "sk": image["sk"]},
				ApproximateCreationDateTime: &at, SequenceNumber: aws.String(strconv.Itoa(len(x.records))), StreamViewType: streamtypes.StreamViewTypeNewAndOldImages,
			},
		})
	}
}

func (b *brook) fail() error {
	b.calls++
	if len(b.fails) == 0 {
		return nil
	}
	err := b.fails[0]
	b.fails = b.fails[1:]
	return err
}

// shard returns a shard that is still there.
func (b *brook) shard(id string) (*brookShard, error) {
	for _, x := range b.shards {
		if x.id == id && !x.gone {
			return x, nil
		}
	}
	return nil, &streamtypes.ResourceNotFoundException{}
}

func (b *brook) DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	d := &streamtypes.StreamDescription{}
	for _, x := range b.shards {
		if x.gone {
			continue
		}
		numbers := &streamtypes.SequenceNumberRange{}
		if x.closed {
			numbers.EndingSequenceNumber = aws.String("9")
		}
		d.Shards = append(d.Shards, streamtypes.Shard{ShardId: &x.id, ParentShardId: &x.parent, SequenceNumberRange: numbers})
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (b *brook) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	x, err := b.shard(*in.ShardId)
	if err != nil {
		return nil, err
	}
	at := x.trimmed
	switch in.ShardIteratorType {
	case streamtypes.ShardIteratorTypeLatest:
		at = len(x.records)
	case streamtypes.ShardIteratorTypeAfterSequenceNumber:
		last, err := strconv.Atoi(*in.SequenceNumber)
		if err != nil {
			return nil, err
		}
		if at = last + 1; at < x.trimmed {
			return nil, &streamtypes.TrimmedDataAccessException{}
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: b.iterator(x, at)}, nil
}

func (b *brook) iterator(x *brookShard, at int) *string {
	if x.closed && at == len(x.records) {
		return nil
	}
	return aws.String(fmt.Sprintf("%s %d %d", x.id, at, b.epoch))
}

func (b *brook) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	if err := b.fail(); err != nil {
		return nil, err
	}
	var id string
	var at, epoch int
	if _, err := fmt.Sscan(*in.ShardIterator, &id, &at, &epoch); err != nil {
		return nil, err
	}
	x, err := b.shard(id)
	switch {
	case err != nil:
		return nil, err
	case epoch != b.epoch:
		return nil, &streamtypes.ExpiredIteratorException{}
	case at < x.trimmed:
		return nil, &streamtypes.TrimmedDataAccessException{}
	}
	end := min(at+2, len(x.records))
	return &dynamodbstreams.GetRecordsOutput{Records: x.records[at:end], NextShardIterator: b.iterator(x, end)}, nil
}

// follow runs tail on the stream. Each time that tail waits, the next step is done; after the last one it is interrupted. It
// returns what was printed without times, and how long tail waited.
func (b *brook) follow(t *testing.T, from streamtypes.ShardIteratorType, json bool, steps ...func()) (lines []string, waits []time.Duration) {
	t.Helper()
	l := &lab{t: t, now: noon}
	l.declare(nil, "app")
	m, err := modelOfDB(l.db)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	app := App{Clock: func() time.Time { return noon }, wait: func(ctx context.Context, d time.Duration) error {
		if waits = append(waits, d); len(waits) > len(steps) {
			cancel()
			return ctx.Err()
		}
		steps[len(waits)-1]()
		return nil
	}}
	s := &session{app: app, m: m, streams: b, out: newPrinter(&out, json, true), err: newPrinter(&errs, false, true)}
	err = (&tail{s: s, from: from}).follow(ctx, []source{{"app", "arn"}})
	require.ErrorIs(t, err, context.Canceled)
	for line := range strings.Lines(stamp.ReplaceAllString(out.String(), "")) {
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(line, "current created Employee employeeId="), "\n"))
	}
	return lines, waits
}

const (
	latest = streamtypes.ShardIteratorTypeLatest
	oldest = streamtypes.ShardIteratorTypeTrimHorizon
)

func nothing() {}

var lostLine = "records lost app: they were older than 24 hours"

// A record is printed once, whatever happens to iterators and shards in between.
func TestTail_GoesOnAfterEverythingThatPasses(t *testing.T) {
	t.Parallel()
	before, after := noon.Add(-time.Hour), noon.Add(time.Minute)
	one := func() (*brook, *brookShard) {
		x := &brookShard{id: "a"}
		x.add(before, "e-1", "e-2", "e-3")
		return &brook{shards: []*brookShard{x}}, x
	}
	t.Run("an iterator expires after records were read", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, oldest, false, func() { b.epoch++; x.add(after, "e-4") }, nothing, func() { b.epoch++ }, func() { x.add(after, "e-5") }, nothing)
		require.Equal(t, []string{"e-1", "e-2", "e-3", "e-4", "e-5"}, lines)
	})
	t.Run("an iterator for the newest record expires before anything was read", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, latest, false, func() { b.epoch++; x.add(after, "e-4", "e-5") }, nothing, func() { x.add(after, "e-6") }, nothing)
		require.Equal(t, []string{"e-4", "e-5", "e-6"}, lines)
	})
	t.Run("records are removed before they are read", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, oldest, false, func() { x.add(after, "e-4", "e-5", "e-6"); x.trimmed = 4 }, nothing, nothing)
		require.Equal(t, []string{"e-1", "e-2", "e-3", lostLine, "e-5", "e-6"}, lines)
	})
	t.Run("records are removed and the iterator has expired", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, oldest, false, func() { x.add(after, "e-4", "e-5"); x.trimmed = 4; b.epoch++ }, nothing, nothing, nothing)
		require.Equal(t, []string{"e-1", "e-2", "e-3", lostLine, "e-5"}, lines)
	})
	t.Run("a shard is gone", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, oldest, false, func() {
			x.gone = true
			child := &brookShard{id: "b", parent: "a"}
			child.add(after, "e-4")
			b.shards = append(b.shards, child)
		}, nothing)
		require.Equal(t, []string{"e-1", "e-2", "e-3", lostLine, "e-4"}, lines)
	})
	t.Run("a shard ends, and its child is listed later", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, latest, false, func() { x.add(after, "e-4"); x.closed = true }, nothing, func() {
			child := &brookShard{id: "b", parent: "a"}
			child.add(after, "e-5")
			b.shards = append(b.shards, child)
		}, nothing)
		require.Equal(t, []string{"e-4", "e-5"}, lines)
	})
	t.Run("JSON", func(t *testing.T) {
		b, x := one()
		lines, _ := b.follow(t, latest, true, func() { x.gone = true }, nothing)
		require.Equal(t, []string{`{"change":"records lost","table":"app","time":"2026-04-22T12:00:00Z"}`}, lines)
	})
}

// The records of a shard come before those of its children, and those of shards that ended before tail began are not printed.
func TestTail_ReadsParentsFirst(t *testing.T) {
	t.Parallel()
	parent, child := &brookShard{id: "z", closed: true}, &brookShard{id: "a", parent: "z"}
	parent.add(noon, "e-1", "e-2", "e-3")
	child.add(noon, "e-4", "e-5")
	b := &brook{shards: []*brookShard{child, parent}}
	lines, _ := b.follow(t, oldest, false, nothing)
	require.Equal(t, []string{"e-1", "e-2", "e-3", "e-4", "e-5"}, lines)
	lines, _ = b.follow(t, latest, false, func() { child.closed = true; b.shards = append(b.shards, &brookShard{id: "b", parent: "a"}) }, func() { b.shards[2].add(noon, "e-6") }, nothing)
	require.Equal(t, []string{"e-6"}, lines)
}

// Throttling of any request only delays, longer each time.
func TestTail_WaitsWhenItIsThrottled(t *testing.T) {
	t.Parallel()
	for n := range 3 { // describe, position, read
		for _, err := range []error{
			&streamtypes.LimitExceededException{}, &streamtypes.InternalServerError{},
			fmt.Errorf("after retries: %w", &smithy.GenericAPIError{Code: "ProvisionedThroughputExceededException"}),
		} {
			x := &brookShard{id: "a"}
			x.add(noon, "e-1", "e-2")
			b := &brook{shards: []*brookShard{x}, fails: append(make([]error, n), err, err)}
			lines, waits := b.follow(t, oldest, false, nothing, nothing)
			require.Equal(t, []string{"e-1", "e-2"}, lines)
			require.Equal(t, []time.Duration{pause, 2 * pause, pause}, waits)
		}
	}
}

// Other errors end tail.
func TestTail_EndsWithAnErrorThatDoesNotPass(t *testing.T) {
	t.Parallel()
	x := &brookShard{id: "a"}
	for n, bad := range []error{&streamtypes.ResourceNotFoundException{}, &smithy.GenericAPIError{Code: "AccessDeniedException"}, errors.New("no connection")} {
		b := &brook{shards: []*brookShard{x}, fails: append(make([]error, n), bad)}
		s := &session{streams: b, app: App{Clock: time.Now}, m: &model{}, out: newPrinter(&bytes.Buffer{}, false, true)}
		err := (&tail{s: s, from: oldest}).follow(t.Context(), []source{{"app", "arn"}})
		require.ErrorIs(t, err, bad)
	}
}

var stamp = regexp.MustCompile(`(?m)^\S+Z  `)

func TestTail_PrintsTypedChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	r := l.run("tail", "--from-start", "--limit", "16")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "tail.txt", sorted(stamp.ReplaceAllString(r.out, "TIME  ")+"\n")) // the records of a transaction have no order
	r = l.run("--json", "tail", "--from-start", "--limit", "2", "Telemetry")
	require.Equal(t, 2, strings.Count(r.out, `"entity":"Telemetry"`), r.out+r.err)
}
