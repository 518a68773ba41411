package entity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// BatchOption is accepted by PutMany and DeleteMany: [Blind].
type BatchOption interface{ opt.Batch }

// Blind lets PutMany and DeleteMany write entities for which what is stored matters: those with a version, created_at,
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
		key, build, err := plan.NewBatchPut(c.Schema, c.Table, reflect.ValueOf(v))
		if err != nil {
			return exec.BatchWrite{}, err
		}
		it, err := build(in)
		return exec.BatchWrite{Key: key, Put: it}, err
	})
}

// DeleteMany removes items without conditions; those that are not there are no error. Only the key parts of keys need to
// be filled in. For batches, unwritten and errors see [Store.PutMany].
func (s *Store[T]) DeleteMany(ctx context.Context, keys []T, opts ...BatchOption) (unwritten []T, err error) {
	c, spec := core.Of(s), opt.Batches(opts)
	return writeMany(ctx, c, "DeleteMany", keys, spec, func(_ plan.Input, key T) (exec.BatchWrite, error) {
		primary, _, err := plan.Key(c.Schema, reflect.ValueOf(key))
		return exec.BatchWrite{Key: primary}, err
	})
}

// writeMany prepares every write before any is sent.
func writeMany[T any](ctx context.Context, c *core.Core, verb string, vs []T, spec opt.Spec, prepare func(plan.Input, T) (exec.BatchWrite, error)) (unwritten []T, err error) {
	unwritten = vs
	err = c.Measure(ctx, verb, "", func(ctx context.Context) error {
		if err := plan.CheckBatch(c.Schema, spec); err != nil {
			return err
		}
		var writes []exec.BatchWrite
		var from []int // the value that each write is of
		places, now := map[string]int{}, c.Runner.Clock().UTC()
		for i, v := range vs {
			w, err := prepare(plan.Input{Now: now, WriteID: c.Runner.NewID()}, v)
			if err != nil {
				return fmt.Errorf("value %d: %w", i, err)
			}
			id := plan.KeyID(w.Key)
			if at, taken := places[id]; taken {
				writes[at], from[at] = w, i
				continue
			}
			places[id] = len(writes)
			writes, from = append(writes, w), append(from, i)
		}
		left, err := c.Runner.WriteMany(ctx, c.Table, writes)
		unwritten = nil
		for _, k := range left {
			unwritten = append(unwritten, vs[from[k]])
		}
		return err
	})
	return unwritten, err
}
