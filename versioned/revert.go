package versioned

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// WriteOption is accepted by [History.Revert]: entity.If, [Expect].
type WriteOption = entity.WriteOption

// Ops builds the writes of a history as values.
type Ops[T any] struct {
	handle
	h *History[T]
}

// Revert is [History.Revert] as a value.
func (o Ops[T]) Revert(key T, n int64, opts ...WriteOption) entity.Write[T] {
	c := core.Of(o)
	op := plan.NewRevert(c.Schema, c.Table, reflect.ValueOf(key), opt.Writes(opts))
	if op.Err == nil {
		op.Prepare = func(ctx context.Context, r plan.Reader, in *plan.Input) error {
			it, err := o.h.raw(ctx, r, op, n)
			in.Found = it
			if err != nil && plan.Live(c.Schema, in.Image, in.Now) {
				err = &plan.ItemPresent{Err: err} // what is not there is the version
			}
			return err
		}
	}
	return core.NewWrite(c, op, func(outcome any) (T, error) {
		it, ok := outcome.(item.Item)
		if !ok {
			var none T
			return none, nil
		}
		return core.Decode[T](c, it)
	})
}
