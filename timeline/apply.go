package timeline

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/streamed"
)

// ApplyResult counts what [View.Apply] did with its changes.
type ApplyResult struct {
	Applied    int // events that were added to rows
	Duplicates int // events that the rows contained, by their marks or because they were given twice
	Refolded   int // events whose groups were folded from their whole history
	Groups     int // groups that were folded from their whole history
	Noted      int // events that wait for the next CatchUp, or Rebuild; removed ones wait for Rebuild
	Skipped    int // changes that are no events of the view
}

// Apply adds the events of changes to the stored rows: those that package stream reads from the streams of the sources'
// tables. It is for a stream handler, and needs no lease. The changes may be of any sources, in any order, and may be given
// again: each event counts once. Of the events of a group those whose changes come before the first that fails are applied, and those after it wait,
// as what comes after it of an item of [Versions]. An event that needs the history of its group fails if an event of that fails which is not given.
//
// An event after the last one of its group is applied to the row. A row knows the last 64 events applied to it, so one of
// these is recognized when it comes again. For any other event, one that is late or a duplicate from long ago, the group
// is folded from its whole history, by a query of its partition, once for each call. Without [PartitionKey] the event is
// left to the next [View.CatchUp], which finds it by its accept time; that of an event from more than 15 minutes ago is
// noted. If there are no rows of this definition, events wait for [View.Rebuild], which reads them anyway.
//
// Of an event that was removed from its [Series] (stream.EventRemoved) the group is folded from its history in the same way, and a row
// without events is deleted. The change fails with a *[BuildingError] while a builder is at work or has left a build unfinished, which
// may have read the event. Without [PartitionKey] it is noted, and waits for a Rebuild; without the old image it is skipped. An event
// that has expired stays.
//
// Changes of other items are skipped. From [Series] and [Items] an item that is new is an event. Of [Versions] each change
// makes Apply read the states of its item. A [Feed] has no changes.
//
// Pages by number show a new group after the next CatchUp, and Meta.Through stays as the last build or catch-up left it. A
// build that runs meanwhile reads the history a second time before it replaces the rows, and misses nothing.
//
// It costs a read of the manifest, a batch get for a hundred groups, and a conditional write for each group that changes,
// whatever the length of the history; also a query for a group with a late event or an unknown duplicate, and one for each
// item of Versions. Rows have up to 512 bytes more. Errors: *[ApplyError] for changes that were not applied, with the
// causes, such as *[EventError]; [ErrNoAcceptTime]; *entity.InputError for a definition that cannot be applied to, or a
// change that was not read by package stream.
func (v *View[K, S]) Apply(ctx context.Context, changes ...Change) (ApplyResult, error) {
	return v.opened().apply(ctx, changes)
}

func (v *view) apply(ctx context.Context, changes []Change) (done ApplyResult, err error) {
	err = v.core.Measure(ctx, "Timeline.Apply", v.Name, func(ctx context.Context) error {
		if err := v.applicable(); err != nil {
			return err
		}
		p := &application{view: v, changes: changes, now: v.now(), failed: map[int]bool{}, bad: map[recordID]bool{}}
		if err := p.recognize(ctx); err != nil {
			return err
		}
		if len(p.groups) > 0 {
			p.applyAll(ctx)
		}
		done = p.done
		return p.err()
	})
	return done, err
}

// applicable returns an error if rows of the view cannot be changed event by event.
func (d *definition) applicable() error {
	problem := ""
	switch o := d.withoutPartitionKey(); {
	case d.Descending:
		problem = "it folds the newest events first, so each new event needs the whole history; leave Descending out, or use CatchUp"
	case d.Retention > 0 && o != nil:
		problem = "its rows expire, and whether a group without a row had events can be read by a PartitionKey only, which the source " + o.id +
			" lacks; give it timeline.PartitionKey, keep its history and the rows for ever (no ttl, Retention 0), or use CatchUp"
	default:
		return d.acceptTimes()
	}
	return &entitytype.InputError{Code: bind.CodeApplyView, Type: "timeline.Projection " + d.Name, Problem: problem}
}

// application is one call of Apply.
type application struct {
	*view
	changes []Change
	now     time.Time
	groups  []*delivery // in group order
	done    ApplyResult
	failed  map[int]bool // indexes of changes that were not applied
	bad     map[recordID]bool
	errs    []error

	mu     sync.Mutex
	served *manifest // as last read
	readAt time.Time // before it was read
}

