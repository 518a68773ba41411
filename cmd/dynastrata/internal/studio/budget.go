package studio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBudget ends the reads of a page whose read units are used up.
var ErrBudget = errors.New("the read units of this page are used up")

// ErrMinute ends the reads of a page while those of all pages have used up the read units of a minute.
var ErrMinute = fmt.Errorf("%w, with those of all pages for a minute; wait a little, and load it again", ErrBudget)

// budget holds the read units that all pages may use in a minute. They come back evenly.
type budget struct {
	perMinute float64
	clock     func() time.Time
	sleep     func(context.Context, time.Duration) error

	mu   sync.Mutex
	left float64
	at   time.Time // when left was right
}

func newBudget(perMinute float64, o Options) *budget {
	return &budget{perMinute: perMinute, clock: o.Clock, sleep: o.Sleep, left: perMinute, at: o.Clock()}
}

// spend takes units, and returns what is left.
func (b *budget) spend(units float64) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if since := now.Sub(b.at); since > 0 {
		b.left, b.at = min(b.perMinute, b.left+since.Minutes()*b.perMinute), now
	}
	b.left -= units
	return b.left
}

// Meter counts the read units of one page, or of long work.
type Meter struct {
	budget *budget
	waits  bool // for units, instead of ending with an error

	mu   sync.Mutex
	left float64 // of a page
	used Cost
}

type meterKey struct{}

func withMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// MeterOf returns the meter of a context, or nil.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// Ask returns [ErrBudget] if no more may be read. Of long work it waits until more may be.
func (m *Meter) Ask(ctx context.Context) error {
	if m == nil {
		return nil
	}
	if !m.waits {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case m.left <= 0:
			return ErrBudget
		case m.budget.spend(0) <= 0:
			return ErrMinute
		}
		return nil
	}
	for {
		left := m.budget.spend(0)
		if left > 0 {
			return ctx.Err()
		}
		missing := time.Duration((1 - left) / m.budget.perMinute * float64(time.Minute))
		if err := m.budget.sleep(ctx, missing); err != nil {
			return err
		}
	}
}

// Spend counts a request that used units.
func (m *Meter) Spend(units float64) {
	if m == nil {
		return
	}
	m.budget.spend(units)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left -= units
	m.used.Requests++
	m.used.Units += units
}

// Used returns what was read.
func (m *Meter) Used() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
