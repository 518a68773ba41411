package query

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/item"
)

// maxSegments is how many segments of a table are read at the same time.
const maxSegments = 64

// allSegments scans the segments at the same time and yields items as they come, in no order. A segment that has an
// answer waits until it is taken, so that no more than one of each is held.
func (p *Plan) allSegments(ctx context.Context, yield func(item.Item, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	type answer struct {
		fetched
		err error
	}
	answers := make(chan answer)
	done := make(chan struct{})
	for i := range p.Segments {
		go func() {
			defer func() { done <- struct{}{} }()
			seg := &segment{int32(i), int32(p.Segments)}
			for start := item.Item(nil); ; {
				got, err := p.fetch(ctx, start, 0, false, seg)
				select {
				case answers <- answer{got, err}:
				case <-ctx.Done():
					return
				}
				if start = got.last; start == nil || err != nil {
					return
				}
			}
		}()
	}
	// However the loop ends, no goroutine outlives it.
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
				yield(nil, a.err)
				return
			}
			track.add(a.fetched)
			if a.last == nil {
				finished++
			}
			for _, it := range a.items {
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
	if finished < p.Segments { // they stopped because ctx ended, and were heard of before that was
		yield(nil, ctx.Err())
	}
}
