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

// BatchOption is accepted by PutMany, DeleteMany, BatchPut and BatchDelete: [Unconditional].
type BatchOption interface{ opt.BatchOption }

// Unconditional lets batches write entities for which what is stored matters: those with a version, created_at,
// set_once or immutable fields, or keys in lower case. What is stored is replaced all the same: versions begin at 1,
// both timestamps are now, and nothing is kept.
func Unconditional() BatchOption {
	return opt.ForBatch{Do: func(s *opt.Batch) { s.Unconditional = true }}
}

// PutMany replaces items whole, or creates them, without conditions: attributes unknown to the struct go. Of values with
// one key the last counts. They go out in batches of 25, up to 4 at the same time, and what DynamoDB leaves unprocessed
// is sent again. It costs a request per batch and the write units of the items.
//
// unwritten are the values that were not, or perhaps not, written, in order; it comes with the error. Entities with
// versions kept, soft delete or unique values are refused, those for which what is stored matters too unless [Unconditional] is
// given. Errors: *[InputError] and [ErrTooLarge] for any of the values, before any request; *[UnprocessedError].
func (s *Store[T]) PutMany(ctx context.Context, vs []T, opts ...BatchOption) (unwritten []T, err error) {
	c := core.Of(s)
	left, err := writeMany(ctx, c, "PutMany", len(vs), opt.Batches(opts), func(in plan.Input, i int) (exec.BatchWrite, error) {
		return batchPut(c, reflect.ValueOf(vs[i]), in)
	})
	return among(vs, left), err
}

// batchPut is the write of a whole item in a batch.
func batchPut(c *core.Core, v reflect.Value, in plan.Input) (exec.BatchWrite, error) {
	key, build, err := plan.NewBatchPut(c.Schema, "PutMany", c.Table, v)
	if err != nil {
		return exec.BatchWrite{}, err
	}
	it, err := build(in)
	return exec.BatchWrite{Table: c.Table, Key: key, Put: it}, err
}

// DeleteMany removes items without conditions; those that are not there are no error. Only the key parts of keys need to
// be filled in. For batches, unwritten and errors see [Store.PutMany].
func (s *Store[T]) DeleteMany(ctx context.Context, keys []T, opts ...BatchOption) (unwritten []T, err error) {
	c := core.Of(s)
	left, err := writeMany(ctx, c, "DeleteMany", len(keys), opt.Batches(opts), func(_ plan.Input, i int) (exec.BatchWrite, error) {
		primary, _, err := plan.Key(c.Schema, reflect.ValueOf(keys[i]))
		return exec.BatchWrite{Table: c.Table, Key: primary}, err
	})
	return among(keys, left), err
}

// writeMany prepares every one of n writes before any is sent. left are the places of those that were not, or perhaps
// not, written, in order.
func writeMany(ctx context.Context, c *core.Core, verb string, n int, spec opt.Batch, prepare func(plan.Input, int) (exec.BatchWrite, error)) (left []int, err error) {
	out := newOutgoing()
	for i := range n {
		left = append(left, i)
	}
	err = c.Measure(ctx, verb, "", func(ctx context.Context) error {
		if err := plan.CheckBatch(c.Schema, spec); err != nil {
			return err
		}
		now := c.Runner.Clock().UTC()
		for i := range n {
			w, err := prepare(plan.Input{Now: now, WriteID: c.Runner.NewID()}, i)
			if err != nil {
				return fmt.Errorf("value %d: %w", i, err)
			}
			out.add(i, w)
		}
		unsent, err := c.Runner.WriteMany(ctx, out.writes)
		left = out.places(unsent)
		return err
	})
	return left, err
}

// outgoing are the writes of a batch. Of writes of one item the last counts: DynamoDB takes only one.
type outgoing struct {
	writes []exec.BatchWrite
	from   []int // what each write is of, as its place among the caller's
	at     map[string]int
}

func newOutgoing() *outgoing { return &outgoing{at: map[string]int{}} }

func (o *outgoing) add(i int, w exec.BatchWrite) {
	id := itemID(w.Table, w.Key)
	if at, taken := o.at[id]; taken {
		o.writes[at], o.from[at] = w, i
		return
	}
	o.at[id] = len(o.writes)
	o.writes, o.from = append(o.writes, w), append(o.from, i)
}

// places are those, among the caller's values, that the given writes are of, in order.
func (o *outgoing) places(writes []int) []int {
	var places []int
	for _, k := range writes {
		places = append(places, o.from[k])
	}
	slices.Sort(places)
	return places
}

// among picks the values at places.
func among[V any](vs []V, places []int) (picked []V) {
	for _, i := range places {
		picked = append(picked, vs[i])
	}
	return picked
}