// manifestLife is how long after the manifest was read a row of a generation that it names is written. Such a generation is
// removed sweepGrace later at the earliest, and DynamoDB refuses a request that is on its way for the five minutes between
// them, because its signature is too old.
const manifestLife = sweepGrace - 5*time.Minute

// serves reports whether a generation is still served or about to be. It reads the manifest again if that is due.
func (p *application) serves(ctx context.Context, g *generation) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.view.now()
	if age := now.Sub(p.readAt); age < 0 || age > manifestLife {
		m, err := p.manifest(ctx, entity.Consistent())
		if err != nil {
			return false, err
		}
		p.served, p.readAt = m, now
	}
	is := func(x *generation) bool { return x != nil && x.ID == g.ID }
	return is(p.served.Active) || is(p.served.Building), nil
}

// fail notes that changes were not applied.
func (p *application) fail(err error, changes ...int) {
	p.errs = append(p.errs, err)
	for _, i := range changes {
		p.failed[i] = true
	}
}

// failAll notes that no event was applied.
func (p *application) failAll(err error) {
	var all []int
	for _, g := range p.groups {
		all = append(all, g.changes()...)
	}
	p.fail(err, all...)
}

func (p *application) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	e := &ApplyError{View: p.Name, Err: errors.Join(p.errs...)}
	for i, c := range p.changes {
		if p.failed[i] {
			if len(e.NotApplied) == 0 {
				e.Sequence = streamed.Of(c).Sequence
			}
			e.NotApplied = append(e.NotApplied, i)
		}
	}
	return e
}

// applyAll applies the events to the rows that are served, and to those that are about to be.
func (p *application) applyAll(ctx context.Context) {
	targets, err := p.announce(ctx)
	if err != nil {
		p.failAll(err)
		return
	}
	if p.withoutPartitionKey() == nil && (p.served.Building != nil || p.served.Token != "") {
		p.holdBack(&BuildingError{View: p.Name, Owner: p.served.Holder, Until: p.served.Until, Progress: p.served.Building.progress()})
	}
	if len(targets) == 0 {
		for _, g := range p.groups {
			p.done.Noted += len(g.events)
		}
	}
	for i, target := range targets {
		counts := p.applyTo(ctx, target)
		if i == 0 {
			p.done.add(counts)
		}
	}
}

// holdBack fails the removals of events: a builder, which may be at work, can have read them.
func (p *application) holdBack(err error) {
	removed := func(e arrival) bool { return e.removed }
	for _, g := range p.groups {
		for _, e := range g.events {
			if e.removed {
				p.fail(err, e.changes...)
			}
		}
		g.events = slices.DeleteFunc(g.events, removed)
	}
	p.groups = slices.DeleteFunc(p.groups, func(g *delivery) bool { return len(g.events) == 0 })
}

func (r *ApplyResult) add(o ApplyResult) {
	r.Applied += o.Applied
	r.Duplicates += o.Duplicates
	r.Refolded += o.Refolded
	r.Groups += o.Groups
	r.Noted += o.Noted
}

// announce makes sure that builders know that rows change without a lease, and returns the generations to change. A builder
// that is writing the rows of a new generation for the first time finds the events in the history afterwards, because they
// were there before; see builder.closeGap.
func (p *application) announce(ctx context.Context) ([]*generation, error) {
	var targets []*generation
	var err error
	p.readAt = p.view.now()
	p.served, err = p.changeManifest(ctx, func(m *manifest) bool {
		targets = nil
		changed := !m.Applied
		m.Applied = true
		for _, g := range []**generation{&m.Active, &m.Building} {
			switch {
			case *g == nil:
			case (*g).Fingerprint == p.fingerprint && (g == &m.Active || (*g).Closing):
				targets = append(targets, *g)
			default:
				next := **g
				if next.leave(p.oldest(*g), p.now, m.rereads(*g)) {
					*g, changed = &next, true
				}
			}
		}
		return changed
	})
	return targets, err
}

// oldest returns the earliest accept time of the events that a builder of g may not have seen.
func (p *application) oldest(g *generation) (t time.Time) {
	for _, group := range p.groups {
		for _, e := range group.events {
			if e.writtenAt.IsZero() || !e.writtenAt.Before(g.Started.Add(-overlap)) {
				t = earliest(t, e.record.lastAccept())
			}
		}
	}
	return t
}

