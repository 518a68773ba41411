package timeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/streamed"
)

// Change is a change of an item as package stream reads it: a stream.Change of any entity.
type Change interface{ streamed.Changed }

// A delivery holds the events that changes bring for one group, in their order.
type delivery struct {
	group  string
	key    any
	events []arrival
	later  map[recordID]bool // events of the group that are applied after these: no history that is read contains them
}

// arrival is an event that came as a change.
type arrival struct {
	record    *record
	position  string
	writtenAt time.Time // by the clock of DynamoDB; zero if unknown
	changes   []int     // indexes of the changes that brought it, in order
	removed   bool      // it was removed from its series
}

// recognize finds the events in the changes.
func (p *application) recognize(ctx context.Context) error {
	groups := map[string]*delivery{}
	items := map[string]*changedItem{}
	var order []*changedItem
	for i, c := range p.changes {
		x, o, err := p.sourceOf(c)
		switch {
		case err != nil:
			return err
		case o < 0:
			p.done.Skipped++
		case p.all[o].kind == "versions":
			primary, _, _ := layout.Owner(x.Core.Schema, x.Item)
			id := fmt.Sprint(o, " ", layout.KeyID(primary))
			it := items[id]
			if it == nil {
				it = &changedItem{origin: o, primary: primary, changes: map[int64][]int{}}
				items[id], order = it, append(order, it)
			}
			n := p.all[o].storedVersion(x.Item)
			it.changes[n] = append(it.changes[n], i)
			it.writtenAt = later(it.writtenAt, x.At)
		default:
			e := arrival{writtenAt: x.At, changes: []int{i}, removed: x.Withdrawn}
			if err := p.all[o].assemble().push(x.Item, p.add(groups, o, e)); err != nil {
				p.fail(p.withView(err), i)
			}
		}
	}
	for _, it := range order {
		if err := p.readItem(ctx, it, groups); err != nil {
			p.fail(p.withView(err), slices.Concat(slices.Collect(maps.Values(it.changes))...)...)
		}
	}
	for _, d := range groups {
		p.done.Duplicates += d.sort()
		p.groups = append(p.groups, d)
	}
	slices.SortFunc(p.groups, func(a, b *delivery) int { return strings.Compare(a.group, b.group) })
	return nil
}

// sourceOf returns a change and the index of its source, -1 if it is no event of the view.
func (p *application) sourceOf(c Change) (x streamed.Change, origin int, err error) {
	bad := func(problem string) error {
		return &entitytype.InputError{Code: bind.CodeApplyChange, Type: "timeline.Change", Problem: problem}
	}
	if c == nil {
		return x, -1, bad("a change is nil")
	}
	if x = streamed.Of(c); x.Core == nil {
		return x, -1, bad("a change was not read by package stream")
	}
	at := p.sourceWith(x.Core)
	if at < 0 || x.Removed && (!x.Withdrawn || x.Item == nil) {
		return x, -1, nil
	}
	if x.Item == nil {
		return x, -1, bad("the stream leaves the new items out, which are the events: its view must be NEW_AND_OLD_IMAGES or NEW_IMAGE")
	}
	o := p.all[at]
	if o.kind != "versions" && !x.Inserted && !x.Withdrawn || !o.scanFilter(p.now).Holds(x.Item) {
		return x, -1, nil
	}
	return x, at, nil
}

// sourceWith returns the index of the source with the items of a handle, -1 without one.
func (d *definition) sourceWith(c *engine.Core) int {
	return slices.IndexFunc(d.all, func(o *origin) bool { return o.core != nil && sameItems(o.core, c) })
}

// sameItems reports whether two handles are of the same stored items.
func sameItems(a, b *engine.Core) bool {
	return a == b || a.Table == b.Table && a.Schema.Name == b.Schema.Name && a.Schema.Prefix == b.Schema.Prefix
}

// add returns a function that adds records of a source to their groups, as events like e.
func (p *application) add(groups map[string]*delivery, origin int, e arrival) func(*record) error {
	return func(r *record) error {
		r.origin = origin
		g, err := p.groupOf(r, &Counters{})
		if err != nil {
			p.bad[r.id()] = true
			return err
		}
		if g == nil {
			p.done.Skipped++
			return nil
		}
		if e.position, err = position(p.all[origin], r); err != nil {
			return p.all[origin].eventError(r, History, err)
		}
		d := groups[g.group]
		if d == nil {
			d = &delivery{group: g.group, key: g.key, later: map[recordID]bool{}}
			groups[g.group] = d
		}
		e := e
		e.record = r
		d.events = append(d.events, e)
		return nil
	}
}

// sort sorts the events by position, and returns how many it dropped because they came before. Of two states of one
// version the later one stays.
func (d *delivery) sort() (dropped int) {
	slices.SortStableFunc(d.events, func(a, b arrival) int { return cmp.Compare(a.position, b.position) })
	var kept []arrival
	for _, e := range d.events {
		if last := len(kept) - 1; last >= 0 && kept[last].position == e.position {
			e.changes = append(slices.Clone(kept[last].changes), e.changes...)
			kept[last] = e
			continue
		}
		kept = append(kept, e)
	}
	dropped, d.events = len(d.events)-len(kept), kept
	return dropped
}

// changedItem is an item of a versioned entity of which changes came.
type changedItem struct {
	origin    int
	primary   item.Item
	writtenAt time.Time
	changes   map[int64][]int // indexes of the changes to each version; once the events are read, of those without an event
}

// readItem adds the events of a changed item. What an event is, and when it happened, depends on the states before, so it
// reads all states of the item. What comes after an event that cannot be used waits.
func (p *application) readItem(ctx context.Context, it *changedItem, groups map[string]*delivery) error {
	o := p.all[it.origin]
	s := o.core.Schema
	pk, sk := s.PK.Attribute(), s.SK.Attribute()
	own, _ := layout.SortKey(s, it.primary)
	states := expr.All(expr.Compare(expr.Eq, expr.Attr(pk), it.primary[pk]), expr.Compare(expr.BeginsWith, expr.Attr(sk), item.S(own)))
	id := layout.KeyID(it.primary)
	return o.readUnder(ctx, states, p.now, recordSink{event: func(r *record) error {
		changes := it.changes[r.version]
		if !strings.HasPrefix(r.key, id) || changes == nil { // the key of an event is that of its item, and the version
			return nil
		}
		err := p.add(groups, it.origin, arrival{writtenAt: it.writtenAt, changes: changes})(r)
		if err == nil {
			delete(it.changes, r.version)
		}
		return err
	}})
}
