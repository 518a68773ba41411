package plan

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
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

// KeepPayload makes op act on an item of an earlier payload version only after the item was upgraded, if it changes
// attributes of the stored item or has conditions on them.
func (op *Op) KeepPayload() {
	if op.Err != nil || op.Schema.Upgrades == nil {
		return
	}
	plain := op.Plan
	op.Plan = func(in Input) (Step, error) {
		step, err := plain(in)
		return op.guardPayload(in, step), err
	}
}

// guardPayload adds the guard to the actions on op's item that need it.
func (op *Op) guardPayload(in Input, step Step) Step {
	s, id := op.Schema, layout.KeyID(op.Key)
	guarded := make([]bool, len(step.Actions))
	actions := slices.Clone(step.Actions)
	for i, a := range actions {
		key := a.Key
		if a.Kind == Put {
			key = layout.KeyOf(s, a.Item)
		}
		if a.Table != op.Table || layout.KeyID(key) != id || a.Kind != Update && !concerns(s, a.Cond) {
			continue
		}
		guarded[i] = true
		actions[i].Cond = expr.All(a.Cond, layout.UpToDate(s, in.Now))
	}
	step.Actions = actions
	resolve := step.Resolve
	step.Resolve = func(f []Failure) Resolution {
		for i := range f {
			if guarded[i] && f[i].Failed() && layout.Live(s, f[i].Image, in.Now) && layout.Outdated(s, f[i].Image) {
				return Resolution{Replan: entitytype.ErrConflict, Hints: []Hint{{Kind: OutdatedPayload}}}
			}
		}
		v := resolve(f)
		if v.Next != nil {
			next := op.guardPayload(in, *v.Next)
			v.Next = &next
		}
		return v
	}
	return step
}

// NewUpgrade plans the upgrade of a stored item, as a rewrite without a version.
func NewUpgrade(s *schema.Schema, table string, image item.Item) *Op {
	return NewRewrite(s, table, image, false, func(_ context.Context, _ layout.Reader, image item.Item) (Rewriting, error) {
		if !layout.Outdated(s, image) {
			return Rewriting{}, nil
		}
		it, err := layout.Upgraded(s, image)
		if err == nil {
			err = bind.ComposeIndexKeys(s, it, nil)
		}
		return Rewriting{Item: it, Current: true}, err
	})
}
