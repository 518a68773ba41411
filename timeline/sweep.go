package timeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// grace is how long rows of an earlier generation stay for those who began to read them.
const sweepGrace = 15 * time.Minute

// Sweep removes the rows of generations that were replaced, or given up, more than 15 minutes ago, and of those that 50 later
// ones have followed; Rebuild and CatchUp do it too. It needs the lease of a builder and costs a write per row, and two for each generation. Errors: *[BuildingError].
func (v *View[K, S]) Sweep(ctx context.Context) error { return v.opened().sweepDue(ctx) }

func (v *view) sweepDue(ctx context.Context) error {
	return v.core.Measure(ctx, "Timeline.Sweep", v.Name, func(ctx context.Context) error {
		m, err := v.manifest(ctx)
		if err != nil || len(v.due(m)) == 0 && !slices.ContainsFunc(m.Retired, v.ahead) {
			return err
		}
		h, err := acquire(ctx, v.manifests, v.Name, v.core.Runner.NewID(), v.core.Runner.Clock, func(*manifest) error { return nil })
		if err != nil {
			return err
		}
		if err := h.keepAlive(ctx, func(ctx context.Context) error { return v.sweep(ctx, h) }); err != nil {
			return h.release(ctx, err, func(*manifest) {})
		}
		return h.save(ctx, func(m *manifest) { m.Owner = "" })
	})
}

// release gives the lease up after an error that ended the work, even when ctx is what ended it.
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

// mostRetired is how many earlier generations a manifest lists: it is one item, however fast one build follows the other.
const maxRetired = 50

// due are the generations that nobody reads any more, and the oldest of those that are too many.
func (v *view) due(m *manifest) []retirement {
	var due []retirement
	for i, r := range m.Retired {
		if !r.At.Add(sweepGrace).After(v.now()) || len(m.Retired)-i > maxRetired {
			due = append(due, r)
		}
	}
	return due
}

// ahead reports that a generation was retired by a clock that is ahead of this one.
func (v *view) ahead(r retirement) bool { return r.At.After(v.now()) }

// settleClocks counts the grace of such generations from now: their own clock may be years ahead.
func (v *view) clampRetirementTimes(ctx context.Context, h *lease) error {
	if m := h.last(); !slices.ContainsFunc(m.Retired, v.ahead) {
		return nil
	}
	now := v.now()
	return h.save(ctx, func(m *manifest) {
		m.Retired = slices.Clone(m.Retired)
		for i := range m.Retired {
			m.Retired[i].At = earlier(m.Retired[i].At, now)
		}
	})
}

// sweep removes what is due, after it has announced to readers that rows will be missing. Removing it twice, or by two, does no
// harm: no generation is ever used again.
func (v *view) sweep(ctx context.Context, h *lease) error {
	if err := v.clampRetirementTimes(ctx, h); err != nil {
		return err
	}
	m := h.last()
	for _, r := range v.due(&m) {
		err := h.save(ctx, func(m *manifest) {
			m.Retired = slices.Clone(m.Retired)
			for i := range m.Retired {
				if m.Retired[i].ID == r.ID {
					m.Retired[i].Sweeping = true
				}
			}
		})
		if err != nil {
			return err
		}
		if err := v.removeGeneration(ctx, h, r.ID); err != nil {
			return err
		}
		err = h.save(ctx, func(m *manifest) {
			m.Retired = slices.DeleteFunc(slices.Clone(m.Retired), func(x retirement) bool { return x.ID == r.ID })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) removeGeneration(ctx context.Context, h *lease, id string) error {
	var batch []string
	flush := func() error {
		err := retryUnknown(ctx, func() error {
			return v.rows.remove(ctx, id, batch)
		})
		if batch = nil; err == nil {
			err = h.renewIfDue(ctx)
		}
		return err
	}
	for g, err := range v.rows.list(id, entity.Consistent(), entity.IncludeExpired()).All(ctx) {
		if err != nil {
			return err
		}
		if batch = append(batch, g.Group); len(batch) == 500 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	chunks, err := v.pages.Query(directory{Generation: id}, entity.Consistent()).Collect(ctx)
	if err != nil {
		return err
	}
	return retryUnknown(ctx, func() error {
		_, err := v.pages.DeleteMany(ctx, chunks)
		return err
	})
}
