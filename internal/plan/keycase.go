package plan

import (
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// SameCase returns a *KeyCaseError if a key part of a stored item differs from that in parts. An item without the
// attribute, which effect-dynamodb can leave, is accepted.
func SameCase(s *schema.Schema, parts, stored item.Item) error {
	for _, a := range s.FoldedParts() {
		if av, ok := stored[a.Name]; ok && !item.Equal(av, parts[a.Name]) {
			return &KeyCaseError{Attr: a.Name}
		}
	}
	return nil
}

// sameCase is SameCase for an item that op may act on.
func (op *Op) sameCase(it item.Item) error {
	if op.Parts == nil {
		return nil
	}
	return SameCase(op.Schema, op.Parts, it)
}

// CaseGuard holds for items with these key parts, and if there is no item.
func CaseGuard(s *schema.Schema, parts item.Item) expr.Cond {
	var guards []expr.Cond
	for _, a := range s.FoldedParts() {
		path := expr.Attr(a.Name)
		guards = append(guards, expr.Any(expr.Compare(expr.NotExists, path), expr.Compare(expr.Eq, path, parts[a.Name])))
	}
	return expr.All(guards...)
}

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
			case errors.Is(v.Err, ErrExists):
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
	if op.Err != nil || op.Parts == nil || len(op.Schema.FoldedParts()) == 0 {
		return
	}
	plain := op.Plan
	op.Plan = func(in Input) (Step, error) {
		if err := SameCase(op.Schema, op.Parts, in.Image); err != nil {
			if op.Creates && live(op.Schema, in.Image, in.Now) {
				err = fmt.Errorf("%w: %w", &Refused{Class: ErrExists, Schema: op.Schema, Image: in.Image}, err)
			}
			return Step{}, err
		}
		step, err := plain(in)
		return op.guardCase(step), err
	}
}
