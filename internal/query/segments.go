package query

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/item"
)

// maxSegments is how many segments of a table are read at the same time.
const maxSegments = 64

// allSegments scans the segments at the same time and yields items as they come, in no order.
func (p *Plan) allSegments(ctx context.Context, yield func(item.Item, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	type batch struct {
		items []item.Item
		err   error
	}
	batches := make(chan batch)
	done := make(chan struct{})
	for i := range p.Segments {
		go func() {
			defer func() { done <- struct{}{} }()
			seg := &segment{int32(i), int32(p.Segments)}
			for start := item.Item(nil); ; {
				page, last, err := p.page(ctx, start, 0, &budget{}, seg)
				select {
				case batches <- batch{page.Items, err}:
				case <-ctx.Done():
					return
				}
				if start = last; start == nil || err != nil {
					return
				}
			}
		}()
	}
	// However the loop ends, no goroutine outlives it.
	running, yielded := p.Segments, 0
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
		case b := <-batches:
			if b.err != nil {
				yield(nil, b.err)
				return
			}
			for _, it := range b.items {
				yielded++
				if !yield(it, nil) || yielded == p.Limit {
					return
				}
			}
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
	}
}
