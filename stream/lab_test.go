package stream_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// lab is a table with a stream, and what has been read of it.
type lab struct {
	*dbtest.Bench
	arn  string
	view types.StreamViewType
	read int // records that were handed out
}

func newLab(t testing.TB, change ...func(*entity.Config)) *lab {
	t.Helper()
	dbtest.Parallel(t)
	l := &lab{Bench: dbtest.Open(t, change...), view: types.StreamViewTypeNewAndOldImages}
	l.Clock.Set(time.Date(2101, 1, 1, 0, 0, 0, 987654321, time.UTC), 0)
	return l
}

// store declares T on the lab's database.
func store[T any](l *lab) *entity.Store[T] { l.T.Helper(); return dbtest.Declare[T](l.T, l.DB) }

// create creates the tables, the lab's with a stream.
func (l *lab) create() *lab {
	l.T.Helper()
	require.NoError(l.T, tables.Create(l.Ctx, l.DB))
	opened := entity.Must(dbtest.OpenStream(l.Ctx, l.Raw, l.Table, l.view))
	l.arn = opened.ARN
	return l
}

// all are the records of every shard from its beginning.
func (l *lab) all() []streamtypes.Record {
	l.T.Helper()
	_, records := localdb.Records(l.T, l.Raw, l.Table)
	return records
}

// next are the records that came since it was called last.
func (l *lab) next() []stream.Record {
	l.T.Helper()
	all := l.all()[l.read:]
	l.read += len(all)
	var records []stream.Record
	for _, r := range all {
		records = append(records, stream.FromSDK(l.arn, r))
	}
	return records
}

// changesOf returns the changes of a store in records, and the number of other records.
func changesOf[T any](t testing.TB, s entity.Source[T], records []stream.Record) (changes []stream.Change[T], others int) {
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
	require.GreaterOrEqual(t, i, 0, "no change %q", k)
	return changes[i]
}

type step struct {
	name   string
	do     func() error
	kinds  []stream.Kind
	others int // sentinels
}

// steps runs mutations one after the other and compares the changes that each leaves in the stream, and the number of records
// of no entity.
func steps[T any](t *testing.T, l *lab, s entity.Source[T], list []step) {
	t.Helper()
	for _, x := range list {
		l.Clock.Move(time.Second)
		require.NoError(t, x.do(), x.name)
		changes, others := changesOf(t, s, l.next())
		require.ElementsMatch(t, x.kinds, kinds(changes), x.name)
		require.Equal(t, x.others, others, "%s: other records", x.name)
	}
}

// shown describes what a view shows of a change: its kind, or "?" if unknown, with + for the new image and - for
// the old one.
func shown[T any](t *testing.T, s entity.Source[T], records []stream.Record) []string {
	t.Helper()
	var all []string
	for _, r := range records {
		c, ok, err := stream.Of(s, r)
		var lacks *stream.ImageError
		switch {
		case err != nil:
			require.ErrorAs(t, err, &lacks)
			require.Equal(t, r.View, lacks.View)
			require.NotEmpty(t, lacks.Needs)
			all = append(all, "? "+string(r.Operation))
		case ok:
			text := string(c.Kind)
			if c.Old != nil {
				text += " -"
			}
			if c.New != nil {
				text += " +"
			}
			all = append(all, text)
		}
	}
	return all
}

func ptr[V any](v V) *V { return &v }

// keysOnly is a removal of which only the key is known.
func keysOnly(keys attributes) stream.Record {
	return stream.Record{Operation: "REMOVE", SequenceNumber: "1", View: "KEYS_ONLY", Keys: keys}
}

func offline(t *testing.T) *entity.DB {
	t.Helper()
	return entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
}

type attributes = dbtest.Item

// Team has no feature but a version.
type Team struct {
	_       entity.Key `name:"Team" pk:"$#{id}" sk:"$"`
	ID      string     `dynamodbav:"id"`
	Name    string     `dynamodbav:"name,omitempty"`
	Seen    time.Time  `dynamodbav:"seen,omitempty"`
	Version int64      `dynamodbav:"version" entity:"version"`
}

