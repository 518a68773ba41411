package timeseries

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type (
	handle    = core.Handle
	forAppend = opt.ForAppend
	forStore  = opt.ForStore
)

// Series appends to, and reads, the time series of type T. It is safe for concurrent use.
type Series[T any] struct {
	handle
	store *entity.Store[T]
	e     *events
}

// New declares the time series T on db; called again, it returns a handle of the same. It does no I/O. The error joins
// an *entity.SchemaError for every mistake in T's declarations.
func New[T any](db *entity.DB, opts ...entity.StoreOption) (*Series[T], error) {
	asSeries := forStore{Do: func(s *opt.Store) { s.Handle = constructor }}
	store, err := entity.New[T](db, append(opts[:len(opts):len(opts)], asSeries)...)
	if err != nil {
		return nil, err
	}
	c := core.Of(store)
	e, _ := schema.Feature[*events](c.Schema)
	return &Series[T]{core.NewHandle(c), store, e}, nil
}

// opened is s, or a series of which every call fails.
func (s *Series[T]) opened() *Series[T] {
	if s == nil || s.e == nil {
		return &Series[T]{handle: core.HandleOf(s)}
	}
	return s
}

// AppendOption is accepted by Append and AppendAll: [WithoutCurrent], entity.If.
type AppendOption interface{ opt.AppendOption }

// WithoutCurrent saves the read of the current item after an applied append.
func WithoutCurrent() AppendOption {
	return forAppend{Do: func(s *opt.Append) { s.NoReturn = true }}
}

// Append brings the current item up to ev and keeps ev in the history, in one transaction, if ev is newer than the
// current item. Only key, orderBy and append fields of ev are written; a nil pointer, slice or map was not reported and
// keeps its value on the current item. That ev is older, a duplicate and so on is an outcome, not an error.
//
// It costs one request of two transactional writes, and one consistent read more when it was applied (see
// [WithoutCurrent]) or one transaction more when it was recorded late. Errors: *entity.InputError and entity.ErrTooLarge
// before any request; one that wraps entity.ErrReadBack, beside Result.Applied; *[OrderByTypeError]; entity.ErrConflict; one
// for which entity.IsAmbiguous is true when the outcome stayed unknown.
func (s *Series[T]) Append(ctx context.Context, ev T, opts ...AppendOption) (Result[T], error) {
	c, spec := core.Of(s), opt.Appends(opts)
	op := newAppend(c, s.opened().e, reflect.ValueOf(ev), spec)
	var r Result[T]
	err := c.Measure(ctx, "Append", op.KeyIs, func(ctx context.Context) error {
		got, err := c.Runner.Run(ctx, op)
		if err != nil {
			return err
		}
		o := outcomeOf(got)
		followErr := s.follow(ctx, &o, op.Key, spec.NoReturn)
		r, err = result[T](c, o)
		return errors.Join(followErr, err)
	})
	return r, err
}

// follow reads the current item when the answer did not tell it.
func (s *Series[T]) follow(ctx context.Context, o *outcome, primary item.Item, skip bool) error {
	if o.current != nil || skip || o.reason == ConditionFailed {
		return nil // a refused event without an image: there is no current item
	}
	c := core.Of(s)
	it, err := c.Runner.Get(ctx, c.Table, primary, true)
	if err == nil && it == nil && o.applied {
		err = entity.ErrNotFound // removed since
	}
	if err != nil {
		return fmt.Errorf("%w: %w", entity.ErrReadBack, err)
	}
	o.current = it
	return nil
}

// result decodes an outcome.
func result[T any](c *core.Core, o outcome) (Result[T], error) {
	r := Result[T]{Applied: o.applied, Reason: o.reason}
	var err error
	if o.current != nil {
		if r.Current, err = core.Decode[T](c, o.current); err != nil {
			return r, err
		}
	}
	if o.stored != nil {
		stored, err := core.Decode[T](c, o.stored)
		if err != nil {
			return r, err
		}
		r.Existing = &stored
	}
	return r, nil
}

// Get returns the current item; see entity.Store.Get.
func (s *Series[T]) Get(ctx context.Context, key T, opts ...entity.GetOption) (T, error) {
	return s.opened().store.Get(ctx, key, opts...)
}

// Update changes enrichment fields of the current item; a change of orderBy or of an append field is an error. See
// entity.Store.Update.
func (s *Series[T]) Update(ctx context.Context, key T, opts ...entity.UpdateOption) (T, error) {
	return s.opened().store.Update(ctx, key, opts...)
}

// Upsert merges enrichment fields into the current item, also before the first append; orderBy and append fields of v
// are left out. See entity.Store.Upsert.
func (s *Series[T]) Upsert(ctx context.Context, v T, opts ...entity.UpdateOption) (item T, created bool, err error) {
	return s.opened().store.Upsert(ctx, v, opts...)
}

// Query reads the current items of one partition; see entity.Store.Query. The events of the partition are read, and
// charged, too: an index is cheaper where a partition holds many events.
func (s *Series[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[T] {
	return s.opened().store.Query(partition, opts...)
}

// GetMany returns the current items of many series; see entity.Store.GetMany.
func (s *Series[T]) GetMany(ctx context.Context, keys []T, opts ...entity.ReadOption) ([]*T, error) {
	return s.opened().store.GetMany(ctx, keys, opts...)
}

// Purge removes the current item and every event of the series; see entity.Store.Purge.
func (s *Series[T]) Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error {
	return s.opened().store.Purge(ctx, key, opts...)
}

// Index returns an index of the current items; see entity.Store.Index.
func (s *Series[T]) Index(name string) (*entity.Index[T], error) { return s.opened().store.Index(name) }

// Op builds writes as values.
func (s *Series[T]) Op() Ops[T] {
	s = s.opened()
	return Ops[T]{s.handle, s.e, s.store.Op()}
}

// At returns the event that was the newest at t: the last one whose orderBy is not after t. It reads consistently and
// passes over expired events; usually it costs one request. It needs an orderBy that is a time; for others, use
// History with entity.Le and entity.Desc. Errors: entity.ErrNotFound; *entity.InputError.
func (s *Series[T]) At(ctx context.Context, key T, t time.Time) (T, error) {
	c := core.Of(s)
	var none T
	if err := c.Err(); err != nil {
		return none, c.Wrap("At", "", err)
	}
	if s.e.orderBy.Key.Kind != timeKind {
		return none, c.Wrap("At", "", &entity.InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Field: s.e.orderBy.Field, Problem: "At needs an orderBy that is a time; use History with Le, Desc and First"})
	}
	return core.NewItemQuery[T](c, history(c, s.e, "At", reflect.ValueOf(key), opt.Query{
		Bounded: opt.Bounded{Select: opt.Select{Read: opt.Read{Strong: true}}},
		Order:   opt.Order{Desc: true, Range: []opt.Cond{{Op: atMost, Target: opt.Target{Attr: s.e.orderBy.Name}, Values: []any{t}}}},
	})).First(ctx)
}

const timeKind = key.Time
