package timeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxRefolds limits the groups that one catch-up folds from their whole history.
const maxRefolds = 100_000

// CatchUp applies the events that were accepted since the rows were built or last caught up. An event that is newer
// than the last one of its group is applied to the row. A group with a late event is folded from its whole history: by
// a query of its partition if the source has [PartitionKey], otherwise by a second scan for all such groups. The
// result is the meta of the rows.
//
// Accept times come from the clocks of the writers, which may differ by minutes, and a write may be in flight for
// eight minutes. So CatchUp looks for events from 15 minutes before the newest known one. An append of
// entity.DB.TransactWithToken whose Token.At is older than that waits for the next rebuild.
//
// It reads the history of every source once, with the read units of a scan, and writes each changed row once. Errors:
// *[StaleError] if there are no rows of this definition; [ErrNoAcceptTime]; *[BuildingError]; [ErrLeaseLost];
// *[EventError]; *[LimitError].
func (v *View[K, S]) CatchUp(ctx context.Context, opts ...BuildOption) (Meta, error) {
	return v.opened().catchUp(ctx, opts)
}

func (v *view) catchUp(ctx context.Context, opts []BuildOption) (meta Meta, err error) {
	err = v.core.Measure(ctx, "Timeline.CatchUp", v.Name, func(ctx context.Context) error {
		o, err := collectBuildOptions(opts)
		if err != nil {
			return err
		}
		if o.exports != nil {
			return badOption("Export is for Rebuild")
		}
		if err := v.acceptTimes(); err != nil {
			return err
		}
		b := &builder{view: v, buildOptions: o}
		relist := false
		b.tenure, err = v.acquire(ctx, func(m *manifest) error {
			if m.Active == nil || m.Active.Fingerprint != v.fingerprint {
				stale := &StaleError{View: v.Name, Want: v.fingerprint}
				if m.Active != nil {
					stale.Have = m.Active.Fingerprint
				}
				return stale
			}
			g := *m.Active
			relist, g.Unlisted = g.Unlisted || m.Applied, true // until this catch-up has finished
			m.Active = &g
			return nil
		})
		if err != nil {
			return err
		}
		b.started = *b.m.Active
		b.id, b.fence, b.marks = b.started.ID, b.m.Fence, b.m.Applied
		if err := b.runUnderLease(ctx, func(ctx context.Context) error { return b.updateServed(ctx, relist) }, func(*manifest, error) {}); err != nil {
			return err
		}
		meta = v.meta(&b.m, b.m.Active)
		return nil
	})
	return meta, err
}

// acceptTimes returns an error unless every source records accept times.
func (d *definition) acceptTimes() error {
	for _, x := range d.all {
		if !x.hasAcceptTimes {
			return fmt.Errorf("timeline %s: %w: %s", d.Name, ErrNoAcceptTime, x.id)
		}
	}
	return nil
}

// updateServed brings the served rows up to now. relist reports that there may be rows that the directory does not list.
func (b *builder) updateServed(ctx context.Context, relist bool) (err error) {
	if err := b.sweep(ctx, b.tenure); err != nil {
		return err
	}
	now := later(b.now(), b.started.Through) // rows may come from a clock that is ahead of this one
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
		g.Since = m.Active.leftSince(g.Since)
		m.Active, m.Failure = &g, nil
		m.Term = m.Released()
	})
}

// errApplied ends a pass over rows that Apply has begun to change.
var errApplied = errors.New("timeline: Apply has begun to change the rows")

// applyNewEvents applies the events accepted since a generation was made, up to now, and those that may have been in
// flight then. In a view that Apply changes it has no end, because Apply has none. It returns the updated generation, and
// whether its rows have to be listed again because there are new ones or some live longer.
func (b *builder) applyNewEvents(ctx context.Context, g generation, now time.Time) (_ generation, moved bool, err error) {
	if !b.marks {
		made, moved, err := b.applyEvents(ctx, g, window{until: now, now: now})
		if !errors.Is(err, errApplied) {
			return made, moved, err
		}
		if err := b.save(ctx, func(*manifest) {}); err != nil { // reads that Apply has been called
			return g, false, err
		}
		b.marks = true
	}
	return b.applyEvents(ctx, g, window{now: now})
}

