package plan

import (
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// ErrKeyCase is the class of a *KeyCaseError.
var ErrKeyCase = errors.New("the stored key differs in case")

// KeyCaseError is an item whose key part Attr differs from the given one in case only, so that both have the same key.
// It is ErrKeyCase.
type KeyCaseError struct{ Attr string }

func (e *KeyCaseError) Error() string {
	return "the stored " + e.Attr + " differs from the given one in case, and keys are in lower case"
}

// Is makes the error an ErrKeyCase.
func (e *KeyCaseError) Is(target error) bool { return target == ErrKeyCase }

// SameCase gives a *KeyCaseError when a key part of a stored item is not that of parts. An item that lacks the attribute
// (effect-dynamodb can leave one behind) proves nothing.
func SameCase(s *schema.Schema, parts, stored item.Item) error {
	for _, a := range s.FoldedParts() {
		if av, ok := stored[a.Name]; ok && !item.Equal(av, parts[a.Name]) {
			return &KeyCaseError{a.Name}
		}
	}
	return nil
}

// sameCase is SameCase for what op may act on.
func (op *Op) sameCase(it item.Item) error {
	if op.Parts == nil {
		return nil
	}
	return SameCase(op.Schema, op.Parts, it)
}

// CaseGuard holds for items with the key parts of parts, and where there is no item.
func CaseGuard(s *schema.Schema, parts item.Item) expr.Cond {
	var guards []expr.Cond
	for _, a := range s.FoldedParts() {
		path := expr.Attr(a.Name)
		guards = append(guards, expr.Any(expr.Compare(expr.NotExists, path), expr.Compare(expr.Eq, path, parts[a.Name])))
	}
	return expr.All(guards...)
}

// KeepCase makes op fail with a *KeyCaseError where it would act on an item whose key parts differ from the given ones
// in case.
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

// guardCase adds the guard to the actions on the op's item.
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
