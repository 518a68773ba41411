package entity

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// BatchOption is accepted by PutMany, DeleteMany, BatchPut and BatchDelete: [Unconditional], [Budget].
type BatchOption interface{ bind.BatchOption }

// Unconditional allows batch writes of entities whose writes depend on what is stored: those with a version,
// created_at, set_once or immutable fields, or keys in lower case. The stored item is replaced nevertheless: its
// version becomes 1, both timestamps become now, and nothing is kept.
func Unconditional() BatchOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Unconditional = true }}
}

// BatchOp is one write of [DB.BatchWrite], made by [Ops.BatchPut] or [Ops.BatchDelete]. Printing it shows what it
// writes. It can be used any number of times, and compared with ==.
type BatchOp interface {
	fmt.Stringer
	batched() *batchOp
}

// batchOp is a write without conditions.
type batchOp struct {
	c    *engine.Core
	verb string
	key  item.Item
	base item.Item // what the item is made of; nil: the item is deleted
	err  error

	budget *bind.Pace // paces the requests of the batch; may be nil

	deferred *engine.Deferred[*batchOp] // takes the place of key, base and err; nil for an entity without a Prepare method
}

func (o *batchOp) batched() *batchOp { return o }

// putAt returns what a put of c is planned from, but for the context of the call.
func putAt(c *engine.Core, now time.Time) *plan.Input {
	in := &plan.Input{Now: now}
	if c.Schema.StoresID {
		in.WriteID = c.Runner.NewID()
	}
	return in
}

// putIn returns what a put of c is planned from in the context of a call.
func putIn(ctx context.Context, c *engine.Core, now time.Time) (in *plan.Input, err error) {
	if in = putAt(c, now); c.Schema.Contexts != nil {
		in.Context, err = plan.InContext(ctx, c.Schema)
	}
	return in, err
}

// write returns the request that a prepared op makes. in is what a put is planned from, wrong why it could not be made.
func (o *batchOp) write(in *plan.Input, wrong error) (w engine.BatchWrite, err error) {
	w = engine.BatchWrite{Table: o.c.Table, Key: o.key}
	switch {
	case o.err != nil || o.base == nil:
		return w, o.err
	case wrong != nil:
		return w, wrong
	}
	w.Put, err = plan.BatchItem(o.c.Schema, o.key, item.Clone(o.base), in)
	return w, err
}

// String prints what the op writes. It needs no client.
func (o *batchOp) String() string {
	asGiven := false
	if o.deferred != nil {
		o, asGiven = o.deferred.Preview()
	}
	in := putAt(o.c, o.c.Runner.Clock().UTC())
	in.Context = plan.ShownContext(o.c.Schema)
	w, err := o.write(in, nil)
	var a *plan.Action
	switch {
	case err != nil && !asGiven:
		return o.verb + " " + o.c.Schema.Name + ": " + err.Error()
	case err != nil: // what is missing may come from Prepare
	case w.Put != nil:
		a = &plan.Action{Kind: plan.Put, Key: w.Key, Item: w.Put}
	default:
		a = &plan.Action{Kind: plan.Delete, Key: w.Key}
	}
	return plan.BatchText(o.c.Schema, o.verb, o.c.Table, asGiven, a)
}

// newBatchOp returns a write that build binds, unless the entity needs conditions.
func newBatchOp(h engine.Holder, verb string, v any, opts []BatchOption, build func(*engine.Core, string, reflect.Value, *bind.Pace) *batchOp) *batchOp {
	c, spec := engine.Of(h), bind.Collect(opts)
	if err := plan.CheckBatch(c.Schema, spec); err != nil {
		return &batchOp{c: c, verb: verb, err: err}
	}
	return build(c, verb, reflect.ValueOf(v), spec.Budget)
}

func batchPut(c *engine.Core, verb string, v reflect.Value, budget *bind.Pace) *batchOp {
	if !c.Schema.Completes {
		key, base, err := bind.KeyAndItem(c.Schema, v)
		return &batchOp{c: c, verb: verb, key: key, base: base, err: err, budget: budget}
	}
	bound := func(done bind.Completed, err error) *batchOp {
		o := &batchOp{c: c, verb: verb, err: err, budget: budget}
		if err == nil {
			o.key, o.base, o.err = bind.KeyAndItem(c.Schema, done.Value)
		}
		return o
	}
	value := engine.NewWhole(c, v, false)
	if !c.Schema.Prepares {
		return bound(value.AsGiven())
	}
	return &batchOp{c: c, verb: verb, deferred: engine.NewDeferred(value, bound), budget: budget}
}

