package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// slot is a record in memory, since requests to a database cannot be timed. way, if there is one, is called for each write with what applies it.
type slot struct {
	mu     sync.Mutex
	term   lease.Term
	writes []time.Time // when they were applied
	way    func(ctx context.Context, apply func() error) error
}

func (s *slot) Load(context.Context) (lease.Term, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term, nil
}

func (s *slot) Store(ctx context.Context, t *lease.Term) error {
	next := *t
	apply := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.term.Writes != next.Writes-1 {
			return entity.ErrConditionFailed
		}
		s.term, s.writes = next, append(s.writes, time.Now())
		return nil
	}
	if s.way == nil {
		return apply()
	}
	return s.way(ctx, apply)
}

// reach is a record as one program reaches it, or does not.
type reach struct {
	*slot
	broken atomic.Bool
}

func (r *reach) Store(ctx context.Context, t *lease.Term) error {
	if r.broken.Load() {
		return errBusy
	}
	return r.slot.Store(ctx, t)
}

// program returns leases of a process with a clock.
func program(name string, clock func() time.Time) *lease.Leases {
	n := 0
	return lease.Over(engine.NewHandle(&engine.Core{Runner: &engine.Runner{Clock: clock, NewID: func() string { n++; return fmt.Sprint(name, n) }}}), lease.Options{Holder: name})
}

func take(t *testing.T, l *lease.Leases, s *slot) *lease.Held {
	t.Helper()
	return entity.Must(lease.AcquireIn(t.Context(), l, "job", s, s.Store))
}

var errBusy = errors.New("throttled")

func TestKeep_RenewsWhileWorkRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, start := &slot{}, time.Now()
		h := take(t, program("a", time.Now), s)
		require.NoError(t, h.Keep(t.Context(), func(ctx context.Context) error { time.Sleep(29 * time.Second); return ctx.Err() }))
		var after []time.Duration
		for _, at := range s.writes {
			after = append(after, at.Sub(start).Truncate(time.Millisecond))
		}
		assert.Equal(t, []time.Duration{0, 9333 * time.Millisecond, 18666 * time.Millisecond, 28 * time.Second}, after)
		time.Sleep(time.Minute)
		assert.Len(t, s.writes, 4, "none after the work")
		assert.ErrorIs(t, h.Keep(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), lease.ErrLost, "it has ended")
	})
}

// Whatever becomes of renewals, work ends before another can take the lease.
func TestKeep_EndsWorkInTime(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		way  func(ctx context.Context, apply func() error) error
		ends time.Duration // after the start
	}{
		"refused":      {func(context.Context, func() error) error { return errBusy }, 28 * time.Second},
		"no answer":    {func(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() }, 28 * time.Second},
		"answers late": {func(_ context.Context, apply func() error) error { time.Sleep(30 * time.Second); return apply() }, 39333 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, start := &slot{}, time.Now()
				h := take(t, program("a", time.Now), s)
				s.way = x.way
				err := h.Keep(t.Context(), func(ctx context.Context) error {
					<-ctx.Done()
					assert.ErrorIs(t, context.Cause(ctx), lease.ErrLost)
					return ctx.Err()
				})
				assert.ErrorIs(t, err, lease.ErrLost)
				assert.Equal(t, x.ends, time.Since(start).Truncate(time.Millisecond))
			})
		})
	}
}

func TestKeep_EndsWorkWhenAnotherHasTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, start := &slot{}, time.Now()
		h := take(t, program("a", func() time.Time { return start }), s) // its clock has stopped
		done := make(chan error, 1)
		go func() {
			done <- h.Keep(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return nil })
		}()
		time.Sleep(31 * time.Second)
		take(t, program("b", time.Now), s)
		err := <-done
		require.ErrorIs(t, err, lease.ErrLost)
		skew := dbtest.As[*lease.SkewError](t, err)
		assert.Equal(t, lease.SkewError{Name: "job", Holder: "b", By: 31 * time.Second}, *skew)
		assert.Less(t, time.Since(start), 31*time.Second+28*time.Second/3)
	})
}

// A clock that jumps ahead, as after a pause of the machine, ends the work at the next renewal.
func TestKeep_EndsWorkWhenItsClockJumps(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, clockJumps)
	}
}

func clockJumps(t *testing.T) {
	var jump atomic.Int64
	s, start := &slot{}, time.Now()
	h := take(t, program("a", func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }), s)
	assert.ErrorIs(t, h.Keep(t.Context(), func(ctx context.Context) error {
		jump.Store(int64(time.Minute))
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
		return ctx.Err()
	}), lease.ErrLost)
	assert.Less(t, time.Since(start), 10*time.Second)
	assert.Len(t, s.writes, 1, "what has ended is not renewed")
}

func TestKeep_StopsRenewingWhenWorkPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slot{}
		h := take(t, program("a", time.Now), s)
		assert.Panics(t, func() { _ = h.Keep(t.Context(), func(context.Context) error { panic("a handler") }) })
		time.Sleep(time.Minute)
		assert.Len(t, s.writes, 1)
	})
}

