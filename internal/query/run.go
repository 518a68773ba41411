package query

import (
	"context"
	"iter"
	"slices"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// maxEvaluated limits the items that one request evaluates while only some of them are wanted.
const maxEvaluated = 1000

// maxSegments is the maximum number of segments of a table that are read concurrently.
const maxSegments = 64

// tracker reports the progress of a run to a listener.
type tracker struct {
	report   func(bind.ScanProgress)
	progress bind.ScanProgress
}

// budget is the remaining budget of a run, with 0 for unlimited, and its progress so far.
type budget struct {
	evaluate, requests int
	spent              bool
	track              *tracker // nil without a listener
}

// cap limits want, the number of items that the next request evaluates, to the budget. 0 is unlimited.
func (b *budget) cap(want int) int {
	if b.evaluate > 0 && (want == 0 || want > b.evaluate) {
		return b.evaluate
	}
	return want
}

// firstAsk returns how many items the first request evaluates for a limit. With a filter, most of them may not match, and evaluating
// only limit items at a time would cost a request for every few matches.
func (p *Plan) firstAsk(limit int) int {
	if limit > 0 && (p.User.Op != expr.None || p.Scan || p.Own != nil) {
		return min(max(limit, 25), maxEvaluated)
	}
	return limit
}

// nextAsk returns how many items the request after one that evaluated ask items evaluates; 0: as many as one answer holds.
func nextAsk(ask int) int {
	if ask *= 4; ask > maxEvaluated {
		return 0
	}
	return ask
}

// segment is one segment of a parallel scan.
type segment struct{ number, of int }

// projection returns the attributes to fetch, or nil for all.
func (p *Plan) projection(count bool) []string {
	names := p.Project
	switch {
	case p.Hydrate, count && p.Own != nil:
		names = []string{}
	case names == nil || count:
		return nil
	}
	needed := slices.Clone(p.Needs)
	for _, a := range p.keyAttrs() { // for the cursor of the page
		needed = append(needed, a.Name)
	}
	for _, name := range needed {
		if !slices.Contains(names, name) {
			names = append(names[:len(names):len(names)], name)
		}
	}
	return names
}

func (p *Plan) budget() *budget {
	b := &budget{evaluate: p.Evaluate, requests: p.Requests}
	if p.Scanned != nil {
		b.track = &tracker{p.Scanned, bind.ScanProgress{Segments: max(p.Segments, 1)}}
	}
	return b
}

// bounded reports whether a bound of the cost can end a run before its last item.
func (p *Plan) bounded() bool { return p.Evaluate > 0 || p.Requests > 0 }

// add adds one answer and reports the progress.
func (t *tracker) add(got layout.Page) {
	t.progress.Pages++
	t.progress.Evaluated += got.Evaluated
	t.progress.Found += got.Count
	t.progress.ReadUnits += got.Units
	if got.Last == nil {
		t.progress.SegmentsDone++
	}
	t.report(t.progress)
}

// charge subtracts one request from the budget.
func (b *budget) charge(got layout.Page) {
	if b.track != nil {
		b.track.add(got)
	}
	if b.evaluate > 0 {
		b.evaluate = max(b.evaluate-got.Evaluated, 0)
		b.spent = b.spent || b.evaluate == 0
	}
	if b.requests > 0 {
		b.requests--
		b.spent = b.spent || b.requests == 0
	}
}

// count counts the items without returning them, at most Limit.
func (p *Plan) count(ctx context.Context, b *budget) (total int, err error) {
	for _, part := range p.parts {
		if b.spent {
			break
		}
		q := *part
		q.Limit = max(part.Limit-total, 0)
		n, err := q.count(ctx, b)
		if err != nil {
			return 0, err
		}
		if total += n; p.Limit > 0 && total >= p.Limit {
			return p.Limit, nil
		}
	}
	if p.parts != nil || p.Nothing {
		return total, nil
	}
	if p.Hydrate {
		for _, err := range p.all(ctx, b) {
			if err != nil {
				return 0, err
			}
			total++
		}
		return total, nil
	}
	if p.Segments > 1 {
		p.scanSegments(ctx, true, func(got layout.Page, failed error) bool {
			total, err = total+got.Count, failed
			return err == nil && (p.Limit == 0 || total < p.Limit)
		})
		if err != nil {
			return 0, err
		}
		if p.Limit > 0 {
			total = min(total, p.Limit)
		}
		return total, nil
	}
	start := item.Item(nil)
	for ask := p.firstAsk(p.Limit); ; ask = nextAsk(ask) {
		got, err := p.fetch(ctx, start, b.cap(ask), true, nil)
		if err != nil {
			return 0, err
		}
		b.charge(got)
		total += got.Count
		if p.Limit > 0 && total >= p.Limit {
			return p.Limit, nil
		}
		if start = got.Last; start == nil || p.atEnd(start) || b.spent {
			return total, nil
		}
	}
}

// own drops items that passed the filter but do not belong to the query.
func (p *Plan) own(got layout.Page) (layout.Page, error) {
	var items []wire.Item
	for _, it := range got.Rows {
		ours, err := p.Own(it.Map())
		if err != nil {
			err = layout.OfItem(p.Schema, it.Map(), err)
			wire.ReleaseAll(got.Rows)
			return layout.Page{}, err
		}
		if ours {
			items = append(items, it)
		}
	}
	if len(items) == 0 {
		wire.ReleaseAll(got.Rows)
	}
	got.Rows, got.Count = items, len(items)
	return got, nil
}

// fetch sends one request, which evaluates at most limit items. With 0 it evaluates what fits into 1 MB.
func (p *Plan) fetch(ctx context.Context, start item.Item, limit int, count bool, seg *segment) (layout.Page, error) {
	in := layout.Range{
		Table: p.Table, Key: p.Key, Start: start, Limit: limit, Strong: p.Strong, Desc: p.Desc,
		Count: count && p.Own == nil, Units: p.Scanned != nil,
	}
	if p.Index != nil {
		in.Index = p.Index.Index
	}
	if now := p.Runner.Clock(); p.Hydrate {
		in.Filter = p.sent(now)
	} else {
		in.Filter = p.filter(now)
	}
	if p.Project != nil || p.Hydrate || count {
		in.Project = p.projection(count)
	}
	if seg == nil {
		seg = p.Segment
	}
	if seg != nil {
		in.Segment, in.Segments = seg.number, seg.of
	}
	got, err := p.Runner.ReadPage(ctx, &in)
	if err != nil || p.Own == nil {
		return got, err
	}
	return p.own(got)
}

// scanSegments scans the segments concurrently and yields pages in no particular order. A segment with an answer waits
// until it is taken, so at most one answer of each is held.
func (p *Plan) scanSegments(ctx context.Context, count bool, yield func(layout.Page, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	type answer struct {
		layout.Page
		part bool // of an answer of the index, the rest of which follows
		err  error
	}
	answers := make(chan answer)
	done := make(chan struct{})
	for i := range p.Segments {
		go func() {
			defer func() { done <- struct{}{} }()
			seg := &segment{i, p.Segments}
			send := func(a answer) bool {
				select {
				case answers <- a:
					return a.err == nil
				case <-ctx.Done():
					return false
				}
			}
			start := item.Item(nil)
			for ask := p.firstAsk(p.Limit); ; ask = nextAsk(ask) {
				got, err := p.fetch(ctx, start, ask, count, seg)
				for err == nil && p.Hydrate && len(got.Rows) > mostHydrated {
					var part layout.Page
					if part.Rows, err = p.whole(ctx, got.Rows[:mostHydrated]); err == nil && !send(answer{part, true, nil}) {
						return
					}
					got.Rows = got.Rows[mostHydrated:]
				}
				if err == nil && p.Hydrate {
					got.Rows, err = p.whole(ctx, got.Rows)
				}
				if !send(answer{got, false, err}) {
					return
				}
				if start = got.Last; start == nil {
					return
				}
			}
		}()
	}
	// No goroutine outlives this function.
	running, finished, track := p.Segments, 0, p.budget().track
	defer func() {
		stop()
		for ; running > 0; running-- {
			<-done
		}
	}()
	for running > 0 {
		select {
		case <-done:
			running--
		case a := <-answers:
			if a.err != nil {
				yield(layout.Page{}, a.err)
				return
			}
			if !a.part && track != nil {
				track.add(a.Page)
			}
			if a.Last == nil && !a.part {
				finished++
			}
			if !yield(a.Page, nil) {
				return
			}
		case <-ctx.Done():
			yield(layout.Page{}, ctx.Err())
			return
		}
	}
	if finished < p.Segments { // segments stopped because ctx ended, before the loop saw it
		yield(layout.Page{}, ctx.Err())
	}
}

// All yields every item, at most Limit of them. It stops at the first error. An item can be used until the next one. The plan
// must have no error.
func (p *Plan) All(ctx context.Context) iter.Seq2[wire.Item, error] { return p.all(ctx, p.budget()) }

// all is All within a budget.
func (p *Plan) all(ctx context.Context, b *budget) iter.Seq2[wire.Item, error] {
	return func(yield func(wire.Item, error) bool) {
		if p.parts != nil {
			p.merged(ctx, b, yield)
			return
		}
		if p.Nothing {
			return
		}
		if p.Segments > 1 {
			yielded := 0
			p.scanSegments(ctx, false, func(got layout.Page, err error) bool {
				if err != nil {
					return yield(wire.Item{}, err)
				}
				for _, it := range got.Rows {
					yielded++
					if !yield(it, nil) || yielded == p.Limit {
						return false
					}
				}
				wire.ReleaseAll(got.Rows)
				return true
			})
			return
		}
		var start item.Item
		left, in := p.Limit, &run{budget: b}
		for {
			items, last, err := p.page(ctx, start, left, in)
			if err != nil {
				yield(wire.Item{}, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			wire.ReleaseAll(items)
			if start = last; start == nil || in.exhausted() || p.Limit > 0 && len(items) >= left {
				return
			}
			if p.Limit > 0 {
				left -= len(items)
			}
		}
	}
}
