package entity

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
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

// BatchOp is one write of [DB.BatchWrite], made by [Ops.BatchPut] and [Ops.BatchDelete]. Print it to see what it writes.
// It can be used any number of times, and compared with ==.
type BatchOp interface {
	fmt.Stringer
	batched() *batchOp
}

// batchOp is a write without conditions.
type batchOp struct {
	c     *core.Core
	verb  string
	key   item.Item
	build func(plan.Input) (item.Item, error) // nil: the item is deleted
	err   error
}

func (o *batchOp) batched() *batchOp { return o }

// write is what the op asks for, as of one instant.
func (o *batchOp) write(in plan.Input) (w exec.BatchWrite, err error) {
	w = exec.BatchWrite{Table: o.c.Table, Key: o.key}
	if err = o.err; err == nil && o.build != nil {
		w.Put, err = o.build(in)
	}
	return w, err
}

// String prints what is written. It needs no client.
func (o *batchOp) String() string {
	w, err := o.write(plan.Input{Now: o.c.Runner.Clock().UTC(), WriteID: o.c.Runner.NewID()})
	if err != nil {
		return o.verb + " " + o.c.Schema.Name + ": " + err.Error()
	}
	a := plan.Action{Kind: plan.Delete, Key: w.Key}
	if w.Put != nil {
		a = plan.Action{Kind: plan.Put, Key: w.Key, Item: w.Put}
	}
	return plan.BatchText(o.c.Schema, o.verb, o.c.Table, a)
}

func batchPut(c *core.Core, verb string, v reflect.Value) *batchOp {
	key, build, err := plan.NewBatchPut(c.Schema, verb, c.Table, v)
	return &batchOp{c: c, verb: verb, key: key, build: build, err: err}
}

func batchDelete(c *core.Core, verb string, v reflect.Value) *batchOp {
	key, _, err := plan.Key(c.Schema, v)
	return &batchOp{c: c, verb: verb, key: key, err: err}
}

// firstPlaces are the numbers from 0 up to n.
func firstPlaces(n int) (places []int) {
	for i := range n {
		places = append(places, i)
	}
	return places
}

// outgoing are the writes of a batch. Of writes of one item the last counts: DynamoDB takes only one.
type outgoing struct {
	writes []exec.BatchWrite
	from   []int // what each write is of, as its place among the caller's
	at     map[string]int
}

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

func newOutgoing() *outgoing { return &outgoing{at: map[string]int{}} }

// among picks the values at places.
func among[V any](vs []V, places []int) (picked []V) {
	for _, i := range places {
		picked = append(picked, vs[i])
	}
	return picked
}

// writeAll prepares every one of n ops before any is sent; wrong names the op of a mistake. left are the places of those
// that were not, or perhaps not, written, in order.
func writeAll(ctx context.Context, r *exec.Runner, n int, op func(int) *batchOp, wrong func(int, error) error) (left []int, err error) {
	out, now := newOutgoing(), r.Clock().UTC()
	for i := range n {
		w, err := op(i).write(plan.Input{Now: now, WriteID: r.NewID()})
		if err != nil {
			return firstPlaces(n), wrong(i, err)
		}
		out.add(i, w)
	}
	unsent, err := r.WriteMany(ctx, out.writes)
	return out.places(unsent), err
}

// writeMany applies n ops of one store. left are the places of those that were not, or perhaps not, written, in order.
func writeMany(ctx context.Context, c *core.Core, verb string, n int, spec opt.Batch, op func(int) *batchOp) (left []int, err error) {
	left = firstPlaces(n)
	err = c.Measure(ctx, verb, "", func(ctx context.Context) error {
		if err := plan.CheckBatch(c.Schema, spec); err != nil {
			return err
		}
		left, err = writeAll(ctx, c.Runner, n, op, func(i int, err error) error { return fmt.Errorf("value %d: %w", i, err) })
		return err
	})
	return left, err
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
	left, err := writeMany(ctx, c, "PutMany", len(vs), opt.Batches(opts), func(i int) *batchOp { return batchPut(c, "PutMany", reflect.ValueOf(vs[i])) })
	return among(vs, left), err
}

// DeleteMany removes items without conditions; those that are not there are no error. Only the key parts of keys need to
// be filled in. For batches, unwritten and errors see [Store.PutMany].
func (s *Store[T]) DeleteMany(ctx context.Context, keys []T, opts ...BatchOption) (unwritten []T, err error) {
	c := core.Of(s)
	left, err := writeMany(ctx, c, "DeleteMany", len(keys), opt.Batches(opts), func(i int) *batchOp { return batchDelete(c, "DeleteMany", reflect.ValueOf(keys[i])) })
	return among(keys, left), err
}

// BatchPut replaces the item whole, or creates it, in a [DB.BatchWrite], as [Store.PutMany] does. It is no [Ops.Put]:
// attributes unknown to the struct go, and no condition of the struct is kept. The entities that PutMany refuses, and
// [Unconditional], are the same.
func (o Ops[T]) BatchPut(v T, opts ...BatchOption) BatchOp {
	c := core.Of(o)
	if err := plan.CheckBatch(c.Schema, opt.Batches(opts)); err != nil {
		return &batchOp{c: c, verb: "BatchPut", err: err}
	}
	return batchPut(c, "BatchPut", reflect.ValueOf(v))
}

// BatchDelete removes the item in a [DB.BatchWrite], as [Store.DeleteMany] does; one that is not there is no error. Only
// the key parts of key need to be filled in.
func (o Ops[T]) BatchDelete(key T, opts ...BatchOption) BatchOp {
	c := core.Of(o)
	if err := plan.CheckBatch(c.Schema, opt.Batches(opts)); err != nil {
		return &batchOp{c: c, verb: "BatchDelete", err: err}
	}
	return batchDelete(c, "BatchDelete", reflect.ValueOf(key))
}

// BatchWrite applies puts and deletes of any entities and tables of db without conditions. It is no transaction: each is
// applied or not by itself, and what is not depends on DynamoDB. Of writes of one item the last counts. They go out in
// batches of 25, up to 4 at the same time, and what DynamoDB leaves unprocessed is sent again, after growing pauses, until
// Config.MaxAttempts answers in a row have written nothing. It costs a request per batch and the write units of the items.
//
// unwritten are the ops that were not, or perhaps not, applied, in order; it comes with the error, and can be passed to
// another BatchWrite. Errors: *[InputError] and [ErrTooLarge] of any op, before any request; *[UnprocessedError].
func (db *DB) BatchWrite(ctx context.Context, ops ...BatchOp) (unwritten []BatchOp, err error) {
	unwritten = ops
	for i, op := range ops {
		problem := ""
		switch {
		case op == nil:
			problem = "is nil"
		case op.batched().c.DB != core.DatabaseOf(db):
			problem = "belongs to another DB"
		default:
			continue
		}
		return ops, &InputError{Code: plan.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("op %d %s", i, problem)}
	}
	err = db.measure(ctx, "BatchWrite", func(ctx context.Context) error {
		left, err := writeAll(ctx, db.runner, len(ops), func(i int) *batchOp { return ops[i].batched() }, func(i int, err error) error {
			b := ops[i].batched()
			return fmt.Errorf("op %d: %w", i, b.c.Wrap(b.verb, plan.KeyText(b.c.Schema, b.key), err))
		})
		unwritten = among(ops, left)
		if err != nil {
			err = &Error{Verb: "BatchWrite", Err: err}
		}
		return err
	})
	return unwritten, err
}
