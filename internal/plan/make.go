package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Make plans one attempt of op. To the actions that the verb plans on op's item it adds two guards, in this order: that the key parts are
// stored in the given case, for entities whose keys are in lower case; and, in a plan that is made without reading the item, that its
// payload version is one that the plan is made for. [Resolve] knows what it means if one of them does not hold. It rejects a plan that
// exceeds a limit of DynamoDB.
func Make(ctx context.Context, r layout.Reader, op *Op, in *Input) (*Plan, error) {
	s := op.Schema
	folds := op.Parts != nil && len(s.Folded) > 0
	if folds && layout.Live(s, in.Image, in.Now) {
		if err := op.sameCase(in.Image); err != nil && op.Creates {
			return nil, fmt.Errorf("%w: %w", sentinel.ErrExists, err)
		} else if err != nil {
			return nil, err
		}
	}
	p, err := op.Plan(ctx, r, in)
	if err != nil {
		return nil, err
	}
	if folds {
		op.guardCase(p, in.Now)
	}
	if s != nil && !op.AsStored && !op.Creates && in.Image == nil && s.HasMetadata && !s.Options.Derived {
		op.guardPayload(p, in.Now)
	}
	return p, p.check(s)
}

// Resolve returns what a definite refusal of p means, a plan of op that was made of in.
func Resolve(op *Op, p *Plan, f []Failure, in *Input) Resolution {
	s := op.Schema
	if slices.ContainsFunc(f, func(f Failure) bool { return f.Hidden }) {
		return Resolution{Replan: sentinel.ErrItemHidden}
	}
	for i := range f {
		if p.Actions[i].Payload == nil || !f[i].Failed() || !layout.Live(s, f[i].Image, p.blind) {
			continue
		}
		if err := layout.CheckPayload(s, f[i].Image[schema.PayloadAttr]); err != nil {
			return Resolution{Err: err}
		}
		if layout.Outdated(s, f[i].Image) {
			in.Learned.Outdated = true
			return Resolution{Replan: sentinel.ErrConflict}
		}
	}
	v := p.Refused(p, f, in)
	if op.Parts != nil && len(s.Folded) > 0 {
		for i := range f {
			err := layout.SameCase(s, op.Parts, f[i].Image)
			switch {
			case !f[i].Failed() || err == nil || !op.isOwn(&p.Actions[i]) || !layout.Live(s, f[i].Image, in.Now):
			case errors.Is(v.Err, sentinel.ErrExists):
				return Resolution{Err: fmt.Errorf("%w: %w", v.Err, err)}
			default:
				return Resolution{Err: err}
			}
		}
		if v.Next != nil {
			op.guardCase(v.Next, in.Now)
		}
	}
	if v.Next != nil && !p.blind.IsZero() {
		op.guardPayload(v.Next, p.blind)
		if err := v.Next.check(s); err != nil {
			return Resolution{Err: err}
		}
	}
	return v
}

// isOwn reports whether an action is on the item of op.
func (op *Op) isOwn(a *Action) bool {
	return a.Table == op.Table && maps.EqualFunc(a.Key, op.Key, item.Equal)
}

// CaseError is [layout.SameCase] for a write: the error has the stored item. Without parts it is nil.
func CaseError(s *schema.Schema, parts, stored item.Item) error {
	if parts == nil {
		return nil
	}
	if err := layout.SameCase(s, parts, stored); err != nil {
		return &Refused{Class: err, Schema: s, Image: stored}
	}
	return nil
}

// sameCase is CaseError for an item that op may act on.
func (op *Op) sameCase(it item.Item) error { return CaseError(op.Schema, op.Parts, it) }

// guardCase adds CaseGuard to the actions on op's item, unless that has expired.
func (op *Op) guardCase(p *Plan, now time.Time) {
	guard := layout.CaseGuard(op.Schema, op.Parts)
	if op.Schema.Expires {
		guard = expr.Any(guard, layout.HasExpired(op.Schema, now))
	}
	for i := range p.Actions {
		if a := &p.Actions[i]; op.isOwn(a) {
			a.Cond = expr.All(a.Cond, guard)
		}
	}
}

// guardPayload adds to the actions of p on op's item the condition that the item has a payload version that they are made for. An action
// that changes attributes of the stored item, or has conditions on them, needs today's. Any other write needs one that the program knows.
func (op *Op) guardPayload(p *Plan, now time.Time) {
	s := op.Schema
	p.blind = now
	for i := range p.Actions {
		a := &p.Actions[i]
		if a.Kind == Put || a.Table != op.Table || len(p.Actions) > 1 && !maps.EqualFunc(a.Key, op.Key, item.Equal) {
			continue
		}
		switch {
		case s.Upgrades == nil && !s.Expires && a.Kind != Check:
			a.Payload = &s.Known
		case a.Kind == Check && !concerns(s, a.Cond):
			continue
		case a.Kind == Delete && (s.Upgrades == nil || !concerns(s, a.Cond)):
			readable := layout.Readable(s, now)
			a.Payload = &readable
		default:
			current := layout.UpToDate(s, now)
			a.Payload = &current
		}
		a.Cond = a.Cond.And(*a.Payload)
	}
}

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

// check rejects a plan that exceeds the limits of a transaction, of an expression, or, by what an update sets alone, of an item.
func (p *Plan) check(s *schema.Schema) error {
	if n := len(p.Actions); n > MaxActions {
		return bind.Invalid(s, bind.CodeTooMany, nil, "the write needs %d actions, a transaction can have %d", n, MaxActions)
	}
	bytes, several := 0, len(p.Actions) > 1 // one item is checked alone
	for i := range p.Actions {
		a := &p.Actions[i]
		if n := a.Cond.Operators(); n > bind.MaxOperators {
			return bind.Invalid(s, bind.CodeCondition, nil, "the conditions have %d operators together with the guard of the write, %d are allowed", n, bind.MaxOperators)
		} else if n > bind.MaxOperators/4 { // shorter conditions always fit
			if bytes := len(new(expr.Renderer).Cond(a.Cond)); bytes > bind.MaxExpression {
				return bind.Invalid(s, bind.CodeCondition, nil, "the conditions have %d bytes together with the guard of the write, %d are allowed", bytes, bind.MaxExpression)
			}
		}
		size := item.Size(a.Key)
		if several {
			bytes += size + item.Size(a.Item)
		}
		for _, c := range a.Changes {
			if c.Kind == expr.Set && len(c.Path) == 1 {
				size += len(c.Path[0].Name) + item.ValueSize(c.Value)
			}
		}
		if size > item.MaxBytes {
			return bind.CheckSize(s, size)
		}
	}
	if bytes > MaxTransactionBytes {
		return bind.TooLarge(s, "the items of the write are %d bytes, %d are allowed", bytes, MaxTransactionBytes)
	}
	return nil
}
