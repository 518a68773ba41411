package entity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

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

// BatchPut replaces the item whole, or creates it, in a [DB.BatchWrite], as [Store.PutMany] does. It is no [Ops.Put]:
// attributes unknown to the struct go, and no condition of the struct is kept. The entities that PutMany refuses, and
// [Unconditional], are the same.
func (o Ops[T]) BatchPut(v T, opts ...BatchOption) BatchOp {
	c := core.Of(o)
	b := &batchOp{c: c, verb: "BatchPut"}
	if b.err = plan.CheckBatch(c.Schema, opt.Batches(opts)); b.err == nil {
		b.key, b.build, b.err = plan.NewBatchPut(c.Schema, b.verb, c.Table, reflect.ValueOf(v))
	}
	return b
}

// BatchDelete removes the item in a [DB.BatchWrite], as [Store.DeleteMany] does; one that is not there is no error. Only
// the key parts of key need to be filled in.
func (o Ops[T]) BatchDelete(key T, opts ...BatchOption) BatchOp {
	c := core.Of(o)
	b := &batchOp{c: c, verb: "BatchDelete"}
	if b.err = plan.CheckBatch(c.Schema, opt.Batches(opts)); b.err == nil {
		b.key, _, b.err = plan.Key(c.Schema, reflect.ValueOf(key))
	}
	return b
}

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
		case op.batched().c.DB != &db.declared:
			problem = "belongs to another DB"
		default:
			continue
		}
		return ops, &InputError{Code: plan.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("op %d %s", i, problem)}
	}
	err = db.measure(ctx, "BatchWrite", func(ctx context.Context) error {
		out, now := newOutgoing(), db.runner.Clock().UTC()
		for i, op := range ops {
			b := op.batched()
			w, err := b.write(plan.Input{Now: now, WriteID: db.runner.NewID()})
			if err != nil {
				unwritten = ops
				return &Error{Verb: "BatchWrite", Err: fmt.Errorf("op %d: %w", i, b.c.Wrap(b.verb, plan.KeyText(b.c.Schema, b.key), err))}
			}
			out.add(i, w)
		}
		left, err := db.runner.WriteMany(ctx, out.writes)
		unwritten = among(ops, out.places(left))
		if err != nil {
			err = &Error{Verb: "BatchWrite", Err: err}
		}
		return err
	})
	return unwritten, err
}
