package timeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// mostRefolds bounds how many groups one catch-up folds from their whole history.
const maxRefolds = 100_000

// CatchUp brings the rows up to the events that were accepted since they were built, or last brought up. An event that is
// newer than its group's last one is applied to the row; a group with one that came late is folded from its whole history:
// by a query of its partition where the source has [PartitionKey], else by a second scan for all such groups.
//
// What was accepted is known by the clocks of the writers, which may differ by minutes, and a write may be on its way for
// eight: events are looked for from 15 minutes before the newest one that is known. An append of entity.DB.TransactWithToken whose
// Token.At is older than that waits for the next rebuild.
//
// It reads the history of every source once. Errors: *[StaleError] when there are no rows of this definition;
// [ErrNoAcceptTime]; *[BuildingError]; [ErrLeaseLost]; *[EventError].
func (v *View[K, S]) CatchUp(ctx context.Context, opts ...BuildOption) (Meta, error) {
	return v.opened().catchUp(ctx, opts)
}

func (v *view) catchUp(ctx context.Context, opts []BuildOption) (meta Meta, err error) {
	err = v.core.Measure(ctx, "Timeline.CatchUp", v.Name, func(ctx context.Context) error {
		o, err := collectBuildOptions(opts)
		if err != nil {
			return err
		}
		if err := v.acceptTimes(); err != nil {
			return err
		}
		b := &builder{view: v, buildOptions: o}
		relist := false
		b.lease, err = acquire(ctx, b.manifests, b.Name, b.core.Runner.NewID(), b.core.Runner.Clock, func(m *manifest) error {
			if m.Active == nil || m.Active.Fingerprint != v.fingerprint {
				stale := &StaleError{View: v.Name, Want: v.fingerprint}
				if m.Active != nil {
					stale.Have = m.Active.Fingerprint
				}
				return stale
			}
			g := *m.Active
			relist, g.Unlisted = g.Unlisted, true // until this catch-up has come to its end
			m.Active = &g
			return nil
		})
		if err != nil {
			return err
		}
		b.started = *b.m.Active
		b.id, b.fence = b.started.ID, b.m.Fence
		if err := b.runUnderLease(ctx, func(ctx context.Context) error { return b.updateServed(ctx, relist) }, func(*manifest, error) {}); err != nil {
			return err
		}
		meta = v.meta(&b.m, b.m.Active)
		return nil
	})
	return meta, err
}

// acceptTimes fails unless every source says when its events were accepted.
func (d *definition) acceptTimes() error {
	for _, x := range d.all {
		if !x.hasAcceptTimes {
			return fmt.Errorf("timeline %s: %w: %s", d.Name, ErrNoAcceptTime, x.id)
		}
	}
	return nil
}

// update brings the served rows up to now. relist says that an earlier catch-up did not come to its end.
func (b *builder) updateServed(ctx context.Context, relist bool) (err error) {
	if err := b.sweep(ctx, b.lease); err != nil {
		return err
	}
	now := later(b.now(), b.started.Through) // rows may have been made by a clock that is ahead of this one
	g, moved, err := b.applyNewEvents(ctx, b.started, now)
	if err != nil {
		return err
	}
	if moved || relist {
		if g.Rows, err = b.listPages(ctx, b.id); err != nil {
			return err
		}
	}
	g.Unlisted = false
	return b.save(ctx, func(m *manifest) {
		g := g
		m.Active, m.Owner, m.Failure = &g, "", nil
	})
}

// bringUp applies to the rows of a generation what was accepted since, up to now, and what may have been on its way. It
// gives the generation as it is then, and whether its rows have to be listed again: because some came to be, or live longer.
func (b *builder) applyNewEvents(ctx context.Context, g generation, now time.Time) (_ generation, moved bool, err error) {
	w := window{until: now, now: now}
	c := b.newCollector(w, b.Memory/2)
	from := rereadFrom(g.Newest)
	c.only = func(_ string, r *record) bool { return r.acceptedAt.IsZero() || !r.lastAccept().Before(from) }
	defer func() { err = joinClose(err, c.spool.Close()) }()
	if err := b.readSources(ctx, c, now); err != nil {
		return g, false, err
	}
	n := c.counts
	ungrouped := n.Ungrouped // of the whole history
	a := &incrementalFold{b: b, ctx: ctx, newest: g.Newest, out: b.newRowWriter(ctx)}
	if err := b.fold(ctx, c.spool.Sorted(), &n, a); err != nil {
		return g, false, err
	}
	if err := a.out.flush(); err != nil {
		return g, false, err
	}
	if err := b.refoldLate(ctx, a, w, &n); err != nil {
		return g, false, err
	}
	was := g
	g.Through, g.ReadAt, g.Finished = now, now, b.now()
	g.Newest = later(g.Newest, c.newest)
	g.Counts.Folded += n.Folded
	g.Counts.Ungrouped = max(g.Counts.Ungrouped, ungrouped)
	g.HistoryStart = b.historyStart(&was, now, g.Finished, n)
	g.Baselines = g.Baselines || n.Baselines > 0
	return g, a.created > 0 || b.Retention > 0 && a.out.written > 0, nil
}

// refold folds the groups in which events came late from their whole history.
func (b *builder) refoldLate(ctx context.Context, a *incrementalFold, w window, n *Counters) (err error) {
	if len(a.late) == 0 {
		return nil
	}
	if b.withoutPartitionKey() == nil {
		for _, group := range slices.Sorted(maps.Keys(a.late)) {
			g, err := b.replayGroup(ctx, a.late[group], group, w, n)
			if err != nil {
				return err
			}
			if g == nil { // all its events have expired
				continue
			}
			if err := a.out.add(g); err != nil {
				return err
			}
		}
		return a.out.flush()
	}
	c := b.newCollector(w, b.Memory)
	c.only = func(group string, _ *record) bool { _, late := a.late[group]; return late }
	defer func() { err = joinClose(err, c.spool.Close()) }()
	if err := b.readSources(ctx, c, w.now); err != nil {
		return err
	}
	n.add(c.counts)
	if err := b.fold(ctx, c.spool.Sorted(), n, fullFold{a.out.add}); err != nil {
		return err
	}
	return a.out.flush()
}
