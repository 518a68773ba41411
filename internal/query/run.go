package query

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/wire"
)

const (
	fewest       = 25   // the items that a request evaluates where most of those that follow one are left out
	maxEvaluated = 1000 // the items that one request evaluates while only some of them are wanted
	mostHydrated = 100  // the whole items that are read, and held, at a time: as many as one request can read
)

// budget holds what is left of the bounds of a run, with 0 for unlimited. Streams can share it.
type budget struct {
	evaluate, requests int
	spent              bool
	report             func(layout.Page) // adds an answer to the progress; nil without a listener
}

func (p *Plan) budget() *budget {
	b := &budget{evaluate: p.Evaluate, requests: p.Requests}
	if p.Scanned != nil {
		sum := entitytype.ScanProgress{Segments: max(p.Segments, 1)}
		b.report = func(got layout.Page) {
			sum.Pages++
			sum.Evaluated += got.Evaluated
			sum.Found += got.Count
			sum.ReadUnits += got.Units
			if got.Last == nil {
				sum.SegmentsDone++
			}
			p.Scanned(sum)
		}
	}
	return b
}

// stream reads what a plan of one partition, one segment or a whole table is about, answer by answer.
type stream struct {
	*Plan
	*budget
	counts  bool        // the items are counted and not returned
	ask     int         // how many items the next request evaluates; 0: as many as one answer holds
	spare   int         // how many items of the budget are for other streams
	at      item.Item   // where the next answer begins; nil: the beginning
	ended   bool        // nothing follows
	answer  layout.Page // the last one
	pending []wire.Item // its entries whose whole items have not been read
}

// stream begins at a position, nil for the beginning, to read limit items, 0 for all. With a filter, most items may not match, and
// evaluating only limit items at a time would cost a request for every few matches.
func (p *Plan) stream(at item.Item, limit int, b *budget) *stream {
	s := &stream{Plan: p, budget: b, ask: limit, at: at}
	if limit > 0 && (p.User.Op != expr.None || p.Scan || p.Own != nil) {
		s.ask = min(max(limit, fewest), maxEvaluated)
	}
	if p.After != nil {
		s.ask = fewest
	}
	return s
}

// leap drops the items of an answer that do not come after the one before. If the answer ends before what comes after the last of them,
// it reports true, and the next one begins there.
func (s *stream) leap(ctx context.Context, got *layout.Page) (leapt bool, err error) {
	var after item.Item
	if *got, err = keep(*got, func(it wire.Item) (bool, error) {
		next := s.After(it)
		if maps.EqualFunc(next, after, item.Equal) {
			return false, nil
		}
		if after = next; s.Elsewhere == nil {
			return true, nil
		}
		elsewhere, err := s.Elsewhere(ctx, it)
		return !elsewhere, err
	}); err != nil {
		return false, err
	}
	if pk, sk := s.PK.Attr, s.SK.Attr; s.at != nil && after != nil && item.Equal(s.at[pk], after[pk]) {
		if order, ok := expr.Compares(s.at[sk], after[sk]); ok && order < 0 {
			s.at, leapt = after, true
		}
	}
	return leapt, nil
}

// over reports that the stream has ended, or that the budget ends it.
func (s *stream) over() bool { return s.ended || s.spent && len(s.pending) == 0 }