func batchDelete(c *engine.Core, verb string, v reflect.Value, budget *bind.Pace) *batchOp {
	key, _, err := bind.Key(c.Schema, v, nil, nil)
	return &batchOp{c: c, verb: verb, key: key, err: err, budget: budget}
}

// firstPlaces returns the numbers from 0 to n-1.
func firstPlaces(n int) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	return places
}

// batched returns the write of op i at a time. The context is the call's.
type batched func(ctx context.Context, i int, now time.Time) (engine.BatchWrite, error)

// writeAll prepares all n ops before it sends any; wrong adds to an error which op it is about. left has the positions
// of the ops that were not, or perhaps not, written, in order.
func writeAll(ctx context.Context, r *engine.Runner, n int, op batched, wrong func(int, error) error) (left []int, err error) {
	writes, now := make([]engine.BatchWrite, n), r.Clock().UTC()
	for i := range n {
		if writes[i], err = op(ctx, i, now); err != nil {
			return firstPlaces(n), wrong(i, err)
		}
	}
	return r.WriteMany(ctx, writes)
}

// writeMany applies n ops of one store. left has the positions of those that were not, or perhaps not, written, in order.
func writeMany(ctx context.Context, c *engine.Core, verb string, n int, spec *bind.Options, op batched) (left []int, err error) {
	left = firstPlaces(n)
	err = c.MeasureBatch(ctx, verb, n, func(ctx context.Context) error {
		if err := plan.CheckBatch(c.Schema, spec); err != nil {
			return err
		}
		left, err = writeAll(bind.WithPace(ctx, spec.Budget), c.Runner, n, op, func(i int, err error) error { return fmt.Errorf("value %d: %w", i, err) })
		return err
	})
	return left, err
}

// putMany puts the values in a slice. unwritten points to the slice for those that it did not write.
func putMany(ctx context.Context, h engine.Holder, values any, opts []BatchOption, unwritten any) error {
	c, vs := engine.Of(h), reflect.ValueOf(values)
	names, completes := c.Schema.KeyNames(), c.Schema.Completes
	completed := reflect.MakeSlice(vs.Type(), 0, 0) // the values as the declaration completes them, so that a repetition writes the same ids
	var in *plan.Input                              // of all values, unless each stores an id of its write
	left, err := writeMany(ctx, c, "PutMany", vs.Len(), bind.Collect(opts), func(ctx context.Context, i int, now time.Time) (w engine.BatchWrite, err error) {
		v := vs.Index(i)
		if completes {
			done, err := engine.NewWhole(c, v, false).Prepared(ctx)
			if err != nil {
				return w, err
			}
			v = done.Value
			completed = reflect.Append(completed, v)
		}
		w.Table, w.Names = c.Table, names
		if in == nil || c.Schema.StoresID {
			if in, err = putIn(ctx, c, now); err != nil {
				return w, err
			}
		}
		it, err := bind.KeyedItem(c.Schema, v)
		if err == nil {
			w.Put, err = plan.BatchItem(c.Schema, nil, it, in)
		}
		return w, err
	})
	if completes && completed.Len() == vs.Len() { // otherwise nothing was sent
		vs = completed
	}
	pick(vs, left, unwritten)
	return err
}

// deleteMany removes the items with the keys in a slice. unwritten points to the slice for those that it did not remove.
func deleteMany(ctx context.Context, h engine.Holder, given any, opts []BatchOption, unwritten any) error {
	c, keys := engine.Of(h), reflect.ValueOf(given)
	left, err := writeMany(ctx, c, "DeleteMany", keys.Len(), bind.Collect(opts), func(_ context.Context, i int, _ time.Time) (w engine.BatchWrite, err error) {
		w.Table = c.Table
		w.Key, _, err = bind.Key(c.Schema, keys.Index(i), nil, nil)
		return w, err
	})
	pick(keys, left, unwritten)
	return err
}

// pick appends the values at places to the slice that to points to.
func pick(vs reflect.Value, places []int, to any) {
	picked := reflect.ValueOf(to).Elem()
	for _, i := range places {
		picked.Set(reflect.Append(picked, vs.Index(i)))
	}
}

