package bind

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace is the units per second that calls may consume together. It is safe for concurrent use. A request may go while
// nothing is owed. What it consumed is known from its answer and is then owed.
type Pace struct{ read, write *side }

// side is the units of one kind.
type side struct {
	mu    sync.Mutex
	limit *rate.Limiter // of half units, the smallest that DynamoDB consumes
	rest  float64       // of a half unit, not reserved yet
}

// NewPace returns a budget of read and write units per second. 0 is unlimited.
func NewPace(read, write float64) *Pace { return &Pace{newSide(read), newSide(write)} }

// newSide returns the budget for units per second, nil if they are unlimited. Units that were not used can be used later, up
// to those of one second.
func newSide(units float64) *side {
	if units == 0 {
		return nil
	}
	return &side{limit: rate.NewLimiter(rate.Limit(2*units), int(math.Ceil(min(2*units, math.MaxInt32))))}
}

// spend adds consumed units to what is owed.
func (s *side) spend(now time.Time, units float64) {
	if s == nil || units == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	whole, rest := math.Modf(2*units + s.rest)
	s.rest = rest
	for n := int(whole); n > 0; n -= s.limit.Burst() { // the limiter takes no more at a time
		s.limit.ReserveN(now, min(n, s.limit.Burst()))
	}
}

// delay returns how long units are owed.
func (s *side) delay(now time.Time) time.Duration {
	if s == nil {
		return 0
	}
	return s.limit.ReserveN(now, 0).DelayFrom(now)
}

// Spend adds the units that a request has consumed.
func (b *Pace) Spend(now time.Time, read, write float64) {
	b.read.spend(now, read)
	b.write.spend(now, write)
}

// Delay returns how long the next request has to wait.
func (b *Pace) Delay(now time.Time) time.Duration {
	return max(b.read.delay(now), b.write.delay(now))
}

// PaceKey is the key under which a context has the []*Pace of its requests.
type PaceKey struct{}

// WithPace returns a context whose requests are paced by b too. If b is nil, it returns ctx.
func WithPace(ctx context.Context, b *Pace) context.Context {
	if b == nil {
		return ctx
	}
	all, _ := ctx.Value(PaceKey{}).([]*Pace)
	for _, other := range all {
		if other == b {
			return ctx
		}
	}
	return context.WithValue(ctx, PaceKey{}, append(all[:len(all):len(all)], b))
}

// WithoutPace returns a context whose requests are not paced, such as those that keep a lease.
func WithoutPace(ctx context.Context) context.Context {
	if ctx.Value(PaceKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, PaceKey{}, []*Pace(nil))
}

// WaitPaces waits until every budget allows a request. If ctx ends before, it returns ctx's error.
func WaitPaces(ctx context.Context, all []*Pace) error {
	for {
		var longest time.Duration
		now := time.Now()
		for _, b := range all {
			longest = max(longest, b.Delay(now))
		}
		if longest == 0 {
			return nil
		}
		timer := time.NewTimer(longest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}
