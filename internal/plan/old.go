package plan

import (
	"fmt"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// takeOld prepares op to give the caller the item as it was before the write. A transaction gives none back, so that op
// reads it first where it is part of one.
func (op *Op) takeOld(spec opt.Write) {
	if spec.Was != nil {
		op.Old = func(it item.Item) error { return spec.Was(it) }
		op.Read = op.Exact
	}
}

// over is step, which is planned from old, such that its success gives old to the caller.
func (op *Op) over(old item.Item, step Step) Step {
	if op.Old == nil || step.Done == nil {
		return step
	}
	done := step.Done
	step.Done = func(r Returned) (Result, error) {
		result, err := done(r)
		if err == nil {
			err = op.Old(old)
		}
		return result, err
	}
	return step
}

// fromOld computes the item from what a lone action gave back, the item before it, which goes to the caller if asked for.
func (op *Op) fromOld(r Returned, changes []expr.Change) (item.Item, error) {
	base := r.Image
	if base == nil {
		base = item.Clone(op.Key)
	}
	it, err := expr.Apply(base, changes)
	if err == nil && op.Old != nil {
		err = op.Old(r.Image)
	}
	return it, err
}

// oldUnknown is the error of a write that was applied by an attempt whose answer, with the item before it, was lost.
func (op *Op) oldUnknown(r Returned) error {
	if op.Old == nil || !r.Proven {
		return nil
	}
	return fmt.Errorf("%w: the answer with the item before the write was lost", ErrReadBack)
}
