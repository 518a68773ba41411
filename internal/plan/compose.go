package plan

import (
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Kind says what a mutation does to the current item.
type Kind int

// Kinds of mutations.
const (
	Created     Kind = iota // there was none
	Updated                 // it gets another state
	Deleted                 // it goes for good
	SoftDeleted             // it becomes a deleted copy
	Restored                // a deleted copy becomes current again
)

// Mutation is a change of one item when the state before and the state after it are known.
type Mutation struct {
	Kind  Kind
	Op    *Op
	In    Input
	Old   item.Item // the current item as read; nil for Created and Restored
	New   item.Item // the current item as it will be; nil for Deleted and SoftDeleted
	Copy  item.Item // the deleted copy: put by SoftDeleted, taken by Restored
	Final item.Item // the deleted state: of Deleted, SoftDeleted and Restored
}

// Part is an action and what its failure means; the failures of other actions do not concern it.
type Part struct {
	Action  Action
	Resolve func(Failure) Resolution
}

// Compose makes a step of the main parts of m and of those that the entity's features add.
func Compose(m *Mutation, main []Part, result Result) (Step, error) {
	s := m.Op.Schema
	var claims, states []Part
	for _, g := range UniqueConstraints(s) {
		p, err := g.Guard(m)
		if err != nil {
			return Step{}, err
		}
		claims = append(claims, p...)
	}
	if h := snapshotter(s); h != nil {
		p, err := h.Snapshots(m)
		if err != nil {
			return Step{}, err
		}
		states = p
	}
	parts := append(append(main[:len(main):len(main)], states...), claims...)
	if m.Kind == Created {
		parts = append(append(main[:len(main):len(main)], claims...), states...)
	}
	step := Step{
		Own:     len(main),
		Resolve: func(f []Failure) Resolution { return resolveParts(parts, len(main), f) },
		Done:    func(Returned) (Result, error) { return result, nil },
	}
	for _, p := range parts {
		step.Actions = append(step.Actions, p.Action)
	}
	return step, checkStep(s, step)
}

// resolveParts asks the parts that failed. The first main one decides: what the others were planned from is only as good
// as what it was. Among the others an error weighs more than the need of another plan.
func resolveParts(parts []Part, main int, f []Failure) Resolution {
	var again Resolution
	for i, p := range parts {
		if !f[i].Failed() {
			continue
		}
		v := p.Resolve(f[i])
		if v.Replan == nil || i < main {
			return v
		}
		again.Replan = v.Replan
		again.Hints = append(again.Hints, v.Hints...)
	}
	return again
}

// checkStep refuses what one transaction cannot carry.
func checkStep(s *schema.Schema, step Step) error {
	if n := len(step.Actions); n > MaxActions {
		return input(s, CodeTooMany, nil, "the write needs %d actions, a transaction can have %d", n, MaxActions)
	}
	bytes := 0
	for _, a := range step.Actions {
		if n := a.Cond.Operators(); n > MaxOperators {
			return input(s, CodeCondition, nil, "the conditions have %d operators together with the guard of the write, %d are allowed", n, MaxOperators)
		} else if n > MaxOperators/4 { // shorter ones fit
			if bytes := len(new(expr.Renderer).Cond(a.Cond)); bytes > MaxExpression {
				return input(s, CodeCondition, nil, "the conditions have %d bytes together with the guard of the write, %d are allowed", bytes, MaxExpression)
			}
		}
		bytes += item.Size(a.Item) + item.Size(a.Key)
	}
	if bytes > MaxTransactionBytes {
		return tooLarge(s, "the items of the write are %d bytes, %d are allowed", bytes, MaxTransactionBytes)
	}
	return nil
}

// DeletedState is the state of an item after its deletion at a time: one version on, with that time as deletedAt.
func DeletedState(s *schema.Schema, old item.Item, in Input, at time.Time) (item.Item, error) {
	it := item.Clone(old)
	if a := s.UpdatedAt; a != nil {
		av, err := TimeValue(a, at)
		if err != nil {
			return nil, valueError(s, a, err)
		}
		it[a.Name] = av
	}
	countUp(s, it, old, in)
	name, format := DeletedAttr(s)
	av, err := format.Value(format.Truncate(at))
	if err != nil {
		return nil, valueError(s, s.DeletedAt, err)
	}
	it[name] = av
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	return it, nil
}

// StateClock is the attribute that, beside the version, distinguishes states of an item whatever touched them since:
// updated_at, else created_at; nil when there is neither.
func StateClock(s *schema.Schema) *schema.Attr {
	if s.UpdatedAt != nil {
		return s.UpdatedAt
	}
	return s.CreatedAt
}

// Folder is an action that can be one with another of its kind on the same item: two appends of one series advance the
// current item once.
type Folder interface {
	// Fold returns the action that does both; false when other is of another kind.
	Fold(other Folder) (Action, bool)
}

// Merge returns the one action on an item that does what a and b do, under both conditions, which DynamoDB evaluates on
// the item as it was before the transaction. It is false where no action does exactly that.
func Merge(a, b Action) (Action, bool) {
	switch {
	case a.Kind == Check:
		b.Cond, b.Pin, b.Final = expr.All(a.Cond, b.Cond), expr.All(a.Pin, b.Pin), either(a.Final, b.Final)
		return b, b.Cond.Operators() <= MaxOperators
	case b.Kind == Check:
		return Merge(b, a)
	case a.Fold != nil && b.Fold != nil:
		return a.Fold.Fold(b.Fold)
	case a.Releases && b.Claims:
		// The item changes hands: it may go from its owner, or be free for the new one.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), expr.Cond{}, nil
		return b, true
	case a.Releases && b.Releases:
		// Both give the item up, and one of them was planned from what is no longer true: it has one owner.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), expr.Cond{}, nil
		return b, true
	case a.Claims && b.Releases:
		return Merge(b, a)
	}
	return Action{}, false
}

// either joins what is known of two conditions that must both hold.
func either(a, b func(item.Item) bool) func(item.Item) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(it item.Item) bool { return a(it) || b(it) }
}

// Mergeable reports, before anything is read, whether two ops about one item can go into one transaction.
func Mergeable(a, b *Op) bool { return a.Checks || b.Checks || a.Folds && b.Folds }
