package write

import (
	"context"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// concerns reports whether a condition is about more than whether there is an item, which one, and whether it has expired.
func concerns(s *schema.Schema, c expr.Cond) bool {
	about := func(path expr.Path) bool {
		name := path.Root()
		return name != schema.WriteAttr && name != s.Options.TTL && !slices.Contains(s.PK.Attributes(), name) && !slices.Contains(s.SK.Attributes(), name)
	}
	switch {
	case c.Op == expr.None:
		return false
	case c.Conds != nil:
		return slices.ContainsFunc(c.Conds, func(x expr.Cond) bool { return concerns(s, x) })
	}
	for _, o := range c.Compared() {
		if o.Path != nil && about(o.Path) {
			return true
		}
	}
	return false
}

// Planned plans op. It guards the actions on the item against key parts in another case, and, if it is planned without reading
// the item, against other payload versions.
func (op *Op) Planned(in Input) (Step, error) {
	keepsCase := op.Parts != nil && len(op.Schema.Folded) > 0
	if keepsCase {
		if err := op.keptCase(in); err != nil {
			return Step{}, err
		}
	}
	step, err := op.Plan(in)
	if err == nil && keepsCase {
		op.guardCase(&step)
	}
	if err != nil || op.Schema == nil || op.AsStored || op.Creates || in.Image != nil || !op.Schema.HasMetadata || op.Schema.Options.Derived {
		return step, err
	}
	return step, op.guardPayload(&step, in.Now)
}

// guardPayload adds to the actions of step on op's item the condition that the item has a payload version that they are made
// for. An action that changes attributes of the stored item, or has conditions on them, needs today's. Any other write needs
// one that the program knows.
func (op *Op) guardPayload(step *Step, now time.Time) error {
	s := op.Schema
	step.blind = now
	for i := range step.Actions {
		a := &step.Actions[i]
		if a.Kind == Put || a.Table != op.Table || len(step.Actions) > 1 && !SameKey(a.Key, op.Key) {
			continue
		}
		switch {
		case s.Upgrades == nil && !s.Expires && a.Kind != Check:
			a.Payload = s.Known
		case a.Kind == Check && !concerns(s, a.Cond):
			continue
		case a.Kind == Delete && (s.Upgrades == nil || !concerns(s, a.Cond)):
			a.Payload = Readable(s, now)
		default:
			a.Payload = UpToDate(s, now)
		}
		a.Cond = a.Cond.And(a.Payload)
	}
	return checkStep(s, *step)
}

// Resolve returns what a definite failure of a step of op means.
func (op *Op) Resolve(step Step, f []Failure) Resolution {
	if slices.ContainsFunc(f, func(f Failure) bool { return f.Hidden }) {
		return Resolution{Replan: entitytype.ErrItemHidden}
	}
	if step.blind.IsZero() {
		return op.resolved(step, f)
	}
	for i := range f {
		if step.Actions[i].Payload.Op == expr.None || !f[i].Failed() || !Live(op.Schema, f[i].Image, step.blind) {
			continue
		}
		if err := CheckPayload(op.Schema, f[i].Image[schema.PayloadAttr]); err != nil {
			return Resolution{Err: err}
		}
		if Outdated(op.Schema, f[i].Image) {
			return Resolution{Replan: entitytype.ErrConflict, Hints: []Hint{{Kind: OutdatedPayload}}}
		}
	}
	v := op.resolved(step, f)
	if v.Next != nil {
		if err := op.guardPayload(v.Next, step.blind); err != nil {
			return Resolution{Err: err}
		}
	}
	return v
}

// resolved is what the plan says that a failure means, with regard to the case of key parts.
func (op *Op) resolved(step Step, f []Failure) Resolution {
	v := step.Resolve(f)
	if op.Parts != nil && len(op.Schema.Folded) > 0 {
		return op.resolveCase(step, f, v)
	}
	return v
}

// NewUpgrade plans the upgrade of a stored item, as a rewrite without a version. The item keeps its write id: it is in the same
// state as before, of which it may have a snapshot.
func NewUpgrade(s *schema.Schema, table string, image item.Item) *Op {
	return NewRewrite(s, table, image, false, func(_ context.Context, _ Reader, image item.Item) (Rewriting, error) {
		if !Outdated(s, image) {
			return Rewriting{}, nil
		}
		stored, err := Open(s, image)
		if err != nil {
			return Rewriting{}, err
		}
		it := item.Clone(stored.Item)
		if err := ComposeIndexKeys(s, it, nil); err != nil {
			return Rewriting{}, err
		}
		claims, err := moved(s, it, image)
		return Rewriting{Item: it, Current: true, SameState: true, Claims: claims}, err
	})
}

// moved returns the constraints under which an item has another value than other.
func moved(s *schema.Schema, it, other item.Item) (claims []UniqueConstraint, err error) {
	for _, g := range UniqueConstraints(s) {
		mine, err := g.Sentinels(it)
		if err != nil {
			return nil, err
		}
		others, err := g.Sentinels(other)
		if err != nil {
			return nil, err
		}
		if len(mine) > 0 && (len(others) == 0 || !SameKey(mine[0], others[0])) {
			claims = append(claims, g)
		}
	}
	return claims, nil
}

// GivenUp returns the parts that release what an item, stored as raw, has claimed if it is in an earlier form, and does not
// claim in the form after.
func (op *Op) GivenUp(in Input, raw, after item.Item) (parts []Part, err error) {
	if !Outdated(op.Schema, raw) {
		return nil, nil
	}
	left, err := moved(op.Schema, raw, after)
	for _, g := range left {
		more, err := g.Guard(&Mutation{Kind: Deleted, Op: op, In: in, Old: raw})
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, err
}
