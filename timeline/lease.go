package timeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/leases"
	"github.com/dynastrata/dynastrata/internal/write"
)

// lease is a builder's right to change the rows of a view. Its fence is unique, and its writes fail once another
// builder has a higher one.
type lease struct {
	store   *entity.Store[manifest]
	clock   func() time.Time
	onRenew func(*manifest) // changes the manifest on renewal; nil: no change
	mu      sync.Mutex
	m       manifest
}

// acquire takes the lease of a view and applies change to its manifest.
func acquire(ctx context.Context, store *entity.Store[manifest], view, owner string, clock func() time.Time, change func(*manifest) error) (*lease, error) {
	for {
		m, err := store.Get(ctx, manifest{View: view}, entity.Consistent())
		fresh := errors.Is(err, entity.ErrNotFound)
		if err != nil && !fresh {
			return nil, err
		}
		if !fresh {
			if err := m.checkFormat(view); err != nil {
				return nil, err
			}
		}
		now, was := clock().UTC(), m
		if m.Owner != "" && m.Lease.After(now) {
			return nil, &BuildingError{View: view, Owner: m.Owner, Until: m.Lease, Progress: m.activeBuild(now).progress()}
		}
		m.View, m.Owner, m.Fence, m.Lease = view, owner, m.Fence+1, now.Add(leases.Duration)
		m.Saves++
		if err := change(&m); err != nil {
			return nil, err
		}
		m.Format = m.format()
		f := entity.Fields[manifest]()
		if fresh {
			m, err = store.Create(ctx, m, fenced())
		} else {
			same := []entity.Cond{entity.Eq(&f.Fence, was.Fence), entity.Eq(&f.Saves, was.Saves)} // Apply saves under the same fence
			if was.Owner == "" {                                                                  // given up; a holder with a late renewal has an owner
				same = append(same, entity.NotExists(&f.Owner))
			} else {
				same = append(same, entity.Eq(&f.Lease, was.Lease))
			}
			m, err = store.Put(ctx, m, entity.If(same...), fenced())
		}
		if errors.Is(err, entity.ErrExists) || errors.Is(err, entity.ErrConditionFailed) {
			continue // another builder was first
		}
		if err != nil {
			return nil, err
		}
		return &lease{store: store, clock: clock, m: m}, nil
	}
}

// save applies change to the manifest and renews the lease, if the fence is still ours. Saves are numbered, so one
// that was in flight for long does not undo a later one.
func (h *lease) save(ctx context.Context, change func(*manifest)) error {
	ctx = write.WithoutPace(ctx) // or the lease could end while it waits
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		err := h.put(ctx, change)
		if !errors.Is(err, entity.ErrConditionFailed) {
			return err
		}
		m, err := h.store.Get(ctx, manifest{View: h.m.View}, entity.Consistent())
		if err != nil || m.Fence != h.m.Fence {
			return errors.Join(ErrLeaseLost, err)
		}
		h.m = m // an earlier save of ours was applied but its answer lost, or Apply has saved
	}
}

func (h *lease) put(ctx context.Context, change func(*manifest)) error {
	next := h.m
	change(&next)
	if next.Owner != "" {
		next.Lease = h.clock().UTC().Add(leases.Duration)
	} else {
		next.Lease = time.Time{}
	}
	f := entity.Fields[manifest]()
	next.Saves, next.Format = h.m.Saves+1, next.format()
	m, err := h.store.Put(ctx, next, entity.If(entity.Eq(&f.Fence, h.m.Fence), entity.Eq(&f.Saves, h.m.Saves)), fenced())
	if err == nil {
		h.m = m
	}
	return err
}

// last returns the manifest as last saved.
func (h *lease) last() manifest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m
}

// renewIfDue renews the lease if that is due.
func (h *lease) renewIfDue(ctx context.Context) error {
	h.mu.Lock()
	due := leases.Due(h.clock(), h.m.Lease)
	h.mu.Unlock()
	if !due {
		return nil
	}
	return h.save(ctx, func(m *manifest) {
		if h.onRenew != nil {
			h.onRenew(m)
		}
	})
}

// keepAlive renews the lease while work runs, and cancels work when the lease is lost.
func (h *lease) keepAlive(ctx context.Context, work func(context.Context) error) error {
	return leases.Keep(ctx, ErrLeaseLost, h.renewIfDue, work)
}

// release gives up the lease after the error err, even if ctx is done.
func (h *lease) release(ctx context.Context, err error, change func(*manifest)) error {
	if errors.Is(err, ErrLeaseLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return joinClose(err, h.save(ctx, func(m *manifest) {
		m.Owner = ""
		change(m)
	}))
}