// next returns the next items: those of one answer or, with Hydrate, of a part of its entries. Where nothing can follow it sends no
// request.
func (s *stream) next(ctx context.Context) (got layout.Page, err error) {
	if s.at != nil && s.atEnd(s.at) {
		s.at, s.ended = nil, true
		return got, nil
	}
	leapt := false
	if len(s.pending) == 0 {
		in := layout.Range{
			Table: s.Table, Key: s.Key, Start: s.at, Limit: s.ask, Strong: s.Strong, Desc: s.Desc,
			Count: s.counts && s.Own == nil && s.After == nil, Units: s.Scanned != nil,
		}
		if most := max(s.evaluate-s.spare, 1); s.evaluate > 0 && (s.ask == 0 || s.ask > most) {
			in.Limit = most
		}
		if s.Index != nil {
			in.Index, in.Local = s.Index.Index, s.Index.Local
		}
		if now := s.Runner.Clock(); s.Hydrate {
			in.Filter = s.sent(now)
		} else {
			in.Filter = s.filter(now)
		}
		if s.Project != nil || s.Hydrate || s.counts {
			in.Project = s.projection(s.counts)
		}
		if s.Segment != nil {
			in.Segment, in.Segments = s.Segment.Number, s.Segment.Of
		}
		if got, err = s.Runner.ReadPage(ctx, &in); err == nil && s.Own != nil {
			got, err = keep(got, func(it wire.Item) (bool, error) {
				m := it.Map()
				ours, err := s.Own(m)
				return ours, layout.OfItem(s.Schema, m, err)
			})
		}
		if err != nil {
			return got, err
		}
		if s.report != nil {
			s.report(got)
		}
		if s.evaluate > 0 {
			s.evaluate = max(s.evaluate-got.Evaluated, 0)
			s.spent = s.spent || s.evaluate == 0
		}
		if s.requests > 0 {
			s.requests--
			s.spent = s.spent || s.requests == 0
		}
		s.answer, s.at = got, got.Last
		if s.After != nil {
			if leapt, err = s.leap(ctx, &got); err != nil {
				return got, err
			}
		}
		if s.Hydrate {
			s.pending = got.Rows
		}
	}
	if len(s.pending) > 0 {
		part := s.pending[:min(mostHydrated, len(s.pending))]
		if s.pending, s.at = s.pending[len(part):], s.answer.Last; len(s.pending) > 0 {
			s.at = s.positionOf(part[len(part)-1])
		}
		got.Rows, err = s.whole(ctx, part)
		if got.Count = len(got.Rows); len(s.pending) == 0 {
			wire.ReleaseAll(s.answer.Rows)
		}
	}
	s.ended = s.at == nil
	switch {
	case leapt:
		s.ask = fewest
	case s.Segments <= 1 || len(s.pending) == 0: // a segment reads its answers to their ends
		if s.ask *= 4; s.ask > maxEvaluated {
			s.ask = 0
		}
	}
	return got, err
}

// projection returns the attributes to fetch, or nil for all.
func (p *Plan) projection(count bool) []string {
	names := p.Project
	switch {
	case p.Hydrate, count && (p.Own != nil || p.After != nil):
		names = []string{}
	case names == nil || count:
		return nil
	}
	for _, name := range slices.Concat(p.Needs, p.positionNames()) { // for the cursor of the page
		if !slices.Contains(names, name) {
			names = append(names[:len(names):len(names)], name)
		}
	}
	return names
}