// earliest returns the earlier of two times, of which a zero one does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// leave notes that the next catch-up has to find an event that was accepted at t. It reports whether g changed: usually the
// catch-up reads so far back anyway. One that is at work may know events up to now. If it may have read the history of g
// already, reread is set: then the note must not be what it has read, or it would take it away; see leftSince.
func (g *generation) leave(t, now time.Time, reread bool) bool {
	known := later(g.Newest, g.Through)
	if !g.Finished.IsZero() {
		known = later(known, now)
	}
	switch {
	case t.IsZero() || !t.Before(rereadFrom(known)):
		return false
	case g.Since.IsZero() || t.Before(g.Since):
		g.Since = t
	case reread:
		g.Since = g.Since.Add(-time.Nanosecond)
	default:
		return false
	}
	return true
}

// changeManifest applies change to the manifest, of a view that may never have been built, until no other write comes
// between. change reports whether there is something to write.
func (v *view) changeManifest(ctx context.Context, change func(*manifest) bool) (*manifest, error) {
	for {
		m, err := v.manifest(ctx, entity.Consistent())
		if err != nil {
			return nil, err
		}
		if !change(m) {
			return m, nil
		}
		m.View, m.Format = v.Name, m.format()
		m.Writes++
		if _, err = v.putManifest(ctx, *m); !errors.Is(err, entity.ErrConditionFailed) {
			return m, err
		}
	}
}

// applyTo applies the events to the rows of one generation.
func (p *application) applyTo(ctx context.Context, to *generation) (all ApplyResult) {
	names := make([]string, len(p.groups))
	for i, g := range p.groups {
		names[i] = g.group
	}
	stored, err := p.rows.getAll(ctx, to.ID, names)
	if err != nil {
		p.failAll(err)
		return all
	}
	counts, left, errs, failed := make([]ApplyResult, len(names)), make([]time.Time, len(names)), make([]error, len(names)), make([][]int, len(names))
	engine.Parallel(len(names), rowWriters, func(i int) {
		counts[i], left[i], failed[i], errs[i] = p.applyInOrder(ctx, to, p.groups[i], stored[i])
	})
	var oldest time.Time
	for i := range p.groups {
		if errs[i] != nil {
			p.fail(errs[i], failed[i]...)
		}
		all.add(counts[i])
		oldest = earliest(oldest, left[i])
	}
	if err := p.leave(ctx, to, oldest); err != nil {
		for i, g := range p.groups {
			if !left[i].IsZero() {
				p.fail(err, g.changes()...)
			}
		}
	}
	return all
}

// leave notes in the manifest that the next catch-up of a generation has to find an event that was accepted at t.
func (p *application) leave(ctx context.Context, of *generation, t time.Time) error {
	if known := *of; !known.leave(t, p.now, true) {
		return nil
	}
	_, err := p.changeManifest(ctx, func(m *manifest) bool {
		for _, g := range []**generation{&m.Active, &m.Building} {
			if *g != nil && (*g).ID == of.ID {
				next, reread := **g, m.rereads(*g)
				*g = &next
				return next.leave(t, p.now, reread)
			}
		}
		return false // its rows are not served any more
	})
	return err
}

// applyInOrder applies the events of one group, up to the first that fails, by the order of the changes. failed are the changes of that and of the
// events after it.
func (p *application) applyInOrder(ctx context.Context, to *generation, d *delivery, row *groupState) (n ApplyResult, left time.Time, failed []int, err error) {
	if n, left, err = p.applyGroup(ctx, to, d, row); err == nil {
		return n, left, nil, nil
	}
	first, rest := d.halves()
	if len(first.events) == 0 || !errors.As(err, new(*EventError)) {
		return ApplyResult{}, time.Time{}, d.changes(), err
	}
	n, left = ApplyResult{}, time.Time{}
	for _, part := range []*delivery{first, rest} {
		rows, err := p.rows.getAll(ctx, to.ID, []string{d.group}) // the state in row was changed
		failed := part.changes()
		if err == nil {
			var more ApplyResult
			var late time.Time
			more, late, failed, err = p.applyInOrder(ctx, to, part, rows[0])
			n.add(more)
			left = earliest(left, late)
		}
		if err != nil && part == first {
			failed = append(failed, rest.changes()...)
		}
		if err != nil {
			return n, left, failed, err
		}
	}
	return n, left, nil, nil
}

// maxRewrites limits the writes of a row that others change at the same time.
const maxRewrites = 50

