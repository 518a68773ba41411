package query

import (
	"context"
	"iter"

	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// mostEvaluated is how many items one request evaluates at most while only some of them are wanted.
const mostEvaluated = 1000

// Page is a part of a query's result. Next is the cursor of the following one, "" after the last.
type Page struct {
	Items []item.Item
	Next  string
}

// Page reads up to limit items after the cursor; limit 0 is as many as one request gives, but at least one if there is
// any. It may read less when the query bounds its requests or what they evaluate.
func (p *Plan) Page(ctx context.Context, after string, limit int) (Page, error) {
	if p.Err != nil {
		return Page{}, p.Err
	}
	if err := p.Cursor.Allow(p.Schema, p.Schema.PK, p.Schema.SK, p.PK, p.SK); err != nil {
		return Page{}, err
	}
	if p.Nothing {
		if after != "" { // such a query never gave a cursor
			return Page{}, &cursor.Error{Reason: cursor.Foreign}
		}
		return Page{}, nil
	}
	start, err := p.position(after)
	if err != nil {
		return Page{}, err
	}
	items, last, err := p.page(ctx, start, limit, p.budget())
	page := Page{Items: items}
	if err == nil && last != nil {
		page.Next, err = p.cursorAt(last)
	}
	return page, err
}

// Head reads the first n items.
func (p *Plan) Head(ctx context.Context, n int) ([]item.Item, error) {
	if p.Err != nil || p.Nothing {
		return nil, p.Err
	}
	items, _, err := p.page(ctx, nil, n, p.budget())
	return items, err
}

// budget is what a run may still cost, 0 is no bound, and what it has read so far.
type budget struct {
	evaluate, requests int
	spent              bool
	track              *tracker
}

func (p *Plan) budget() *budget {
	return &budget{evaluate: p.Evaluate, requests: p.Requests, track: p.tracker(1)}
}

// ask is how many items the next request may evaluate when want would do; 0 is no bound.
func (b *budget) ask(want int) int {
	if b.evaluate > 0 && (want == 0 || want > b.evaluate) {
		return b.evaluate
	}
	return want
}

// charge takes one request off the budget.
func (b *budget) charge(got fetched) {
	b.track.add(got)
	if b.evaluate > 0 {
		b.evaluate = max(b.evaluate-got.evaluated, 0)
		b.spent = b.spent || b.evaluate == 0
	}
	if b.requests > 0 {
		b.requests--
		b.spent = b.spent || b.requests == 0
	}
}

// page reads from start. last is where the next page starts, nil at the end.
func (p *Plan) page(ctx context.Context, start item.Item, limit int, b *budget) (items []item.Item, last item.Item, err error) {
	ask := p.firstAsk(limit)
	for {
		got, err := p.fetch(ctx, start, b.ask(ask), false, nil)
		if err != nil {
			return nil, nil, err
		}
		b.charge(got)
		items = append(items, got.items...)
		start = got.last
		switch {
		case limit > 0 && len(items) > limit:
			items = items[:limit]
			return items, p.positionOf(items[limit-1]), nil
		case start == nil, limit > 0 && len(items) == limit, limit == 0 && len(items) > 0, b.spent:
			return items, start, nil
		}
		if ask *= 4; ask > mostEvaluated {
			ask = 0 // what fits into one answer
		}
	}
}

// firstAsk is how many items the first request evaluates. With a filter most of them may fall away, and asking for
// just limit items each time would cost a request for every few that match.
func (p *Plan) firstAsk(limit int) int {
	if limit == 0 {
		return 0
	}
	if p.User.Op != expr.None || p.Scan || p.Own != nil {
		limit = max(limit, 25)
	}
	return min(limit, mostEvaluated)
}

// All yields every item, at most Limit of them; it stops at the first error.
func (p *Plan) All(ctx context.Context) iter.Seq2[item.Item, error] {
	return func(yield func(item.Item, error) bool) {
		if p.Err != nil || p.Nothing {
			if p.Err != nil {
				yield(nil, p.Err)
			}
			return
		}
		if p.Segments > 1 {
			p.allSegments(ctx, yield)
			return
		}
		var start item.Item
		left, b := p.Limit, p.budget()
		for {
			items, last, err := p.page(ctx, start, left, b)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			if start = last; start == nil || b.spent || p.Limit > 0 && len(items) >= left {
				return
			}
			if p.Limit > 0 {
				left -= len(items)
			}
		}
	}
}

// Count counts the items without returning them, at most Limit.
func (p *Plan) Count(ctx context.Context) (int, error) {
	if p.Err != nil || p.Nothing {
		return 0, p.Err
	}
	total, start, b := 0, item.Item(nil), p.budget()
	for {
		got, err := p.fetch(ctx, start, b.ask(0), true, nil)
		if err != nil {
			return 0, err
		}
		b.charge(got)
		total += got.count
		if p.Limit > 0 && total >= p.Limit {
			return p.Limit, nil
		}
		if start = got.last; start == nil || b.spent {
			return total, nil
		}
	}
}