// applyEvents is applyNewEvents, for events in w.
func (b *builder) applyEvents(ctx context.Context, g generation, w window) (_ generation, moved bool, err error) {
	c, now := b.newCollector(w, b.Memory/2), w.now
	c.by = now
	from := g.rereadFrom()
	c.only = func(_ string, r *record) bool { return r.acceptedAt.IsZero() || !r.lastAccept().Before(from) }
	defer func() { err = joinClose(err, c.spool.Close()) }()
	if err := b.readSources(ctx, c, now, nil); err != nil {
		return g, false, err
	}
	n := c.counts
	ungrouped := n.Ungrouped // of the whole history
	a := &incrementalFold{from: minuteOf(from), b: b, out: &rowWriter{b: b, ctx: ctx}}
	load := func(groups []string) error { return a.load(ctx, groups) }
	if err := b.fold(ctx, groupsAhead(c.spool.Sorted(), load), &n, a); err != nil {
		return g, false, err
	}
	if err := a.out.flush(); err != nil {
		return g, false, err
	}
	for {
		if err := a.markRefused(); err != nil {
			return g, false, err
		}
		if len(a.late) == 0 {
			break
		}
		if err := b.refoldLate(ctx, a, w, &n); err != nil {
			return g, false, err
		}
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

// refoldLate folds the groups with late events from their whole history. It reads the versions of their rows before, so that
// a row contains nothing that the history which is read after does not.
func (b *builder) refoldLate(ctx context.Context, a *incrementalFold, w window, n *Counters) (err error) {
	late := a.late
	a.late = nil
	groups := slices.Sorted(maps.Keys(late))
	stored := map[string]*storedVersion{}
	add := func(g *groupState) error {
		g.stored = stored[g.group]
		return a.out.add(g)
	}
	if b.withoutPartitionKey() == nil {
		for some := range slices.Chunk(groups, aheadGroups) {
			if err := a.loadVersions(ctx, some, w, stored); err != nil {
				return err
			}
			for _, group := range some {
				g, err := b.replayGroup(ctx, late[group], group, w, 0, nil, n)
				if err != nil {
					return err
				}
				if g == nil { // all its events have expired
					continue
				}
				if err := add(g); err != nil {
					return err
				}
			}
			clear(stored)
		}
		return a.out.flush()
	}
	for some := range slices.Chunk(groups, aheadGroups) {
		if err := a.loadVersions(ctx, some, w, stored); err != nil {
			return err
		}
	}
	c := b.newCollector(w, b.Memory)
	c.only = func(group string, _ *record) bool { _, late := late[group]; return late }
	defer func() { err = joinClose(err, c.spool.Close()) }()
	if err := b.readSources(ctx, c, w.now, nil); err != nil {
		return err
	}
	n.add(c.counts)
	if err := b.fold(ctx, c.spool.Sorted(), n, fullFold{give: add}); err != nil {
		return err
	}
	return a.out.flush()
}

// incrementalFold applies new events to stored rows. It notes the groups whose rows lack earlier events, or contain
// them as they were before a touch.
type incrementalFold struct {
	b      *builder
	from   int64                  // minute from which on events are read again
	stored map[string]*groupState // rows of the next groups

	row       *groupState // stored row of the current group
	exists    bool
	reread    tally // events that are not after the row's last one
	settled   bool  // the row contains the reread events
	isLate    bool  // the group has to be folded from its whole history
	newEvents int   // applied to the current group

	late    map[string]any // groups with late events, and their keys
	out     *rowWriter
	created int // groups without a row before
}

// load reads the rows of the next groups.
func (a *incrementalFold) load(ctx context.Context, groups []string) error {
	rows, err := a.b.rows.getAll(ctx, a.b.id, groups)
	if err != nil {
		return err
	}
	a.stored = map[string]*groupState{}
	for i, group := range groups {
		if rows[i] != nil && !a.b.expired(rows[i].touched, window{now: a.b.now()}) {
			a.stored[group] = rows[i]
		}
	}
	return nil
}

// loadVersions reads the versions of the rows of groups, for their next writes.
func (a *incrementalFold) loadVersions(ctx context.Context, groups []string, w window, versions map[string]*storedVersion) error {
	rows, err := a.b.rows.getAll(ctx, a.b.id, groups)
	if err != nil {
		return err
	}
	for i, group := range groups {
		if versions[group] = (&storedVersion{}); rows[i] != nil {
			versions[group] = rows[i].stored
		}
		switch {
		case versions[group].fence > a.b.fence:
			return ErrLeaseLost
		case !w.until.IsZero() && rows[i] != nil && rows[i].newest.After(w.until): // no builder applied that
			return errApplied
		}
	}
	return nil
}

// markRefused notes the groups whose rows were changed after they had been read.
func (a *incrementalFold) markRefused() error {
	refused := a.out.refused
	a.out.refused = nil
	for _, g := range refused {
		if err := a.markLate(g, g.key); err != nil {
			return err
		}
	}
	return nil
}

func (a *incrementalFold) begin(group string) (*groupState, error) {
	row, exists := a.stored[group]
	a.row, a.exists, a.reread, a.settled, a.isLate, a.newEvents = row, exists, tally{}, false, false, 0
	if !a.exists {
		return &groupState{group: group, stored: &storedVersion{}}, nil
	}
	return row.clone(), nil
}

func (a *incrementalFold) admit(g *groupState, r *record, position string) (bool, error) {
	switch {
	case a.isLate:
		return false, nil
	case !a.exists && a.b.Retention > 0: // its row may have expired
		x, err := a.b.all[r.origin].decodeEvent(r)
		if err != nil {
			return false, a.b.withView(err)
		}
		return false, a.markLate(g, a.b.byEvent[x.Name].key(x))
	case a.exists && (a.b.Descending || position <= g.position): // the row should contain it
		a.reread[minuteOf(r.lastAccept())] += r.fingerprint(position)
		return false, nil
	case a.exists: // a group without a row has no earlier events
		if err := a.settle(g); err != nil || a.isLate {
			return false, err
		}
	}
	a.newEvents++
	return true, nil
}

// settle compares the reread events with those in the row.
func (a *incrementalFold) settle(g *groupState) error {
	if a.settled || a.row.containsExactly(a.reread, a.from) {
		a.settled = true
		return nil
	}
	return a.markLate(g, a.row.key)
}

// markLate notes that the group has to be folded from its whole history.
func (a *incrementalFold) markLate(g *groupState, k any) error {
	a.isLate = true
	if a.late == nil {
		a.late = map[string]any{}
	}
	if len(a.late) == maxRefolds {
		return &LimitError{View: a.b.Name, What: "groups to fold from their whole history; rebuild instead", Limit: maxRefolds}
	}
	a.late[g.group] = k
	return nil
}

func (a *incrementalFold) done(g *groupState) error {
	if a.exists && !a.isLate {
		if err := a.settle(g); err != nil {
			return err
		}
	}
	if !a.exists && (a.isLate || a.newEvents > 0) {
		a.created++
	}
	if a.isLate || a.newEvents == 0 {
		return nil
	}
	return a.out.add(g)
}