// keep drops the items of an answer that do not belong to what is read.
func keep(got layout.Page, belongs func(wire.Item) (bool, error)) (layout.Page, error) {
	var items []wire.Item
	for _, it := range got.Rows {
		ours, err := belongs(it)
		if err != nil {
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

// page reads up to limit items, with limit 0 those of one request, and at least one if there is any. It may return fewer if the budget
// ends it. The stream is then where the next page begins.
func (s *stream) page(ctx context.Context, limit int) (items []wire.Item, err error) {
	for {
		got, err := s.next(ctx)
		if err != nil {
			wire.ReleaseAll(items)
			return nil, err
		}
		if items == nil {
			items = got.Rows
		} else {
			items = append(items, got.Rows...)
		}
		switch {
		case limit > 0 && len(items) > limit:
			items = items[:limit]
			s.at, s.ended = s.positionOf(items[limit-1]), false
			return items, nil
		case s.over(), limit > 0 && len(items) == limit, limit == 0 && len(items) > 0:
			return items, nil
		}
	}
}

// answers yields one answer after the other: of a stream or, with Segments, of several in no particular order. Items up to a limit are
// yielded together. With counts it counts them only.
func (p *Plan) answers(ctx context.Context, b *budget, counts bool) iter.Seq2[layout.Page, error] {
	return func(yield func(layout.Page, error) bool) {
		if p.Segments > 1 {
			p.scanSegments(ctx, b, counts, yield)
			return
		}
		s := p.stream(nil, p.Limit, b)
		if p.Limit > 0 && !counts {
			items, err := s.page(ctx, p.Limit)
			yield(layout.Page{Rows: items}, err)
			return
		}
		for s.counts = counts && !p.Hydrate; !s.over(); {
			if got, err := s.next(ctx); !yield(got, err) {
				return
			}
		}
	}
}

// scanSegments is answers for segments, which are read concurrently. One with an answer waits until it is taken, so at most one answer
// of each is held.
func (p *Plan) scanSegments(ctx context.Context, b *budget, counts bool, yield func(layout.Page, error) bool) {
	type answer struct {
		layout.Page
		of   layout.Page // DynamoDB's answer
		last bool        // no other part of that follows
		err  error
	}
	ctx, stop := context.WithCancel(ctx)
	answers, running := make(chan answer), sync.WaitGroup{}
	for i := range p.Segments {
		q := *p
		q.Segment = &bind.Segment{Number: i, Of: p.Segments}
		running.Go(func() {
			s := q.stream(nil, p.Limit, new(budget))
			for s.counts = counts && !p.Hydrate; !s.ended; {
				got, err := s.next(ctx)
				select {
				case answers <- answer{got, s.answer, len(s.pending) == 0, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		})
	}
	go func() {
		running.Wait()
		close(answers)
	}()
	defer func() { // no segment is read after this function
		stop()
		for range answers {
		}
	}()
	finished := 0
	for a := range answers {
		if a.err == nil && a.last && b.report != nil {
			b.report(a.of)
		}
		if a.err == nil && a.last && a.of.Last == nil {
			finished++
		}
		if !yield(a.Page, a.err) {
			return
		}
	}
	if finished < p.Segments { // segments stopped because ctx ended
		yield(layout.Page{}, ctx.Err())
	}
}

// count counts the items without returning them, at most Limit.
func (p *Plan) count(ctx context.Context, b *budget) (total int, err error) {
	for _, part := range p.parts {
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
	for got, err := range p.answers(ctx, b, true) {
		if err != nil {
			return 0, err
		}
		wire.ReleaseAll(got.Rows)
		if total += got.Count; p.Limit > 0 && total >= p.Limit {
			return p.Limit, nil
		}
	}
	return total, nil
}

// All yields every item, at most Limit of them. It stops at the first error. An item can be used until the next one. The plan
// must have no error.
func (p *Plan) All(ctx context.Context) iter.Seq2[wire.Item, error] {
	return func(yield func(wire.Item, error) bool) {
		if _, err := p.each(ctx, func(it wire.Item) (bool, error) { return yield(it, nil), nil }); err != nil {
			yield(wire.Item{}, err)
		}
	}
}

// each passes every item to f, at most Limit of them, until f stops it. An item can be used until f returns.
func (p *Plan) each(ctx context.Context, f func(wire.Item) (more bool, err error)) (stopped bool, err error) {
	switch {
	case p.parts != nil:
		return p.eachMerged(ctx, f)
	case p.Nothing:
		return false, nil
	}
	n := 0
	for got, err := range p.answers(ctx, p.budget(), false) {
		if err != nil {
			return false, err
		}
		for _, it := range got.Rows {
			if more, err := f(it); err != nil || !more {
				return true, err
			}
			if n++; n == p.Limit {
				break
			}
		}
		wire.ReleaseAll(got.Rows)
		if p.Limit > 0 && n == p.Limit {
			break
		}
	}
	return false, nil
}