// PutMany replaces or creates items without conditions. Attributes that the struct does not have are removed. If
// several values have the same key, the last one is written. It sends batches of 25, up to 4 in parallel, and repeats
// what DynamoDB leaves unprocessed. It costs one request per batch and the write units of the items.
//
// unwritten has the values that were not, or perhaps not, written, in order; it comes with the error. They have the defaults and generated
// ids that they were sent with, and are as a [Preparer] left them, so that a repetition writes the same items. Entities that keep versions,
// or have soft delete or unique values, are refused; so are those whose writes depend on what is stored, unless [Unconditional] is given.
// Errors: *[InputError] and [ErrTooLarge] for any of the values, before any request; *[UnprocessedError].
func (s *Store[T]) PutMany(ctx context.Context, vs []T, opts ...BatchOption) (unwritten []T, err error) {
	err = putMany(ctx, s, vs, opts, &unwritten)
	return unwritten, err
}

// DeleteMany removes items without conditions; a missing item is not an error. Only the key parts of keys are used.
// Batches, unwritten and errors are as in [Store.PutMany].
func (s *Store[T]) DeleteMany(ctx context.Context, keys []T, opts ...BatchOption) (unwritten []T, err error) {
	err = deleteMany(ctx, s, keys, opts, &unwritten)
	return unwritten, err
}

// BatchPut replaces or creates the item in a [DB.BatchWrite], as [Store.PutMany] does. Unlike [Ops.Put] it removes
// attributes that the struct does not have, and checks no condition of the struct. It refuses the same entities as
// PutMany, and [Unconditional] has the same meaning.
func (o *Ops[T]) BatchPut(v T, opts ...BatchOption) BatchOp {
	return newBatchOp(o.opened(), "BatchPut", v, opts, batchPut)
}

// BatchDelete removes the item in a [DB.BatchWrite], as [Store.DeleteMany] does; a missing item is not an error. Only
// the key parts of key are used.
func (o *Ops[T]) BatchDelete(key T, opts ...BatchOption) BatchOp {
	return newBatchOp(o.opened(), "BatchDelete", key, opts, batchDelete)
}

// BatchWrite applies puts and deletes of any entities and tables of db without conditions. It is not a transaction:
// each op is applied or not by itself. If several ops write the same item, the last one counts. It sends batches of 25,
// up to 4 in parallel. What DynamoDB leaves unprocessed is sent again, after growing pauses, until Config.MaxAttempts
// responses in a row have written nothing. It costs one request per batch and the write units of the items.
//
// unwritten has the ops that were not, or perhaps not, applied, in order; it comes with the error, and can be passed to
// another BatchWrite. Errors: *[InputError] and [ErrTooLarge] of any op, before any request; *[UnprocessedError].
func (db *DB) BatchWrite(ctx context.Context, ops ...BatchOp) (unwritten []BatchOp, err error) {
	unwritten = ops
	for i, op := range ops {
		problem := ""
		switch {
		case op == nil:
			problem = "is nil"
		case op.batched().c.DB != engine.DatabaseOf(db):
			problem = "belongs to another DB"
		default:
			continue
		}
		return ops, &InputError{Code: bind.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("op %d %s", i, problem)}
	}
	err = db.measure(ctx, "BatchWrite", len(ops), func(ctx context.Context) error {
		for _, op := range ops {
			ctx = bind.WithPace(ctx, op.batched().budget)
		}
		left, err := writeAll(ctx, db.runner, len(ops), func(ctx context.Context, i int, now time.Time) (engine.BatchWrite, error) {
			b := ops[i].batched()
			if b.deferred != nil {
				b = b.deferred.Bind(ctx)
			}
			w, err := b.write(putIn(ctx, b.c, now))
			if err != nil {
				err = b.c.Wrap(b.verb, layout.KeyText(b.c.Schema, b.key), err)
			}
			return w, err
		}, func(i int, err error) error { return fmt.Errorf("op %d: %w", i, err) })
		unwritten = nil
		pick(reflect.ValueOf(ops), left, &unwritten)
		if err != nil {
			err = &Error{Verb: "BatchWrite", Err: err}
		}
		return err
	})
	return unwritten, err
}
