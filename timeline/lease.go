package timeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
)

// tenure is a builder's right to change the rows of a view: a lease that is stored in the manifest. Its fence is unique, and
// its writes fail once another builder has a higher one.
type tenure struct {
	held    *lease.Held
	view    *view
	onRenew func(*manifest) // changes the manifest on renewal; nil: no change
	mu      sync.Mutex
	m       manifest // as last read or saved
}

// acquire takes the lease of a view and applies change to its manifest.
func (v *view) acquire(ctx context.Context, change func(*manifest) error) (*tenure, error) {
	h := &tenure{view: v}
	var err error
	h.held, err = lease.AcquireIn(ctx, v.leases, "timeline "+v.Name, h, func(ctx context.Context, t *lease.Term) error { return h.put(ctx, t, change) })
	var taken *lease.TakenError
	if errors.As(err, &taken) {
		m := h.last()
		return nil, &BuildingError{View: v.Name, Owner: taken.Holder, Until: taken.Until, Progress: m.activeBuild(v.now()).progress()}
	}
	return h, err
}

// Load implements [lease.Record].
func (h *tenure) Load(ctx context.Context) (lease.Term, error) {
	m, err := h.view.manifest(ctx, entity.Consistent())
	if err != nil {
		return lease.Term{}, err
	}
	h.set(*m)
	return m.Term, nil
}

// Store implements [lease.Record].
func (h *tenure) Store(ctx context.Context, t *lease.Term) error {
	return h.put(ctx, t, func(m *manifest) error {
		if h.onRenew != nil {
			h.onRenew(m)
		}
		return nil
	})
}

// put writes the manifest with a term and a change, which may change the term too.
func (h *tenure) put(ctx context.Context, t *lease.Term, change func(*manifest) error) error {
	m := h.last()
	m.View, m.Term = h.view.Name, *t
	if err := change(&m); err != nil {
		return err
	}
	*t, m.Format = m.Term, m.format()
	stored, err := h.view.putManifest(ctx, m)
	if err == nil {
		h.set(stored)
	}
	return err
}

// save applies change to the manifest and renews the lease, unless change releases it.
func (h *tenure) save(ctx context.Context, change func(*manifest)) error {
	return h.held.RenewBy(ctx, func(ctx context.Context, t *lease.Term) error {
		return h.put(ctx, t, func(m *manifest) error { change(m); return nil })
	})
}

func (h *tenure) set(m manifest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m = m
}

// last returns the manifest as last read or saved.
func (h *tenure) last() manifest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m
}

// release gives up the lease after the error err, even if ctx is done.
func (h *tenure) release(ctx context.Context, err error, change func(*manifest)) error {
	if errors.Is(err, ErrLeaseLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return joinClose(err, h.save(ctx, func(m *manifest) {
		m.Term = m.Released()
		change(m)
	}))
}
