package subject

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

const (
	rounds = 10 // how often an item is dealt with that others write meanwhile
	atOnce = 8  // how many related items of one item are written at the same time
)

// errUnguarded says that nothing distinguishes the states of an item.
var errUnguarded = errors.New("the item cannot be guarded")

// settle erases what a group has of the subject, until a reading of it finds nothing to erase. It counts what a later reading shows to be
// gone, so that an answer that was lost makes no difference.
func (r *run) settle(ctx context.Context, t *tracked, owner item.Item, p *part) error {
	var before *group
	var claims []*claim
	begun, was := false, false
	for n := 0; ; n++ {
		reading := ctx
		if before != nil {
			reading = context.WithoutCancel(ctx) // what was erased counts, also if the run is ended now
		}
		g, err := r.read(reading, t, owner, claims...)
		if err != nil {
			return err
		}
		if before != nil {
			p.compare(before, g, was)
		}
		due := g.due(begun)
		if len(due) == 0 {
			p.stay(g, begun)
			return nil
		}
		if n == rounds {
			p.all(t, due, leftBusy)
			return nil
		}
		before, was, begun = g, begun, begun || g.whole()
		claims = g.released(due)
		switch err := r.carryOut(ctx, g, due, was); {
		case err == nil, errors.Is(err, entity.ErrConflict), errors.Is(err, entity.ErrConditionFailed), errors.Is(err, entity.ErrNotFound):
		case errors.Is(err, errUnguarded):
			p.all(t, due, leftUnguarded)
			return nil
		case unreadable(err):
			p.all(t, due, leftUnreadable)
			return nil
		default:
			if g, failed := r.read(context.WithoutCancel(ctx), t, owner, claims...); failed == nil {
				p.compare(before, g, was)
			}
			return err
		}
	}
}

// unreadable reports whether an item could not be opened, so that its claims are not known.
func unreadable(err error) bool {
	var upgrade *entity.UpgradeError
	var decode *entity.DecodeError
	return errors.As(err, &upgrade) || errors.As(err, &decode)
}

// carryOut removes and empties the members that are due. It ends early where one has changed.
func (r *run) carryOut(ctx context.Context, g *group, due []*member, begun bool) error {
	if g.whole() {
		return r.purge(ctx, g)
	}
	var rest, gone []*member
	for _, m := range due {
		if m.kind != Copy && m.kind != Current {
			rest = append(rest, m)
			continue
		}
		with, err := g.unclaim(m, gone)
		if err != nil {
			return err
		}
		if skipped, err := r.remove(ctx, g.t, m, with); err != nil || skipped {
			return err
		}
		gone = append(gone, m)
	}
	return engine.ParallelUntilError(ctx, len(rest), atOnce, func(ctx context.Context, i int) error {
		m := rest[i]
		if f, _ := g.fate(m, begun); f == emptied {
			return r.empty(ctx, g.t, m)
		}
		var with []plan.Action
		if m.naming == unnamed { // it goes because its item has gone
			with = []plan.Action{{Kind: plan.Check, Table: g.t.table, Key: g.owner, Cond: g.t.s.Absent}}
		}
		_, err := r.remove(ctx, g.t, m, with)
		return err
	})
}

// purge removes the item with everything that belongs to it. Unless its key names the subject, only while it is as it was read.
func (r *run) purge(ctx context.Context, g *group) error {
	p := &engine.Purge{Runner: r.runner, Schema: g.t.s, Table: g.t.table, Key: g.owner, Parts: g.parts()}
	if !g.keyed() {
		guard, _, err := plan.Unchanged(g.t.s, g.current.Raw)
		if err != nil {
			return errUnguarded
		}
		p.Only = guard
	}
	return p.Run(ctx)
}

// parts returns the parts of the key as a stored item has them.
func (g *group) parts() item.Item {
	parts := item.Item{}
	for _, a := range g.t.s.Folded {
		for _, m := range g.members {
			if av := m.Raw[a.Name]; av != nil && parts[a.Name] == nil {
				parts[a.Name] = av
			}
		}
	}
	return parts
}

