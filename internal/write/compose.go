package write

import (
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Kind is what a mutation does to the current item.
type Kind int

// Kinds of mutations.
const (
	Created     Kind = iota // the item is new
	Updated                 // the item gets a new state
	Deleted                 // the item is removed
	SoftDeleted             // the item becomes a deleted copy
	Restored                // a deleted copy becomes the current item
)

// Mutation is a change of one item whose states before and after are known.
type Mutation struct {
	Kind         Kind
	Op           *Op
	In           Input
	Old          item.Item // the current item as read; nil for Created and Restored
	New          item.Item // the current item after the write; nil for Deleted and SoftDeleted
	Copy         item.Item // the deleted copy that SoftDeleted puts or Restored removes
	DeletedState item.Item // the deleted state; set for Deleted, SoftDeleted and Restored
}

// Part is an action with the resolver of its own failure.
type Part struct {
	Action  Action
	Resolve func(Failure) Resolution
}

// composed is the Outcome of a step of parts. The first main parts are of the entity itself.
type composed struct {
	parts  []Part
	main   int
	result Result
}

// Resolve asks the resolvers of the parts that failed. The first failed main part decides, because the other parts
// were planned from the item that it guards. Otherwise an error takes precedence over planning again.
func (x *composed) Resolve(f []Failure) Resolution {
	var again Resolution
	for i, p := range x.parts {
		if !f[i].Failed() {
			continue
		}
		v := p.Resolve(f[i])
		if v.Replan == nil || i < x.main {
			return v
		}
		again.Replan = v.Replan
		again.Hints = append(again.Hints, v.Hints...)
	}
	return again
}

// Done implements Outcome.
func (x *composed) Done(Returned) (Result, error) { return x.result, nil }

// checkStep rejects a step that exceeds the limits of a transaction.
func checkStep(s *schema.Schema, step Step) error {
	if n := len(step.Actions); n > MaxActions {
		return Invalid(s, CodeTooMany, nil, "the write needs %d actions, a transaction can have %d", n, MaxActions)
	}
	bytes, several := 0, len(step.Actions) > 1 // one item is checked alone
	for i := range step.Actions {
		a := &step.Actions[i]
		if n := a.Cond.Operators(); n > MaxOperators {
			return Invalid(s, CodeCondition, nil, "the conditions have %d operators together with the guard of the write, %d are allowed", n, MaxOperators)
		} else if n > MaxOperators/4 { // shorter conditions always fit
			if bytes := len(new(expr.Renderer).Cond(a.Cond)); bytes > MaxExpression {
				return Invalid(s, CodeCondition, nil, "the conditions have %d bytes together with the guard of the write, %d are allowed", bytes, MaxExpression)
			}
		}
		if several {
			bytes += item.Size(a.Item) + item.Size(a.Key)
		}
	}
	if bytes > MaxTransactionBytes {
		return TooLarge(s, "the items of the write are %d bytes, %d are allowed", bytes, MaxTransactionBytes)
	}
	return nil
}

// Compose makes one step of the main parts of m and the parts that the entity's features add.
func Compose(m *Mutation, main []Part, result Result) (Step, error) {
	s := m.Op.Schema
	var claims, states []Part
	for _, g := range UniqueConstraints(s) {
		p, err := g.Guard(m)
		if err != nil {
			return Step{}, err
		}
		if claims == nil {
			claims = p // as for most entities, which have one constraint
		} else {
			claims = append(claims, p...)
		}
	}
	if h := snapshotter(s); h != nil {
		p, err := h.Snapshots(m)
		if err != nil {
			return Step{}, err
		}
		states = p
	}
	parts := make([]Part, 0, len(main)+len(states)+len(claims))
	if parts = append(parts, main...); m.Kind == Created {
		parts = append(append(parts, claims...), states...)
	} else {
		parts = append(append(parts, states...), claims...)
	}
	return StepOf(s, parts, len(main), result)
}

// StepOf makes one step of parts, which has the given result. The first main parts are of the entity itself, the others were
// planned from the item that these guard.
func StepOf(s *schema.Schema, parts []Part, main int, result Result) (Step, error) {
	step := Step{EntityActions: main, Actions: make([]Action, len(parts)), Outcome: &composed{parts, main, result}}
	for i := range parts {
		step.Actions[i] = parts[i].Action
	}
	return step, checkStep(s, step)
}

// single is the Outcome of a step of one part.
type single struct {
	resolve func(Failure) Resolution
	result  Result
}

// Resolve implements Outcome.
func (x *single) Resolve(f []Failure) Resolution {
	if !f[0].Failed() {
		return Resolution{}
	}
	return x.resolve(f[0])
}

// Done implements Outcome.
func (x *single) Done(Returned) (Result, error) { return x.result, nil }

// compose is Compose for a mutation by op with one main part, which is all of it for an entity without features.
func (op *Op) compose(change Mutation, in Input, main Part, result Result) (Step, error) {
	if len(op.Schema.Features) > 0 {
		m := change
		m.Op, m.In = op, in
		return Compose(&m, []Part{main}, result)
	}
	step := Step{Actions: in.alone(main.Action), EntityActions: 1, Outcome: &single{main.Resolve, result}}
	return step, checkStep(op.Schema, step)
}

// SetDeleted sets the state that the item of m has after its deletion at the given time: with the changes of the caller, with the
// next version, and with that time as deletedAt.
func (m *Mutation) SetDeleted(at time.Time) error {
	s, in := m.Op.Schema, m.In
	it, err := m.Op.Moved(m.Old)
	if err != nil {
		return err
	}
	if err := in.SetUpdated(s, it, at); err != nil {
		return err
	}
	nextVersion(s, it, m.Old, in)
	name, format := DeletedAttr(s)
	av, err := format.Value(format.Truncate(at))
	if err != nil {
		return ValueError(s, s.DeletedAt, err)
	}
	it[name] = av
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	m.DeletedState = it
	return nil
}

// Folder is an action that can be merged with another of its kind on the same item. Two appends to one series update the
// current item once.
type Folder interface {
	// Fold returns one action that does both. It returns false if other is of another kind.
	Fold(other Folder) (Action, bool)
}

// eitherFinal combines the Final functions of two conditions that must both hold.
func eitherFinal(a, b func(item.Item) bool) func(item.Item) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(it item.Item) bool { return a(it) || b(it) }
}

