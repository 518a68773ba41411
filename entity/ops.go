package entity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Op is one intended write. Print it to see its plan, or pass it to [DB.Transact]. It can be used any number of times.
type Op interface {
	fmt.Stringer
	core.Op
}

// Write is an [Op] with a result.
type Write[R any] interface {
	Op
	// Result returns what the last successful transaction with this Write stored, the zero R before that. A
	// transaction gives no item back, so attributes that the plan does not determine are zero.
	Result() R
}

// Ops builds the writes of a store as values. Mistakes in the arguments come out when the op is run or printed.
type Ops[T any] struct{ handle }

func run[R any](ctx context.Context, w Write[R]) (R, error) { return w.(*core.Write[R]).Run(ctx) }

// decodeItem turns an outcome into a T; ops without one give the zero T.
func decodeItem[T any](c *core.Core) func(any) (T, error) {
	return func(outcome any) (T, error) {
		it, ok := outcome.(item.Item)
		if !ok {
			var none T
			return none, nil
		}
		return core.Decode[T](c, it)
	}
}

// Create is [Store.Create] as a value.
func (o Ops[T]) Create(v T, opts ...WriteOption) Write[T] {
	c := core.Of(o)
	return core.NewWrite(c, plan.NewCreate(c.Schema, c.Table, reflect.ValueOf(v), opt.Writes(opts)), decodeItem[T](c))
}

// Update is [Store.Update] as a value.
func (o Ops[T]) Update(key T, opts ...UpdateOption) Write[T] {
	c := core.Of(o)
	return core.NewWrite(c, plan.NewUpdate(c.Schema, c.Table, reflect.ValueOf(key), core.Returning[T](c, opt.Updates(opts))), decodeItem[T](c))
}

// Delete is [Store.Delete] as a value. Its result is the zero T.
func (o Ops[T]) Delete(key T, opts ...WriteOption) Write[T] {
	c := core.Of(o)
	return core.NewWrite(c, plan.NewDelete(c.Schema, c.Table, reflect.ValueOf(key), core.Returning[T](c, opt.Writes(opts))), decodeItem[T](c))
}

// Require makes the transaction fail unless the item exists ([ErrNotFound]) and meets conds ([ErrCondition]).
func (o Ops[T]) Require(key T, conds ...Cond) Op {
	c := core.Of(o)
	spec := opt.Spec{}
	for _, k := range conds {
		spec.If = append(spec.If, k.cond)
	}
	return core.NewWrite(c, plan.NewRequire(c.Schema, c.Table, reflect.ValueOf(key), spec), decodeItem[T](c))
}

// Absent makes the transaction fail with [ErrExists] if the item exists.
func (o Ops[T]) Absent(key T) Op {
	c := core.Of(o)
	return core.NewWrite(c, plan.NewAbsent(c.Schema, c.Table, reflect.ValueOf(key)), decodeItem[T](c))
}

// Upsert is [Store.Upsert] as a value.
func (o Ops[T]) Upsert(v T, opts ...UpdateOption) Write[T] {
	c := core.Of(o)
	return core.NewWrite(c, o.upsertPlan(v, opts), func(outcome any) (T, error) {
		return core.Decode[T](c, outcome.(plan.Upserted).Item)
	})
}

// Put is [Store.Put] as a value.
func (o Ops[T]) Put(v T, opts ...WriteOption) Write[T] {
	c := core.Of(o)
	p := plan.NewPut(c.Schema, c.Table, reflect.ValueOf(v), core.Returning[T](c, opt.Writes(opts)))
	return core.NewWrite(c, p, func(outcome any) (T, error) {
		return core.Decode[T](c, outcome.(plan.Upserted).Item)
	})
}

func (o Ops[T]) upsertPlan(v T, opts []UpdateOption) *plan.Op {
	c := core.Of(o)
	return plan.NewUpsert(c.Schema, c.Table, reflect.ValueOf(v), core.Returning[T](c, opt.Updates(opts)))
}

// upserted is both results of an upsert.
type upserted[T any] struct {
	item    T
	created bool
}

func (o Ops[T]) upsert(v T, opts []UpdateOption) *core.Write[upserted[T]] {
	c := core.Of(o)
	return core.NewWrite(c, o.upsertPlan(v, opts), func(outcome any) (upserted[T], error) {
		u := outcome.(plan.Upserted)
		it, err := core.Decode[T](c, u.Item)
		return upserted[T]{it, u.Created}, err
	})
}
