package exec

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// lookBack reads what earlier lives of the item left, for the plan of a new one. Snapshots and copies are not read at one
// moment. A history without a copy may be that of an item which is there; what it will be deleted to may be in a copy
// alone, so that no snapshot would stand in the way of a plan made from that history. Or the copy came after the copies
// were read. Such a history is believed only when, read again, it is the same, the item being absent in between. An item
// that is there is the plan's image.
func (r *Runner) lookBack(ctx context.Context, op *plan.Op, in *plan.Input) error {
	before := int64(-1) // version of an odd history
	for n := 0; n < max(r.MaxAttempts, 2); n++ {
		past, err := plan.ReadPast(ctx, r, op, in.Now)
		if err != nil {
			return err
		}
		if in.Past = past; !past.Odd || past.Version == before {
			return nil
		}
		before = past.Version
		if !past.Open {
			continue
		}
		if in.Image, err = r.Get(ctx, op.Table, op.Key, true); err != nil || plan.Live(op.Schema, in.Image, in.Now) {
			return err
		}
	}
	return fmt.Errorf("%w: the item comes and goes", plan.ErrConflict)
}
