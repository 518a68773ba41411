package query

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// mostHydrated is how many whole items are read, and held, at a time: as many as one request can read.
const mostHydrated = 100

// inMemory refuses a filter that cannot be evaluated on whole items in memory.
func (b *builder) inMemory() error {
	return bind.InMemory(b.s, b.p.User, "Hydrate")
}

// run is the state of one run of a plan.
type run struct {
	*budget
	paging  bool        // it ends with one page
	entries []wire.Item // of the index, from the last answer
	pending []wire.Item // those whose items have not been read
	last    item.Item   // where the index goes on after them
}

// exhausted reports that the budget ends the run.
func (r *run) exhausted() bool { return r.spent && len(r.pending) == 0 }

// next returns the next items from start: those of one answer or, with Hydrate, of a part of its entries. ask is how many
// items are evaluated, 0 for what one answer holds.
func (p *Plan) next(ctx context.Context, start item.Item, ask int, r *run) (layout.Page, error) {
	if start != nil && p.atEnd(start) {
		return layout.Page{}, nil
	}
	if !p.Hydrate || len(r.pending) == 0 {
		if r.evaluate > 0 {
			ask = r.cap(ask)
		}
		got, err := p.fetch(ctx, start, ask, false, nil)
		if err != nil {
			return got, err
		}
		if r.track != nil || r.evaluate > 0 || r.requests > 0 {
			r.charge(got)
		}
		if !p.Hydrate || len(got.Rows) == 0 {
			return got, nil
		}
		r.entries, r.pending, r.last = got.Rows, got.Rows, got.Last
	}
	part := r.pending[:min(mostHydrated, len(r.pending))]
	r.pending = r.pending[len(part):]
	got := layout.Page{Last: r.last}
	if len(r.pending) > 0 {
		got.Last = p.positionOf(part[len(part)-1])
	}
	var err error
	got.Rows, err = p.whole(ctx, part)
	if len(r.pending) == 0 {
		wire.ReleaseAll(r.entries)
		r.entries = nil
	}
	return got, err
}

// whole reads the items of entries, up to mostHydrated of them, in their order. It leaves out items that do not exist, that
// do not pass the filter, or whose keys are not those of the entry, because they were written since.
func (p *Plan) whole(ctx context.Context, entries []wire.Item) ([]wire.Item, error) {
	primary := append(p.Schema.PK.Attributes(), p.Schema.SK.Attributes()...)
	keys := make([]engine.Key, len(entries)) // an item that moves in the index can come twice
	for i, entry := range entries {
		keys[i] = engine.Key{Table: p.Table, Key: entry.Pick(primary...)}
	}
	got, err := p.Runner.FindMany(ctx, keys, func(int) bool { return p.Fresh })
	if err != nil {
		return nil, err
	}
	filter := p.filter(p.Runner.Clock())
	names := p.positionNames()
	filter.Roots(func(name string) { names = append(names, name) })
	var found []wire.Item
	for i, entry := range entries {
		if it := got.Of(i); !it.Missing() && p.stands(entry, it.Pick(names...), filter) {
			found = append(found, it)
		}
	}
	if len(found) == 0 {
		wire.ReleaseAll(got.Items)
	}
	return found, nil
}

// stands reports whether an entry of the index still stands for the item.
func (p *Plan) stands(entry wire.Item, it item.Item, filter expr.Cond) bool {
	for _, name := range p.positionNames() {
		if av := entry.Get(name); av == nil || it[name] == nil || !item.Equal(av, it[name]) {
			return false
		}
	}
	return filter.Holds(it)
}
