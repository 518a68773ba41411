package query

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
)

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
		stored := got.Of(i)
		it := stored.Pick(names...)
		moved := func(name string) bool {
			av := entry.Get(name)
			return av == nil || it[name] == nil || !item.Equal(av, it[name])
		}
		if !stored.Missing() && !slices.ContainsFunc(p.positionNames(), moved) && filter.Holds(it) {
			found = append(found, stored)
		}
	}
	if len(found) == 0 {
		wire.ReleaseAll(got.Items)
	}
	return found, nil
}