// Merge returns one action that does what a and b do on the same item, under both conditions. DynamoDB evaluates both on
// the item before the transaction. Merge returns false if no action does exactly that.
func Merge(a, b Action) (Action, bool) {
	switch {
	case a.Kind == Check:
		b.Cond, b.Pin, b.Final = expr.All(a.Cond, b.Cond), expr.All(a.Pin, b.Pin), eitherFinal(a.Final, b.Final)
		return b, b.Cond.Operators() <= MaxOperators
	case b.Kind == Check:
		return Merge(b, a)
	case a.Fold != nil && b.Fold != nil:
		both, ok := a.Fold.Fold(b.Fold)
		both.Cond, both.Payload = both.Cond.And(a.Payload), a.Payload
		return both, ok
	case a.Releases && b.Claims:
		// The item changes its owner: it belongs to the old one, or is already free.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), expr.Cond{}, nil
		return b, true
	case a.Releases && b.Releases:
		// Both release the item. It has one owner, so one of them was planned from an outdated read.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), expr.Cond{}, nil
		return b, true
	case a.Claims && b.Releases:
		return Merge(b, a)
	}
	return Action{}, false
}

// Mergeable reports, before anything is read, whether two operations on one item can be in one transaction.
func Mergeable(a, b *Op) bool { return a.ChecksOnly || b.ChecksOnly || a.Mergeable && b.Mergeable }
