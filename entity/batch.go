package entity

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// BatchOption is accepted by PutMany, DeleteMany, BatchPut and BatchDelete: [Blind].
type BatchOption interface{ opt.Batch }

// Blind lets batches write entities for which what is stored matters: those with a version, created_at,
// set_once or immutable fields, or keys in lower case. What is stored is replaced all the same: versions begin at 1,
// both timestamps are now, and nothing is kept.
func Blind() BatchOption {
	return opt.ForBatch{Do: func(s *opt.Spec) { s.Blind = true }}
}

// PutMany replaces items whole, or creates them, without conditions: attributes unknown to the struct go. Of values with
// one key the last counts. They go out in batches of 25, up to 4 at the same time, and what DynamoDB leaves unprocessed
// is sent again. It costs a request per batch and the write units of the items.
//
// unwritten are the values that were not, or perhaps not, written, in order; it comes with the error. Entities with
// versions kept, soft delete or unique values are refused, those for which what is stored matters too unless [Blind] is
// given. Errors: *[InputError] and [ErrTooLarge] for any of the values, before any request; *[UnprocessedError].
func (s *Store[T]) PutMany(ctx context.Context, vs []T, opts ...BatchOption) (unwritten []T, err error) {
	c, spec := core.Of(s), opt.Batches(opts)
	return writeMany(ctx, c, "PutMany", vs, spec, func(in plan.Input, v T) (exec.BatchWrite, error) {
		key, build, err := plan.NewBatchPut(c.Schema, "PutMany", c.Table, reflect.ValueOf(v))
		if err != nil {
			return exec.BatchWrite{}, err
		}
		it, err := build(in)
		return exec.BatchWrite{Table: c.Table, Key: key, Put: it}, err
	})
}

// DeleteMany removes items without conditions; those that are not there are no error. Only the key parts of keys need to
// be filled in. For batches, unwritten and errors see [Store.PutMany].
func (s *Store[T]) DeleteMany(ctx context.Context, keys []T, opts ...BatchOption) (unwritten []T, err error) {
	c, spec := core.Of(s), opt.Batches(opts)
	return writeMany(ctx, c, "DeleteMany", keys, spec, func(_ plan.Input, key T) (exec.BatchWrite, error) {
		primary, _, err := plan.Key(c.Schema, reflect.ValueOf(key))
		return exec.BatchWrite{Table: c.Table, Key: primary}, err
	})
}

// writeMany prepares every write before any is sent.
func writeMany[T any](ctx context.Context, c *core.Core, verb string, vs []T, spec opt.Spec, prepare func(plan.Input, T) (exec.BatchWrite, error)) (unwritten []T, err error) {
	unwritten = vs
	err = c.Measure(ctx, verb, "", func(ctx context.Context) error {
		if err := plan.CheckBatch(c.Schema, spec); err != nil {
			return err
		}
		out, now := newOutgoing(), c.Runner.Clock().UTC()
		for i, v := range vs {
			w, err := prepare(plan.Input{Now: now, WriteID: c.Runner.NewID()}, v)
			if err != nil {
				return fmt.Errorf("value %d: %w", i, err)
			}
			out.add(i, w)
		}
		left, err := c.Runner.WriteMany(ctx, out.writes)
		unwritten = among(vs, out, left)
		return err
	})
	return unwritten, err
}

// outgoing are the writes of a batch. Of writes of one item the last counts: DynamoDB takes only one.
type outgoing struct {
	writes []exec.BatchWrite
	from   []int // what each write is of, as its place among the caller's
	places map[string]int
}

func newOutgoing() *outgoing { return &outgoing{places: map[string]int{}} }

func (o *outgoing) add(i int, w exec.BatchWrite) {
	id := itemID(w.Table, w.Key)
	if at, taken := o.places[id]; taken {
		o.writes[at], o.from[at] = w, i
		return
	}
	o.places[id] = len(o.writes)
	o.writes, o.from = append(o.writes, w), append(o.from, i)
}

// among are the values that the writes left are of, in their order.
func among[V any](vs []V, o *outgoing, left []int) (unwritten []V) {
	var places []int
	for _, k := range left {
		places = append(places, o.from[k])
	}
	slices.Sort(places)
	for _, i := range places {
		unwritten = append(unwritten, vs[i])
	}
	return unwritten
}
