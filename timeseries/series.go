package timeseries

import (
	"context"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type handle = engine.Handle

// Series appends to and reads the time series of type T. It is safe for concurrent use. If T is declared with current:"none",
// the methods about current items fail with an *entity.InputError before any request: Get, GetMany, Query, Update, Upsert, and
// those of [Ops] except Append. [Series.List] finds the series of both kinds.
type Series[T any] struct {
	_ seriesOf[T]
	handle
	store   *entity.Store[T]
	current *entity.Store[T] // of current items; refuses all calls if the series has none
	e       *events
}

// New declares the time series T on db. A second call returns another handle of the same series. It sends no requests.
// The error joins an *entity.SchemaError for every mistake in T's declarations.
func New[T any](db *entity.DB, opts ...entity.StoreOption) (*Series[T], error) {
	asSeries := bind.Option{Setting: func(o *bind.Options) { o.Handle = constructor }}
	store, err := entity.New[T](db, append(opts[:len(opts):len(opts)], asSeries)...)
	if err != nil {
		return nil, err
	}
	c := engine.Of(store)
	e, _ := schema.Feature[*events](c.Schema)
	s := &Series[T]{handle: engine.NewHandle(c), store: store, current: store, e: e}
	if e.noCurrent {
		refusing := *store
		engine.Refuse(&refusing, noCurrent(c))
		s.current = &refusing
	}
	return s, nil
}

// seriesOf opens series for entity.Bind.
type seriesOf[T any] struct{}

func (*seriesOf[T]) Entity() any { return (*T)(nil) }

func (*seriesOf[T]) OpenStore(db *entity.DB, opts []entity.StoreOption) (entity.Handle, error) {
	return New[T](db, opts...)
}

// opened returns s, or for a nil or zero s a series of which every call fails.
func (s *Series[T]) opened() *Series[T] {
	if s == nil || s.e == nil {
		return &Series[T]{handle: engine.HandleOf(s)}
	}
	return s
}

// Get returns the current item; see entity.Store.Get.
func (s *Series[T]) Get(ctx context.Context, key T, opts ...entity.GetOption) (v T, err error) {
	return s.opened().current.Get(ctx, key, opts...)
}

// Update changes enrichment fields of the current item; a change of orderBy or of an append field is an error. See entity.Store.Update.
func (s *Series[T]) Update(ctx context.Context, key T, opts ...entity.UpdateOption) (v T, err error) {
	return s.opened().current.Update(ctx, key, opts...)
}

// Upsert merges enrichment fields into the current item, or creates it if there was no append yet; it ignores orderBy
// and append fields of v. See entity.Store.Upsert.
func (s *Series[T]) Upsert(ctx context.Context, v T, opts ...entity.UpdateOption) (item T, created bool, err error) {
	return s.opened().current.Upsert(ctx, v, opts...)
}

// Query reads the current items of one partition; see entity.Store.Query. DynamoDB also reads, and charges, the events
// of the partition, unless the series has shards: an index is cheaper for a partition with many events.
func (s *Series[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[T] {
	return s.opened().current.Query(partition, opts...)
}

// GetMany returns the current items of many series; see entity.Store.GetMany.
func (s *Series[T]) GetMany(ctx context.Context, keys []T, opts ...entity.ReadOption) ([]*T, error) {
	return s.opened().current.GetMany(ctx, keys, opts...)
}

// Purge removes the current item and every event of the series, in all partitions of shards; see entity.Store.Purge.
func (s *Series[T]) Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error {
	return s.opened().store.Purge(ctx, key, opts...)
}

// Index returns an index of the current items; see entity.Store.Index.
func (s *Series[T]) Index(name string) (*entity.Index[T], error) { return s.opened().store.Index(name) }

// Op returns the writes of the series as values.
func (s *Series[T]) Op() *Ops[T] {
	s = s.opened()
	return &Ops[T]{s.handle, s.e, s.current.Op()}
}

// Ops makes the writes of a series as values, to be printed or joined in entity.DB.Transact.
type Ops[T any] struct {
	handle
	e     *events
	store *entity.Ops[T]
}

func (o *Ops[T]) opened() *Ops[T] {
	if o == nil {
		return &Ops[T]{}
	}
	return o
}

// Update is [Series.Update] as a value.
func (o *Ops[T]) Update(key T, opts ...entity.UpdateOption) entity.Write[T] {
	return o.opened().store.Update(key, opts...)
}

// Upsert is [Series.Upsert] as a value.
func (o *Ops[T]) Upsert(v T, opts ...entity.UpdateOption) entity.Write[T] {
	return o.opened().store.Upsert(v, opts...)
}

// CheckExists makes the transaction fail unless the current item exists and meets conds.
func (o *Ops[T]) CheckExists(key T, conds ...entity.Cond) entity.Op {
	return o.opened().store.CheckExists(key, conds...)
}
