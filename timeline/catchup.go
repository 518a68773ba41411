package timeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// mostRefolds bounds how many groups one catch-up folds anew from their whole history.
const mostRefolds = 100_000

// CatchUp brings the rows up to the events that were accepted since they were built, or last brought up. An event that is
// newer than its group's last one is applied to the row; a group with one that came late is folded anew from its history:
// by a query of its partition where the source has [Within], else by a second scan for all such groups.
//
// What was accepted is known by the clocks of the writers, which may differ by minutes, and a write may be on its way for
// eight: events are looked for from 15 minutes before the newest one that is known. An append of entity.DB.TransactOnce whose
// Token.At is older than that waits for the next rebuild.
//
// It reads the history of every source once. Errors: *[StaleError] when there are no rows of this definition;
// [ErrNoAcceptTime]; *[BuildingError]; [ErrLeaseLost]; *[EventError].
func (v *View[K, S]) CatchUp(ctx context.Context, opts ...BuildOption) (meta Meta, err error) {
	v = v.opened()
	err = v.core.Measure(ctx, "Timeline.CatchUp", v.Name, func(ctx context.Context) error {
		o, err := collectBuild(opts)
		if err != nil {
			return err
		}
		for _, x := range v.all {
			if !x.accepted {
				return fmt.Errorf("timeline %s: %w: %s", v.Name, ErrNoAcceptTime, x.id)
			}
		}
		b := &builder[K, S]{View: v, buildOptions: o}
		relist := false
		b.hold, err = acquire(ctx, b.manifests, b.Name, b.core.Runner.NewID(), b.core.Runner.Clock, func(m *manifest) error {
			if m.Active == nil || m.Active.Print != v.print {
				stale := &StaleError{View: v.Name, Want: v.print}
				if m.Active != nil {
					stale.Have = m.Active.Print
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
		b.begun = *b.m.Active
		b.id, b.fence = b.begun.ID, b.m.Fence
		if err := b.alive(ctx, func(ctx context.Context) error { return b.catchUp(ctx, relist) }); err != nil {
			return b.failed(ctx, err)
		}
		meta = v.meta(&b.m, b.m.Active)
		return nil
	})
	return meta, err
}

// catchUp reads what was accepted since, and what may have been on its way then. relist says that an earlier catch-up did
// not come to its end.
func (b *builder[K, S]) catchUp(ctx context.Context, relist bool) (err error) {
	if err := b.sweep(ctx, b.hold); err != nil {
		return err
	}
	was, now := b.begun, b.now()
	if now.Before(was.Through) { // by the clock of an earlier builder, whose rows hold what that saw
		now = was.Through
	}
	w := window{until: now, now: now}
	c := b.collect(w, b.Memory/2)
	c.only = func(_ string, r *record) bool { return r.seen.IsZero() || r.seen.After(was.Newest.Add(-overlap)) }
	defer func() { err = joined(err, c.spool.Close()) }()
	if err := b.readAll(ctx, c, now); err != nil {
		return err
	}
	n := c.counts
	ungrouped := n.Ungrouped // of the whole history
	a := &advance[K, S]{b: b, ctx: ctx, since: later(was.Newest, c.newest).Add(-overlap)}
	if err := b.fold(ctx, c.spool.Sorted(), &n, a); err != nil {
		return err
	}
	if err := a.flush(); err != nil {
		return err
	}
	if err := b.refold(ctx, a, w, &n); err != nil {
		return err
	}
	rows := b.begun.Rows
	if a.created > 0 || relist {
		if rows, err = b.listPages(ctx, b.id); err != nil {
			return err
		}
	}
	return b.save(ctx, func(m *manifest) {
		g := *m.Active
		g.Through, g.Now, g.Rows, g.Finished = now, now, rows, b.now()
		g.Newest = later(g.Newest, c.newest)
		g.Counts.Folded += n.Folded
		g.Counts.Ungrouped = max(g.Counts.Ungrouped, ungrouped)
		g.Begins = b.begins(&b.begun, now, g.Finished, n)
		g.Unlisted = false
		g.Baselines = g.Baselines || n.Baselines > 0
		m.Active, m.Owner, m.Failure = &g, "", nil
	})
}

// refold folds groups anew in which events came late.
func (b *builder[K, S]) refold(ctx context.Context, a *advance[K, S], w window, n *Counters) (err error) {
	if len(a.late) == 0 {
		return nil
	}
	if !slices.ContainsFunc(b.all, func(o *origin) bool { return o.within == nil }) {
		for _, group := range slices.Sorted(maps.Keys(a.late)) {
			g, err := b.replayGroup(ctx, a.late[group], group, w, n, a.since)
			if err != nil {
				return err
			}
			if err := a.put(g); err != nil {
				return err
			}
		}
		return a.flush()
	}
	c := b.collect(w, b.Memory)
	c.only = func(group string, _ *record) bool { _, late := a.late[group]; return late }
	defer func() { err = joined(err, c.spool.Close()) }()
	if err := b.readAll(ctx, c, w.now); err != nil {
		return err
	}
	n.add(c.counts)
	if err := b.fold(ctx, c.spool.Sorted(), n, whole[K, S]{a.since, a.put}); err != nil {
		return err
	}
	return a.flush()
}
