package subject

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A group is everything that is stored of one item: the current item, what belongs to it, and the claims of its values.
type group struct {
	t       *tracked
	owner   item.Item
	current *member // nil without one
	members []*member
	claims  []*claim
}

// A claim is a sentinel that belongs to the item of a group.
type claim struct {
	raw item.Item
	of  []*member // that have its value; none if it was left behind
}

// read reads the group of a current item's key, consistently, and also the given claims, whether or not anything has their values now.
func (r *run) read(ctx context.Context, t *tracked, owner item.Item, also ...*claim) (*group, error) {
	g := &group{t: t, owner: owner}
	raw, err := r.stored(ctx, t, owner)
	if err != nil {
		return nil, err
	}
	for _, it := range raw {
		id := identify.Of(t.s, it)
		if id.Role != identify.Own || id.Owner == nil || layout.KeyID(id.Owner) != layout.KeyID(owner) {
			continue // of another entity of the partition
		}
		m := t.member(it, id, r.req.ID)
		if m.kind == Current {
			g.current = m
		}
		g.members = append(g.members, m)
	}
	return g, r.readClaims(ctx, g, also)
}

// stored reads the items of a partition that may be of the group, and of the partitions of its events.
func (r *run) stored(ctx context.Context, t *tracked, owner item.Item) (all []item.Item, err error) {
	if t.s.SK == nil || !t.s.SK.Prefixed {
		it, err := r.runner.Get(ctx, t.table, owner, true)
		if it != nil {
			all = append(all, it)
		}
		return all, err
	}
	ranges := []*layout.Range{layout.QueryBetween(t.s, t.table, owner, "", strings.TrimSuffix(schema.SnapshotInfix, "#")+"$")}
	for _, partition := range layout.EventPartitions(t.s, owner) {
		ranges = append(ranges, layout.QueryRelated(t.s, t.table, partition, schema.EventInfix))
	}
	for _, in := range ranges {
		for page, err := range layout.RawPages(ctx, r.runner, in) {
			if err != nil {
				return nil, err
			}
			all = append(all, page...)
		}
	}
	return all, nil
}

// readClaims reads the sentinels of the values that the current item and the copies have.
func (r *run) readClaims(ctx context.Context, g *group, also []*claim) error {
	var keys []engine.Key
	var of [][]*member
	at := map[string]int{}
	place := func(k item.Item) int {
		id := layout.KeyID(k)
		if _, known := at[id]; !known {
			at[id] = len(keys)
			keys, of = append(keys, engine.Key{Table: g.t.table, Key: k}), append(of, nil)
		}
		return at[id]
	}
	for _, c := range also {
		place(layout.KeyOf(g.t.s, c.raw))
	}
	for _, m := range g.members {
		if m.kind != Current && m.kind != Copy {
			continue
		}
		own, err := engine.SentinelsOf(g.t.s, m.Raw)
		if err != nil {
			m.left = leftUnreadable
		}
		for _, k := range own {
			i := place(k)
			of[i] = append(of[i], m)
		}
	}
	found, err := r.runner.GetMany(ctx, keys)
	if err != nil {
		return err
	}
	for i, raw := range found {
		if raw != nil && layout.OwnedBy(g.t.s, g.owner).Holds(raw) {
			g.claims = append(g.claims, &claim{raw, of[i]})
		}
	}
	return nil
}

// whole reports whether everything of the item is the subject's: the current item names it, or the key does.
func (g *group) whole() bool {
	if g.current != nil && (g.current.naming >= byItem || g.current.left != "") {
		return g.current.naming >= byItem && g.current.left == ""
	}
	return g.keyed()
}

// keyed reports whether whatever is or comes under the key is the subject's. Where keys are in lower case, another subject's items can be.
func (g *group) keyed() bool {
	return len(g.t.s.Folded) == 0 && slices.ContainsFunc(g.members, func(m *member) bool { return m.naming == byKey && m.left == "" })
}

// A fate is what becomes of a member.
type fate int

const (
	stays   fate = iota
	goes         // is removed
	emptied      // loses its content
)

// fate returns what becomes of a member, and why it stays although it names the subject. begun says that the current item named the subject
// and was removed: events that were recorded meanwhile go, too.
func (g *group) fate(m *member, begun bool) (fate, string) {
	switch {
	case g.whole():
		return goes, ""
	case m.left != "":
		return stays, m.left
	case begun && g.current == nil && m.kind == Event:
		return goes, ""
	case m.naming == unnamed:
		return stays, ""
	case m.kind == Version && g.current != nil:
		return emptied, ""
	case m.naming == byShare && m.kind != Version:
		return stays, leftShared
	case m.kind == Current && slices.ContainsFunc(g.members, func(e *member) bool { return e.kind == Event && (e.naming != byEvent || e.left != "") }):
		return stays, leftShown
	}
	return goes, ""
}

// due returns the members that do not stay, in the order in which they are dealt with: copies first, whose claims depend on each other.
func (g *group) due(begun bool) (all []*member) {
	for _, m := range g.members {
		if f, _ := g.fate(m, begun); f != stays {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *member) int { return cmp.Compare(order[a.kind], order[b.kind]) })
	return all
}

var order = map[Kind]int{Current: 0, Copy: 1, Event: 2, Version: 3}

// released returns the claims that nothing but the given members has the values of.
func (g *group) released(going []*member) (all []*claim) {
	for _, c := range g.claims {
		if len(c.of) > 0 && !slices.ContainsFunc(c.of, func(m *member) bool { return !slices.Contains(going, m) }) {
			all = append(all, c)
		}
	}
	return all
}

// has returns the member with a key, nil without one.
func (g *group) has(key item.Item) *member {
	id := layout.KeyID(key)
	for _, m := range g.members {
		if layout.KeyID(m.key(g.t.s)) == id {
			return m
		}
	}
	return nil
}

// claimed reports whether the group still has a claim.
func (g *group) claimed(c *claim) bool {
	id := layout.KeyID(layout.KeyOf(g.t.s, c.raw))
	return slices.ContainsFunc(g.claims, func(other *claim) bool { return layout.KeyID(layout.KeyOf(g.t.s, other.raw)) == id })
}
