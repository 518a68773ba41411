package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
)

// Client is the part of *dynamodbstreams.Client that a [Reader] calls. The reader does all retries and turns those of the client off.
type Client interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// ReaderOptions say what a [Reader] reads, and what becomes of records that fail. The zero value of a field is its default.
type ReaderOptions struct {
	Name   string // names the checkpoints; processes with one name share the work on one table. A letter, then letters, digits, _ and -
	Table  string // logical name of the table with the checkpoints, as in entity.Key; default: the table of entity.Config
	Source string // physical name of the table whose stream is read; default: the table with the checkpoints
	Latest bool   // the very first start begins with what is written from then on; default: with the oldest record, up to 24 hours ago
	Alone  bool   // reads all shards in this process, writes nothing, and begins again with each call; needs a Source and no Name

	MaxShards int           // most shards that this process reads at once; default: all that no other process reads
	Batch     int           // most records that are handled together; default and maximum 1000
	Poll      time.Duration // pause after a shard had nothing new; every ten, new shards and free leases are looked for; default 1 second
	Attempts  int           // how often a record is tried before it has failed; default 10
	Retry     time.Duration // pause after the first attempt, in which the shard waits; it doubles up to 30 seconds; default 100 ms

	// Park keeps a record that has failed, and later ones follow, also of the same item. OnLost hears of records that were removed before
	// they were read; the reader goes on with the oldest that is left. If one returns an error, or is not set, the reader ends with the error.
	Park   func(context.Context, Failure) error
	OnLost func(context.Context, *LostError) error
}

// ErrNoStream reports that a table has no stream to read. It has none, or one that was turned off and has been read to its end, or one that
// the client of DynamoDB Streams does not find, as a client of another Region or account; then DynamoDB's error is in the chain.
var ErrNoStream = errors.New("the table has no stream")

// LostError reports that records may have been removed before they were read. DynamoDB keeps them for 24 hours.
type LostError struct {
	Stream, Shard string
	After         string // sequence number of the last record that was read; "" if none was
}

func (e *LostError) Error() string {
	return fmt.Sprintf("records of shard %s after %q were removed before they were read, 24 hours after they were written", e.Shard, e.After)
}

// Reader reads the stream of a table, for programs outside Lambda. It is safe for concurrent use.
type Reader struct {
	client Client
	o      ReaderOptions
	runner *engine.Runner
	store  *entity.Store[checkpoint] // nil for a reader alone
	leases *lease.Leases
	err    error
}

// NewReader returns a reader. It declares the items of its checkpoints on db, unless it is Alone, and does no I/O. client is usually a
// *dynamodbstreams.Client; without one the items are declared too, for a schema lock or tables.Create, and Run fails. A mistake is the error of [Reader.Run]: an *entity.InputError with code EDD-9230, or that of entity.New.
func NewReader(client Client, db *entity.DB, o ReaderOptions) *Reader {
	o.Batch, o.Poll = cmp.Or(o.Batch, mostRecords), cmp.Or(o.Poll, time.Second)
	o.Attempts, o.Retry = cmp.Or(o.Attempts, 10), cmp.Or(o.Retry, 100*time.Millisecond)
	r := &Reader{client: client, o: o}
	r.err = r.open(db)
	return r
}

func (r *Reader) open(db *entity.DB) (err error) {
	o, opened, name, v, mistake := &r.o, engine.DatabaseOf(db), schema.Name(r.o.Name), reflect.ValueOf(r.client), ""
	switch {
	case opened == nil:
		return engine.Unopened(reflect.TypeOf(db))
	case min(o.MaxShards, o.Batch, o.Attempts) < 0 || min(o.Poll, o.Retry) < 0 || o.Batch > mostRecords:
		mistake = "numbers and times must not be negative, and Batch not above 1000"
	case o.Alone && (o.Name != "" || o.Table != "" || o.Source == ""):
		mistake = "a reader Alone needs a Source, and has no Name and no Table, since it keeps nothing"
	case !o.Alone && name != nil:
		mistake = "the Name: " + name.Error()
	}
	wrong := func(problem string) error {
		return &entity.InputError{Code: bind.CodeReader, Type: "stream.ReaderOptions", Problem: problem}
	}
	if r.runner = opened.Runner; mistake != "" {
		return wrong(mistake)
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() { // a program that only records what is declared has none
		defer func() { err = cmp.Or(err, wrong("there is no client")) }()
	}
	if o.Alone {
		return nil
	}
	own := bind.Option{Setting: func(w *bind.Options) { w.Table, w.Own = o.Table, true }}
	if r.store, err = entity.New[checkpoint](db, entity.Named(strings.TrimSuffix("StreamReader-"+o.Table, "-")), own); err != nil {
		return err
	}
	c := engine.Of(r.store)
	o.Source, r.leases = cmp.Or(o.Source, c.Table), lease.Over(engine.NewHandle(c), lease.Options{})
	return nil
}

// Run gives the records of the stream to routes, as [Handle] does, until ctx is done. Then it saves how far it came, gives up its leases and
// returns nil.
//
// The records of a shard are handled in their order, after those of its parent, and those of different shards at the same time; so the
// changes of one item come in order. Each comes at least once: again after a crash, after a lost lease, and if a later one of the batch
// failed. A shard is read under a lease of 30 seconds, so that another process takes over from one that stopped. A function whose context is
// done may have lost the lease, and must return. Each process takes the leases that are free, up to MaxShards. A stream that was turned off
// is read to its end before the next one of the table.
//
// It costs a GetRecords per shard and Poll, a write per batch with records, one in ten seconds without, and every ten Poll a DescribeTable,
// a DescribeStream and a query of the checkpoints. A tracer gets these as calls with the verb ReadStream and the reader's name. Errors:
// *entity.InputError before any request; [ErrNoStream]; *[LostError]; those of records, Park and OnLost, in an *entity.Error; and those of
// requests that will not succeed later.
func (r *Reader) Run(ctx context.Context, routes ...Route) error {
	if _, err := newHandler(routes); err != nil {
		return err
	}
	return r.Consume(ctx, func(ctx context.Context, e Event) (Response, error) { return Handle(ctx, e, routes...) })
}

// Consume is [Reader.Run] with a function as Lambda calls it, such as one that calls timeline.View.Consume. It gets a batch and returns the
// first record that it did not handle. An error is that of the whole batch, which cannot be parked.
func (r *Reader) Consume(ctx context.Context, f func(context.Context, Event) (Response, error)) error {
	switch {
	case r == nil || r.runner == nil && r.err == nil:
		return engine.Unopened(reflect.TypeFor[*Reader]())
	case r.err != nil || ctx == nil:
		return cmp.Or(r.err, engine.CheckContext(ctx))
	case f == nil:
		return routeError("stream.Reader", "Consume needs a function")
	}
	u := &run{Reader: r, handle: f, known: map[shardID]checkpoint{}, held: map[shardID]bool{}}
	return u.coordinate(ctx)
}
