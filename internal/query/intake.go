package query

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// intake is one run of a gathering.
type intake struct {
	parts []*Plan
	left  []int  // how many items each may still take; 0 is no bound
	done  []bool // parts that take no more
	open  int    // how many still do
	take  func(part int, it item.Item) error
}

// Run reads page after page and hands each item to the parts that it is for, in the order of the sort key. A part with a
// limit takes no more than that; when all have what they may take, reading ends.
func (g *Gathering) Run(ctx context.Context, take func(part int, it item.Item) error) error {
	if g.cover.Nothing {
		return nil
	}
	in := &intake{parts: g.parts, take: take, left: make([]int, len(g.parts)), done: make([]bool, len(g.parts))}
	sum, bounded := 0, true
	for i, p := range g.parts {
		if in.done[i] = p.Nothing; p.Nothing {
			continue
		}
		in.open++
		in.left[i] = p.Limit
		sum, bounded = sum+p.Limit, bounded && p.Limit > 0
	}
	ask := 0
	if bounded { // what others want stands between, so more than the sum is asked for
		ask = min(max(sum, 25), mostEvaluated)
	}
	for start := item.Item(nil); ; {
		got, err := g.cover.fetch(ctx, start, ask, false, nil)
		if err != nil {
			return err
		}
		if err := in.page(got.items, g.filters()); err != nil {
			return err
		}
		if start = got.last; start == nil || in.open == 0 {
			return nil
		}
		if ask *= 4; ask > mostEvaluated {
			ask = 0 // what fits into one answer
		}
	}
}

// filters are those of the parts, now.
func (g *Gathering) filters() []expr.Cond {
	filters := make([]expr.Cond, len(g.parts))
	for i, p := range g.parts {
		filters[i] = p.filter(p.Runner.Clock())
	}
	return filters
}

// page deals out the items of one answer.
func (in *intake) page(items []item.Item, filters []expr.Cond) error {
	for _, it := range items {
		for i, p := range in.parts {
			if in.done[i] {
				continue
			}
			ours, err := p.wants(it, filters[i])
			if err != nil {
				return err
			}
			if !ours {
				continue
			}
			if err := in.take(i, it); err != nil {
				return err
			}
			if in.left[i]--; in.left[i] == 0 {
				in.done[i] = true
				in.open--
			}
		}
	}
	return nil
}

// wants decides about an item as DynamoDB would, asked by p alone.
func (p *Plan) wants(it item.Item, filter expr.Cond) (bool, error) {
	switch {
	case !p.Key.Holds(it) || !filter.Holds(it):
		return false, nil
	case p.Own == nil:
		return true, nil
	}
	return p.Own(it)
}
