package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Defaults of [Options].
const (
	duration = 30 * time.Second
	skew     = 2 * time.Second
)

// rounds is how often a record that others change is read and written again.
const rounds = 10

// Term is the part of a stored record that says who holds the lease. The record is never removed, since it has the last fence.
type Term struct {
	Holder  string    `dynamodbav:"holder,omitempty"` // for people
	Token   string    `dynamodbav:"token,omitempty"`  // of the acquisition; absent while nobody holds the lease
	Fence   int64     `dynamodbav:"fence"`            // every acquisition adds one
	Writes  int64     `dynamodbav:"writes"`           // every write of the record adds one
	Renewed time.Time `dynamodbav:"renewed,omitempty"`
	Until   time.Time `dynamodbav:"until,omitempty"` // then others may take the lease
}

// Release gives up the lease. The fence stays.
func (t *Term) Release() { *t = Term{Fence: t.Fence, Writes: t.Writes} }

// Record is where a lease is stored: the item of [Leases], or a record of another package of this module that has a [Term] in it.
type Record interface {
	// Load reads the record, strongly consistently. The term of a missing record is zero.
	Load(ctx context.Context) (Term, error)
	// Store writes the record with a term, which it may change, if the stored one has one write less. Otherwise the error is
	// entity.ErrConditionFailed.
	Store(ctx context.Context, t *Term) error
}

type delivery struct {
	write.ForWrite
	write.Setting
}

// After returns the options of a write of a record with a term, whose number of writes has the given address: the stored one must have
// one write less. So a write that is sent again, or arrives late, is refused.
func After(writes *int64, t Term) []entity.WriteOption {
	before := entity.Eq(writes, t.Writes-1)
	if t.Writes == 1 {
		before = entity.NotExists(writes)
	}
	return []entity.WriteOption{entity.If(before), delivery{Setting: func(o *write.Options) { o.SoleWriter = true }}}
}

// Rules decide who may take a lease, and how long it is held. They are for packages of this module.
type Rules struct {
	options Options
	clock   func() time.Time
	newID   func() string

	mu     sync.Mutex
	unsure map[string][]string // by name: tokens of acquisitions that failed, and may have been applied
}

// NewRules returns rules with the clock and the ids of c.
func NewRules(c *engine.Core, o Options) *Rules {
	if o.Holder == "" {
		host, _ := os.Hostname()
		o.Holder = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	o.Duration, o.Skew = cmp.Or(o.Duration, duration), cmp.Or(o.Skew, skew)
	return &Rules{options: o, clock: c.Runner.Clock, newID: c.Runner.NewID, unsure: map[string][]string{}}
}

// ahead returns a *SkewError if a term was renewed further in the future than clocks may differ.
func (r *Rules) ahead(name string, t Term, now time.Time) error {
	if by := t.Renewed.Sub(now); by > r.options.Skew {
		return &SkewError{Name: name, Holder: t.Holder, By: by, Skew: r.options.Skew}
	}
	return nil
}

// free returns why a lease cannot be taken, or nil.
func (r *Rules) free(name string, t Term, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Token == "" || slices.Contains(r.unsure[name], t.Token) {
		return nil
	}
	if err := r.ahead(name, t, now); err != nil {
		return err
	}
	if !now.After(t.Until) {
		return &TakenError{Name: name, Holder: t.Holder, Until: t.Until}
	}
	return nil
}

// Acquire takes the lease of a record. The first write is by store, or by rec.Store if that is nil. Errors are those of
// [Leases.Acquire], of rec and of store.
func (r *Rules) Acquire(ctx context.Context, name string, rec Record, store func(context.Context, *Term) error) (*Held, error) {
	if ctx = write.WithoutPace(ctx); store == nil {
		store = rec.Store
	}
	h := &Held{rules: r, name: name, rec: rec, token: r.newID(), turn: make(chan struct{}, 1)}
	for range rounds {
		t, err := rec.Load(ctx)
		if err != nil {
			return nil, err
		}
		now := r.clock()
		if t.Token == h.token { // the write was applied, and its answer lost
			now = t.Renewed
		} else {
			if err := r.free(name, t, now); err != nil {
				return nil, err
			}
			t.Holder, t.Token, t.Fence, t.Writes = r.options.Holder, h.token, t.Fence+1, t.Writes+1
			t.Renewed, t.Until = now.UTC(), now.Add(r.options.Duration).UTC()
			err = store(ctx, &t)
		}
		r.mu.Lock()
		if err == nil {
			delete(r.unsure, name)
		} else if entity.IsAmbiguous(err) {
			r.unsure[name] = append(r.unsure[name], h.token)
		}
		r.mu.Unlock()
		if err == nil {
			h.term, h.fence, h.end = t, t.Fence, now.Add(r.options.Duration-r.options.Skew)
			return h, nil
		}
		if !errors.Is(err, entity.ErrConditionFailed) {
			return nil, err
		}
	}
	return nil, entity.ErrConflict
}

// Held is a lease that [Leases.Acquire] has taken. It is safe for concurrent use.
type Held struct {
	rules *Rules
	name  string
	rec   Record
	token string
	fence int64
	check entity.Op

	turn chan struct{} // has an element while the record is written
	term Term          // as last stored or read; for the one whose turn it is

	mu       sync.Mutex
	end      time.Time // when the lease counts as lost, by the clock of this process
	released bool      // by this process, or it tried to
}

// Fence returns the number of this acquisition: each has a higher one than all before it. It is 0 for a zero value.
func (h *Held) Fence() int64 {
	if h.opened() != nil {
		return 0
	}
	return h.fence
}

// opened returns an error for a handle that was not acquired.
func (h *Held) opened() error {
	if h == nil || h.rules == nil {
		return engine.Unopened(reflect.TypeFor[*Held]())
	}
	return nil
}

// left returns how long the lease is held without another renewal. A wall clock that was set back does not prolong it, nor does a
// machine that slept.
func (h *Held) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.rules.clock()
	return min(h.end.Sub(now), h.end.Round(0).Sub(now.Round(0)))
}

