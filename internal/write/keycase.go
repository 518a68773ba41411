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

// keptCase returns the error of a plan from an item whose key parts differ from those of op in case.
func (op *Op) keptCase(in Input) error {
	err := op.sameCase(in.Image)
	if err != nil && op.Creates && Live(op.Schema, in.Image, in.Now) {
		return fmt.Errorf("%w: %w", entitytype.ErrExists, err)
	}
	return err
}

// isOwn reports whether an action is on the item of op.
func (op *Op) isOwn(a *Action) bool { return a.Table == op.Table && SameKey(a.Key, op.Key) }

// guardCase adds CaseGuard to the actions on op's item.
func (op *Op) guardCase(step *Step) {
	guard := CaseGuard(op.Schema, op.Parts)
	for i := range step.Actions {
		if a := &step.Actions[i]; op.isOwn(a) {
			a.Cond = expr.All(a.Cond, guard)
		}
	}
}

// resolveCase is v, what a refusal of step means, or the error of a stored item whose key parts differ in case.
func (op *Op) resolveCase(step Step, f []Failure, v Resolution) Resolution {
	for i := range f {
		err := SameCase(op.Schema, op.Parts, f[i].Image)
		switch {
		case !f[i].Failed() || err == nil || !op.isOwn(&step.Actions[i]):
		case errors.Is(v.Err, entitytype.ErrExists):
			return Resolution{Err: fmt.Errorf("%w: %w", v.Err, err)}
		default:
			return Resolution{Err: err}
		}
	}
	if v.Next != nil {
		op.guardCase(v.Next)
	}
	return v
}
