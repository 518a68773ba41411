package timeseries

import (
	"reflect"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Ops builds the writes of a series as values, to be printed or joined in entity.DB.Transact.
type Ops[T any] struct {
	handle
	e     *events
	store entity.Ops[T]
}

// Append is [Series.Append] as a value. In a transaction an event that is not applied fails the whole with a
// *[NotAppliedError]; late:"record" does not apply. Its result has what the event determines of the current item.
func (o Ops[T]) Append(ev T, opts ...AppendOption) entity.Write[Result[T]] {
	c := core.Of(o)
	op := newAppend(c, o.e, reflect.ValueOf(ev), opt.Appends(opts))
	return core.NewWrite[Result[T]](core.NewOperation(c, op, func(got plan.Result, into any) (err error) {
		*into.(*Result[T]), err = result[T](c, outcomeOf(got))
		return err
	}))
}

// Update is [Series.Update] as a value.
func (o Ops[T]) Update(key T, opts ...entity.UpdateOption) entity.Write[T] {
	return o.store.Update(key, opts...)
}

// Upsert is [Series.Upsert] as a value.
func (o Ops[T]) Upsert(v T, opts ...entity.UpdateOption) entity.Write[T] {
	return o.store.Upsert(v, opts...)
}

// CheckExists makes the transaction fail unless the current item exists and meets conds.
func (o Ops[T]) CheckExists(key T, conds ...entity.Cond) entity.Op {
	return o.store.CheckExists(key, conds...)
}