// applyGroup applies the events of one group to its row. left is the earliest accept time of events that it cannot apply.
func (p *application) applyGroup(ctx context.Context, to *generation, d *delivery, row *groupState) (n ApplyResult, left time.Time, err error) {
	for range maxRewrites {
		var g *groupState
		if g, n, left, err = p.folded(ctx, to, d, row); err != nil || g == nil {
			return n, left, err
		}
		write := p.rows.put
		if g.events == 0 {
			write = p.rows.drop
		} else if err := p.states.checkRoundTrip(reflect.ValueOf(g.state).Elem()); err != nil {
			return n, left, g.storeError(err)
		}
		// The rows that replaced those of a removed generation have the events, which were stored before their build ended.
		if serves, err := p.serves(ctx, to); err != nil || !serves {
			return ApplyResult{Duplicates: len(d.events)}, time.Time{}, err
		}
		err = retryUnknown(ctx, func() error { return write(ctx, to.ID, g.stored.fence, g) })
		switch {
		case isRejected(err):
			return n, left, g.storeError(err)
		case !errors.Is(err, entity.ErrConditionFailed):
			return n, left, err
		}
		rows, err := p.rows.getAll(ctx, to.ID, []string{d.group})
		if err != nil {
			return n, left, err
		}
		row = rows[0]
	}
	return n, left, err
}

// folded returns the row with the events, nil if it need not be written, and without events if it has to go.
func (p *application) folded(ctx context.Context, to *generation, d *delivery, row *groupState) (g *groupState, n ApplyResult, left time.Time, err error) {
	stored, exists := &storedVersion{}, row != nil && !p.expired(row.touched, window{now: p.now})
	if row != nil {
		stored = row.stored
	}
	var fresh []arrival
	late, removed := 0, 0
	for _, e := range d.events {
		switch {
		case e.removed:
			removed++
		case !exists && p.Retention > 0: // its row may have expired
			late++
		case !exists || e.position > row.position:
			fresh = append(fresh, e)
		case row.recent.has(e.record.fingerprint(e.position)):
			n.Duplicates++
		default:
			late++
			left = earliest(left, e.record.lastAccept())
		}
	}
	rereads := minuteOf(to.rereadFrom())
	if late+removed > 0 && p.withoutPartitionKey() == nil {
		n = ApplyResult{Refolded: len(d.events), Groups: 1}
		without := func(r *record) bool { return p.bad[r.id()] || d.later[r.id()] }
		g, err = p.replayGroup(ctx, d.key, d.group, window{now: p.now}, rereads, without, &Counters{})
		if err == nil && g == nil && row != nil && removed > 0 {
			g = &groupState{group: d.group}
		}
		if err != nil || g == nil || exists && len(row.recent) > 0 && p.same(g, row) {
			return nil, n, time.Time{}, err
		}
		g.stored, g.marks = stored, true
		return g, n, time.Time{}, nil
	}
	n.Noted = late + removed
	if len(fresh) == 0 {
		return nil, n, left, nil
	}
	g = &groupState{group: d.group}
	if exists {
		g = row.clone()
	}
	g.stored, g.marks, g.rereads = stored, true, rereads
	for _, e := range fresh {
		if err := p.definition.apply(g, e.record, e.position); err != nil {
			return nil, n, left, err
		}
		p.blame(g, e.record)
		n.Applied++
	}
	return g, n, left, nil
}

// same reports whether two states of a group are stored as the same row.
func (p *application) same(a, b *groupState) bool {
	if a.events != b.events || a.position != b.position || !a.first.Equal(b.first) || !a.last.Equal(b.last) || !a.touched.Equal(b.touched) {
		return false
	}
	x, err := p.states.bytes(reflect.ValueOf(a.state).Elem())
	if err != nil {
		return false
	}
	y, err := p.states.bytes(reflect.ValueOf(b.state).Elem())
	return err == nil && bytes.Equal(x, y)
}

// halves splits the events by the order of their changes. first is empty if one change brought all.
func (d *delivery) halves() (first, rest *delivery) {
	var order []int
	for _, e := range d.events {
		order = append(order, e.changes[0])
	}
	slices.Sort(order)
	middle := order[len(order)/2]
	first, rest = &delivery{group: d.group, key: d.key, later: maps.Clone(d.later)}, &delivery{group: d.group, key: d.key, later: d.later}
	for _, e := range d.events {
		if e.changes[0] < middle {
			first.events = append(first.events, e)
			continue
		}
		rest.events = append(rest.events, e)
		first.later[e.record.id()] = true
	}
	return first, rest
}

// changes returns the indexes of the changes that brought the events.
func (d *delivery) changes() (all []int) {
	for _, e := range d.events {
		all = append(all, e.changes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