// Person has every kind of related item but events.
type Person struct {
	_         entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_         entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_         versioned.Retain     `ttl:"90d"`
	_         lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_         unique.Constraint    `name:"email" fields:"email"`
	ID        string               `dynamodbav:"id"`
	Email     string               `dynamodbav:"email,omitempty"`
	Team      string               `dynamodbav:"team,omitempty"`
	Seen      time.Time            `dynamodbav:"seen,omitempty"`
	Version   int64                `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time            `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Note is deleted softly, frees its value and keeps no history.
type Note struct {
	_         entity.Key           `name:"Note" pk:"$#{owner}" sk:"$#{id}"`
	_         lifecycle.SoftDelete `unique:"free"`
	_         unique.Constraint    `name:"title" fields:"title"`
	Owner     string               `dynamodbav:"owner"`
	ID        string               `dynamodbav:"id"`
	Title     string               `dynamodbav:"title,omitempty"`
	DeletedAt time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=ms"`
}

// Ledger keeps a history and is deleted for good.
type Ledger struct {
	_       entity.Key       `name:"Ledger" pk:"$#{id}" sk:"$"`
	_       versioned.Retain ``
	ID      string           `dynamodbav:"id"`
	Balance int              `dynamodbav:"balance"`
	Version int64            `dynamodbav:"version" entity:"version"`
}

// Reading is a series; what stands in its table is named otherwise than its fields.
type Reading struct {
	_       entity.Key        `name:"Reading" pk:"$#{dev}" sk:"$#{chan}"`
	_       timeseries.Events `orderBy:"ts" ttl:"7d" late:"record"`
	Device  string            `dynamodbav:"dev"`
	Channel string            `dynamodbav:"chan"`
	At      time.Time         `dynamodbav:"ts" entity:"time=ms"`
	Celsius *float64          `dynamodbav:"c,omitempty" entity:"append"`
	Door    *bool             `dynamodbav:"d,omitempty" entity:"append"`
	Account string            `dynamodbav:"acc,omitempty"`
	Since   time.Time         `dynamodbav:"since" entity:"created_at,time=unix"`
}

// Car and Bike share a table by their kind; a car's plate is unique.
type Car struct {
	_     entity.Key        `name:"Car" table:"garage" pk:"pk=vehicle-{id}" sk:"sk=v" kind:"type=car"`
	_     unique.Constraint `name:"plate" fields:"plate"`
	ID    string            `dynamodbav:"id"`
	Plate string            `dynamodbav:"plate,omitempty"`
}

// Bike shares the table of Car.
type Bike struct {
	_     entity.Key `name:"Bike" table:"garage" pk:"pk=vehicle-{id}" sk:"sk=v" kind:"type=bike"`
	ID    string     `dynamodbav:"id"`
	Gears int        `dynamodbav:"gears"`
}

// Lamp is a `$` entity in the table of Car and Bike.
type Lamp struct {
	_  entity.Key `name:"Lamp" table:"garage" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// Examples that need a database have no output that go test would compare, since there may be none. This test compares it.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	client, table = localdb.Test(t)
	t.Cleanup(func() { client, table = nil, "app" })
	empty := entity.Must(entity.Open(client, entity.Config{Table: table}))
	entity.Must(entity.New[Article](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleOf, ExampleReader_Run))
}

// brook is the streams of one table, whose shards a test changes while they are read. DynamoDB Local has no shard that ends, expires or is
// trimmed on demand.
type brook struct {
	entity.Client // of the table; may be nil

	mu     sync.Mutex
	arn    string // of the newest stream; "" for none
	off    bool   // it is turned off
	shards []*brookShard
	epoch  int // iterators of earlier ones have expired
	fails  []error
	calls  []string
	page   int           // most records of an answer; default 2
	slow   time.Duration // how long an answer takes
}

type brookShard struct {
	arn, id, parent string
	records         []streamtypes.Record
	trimmed         int // records that are gone
	closed, gone    bool
}

// do changes the stream.
func (b *brook) do(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// shard adds a shard, with records of the items with these ids.
func (b *brook) shard(id, parent string, at time.Time, ids ...string) *brookShard {
	x := &brookShard{arn: b.arn, id: id, parent: parent}
	x.add(at, ids...)
	b.shards = append(b.shards, x)
	return x
}

// add adds records that report that teams were created. Sequence numbers count from 1.
func (x *brookShard) add(at time.Time, ids ...string) {
	for _, id := range ids {
		image := map[string]streamtypes.AttributeValue{}
		for name, text := range map[string]string{"pk": "$app#v1#team#" + id, "sk": "$app#v1#team", "__edd_e__": "Team", "id": id} {
			image[name] = &streamtypes.AttributeValueMemberS{Value: text}
		}
		image["version"] = &streamtypes.AttributeValueMemberN{Value: "1"}
		x.records = append(x.records, streamtypes.Record{
			EventID: &id, EventName: streamtypes.OperationTypeInsert,
			Dynamodb: &streamtypes.StreamRecord{
				NewImage: image, Keys: map[string]streamtypes.AttributeValue{"pk": image["pk"], "sk": image["sk"]},
				ApproximateCreationDateTime: &at, SequenceNumber: aws.String(strconv.Itoa(len(x.records) + 1)), StreamViewType: streamtypes.StreamViewTypeNewAndOldImages,
			},
		})
	}
}

func (b *brook) enter(call string) error {
	b.calls = append(b.calls, call)
	if len(b.fails) == 0 {
		return nil
	}
	err := b.fails[0]
	b.fails = b.fails[1:]
	return err
}

func (b *brook) find(arn, id string) (*brookShard, error) {
	i := slices.IndexFunc(b.shards, func(x *brookShard) bool { return x.arn == arn && x.id == id && !x.gone })
	if i < 0 {
		return nil, &streamtypes.ResourceNotFoundException{}
	}
	return b.shards[i], nil
}

func (b *brook) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := &types.TableDescription{}
	if b.arn != "" {
		d.LatestStreamArn = aws.String(b.arn)
	}
	return &dynamodb.DescribeTableOutput{Table: d}, nil
}

func (b *brook) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.enter("describe"); err != nil {
		return nil, err
	}
	d := &streamtypes.StreamDescription{StreamStatus: streamtypes.StreamStatusEnabled}
	if *in.StreamArn != b.arn || b.off {
		d.StreamStatus = streamtypes.StreamStatusDisabled
	}
	begun := in.ExclusiveStartShardId == nil
	for _, x := range b.shards {
		if x.gone || x.arn != *in.StreamArn {
			continue
		}
		if !begun {
			begun = x.id == *in.ExclusiveStartShardId
			continue
		}
		if len(d.Shards) == 2 { // a page
			d.LastEvaluatedShardId = d.Shards[1].ShardId
			break
		}
		numbers := &streamtypes.SequenceNumberRange{}
		if x.closed {
			numbers.EndingSequenceNumber = aws.String("9")
		}
		shard := streamtypes.Shard{ShardId: &x.id, SequenceNumberRange: numbers}
		if x.parent != "" {
			shard.ParentShardId = &x.parent
		}
		d.Shards = append(d.Shards, shard)
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (b *brook) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.enter("position " + string(in.ShardIteratorType)); err != nil {
		return nil, err
	}
	x, err := b.find(*in.StreamArn, *in.ShardId)
	if err != nil {
		return nil, err
	}
	at := x.trimmed
	switch in.ShardIteratorType {
	case streamtypes.ShardIteratorTypeLatest:
		at = len(x.records)
	case streamtypes.ShardIteratorTypeAfterSequenceNumber:
		if at, err = strconv.Atoi(*in.SequenceNumber); err != nil {
			return nil, err
		}
		if at < x.trimmed {
			return nil, &streamtypes.TrimmedDataAccessException{}
		}
	}
	metadata, err := serverTime(time.Now())
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: b.iterator(x, at), ResultMetadata: metadata}, err
}

// serverTime returns the metadata of an answer that was sent at a time.
func serverTime(at time.Time) (middleware.Metadata, error) {
	stack := middleware.NewStack("", smithyhttp.NewStackRequest)
	if err := awsmiddleware.AddRecordResponseTiming(stack); err != nil {
		return middleware.Metadata{}, err
	}
	_, metadata, err := middleware.DecorateHandler(middleware.HandlerFunc(func(context.Context, any) (any, middleware.Metadata, error) {
		header := http.Header{"Date": {at.UTC().Format(http.TimeFormat)}}
		return &smithyhttp.Response{Response: &http.Response{Header: header}}, middleware.Metadata{}, nil
	}), stack).Handle(context.Background(), nil)
	return metadata, err
}

func (b *brook) iterator(x *brookShard, at int) *string {
	if x.closed && at == len(x.records) {
		return nil
	}
	return aws.String(fmt.Sprintf("%s %s %d %d", x.arn, x.id, at, b.epoch))
}

func (b *brook) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	time.Sleep(b.slow)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.enter("read"); err != nil {
		return nil, err
	}
	var arn, id string
	var at, epoch int
	if _, err := fmt.Sscan(*in.ShardIterator, &arn, &id, &at, &epoch); err != nil {
		return nil, err
	}
	x, err := b.find(arn, id)
	switch {
	case err != nil:
		return nil, err
	case epoch != b.epoch:
		return nil, &streamtypes.ExpiredIteratorException{}
	case at < x.trimmed:
		return nil, &streamtypes.TrimmedDataAccessException{}
	}
	end := min(at+max(b.page, 2), at+int(*in.Limit), len(x.records))
	return &dynamodbstreams.GetRecordsOutput{Records: slices.Clone(x.records[at:end]), NextShardIterator: b.iterator(x, end)}, nil
}

// changeOf returns the change that a record is for an entity, if it is one.
func changeOf[T any](t *testing.T, store entity.Source[T], r stream.Record, what ...any) (stream.Change[T], bool) {
	t.Helper()
	change, ok, err := stream.Of(store, r)
	require.NoError(t, err, what...)
	return change, ok
}
