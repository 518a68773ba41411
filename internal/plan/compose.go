package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Kind says whether a mutation creates, changes or removes the current item.
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
	In           *Input
	Old          item.Item // the current item as read; nil for Created and Restored
	New          item.Item // the current item after the write; nil for Deleted and SoftDeleted
	Copy         item.Item // the deleted copy that SoftDeleted puts or Restored removes
	DeletedState item.Item // the deleted state; set for Deleted, SoftDeleted and Restored
}

// composed is the Meaning of actions of which each has that of its own refusal. The first main actions are of the entity itself.
type composed struct {
	main   int
	result Result
}

// Refused asks the actions that failed. The first failed main action decides, because the others were planned from the item that it
// guards. Otherwise an error takes precedence over planning again.
func (x *composed) Refused(p *Plan, f []Failure, in *Input) (again Resolution) {
	for i := range p.Actions {
		if !f[i].Failed() {
			continue
		}
		v := p.Actions[i].Refusal.Refused(f[i], in)
		if v.Replan == nil || i < x.main {
			return v
		}
		again.Replan = v.Replan
	}
	return again
}

func (x *composed) Applied(*Plan, Returned, *Input) (Result, error) { return x.result, nil }

// Compose makes one plan of the main actions of m and the actions that the entity's features add: the claims of unique values, and the
// snapshots of history. A new item claims its values first, because a violation is the better error; every other write takes its
// snapshots first.
func Compose(m Mutation, main []Action, result Result) (*Plan, error) {
	s, p := m.Op.Schema, Join(nil, len(main), result)
	if len(s.Features) == 0 {
		p.Actions = append(p.alone[:0], main...)
		return p, nil
	}
	change := m // on the heap
	var claims, states []Action
	for _, g := range UniqueConstraints(s) {
		more, err := g.Guard(&change)
		if err != nil {
			return nil, err
		}
		claims = append(claims, more...)
	}
	if h, ok := schema.Feature[Snapshotter](s); ok {
		var err error
		if states, err = h.Snapshots(&change); err != nil {
			return nil, err
		}
	}
	if m.Kind != Created {
		claims, states = states, claims
	}
	p.Actions = slices.Concat(main, claims, states)
	return p, nil
}

// Join makes one plan of actions, which has the given result. The first main actions are of the entity itself, the others were planned from
// the item that these guard.
func Join(actions []Action, main int, result Result) *Plan {
	var p struct { // one allocation
		Plan
		composed
	}
	p.composed = composed{main, result}
	p.Plan = Plan{Actions: actions, EntityActions: main, Meaning: &p.composed}
	return &p.Plan
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
	in.nextVersion(s, it, m.Old)
	name, format := layout.DeletedAttr(s)
	av, err := format.Value(format.Truncate(at))
	if err != nil {
		return bind.ValueError(s, s.DeletedAt, err)
	}
	it[name] = av
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	m.DeletedState = it
	return nil
}

// Folder is an action that can be merged with another of its kind on the same item. Two appends to one series update the current item once.
type Folder interface {
	// Fold returns one action that does both. It returns false if other is of another kind.
	Fold(other Folder) (Action, bool)
}

// Pinned returns the Pin of an action that more is added to.
func (a *Action) Pinned(more *expr.Cond) *expr.Cond {
	if a.Pin == nil || more == nil {
		return cmp.Or(a.Pin, more)
	}
	both := expr.All(*a.Pin, *more)
	return &both
}

// Merge returns one action that does what a and b do on the same item, under both conditions. DynamoDB evaluates both on
// the item before the transaction. Merge returns false if no action does exactly that.
func Merge(a, b Action) (Action, bool) {
	switch {
	case a.Kind == Check:
		b.Cond, b.Pin = expr.All(a.Cond, b.Cond), b.Pinned(a.Pin)
		switch x, y := a.Final, b.Final; {
		case y == nil:
			b.Final = x
		case x != nil:
			b.Final = func(it item.Item) bool { return x(it) || y(it) }
		}
		return b, b.Cond.Operators() <= bind.MaxOperators
	case b.Kind == Check:
		return Merge(b, a)
	case a.Fold != nil && b.Fold != nil:
		both, ok := a.Fold.Fold(b.Fold)
		if both.Payload = a.Payload; a.Payload != nil {
			both.Cond = both.Cond.And(*a.Payload)
		}
		return both, ok
	case a.Releases && (b.Claims || b.Releases):
		// The item changes its owner: it belongs to the old one, or is already free. Of two that release it one was planned from an
		// outdated read, because it has one owner.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), nil, nil
		return b, true
	case a.Claims && b.Releases:
		return Merge(b, a)
	}
	return Action{}, false
}

// Mergeable reports, before anything is read, whether two operations on one item can be in one transaction.
func Mergeable(a, b *Op) bool { return a.ChecksOnly || b.ChecksOnly || a.Mergeable && b.Mergeable }