func TestKeep_WorkMayReleaseTheLeaseAtItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slot{}
		h := take(t, program("a", time.Now), s)
		require.NoError(t, h.Keep(t.Context(), func(ctx context.Context) error {
			err := h.Release(ctx)
			time.Sleep(time.Minute)
			return err
		}))
		assert.Len(t, s.writes, 2, "what is released is not renewed")
		h = take(t, program("a", time.Now), s)
		time.AfterFunc(time.Second, func() { assert.NoError(t, h.Release(t.Context())) })
		assert.ErrorIs(t, h.Keep(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), lease.ErrLost, "another goroutine did")
	})
}

// Programs compete for a lease. Their requests take long, are lost, are applied and not answered, or are applied long after. Their clocks differ by no
// more than is declared; stand still; or run backwards, so that no stored end is seen to pass. No two work at the same time, and the lease of one that
// does not come back is taken.
func TestKeep_NoTwoWorkAtTheSameTime(t *testing.T) {
	t.Parallel()
	seed, start := testsize.Seed(t), time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, clock := range map[string]func(skew, passed time.Duration) time.Time{
		"little skew": func(skew, passed time.Duration) time.Time { return start.Add(skew + passed) },
		"stopped":     func(skew, _ time.Duration) time.Time { return start.Add(skew) },
		"backwards":   func(skew, passed time.Duration) time.Time { return start.Add(skew - passed) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range uint64(testsize.Pick(30, 300)) {
				synctest.Test(t, func(t *testing.T) { compete(t, seed, round, clock) })
			}
		})
	}
}

func compete(t *testing.T, seed, round uint64, clock func(skew, passed time.Duration) time.Time) {
	random := rand.New(rand.NewPCG(seed, round))
	var mu sync.Mutex
	chance := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	s, worked, last, begun := &slot{}, 0, int64(0), time.Now()
	s.way = func(ctx context.Context, apply func() error) error {
		slow := time.Duration(chance(4000)) * time.Millisecond
		switch chance(8) {
		case 0:
			return errBusy
		case 1: // the answer is lost
			_ = apply()
			return errBusy
		case 2: // it is applied later
			time.AfterFunc(time.Duration(chance(60))*time.Second, func() { _ = apply() })
			return errBusy
		case 3:
			<-ctx.Done()
			return ctx.Err()
		}
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return ctx.Err()
		}
		return apply()
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute)
	defer stop()
	var working context.Context // of the last that began
	var all sync.WaitGroup
	for i := range 4 {
		skew := time.Duration(chance(3)-1) * time.Second
		l, s := program(fmt.Sprint(i), func() time.Time { return clock(skew, time.Since(begun)) }), &reach{slot: s}
		all.Go(func() {
			for ctx.Err() == nil {
				attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
				h, err := lease.AcquireIn(attempt, l, "job", s, s.Store)
				if cancel(); err != nil {
					time.Sleep(time.Duration(1+chance(3000)) * time.Millisecond)
					continue
				}
				_ = h.Keep(ctx, func(ctx context.Context) error {
					mu.Lock()
					if working != nil && working.Err() == nil {
						assert.Fail(t, "two work at the same time", "seed %d, round %d", seed, round)
					}
					assert.Greater(t, h.Fence(), last)
					working, last = ctx, h.Fence()
					worked++
					mu.Unlock()
					s.broken.Store(chance(3) == 0)
					select {
					case <-ctx.Done():
					case <-time.After(time.Duration(chance(90)) * time.Second):
					}
					return nil
				})
				if s.broken.Store(false); chance(3) > 0 {
					_ = h.Release(ctx)
				}
			}
		})
	}
	all.Wait()
	assert.Greater(t, worked, 5)
}

// Work does not begin under a lease that was released or has ended.
func TestKeep_DoesNotBeginWithoutTheLease(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *lease.Held){
		"released": func(t *testing.T, h *lease.Held) { require.NoError(t, h.Release(t.Context())) },
		"ended":    func(*testing.T, *lease.Held) { time.Sleep(40 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slot{}
				h := take(t, program("a", time.Now), s)
				end(t, h)
				take(t, program("b", time.Now), s)
				require.ErrorIs(t, h.Keep(t.Context(), func(context.Context) error { t.Error("another has the lease"); return nil }), lease.ErrLost)
			})
		})
	}
}

// The loss of an outer lease, whose context is cancelled, is not that of an inner one.
func TestKeep_ALossIsThatOfItsOwnLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slot{}
		outer, inner := take(t, program("a", time.Now), s), take(t, program("a2", time.Now), &slot{})
		s.way = func(context.Context, func() error) error { return errBusy }
		require.ErrorIs(t, outer.Keep(t.Context(), func(ctx context.Context) error {
			require.NoError(t, inner.Keep(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }))
			return inner.Renew(t.Context())
		}), lease.ErrLost)
		require.NoError(t, inner.Renew(t.Context()))
	})
}
