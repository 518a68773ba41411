package query

import (
	"context"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

// maxEvaluated limits the items that one request evaluates while only some of them are wanted.
const maxEvaluated = 1000

// maxSegments is the maximum number of segments of a table that are read concurrently.
const maxSegments = 64

// tracker reports the progress of a run to a listener.
type tracker struct {
	report   func(write.ScanProgress)
	progress write.ScanProgress
}

// budget is the remaining budget of a run, with 0 for unlimited, and its progress so far.
type budget struct {
	evaluate, requests int
	spent              bool
	track              *tracker
}

// cap limits want, the number of items that the next request evaluates, to the budget. 0 is unlimited.
func (b *budget) cap(want int) int {
	if b.evaluate > 0 && (want == 0 || want > b.evaluate) {
		return b.evaluate
	}
	return want
}

// firstAsk returns how many items the first request evaluates. With a filter, most of them may not match, and evaluating
// only limit items at a time would cost a request for every few matches.
func (p *Plan) firstAsk(limit int) int {
	if limit == 0 {
		return 0
	}
	if p.User.Op != expr.None || p.Scan || p.Own != nil {
		limit = max(limit, 25)
	}
	return min(limit, maxEvaluated)
}

// segment is one segment of a parallel scan.
type segment struct{ number, of int32 }

// fetched is the answer to one request.
type fetched struct {
	items     []wire.Item
	count     int // items that passed the filter
	evaluated int // items that were read and charged
	last      item.Item
	units     float64 // read units, if asked for
}

func evaluate(limit int) *int32 {
	if limit == 0 {
		return nil
	}
	n := int32(limit)
	return &n
}

// selection requests only a count where that is enough.
func (p *Plan) selection(count bool) types.Select {
	if count && p.Own == nil {
		return types.SelectCount
	}
	return ""
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// projection returns the attributes to fetch, or nil for all.
func (p *Plan) projection(r *expr.Renderer, count bool) *string {
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
	return text(r.Project(names))
}

// tracker returns nil if there is no listener.
func (p *Plan) tracker(segments int) *tracker {
	if p.Scanned == nil {
		return nil
	}
	return &tracker{p.Scanned, write.ScanProgress{Segments: segments}}
}

func (p *Plan) budget() *budget {
	return &budget{evaluate: p.Evaluate, requests: p.Requests, track: p.tracker(1)}
}

// bounded reports whether a bound of the cost can end a run before its last item.
func (p *Plan) bounded() bool { return p.Evaluate > 0 || p.Requests > 0 }

// add adds one answer and reports the progress.
func (t *tracker) add(got fetched) {
	if t == nil {
		return
	}
	t.progress.Pages++
	t.progress.Evaluated += got.evaluated
	t.progress.Found += got.count
	t.progress.ReadUnits += got.units
	if got.last == nil {
		t.progress.SegmentsDone++
	}
	t.report(t.progress)
}

// charge subtracts one request from the budget.
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

// Count counts the items without returning them, at most Limit.
func (p *Plan) Count(ctx context.Context) (int, error) {
	if p.Err != nil || p.Nothing {
		return 0, p.Err
	}
	return p.count(ctx, p.budget())
}

// count is Count within a budget.
func (p *Plan) count(ctx context.Context, b *budget) (total int, err error) {
	if p.Hydrate {
		for _, err := range p.all(ctx, b) {
			if err != nil {
				return 0, err
			}
			total++
		}
		return total, nil
	}
	start := item.Item(nil)
	for {
		got, err := p.fetch(ctx, start, b.cap(0), true, nil)
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

// own drops items that passed the filter but do not belong to the query.
func (p *Plan) own(got fetched) (fetched, error) {
	if p.Own == nil {
		return got, nil
	}
	var items []wire.Item
	for _, it := range got.items {
		ours, err := p.Own(it.Map())
		if err != nil {
			wire.ReleaseAll(got.items)
			return fetched{}, err
		}
		if ours {
			items = append(items, it)
		}
	}
	if len(items) == 0 {
		wire.ReleaseAll(got.items)
	}
	got.items, got.count = items, len(items)
	return got, nil
}

func (p *Plan) fetchScan(ctx context.Context, start item.Item, limit int, count bool, seg *segment) (fetched, error) {
	var r expr.Renderer
	in := &dynamodb.ScanInput{
		TableName: &p.Table, ExclusiveStartKey: start, Limit: evaluate(limit), Select: p.selection(count),
		FilterExpression:     text(r.Cond(p.sent(p.Runner.Clock()))),
		ProjectionExpression: p.projection(&r, count),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.NameMap(), r.ValueMap()
	if p.Index != nil {
		in.IndexName = &p.Index.Index
	}
	if p.Strong {
		in.ConsistentRead = &p.Strong
	}
	if seg == nil {
		seg = p.Segment
	}
	if seg != nil {
		in.Segment, in.TotalSegments = &seg.number, &seg.of
	}
	if p.Scanned != nil {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	}
	out, items, err := p.Runner.ScanItems(ctx, in)
	if err != nil {
		return fetched{}, err
	}
	got := fetched{items: items, count: int(out.Count), evaluated: int(out.ScannedCount), last: out.LastEvaluatedKey}
	if c := out.ConsumedCapacity; c != nil && c.CapacityUnits != nil {
		got.units = *c.CapacityUnits
	}
	return p.own(got)
}

// fetch sends one request, which evaluates at most limit items. With 0 it evaluates what fits into 1 MB.
func (p *Plan) fetch(ctx context.Context, start item.Item, limit int, count bool, seg *segment) (fetched, error) {
	if p.Scan {
		return p.fetchScan(ctx, start, limit, count, seg)
	}
	var r expr.Renderer
	in := &dynamodb.QueryInput{
		TableName: &p.Table, ExclusiveStartKey: start, Limit: evaluate(limit), Select: p.selection(count),
		KeyConditionExpression: text(r.Cond(p.Key)),
		FilterExpression:       text(r.Cond(p.sent(p.Runner.Clock()))),
		ProjectionExpression:   p.projection(&r, count),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.NameMap(), r.ValueMap()
	if p.Index != nil {
		in.IndexName = &p.Index.Index
	}
	if p.Desc {
		forward := false
		in.ScanIndexForward = &forward
	}
	if p.Strong {
		in.ConsistentRead = &p.Strong
	}
	out, items, err := p.Runner.QueryItems(ctx, in)
	if err != nil {
		return fetched{}, err
	}
	return p.own(fetched{items: items, count: int(out.Count), evaluated: int(out.ScannedCount), last: out.LastEvaluatedKey})
}

// allSegments scans the segments concurrently and yields items in no particular order. A segment with an answer waits
// until it is taken, so at most one answer of each is held.
func (p *Plan) allSegments(ctx context.Context, yield func(wire.Item, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	type answer struct {
		fetched
		part bool // of an answer of the index, the rest of which follows
		err  error
	}
	answers := make(chan answer)
	done := make(chan struct{})
	for i := range p.Segments {
		go func() {
			defer func() { done <- struct{}{} }()
			seg := &segment{int32(i), int32(p.Segments)}
			send := func(a answer) bool {
				select {
				case answers <- a:
					return a.err == nil
				case <-ctx.Done():
					return false
				}
			}
			for start := item.Item(nil); ; {
				got, err := p.fetch(ctx, start, 0, false, seg)
				for err == nil && p.Hydrate && len(got.items) > mostHydrated {
					var part fetched
					if part.items, err = p.whole(ctx, got.items[:mostHydrated]); err == nil && !send(answer{part, true, nil}) {
						return
					}
					got.items = got.items[mostHydrated:]
				}
				if err == nil && p.Hydrate {
					got.items, err = p.whole(ctx, got.items)
				}
				if !send(answer{got, false, err}) {
					return
				}
				if start = got.last; start == nil {
					return
				}
			}
		}()
	}
	// No goroutine outlives this function.
	running, finished, yielded, track := p.Segments, 0, 0, p.tracker(p.Segments)
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
				yield(wire.Item{}, a.err)
				return
			}
			if !a.part {
				track.add(a.fetched)
			}
			if a.last == nil && !a.part {
				finished++
			}
			for _, it := range a.items {
				yielded++
				if !yield(it, nil) || yielded == p.Limit {
					return
				}
			}
			wire.ReleaseAll(a.items)
		case <-ctx.Done():
			yield(wire.Item{}, ctx.Err())
			return
		}
	}
	if finished < p.Segments { // segments stopped because ctx ended, before the loop saw it
		yield(wire.Item{}, ctx.Err())
	}
}

// All yields every item, at most Limit of them. It stops at the first error. An item can be used until the next one.
func (p *Plan) All(ctx context.Context) iter.Seq2[wire.Item, error] { return p.all(ctx, p.budget()) }

func (p *Plan) all(ctx context.Context, b *budget) iter.Seq2[wire.Item, error] {
	return func(yield func(wire.Item, error) bool) {
		if p.Err != nil || p.Nothing {
			if p.Err != nil {
				yield(wire.Item{}, p.Err)
			}
			return
		}
		if p.Segments > 1 {
			p.allSegments(ctx, yield)
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