// unclaim returns the actions that give up the claims which go with m after others have gone. A new life of the item that has a value claims it
// by a write of its own, so that the claim is not as it was read.
func (g *group) unclaim(m *member, gone []*member) (all []plan.Action, err error) {
	earlier := g.released(gone)
	for _, c := range g.released(append(slices.Clone(gone), m)) {
		if !slices.Contains(earlier, c) {
			a, err := deletion(g.t, c.raw)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
	}
	return all, nil
}

// deletion returns the removal of a stored item as it was read.
func deletion(t *tracked, raw item.Item) (plan.Action, error) {
	guard, _, err := plan.Unchanged(t.s, raw)
	if err != nil {
		return plan.Action{}, errUnguarded
	}
	return plan.Action{Kind: plan.Delete, Table: t.table, Key: layout.KeyOf(t.s, raw), Cond: expr.All(t.s.Exists, guard)}, nil
}

// remove removes a related item as it was read, together with other actions. It is skipped if one of them is refused.
func (r *run) remove(ctx context.Context, t *tracked, m *member, with []plan.Action) (skipped bool, err error) {
	first, err := deletion(t, m.Raw)
	if err != nil {
		return false, err
	}
	return r.write(ctx, t, append([]plan.Action{first}, with...))
}

// empty replaces a past state by the mark of one without its content.
func (r *run) empty(ctx context.Context, t *tracked, m *member) error {
	guard, _, err := plan.Unchanged(t.s, m.Raw)
	if err != nil {
		return errUnguarded
	}
	it := blank(t.s, m.Item)
	_, err = r.write(ctx, t, []plan.Action{{Kind: plan.Put, Table: t.table, Key: m.key(t.s), Item: it, Cond: expr.All(t.s.Exists, guard)}})
	return err
}

// blank returns what remains of a past state: its key, what the library keeps in it, its version and its times.
func blank(s *schema.Schema, it item.Item) item.Item {
	out := item.Item{}
	deletedAt, _ := layout.DeletedAttr(s)
	for name, av := range it {
		a := s.Attr(name)
		inKey := func(k *schema.KeyDef) bool {
			return k != nil && (slices.Contains(k.Attributes(), name) || a != nil && slices.Contains(k.Parts, a))
		}
		owned := a != nil && a.IsOwned && a.Role.Context == ""
		if schema.Reserved(name) || name == s.Options.TTL || name == deletedAt || owned || inKey(s.PK) || inKey(s.SK) {
			out[name] = av
		}
	}
	out[schema.OmittedAttr] = item.N("0") // see layout.Erased
	return out
}

// write sends actions that are each guarded by what was read. Repeating one does no harm: none of them holds on what others wrote.
func (r *run) write(ctx context.Context, t *tracked, actions []plan.Action) (skipped bool, err error) {
	op := &plan.Op{
		Verb: "Erase", Schema: t.s, Table: t.table, Key: actions[0].Key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{AsStored: true},
		Traits: plan.Traits{Unsure: func() {}}, // the item is read again
	}
	op.Plan = func(context.Context, layout.Reader, *plan.Input) (*plan.Plan, error) {
		return &plan.Plan{Actions: actions, Whole: len(actions) > 1, Meaning: &plan.Fixed{IfRefused: plan.Skipped()}}, nil
	}
	result, err := r.runner.Run(ctx, op)
	return result.Skipped, err
}

// orphan erases a claim that names the subject and belongs to no item that has its value. Like settle it counts what a later reading shows to
// be gone.
func (r *run) orphan(ctx context.Context, t *tracked, raw, owner item.Item, p *part) error {
	e, key := p.entity(t), layout.KeyOf(t.s, raw)
	has := func(c *claim) bool { return maps.EqualFunc(layout.KeyOf(t.s, c.raw), key, item.Equal) }
	for n := range rounds {
		g, err := r.read(ctx, t, owner)
		if err != nil {
			return err
		}
		if raw, err = r.runner.Get(ctx, t.table, key, true); err != nil {
			return err
		}
		switch {
		case raw == nil && n > 0:
			count(&e.Erased, Claim, 1)
			return nil
		case raw == nil || !layout.OwnedBy(t.s, owner).Holds(raw) || slices.ContainsFunc(g.claims, has):
			return nil // it goes with its item, or stays with it
		case t.kept != "":
			e.Left = leave(e.Left, Claim, t.kept, 1)
			return nil
		case r.dry:
			count(&e.Erased, Claim, 1)
			p.Estimate.write(1, 1)
			return nil
		}
		a, err := deletion(t, raw)
		if err == nil {
			_, err = r.write(ctx, t, []plan.Action{a})
		}
		if err != nil && !errors.Is(err, entity.ErrConflict) {
			return err
		}
	}
	e.Left = leave(e.Left, Claim, leftBusy, 1)
	return nil
}
