package write

import (
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// CaseError is [SameCase] for a write: the error has the stored item. Without parts it is nil.
func CaseError(s *schema.Schema, parts, stored item.Item) error {
	if parts == nil {
		return nil
	}
	if err := SameCase(s, parts, stored); err != nil {
		return &Refused{Class: err, Schema: s, Image: stored}
	}
	return nil
}

// sameCase is CaseError for an item that op may act on.
func (op *Op) sameCase(it item.Item) error { return CaseError(op.Schema, op.Parts, it) }

// guardCase adds CaseGuard to the actions on op's item.
func (op *Op) guardCase(step Step) Step {
	guard, id := CaseGuard(op.Schema, op.Parts), KeyID(op.Key)
	own := make([]bool, len(step.Actions))
	actions := make([]Action, len(step.Actions))
	for i, a := range step.Actions {
		if own[i] = a.Table == op.Table && KeyID(a.Key) == id; own[i] {
			a.Cond = expr.All(a.Cond, guard)
		}
		actions[i] = a
	}
	step.Actions = actions
	resolve := step.Resolve
	step.Resolve = func(f []Failure) Resolution {
		v := resolve(f)
		for i := range f {
			err := SameCase(op.Schema, op.Parts, f[i].Image)
			switch {
			case !own[i] || !f[i].Failed() || err == nil:
			case errors.Is(v.Err, entitytype.ErrExists):
				return Resolution{Err: fmt.Errorf("%w: %w", v.Err, err)}
			default:
				return Resolution{Err: err}
			}
		}
		if v.Next != nil {
			next := op.guardCase(*v.Next)
			v.Next = &next
		}
		return v
	}
	return step
}

// KeepCase makes op fail with a *KeyCaseError if the stored item's key parts differ from the given ones in case.
func (op *Op) KeepCase() {
	if op.Err != nil || op.Parts == nil || len(op.Schema.Folded) == 0 {
		return
	}
	plain := op.Plan
	op.Plan = func(in Input) (Step, error) {
		if err := op.sameCase(in.Image); err != nil {
			if op.Creates && Live(op.Schema, in.Image, in.Now) {
				err = fmt.Errorf("%w: %w", entitytype.ErrExists, err)
			}
			return Step{}, err
		}
		step, err := plain(in)
		return op.guardCase(step), err
	}
}
