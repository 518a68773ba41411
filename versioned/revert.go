package versioned

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Ops builds the writes of a history as values.
type Ops[T any] struct{ handle }

// Revert is [History.Revert] as a value.
func (o Ops[T]) Revert(key T, n int64, opts ...entity.WriteOption) entity.Write[T] {
	return core.NewWrite[T](revert(core.Of(o), reflect.ValueOf(key), n, core.Returning(core.Of(o), opt.Writes(opts))))
}

// revert plans to give an item the content of version n.
func revert(c *core.Core, key reflect.Value, n int64, spec opt.Write) *core.Operation {
	op := plan.NewRevert(c.Schema, c.Table, key, spec)
	if op.Err == nil {
		op.Prepare = func(ctx context.Context, r plan.Reader, in *plan.Input) error {
			it, err := raw(ctx, c, r, op, n)
			in.Found = it
			if err != nil && plan.Live(c.Schema, in.Image, in.Now) {
				err = &plan.ItemPresent{Err: err} // what is not there is the version
			}
			return err
		}
	}
	return core.ItemOperation(c, op)
}
