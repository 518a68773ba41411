package entity

import (
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
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

// Create is [Store.Create] as a value.
func (o Ops[T]) Create(v T, opts ...CreateOption) Write[T] {
	return core.NewWrite[T](create(core.Of(o), reflect.ValueOf(v), opts))
}

// Update is [Store.Update] as a value.
func (o Ops[T]) Update(key T, opts ...UpdateOption) Write[T] {
	return core.NewWrite[T](update(core.Of(o), reflect.ValueOf(key), opts))
}

// Delete is [Store.Delete] as a value. Its result is the zero T.
func (o Ops[T]) Delete(key T, opts ...WriteOption) Write[T] {
	return core.NewWrite[T](remove(core.Of(o), reflect.ValueOf(key), opts))
}

// CheckExists makes the transaction fail unless the item exists ([ErrNotFound]) and meets conds ([ErrConditionFailed]).
func (o Ops[T]) CheckExists(key T, conds ...Cond) Op {
	return core.NewWrite[T](require(core.Of(o), reflect.ValueOf(key), conds))
}

// CheckNotExists makes the transaction fail with [ErrExists] if the item exists.
func (o Ops[T]) CheckNotExists(key T) Op {
	c := core.Of(o)
	return core.NewWrite[T](core.ItemOperation(c, plan.NewCheckNotExists(c.Schema, c.Table, reflect.ValueOf(key))))
}

// Upsert is [Store.Upsert] as a value.
func (o Ops[T]) Upsert(v T, opts ...UpdateOption) Write[T] {
	return core.NewWrite[T](upsert(core.Of(o), reflect.ValueOf(v), opts))
}

// Put is [Store.Put] as a value.
func (o Ops[T]) Put(v T, opts ...WriteOption) Write[T] {
	return core.NewWrite[T](put(core.Of(o), reflect.ValueOf(v), opts))
}

// The writes below do not depend on the type of the entity, so that a program holds them once.

func create(c *core.Core, v reflect.Value, opts []CreateOption) *core.Operation {
	return core.ItemOperation(c, plan.NewCreate(c.Schema, c.Table, v, opt.Creates(opts)))
}

func put(c *core.Core, v reflect.Value, opts []WriteOption) *core.Operation {
	return core.ItemOperation(c, plan.NewPut(c.Schema, c.Table, v, core.Returning(c, opt.Writes(opts))))
}

func update(c *core.Core, key reflect.Value, opts []UpdateOption) *core.Operation {
	return core.ItemOperation(c, plan.NewUpdate(c.Schema, c.Table, key, returningUpdate(c, opts)))
}

func remove(c *core.Core, key reflect.Value, opts []WriteOption) *core.Operation {
	return core.ItemOperation(c, plan.NewDelete(c.Schema, c.Table, key, core.Returning(c, opt.Writes(opts))))
}

func require(c *core.Core, key reflect.Value, conds []Cond) *core.Operation {
	spec := opt.Guard{}
	for _, k := range conds {
		spec.If = append(spec.If, k.cond)
	}
	return core.ItemOperation(c, plan.NewCheckExists(c.Schema, c.Table, key, spec))
}

func upsert(c *core.Core, v reflect.Value, opts []UpdateOption) *core.Operation {
	return core.ItemOperation(c, plan.NewUpsert(c.Schema, c.Table, v, returningUpdate(c, opts)))
}

// returningUpdate collects options and prepares what [Returning] asks for.
func returningUpdate(c *core.Core, opts []UpdateOption) opt.Update {
	spec := opt.Updates(opts)
	spec.Write = core.Returning(c, spec.Write)
	return spec
}
