package query

import (
	"context"
	"iter"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
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
	if p.Nothing {
		if after != "" { // such a query never gave a cursor
			return Page{}, plan.ErrInvalidCursor
		}
		return Page{}, nil
	}
	start, err := p.position(after)
	if err != nil {
		return Page{}, err
	}
	page, _, err := p.page(ctx, start, limit, p.budget())
	return page, err
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
func (p *Plan) page(ctx context.Context, start item.Item, limit int, b *budget) (page Page, last item.Item, err error) {
	ask := p.firstAsk(limit)
	for {
		got, err := p.fetch(ctx, start, b.ask(ask), false, nil)
		if err != nil {
			return Page{}, nil, err
		}
		b.charge(got)
		page.Items = append(page.Items, got.items...)
		start = got.last
		switch {
		case limit > 0 && len(page.Items) > limit:
			page.Items = page.Items[:limit]
			return p.finish(page, p.positionOf(page.Items[limit-1]))
		case start == nil, limit > 0 && len(page.Items) == limit, limit == 0 && len(page.Items) > 0, b.spent:
			return p.finish(page, start)
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

// finish completes a page that ends at last.
func (p *Plan) finish(page Page, last item.Item) (Page, item.Item, error) {
	if last == nil {
		return page, nil, nil
	}
	next, err := p.cursorAt(last)
	page.Next = next
	return page, last, err
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
			page, last, err := p.page(ctx, start, left, b)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range page.Items {
				if !yield(it, nil) {
					return
				}
			}
			if start = last; start == nil || b.spent || p.Limit > 0 && len(page.Items) >= left {
				return
			}
			if p.Limit > 0 {
				left -= len(page.Items)
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