// Renew prolongs the lease by [Options].Duration, also late, if nobody took it meanwhile. It costs a write; after a lost answer a read
// and a write more. Errors: [ErrLost] if another took it or it was released, with a *[SkewError] if that was too early; those of
// requests, after which the lease is held until its end.
func (h *Held) Renew(ctx context.Context) error { return h.RenewBy(ctx, nil) }

// Release gives up the lease, so that another can take it at once. It also works when ctx is done, for at most 5 seconds. The fence
// stays. Within [Held.Keep] it is the last thing that work does. It costs a write. Errors: [ErrLost] if another took the lease; those
// of requests, after which the lease ends by itself. To release a lease again does nothing.
func (h *Held) Release(ctx context.Context) error {
	if err := cmp.Or(h.opened(), engine.CheckContext(ctx)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	again := h.isReleased()
	err := h.RenewBy(ctx, func(ctx context.Context, t *Term) error {
		t.Release()
		return h.rec.Store(ctx, t)
	})
	if again && errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// RenewBy is Renew by another write of the record, which may also release the lease; it is for packages of this module.
func (h *Held) RenewBy(ctx context.Context, store func(context.Context, *Term) error) error {
	if err := cmp.Or(h.opened(), engine.CheckContext(ctx)); err != nil {
		return err
	}
	if ctx = write.WithoutPace(ctx); store == nil {
		store = h.rec.Store
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	o := h.rules.options
	for range rounds {
		t, now := h.term, h.rules.clock()
		if t.Token != h.token {
			h.endAt(time.Time{}, true)
			return errors.Join(ErrLost, h.rules.ahead(h.name, t, now))
		}
		t.Writes++
		t.Renewed, t.Until = now.UTC(), now.Add(o.Duration).UTC()
		end := now.Add(o.Duration - o.Skew)
		h.endAt(end, false)
		err := store(ctx, &t)
		if t.Token == "" {
			h.release()
		}
		switch {
		case err == nil:
			if h.term = t; t.Token != "" {
				h.endAt(end, true)
			}
			return nil
		case !errors.Is(err, entity.ErrConditionFailed):
			return err
		}
		if t, err = h.rec.Load(ctx); err != nil {
			return err
		}
		h.term = t // an earlier write of ours was applied, or the lease is lost
	}
	return entity.ErrConflict
}

// release notes that this process has given up the lease.
func (h *Held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end, h.released = time.Time{}, true
}

func (h *Held) isReleased() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}

// endAt sets when the lease counts as lost: earlier before a request that changes what others see, later after its answer.
func (h *Held) endAt(end time.Time, answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if answered || end.Before(h.end) {
		h.end = end
	}
}

// Keep runs work and renews the lease while it runs, three times before it would end, more often after an error. If the lease is
// lost, or could not be renewed in time, Keep cancels the context of work with [ErrLost] as its cause, before another can take the
// lease, and returns that when work has returned; otherwise it returns the error of work. A lease that has ended is renewed first.
// Afterwards the lease is still held, and
// nothing renews it, also after a panic of work. It costs a write for each renewal.
func (h *Held) Keep(ctx context.Context, work func(context.Context) error) error {
	if err := cmp.Or(h.opened(), engine.CheckContext(ctx)); err != nil {
		return err
	}
	if work == nil {
		return &entity.InputError{Code: write.CodeLeaseWork, Type: "lease.Held", Problem: "Keep needs a function to run"}
	}
	if h.left() <= 0 {
		if err := h.Renew(ctx); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	defer func() {
		stop(nil)
		<-ended
	}()
	go func() {
		defer close(ended)
		h.renewals(ctx, stop)
	}()
	err := work(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, ErrLost) && (err != nil || !h.isReleased()) {
		return cause
	}
	return err
}

// renewals renews the lease until ctx is done or the lease is lost.
func (h *Held) renewals(ctx context.Context, lost context.CancelCauseFunc) {
	period := (h.rules.options.Duration - h.rules.options.Skew) / 3
	var err error
	for {
		left := h.left()
		wait := min(left-2*period, period) // at most period, also if the clock was set back
		if err != nil {
			wait = min(left, period/4)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if left = h.left(); left <= 0 {
			lost(ErrLost)
			return
		}
		attempt, cancel := context.WithTimeout(ctx, min(left, period/2))
		err = h.Renew(attempt)
		if cancel(); errors.Is(err, ErrLost) {
			lost(err)
			return
		}
	}
}
