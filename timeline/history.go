package timeline

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeline/internal/spool"
)

// window selects the events of a replay.
type window struct {
	until time.Time // accepted at or before; zero: all
	asOf  time.Time // happened at or before; zero: all
	since time.Time // happened at or after
	now   time.Time // events that expired at or before are ignored
}

// includes reports whether an event is in the window.
func (w window) includes(o *origin, r *record) bool {
	if at := o.effectiveTime(r); !w.asOf.IsZero() && at.After(w.asOf) || at.Before(w.since) {
		return false
	}
	return w.until.IsZero() || !o.hasAcceptTimes || !r.acceptedAt.After(w.until)
}

// effectiveTime returns when an event happened as far as known: no later than it was accepted, whatever clock dated
// it. The times of versions are in version order already.
func (o *origin) effectiveTime(r *record) time.Time {
	if o.kind == "versions" || r.acceptedAt.IsZero() {
		return r.at
	}
	return earlier(r.at, r.acceptedAt)
}

// recordSink receives what is read from a history.
type recordSink struct {
	event     func(*record) error               // called for each event
	partition func(last map[string]value) error // called after each partition, with the key of its last item; may be nil
	page      func(evaluated int)               // called for each page with the number of items read; may be nil
	duplicate func()                            // called for an event that was read before; may be nil
	dir       string                            // for temporary files; "" is the system's
}

// scan reads one of several segments of the source's table from start on, partition by partition.
func (o *origin) scan(ctx context.Context, segment, of int, start item.Item, now time.Time, to recordSink) error {
	in := &layout.Range{Table: o.core.Table, Strong: true, Filter: o.scanFilter(now), Start: start, Segment: segment, Segments: of}
	p := &partitions{o: o, to: to, events: o.assemble()}
	if start != nil {
		p.skip = p.idOf(start)
	}
	return p.readPages(ctx, in)
}

// split returns the parts in which a source is read: n segments of its table, or one for a feed.
func (o *origin) split(n int) []JobPart {
	if o.feed != nil {
		n = 1
	}
	parts := make([]JobPart, n)
	for i := range parts {
		parts[i] = JobPart{Source: o.id, Segment: i, Of: n}
	}
	return parts
}

// readPart reads a part of the source, from start on if that is not nil.
func (o *origin) readPart(ctx context.Context, p JobPart, start item.Item, now time.Time, to recordSink) error {
	if o.feed != nil {
		return o.readFeed(ctx, to)
	}
	return o.scan(ctx, p.Segment, p.Of, start, now, to)
}

// readPartition reads the events below the key fields that are set in key: a partition or a part of one, or the same of
// each partition that a series spreads its events over.
func (o *origin) readPartition(ctx context.Context, key reflect.Value, now time.Time, to recordSink) error {
	conds, err := query.Under(o.core, key, o.core.Schema.EventPartitions...)
	for i := 0; err == nil && i < len(conds); i++ {
		err = o.readUnder(ctx, conds[i], now, to)
	}
	return err
}

// readUnder reads the events of one partition that meet a key condition.
func (o *origin) readUnder(ctx context.Context, cond expr.Cond, now time.Time, to recordSink) error {
	p := &partitions{o: o, to: to, events: o.assemble()}
	return p.readPages(ctx, &layout.Range{Table: o.core.Table, Strong: true, Key: cond, Filter: o.queryFilter(now)})
}

// partitions splits the items of pages into partitions.
type partitions struct {
	o      *origin
	to     recordSink
	events assembler
	id     string
	skip   string // partition that was read before; what was written to it since is only a part of it
	last   item.Item
}

// readPages reads all pages of a range.
func (p *partitions) readPages(ctx context.Context, in *layout.Range) error {
	for {
		got, err := p.o.core.Runner.ReadPage(ctx, in)
		if err != nil {
			return err
		}
		if err := p.take(got); err != nil {
			return err
		}
		if in.Start = got.Last; len(in.Start) == 0 {
			return p.end()
		}
	}
}

func (p *partitions) idOf(it item.Item) string {
	pk := p.o.core.Schema.PK.Attribute()
	return layout.KeyID(item.Item{pk: it[pk]})
}

func (p *partitions) take(got layout.Page) error {
	if p.to.page != nil {
		p.to.page(got.Evaluated)
	}
	for _, it := range got.Items() {
		if err := p.push(it); err != nil {
			return err
		}
	}
	return nil
}

func (p *partitions) push(it item.Item) error {
	s := p.o.core.Schema
	id := p.idOf(it)
	if id == p.skip {
		return nil
	}
	if id != p.id {
		if err := p.end(); err != nil {
			return err
		}
		p.id = id
	}
	p.last = layout.KeyOf(s, it)
	return p.events.push(it, p.to.event)
}

func (p *partitions) end() error {
	if p.last == nil {
		return nil
	}
	if err := p.events.flush(p.to.event); err != nil || p.to.partition == nil {
		return err
	}
	return p.to.partition(p.last)
}

// readWhole reads the whole history of a source sequentially.
func (o *origin) readWhole(ctx context.Context, now time.Time, to recordSink) error {
	return o.readPart(ctx, o.split(1)[0], nil, now, to)
}

// feedMemory is the number of bytes of a feed that are held in memory to find duplicates.
const feedMemory = 16 << 20

// readFeed reads a feed. A feed may yield events twice, or two events with one identity, in any order, so they are
// sorted by identity first.
func (o *origin) readFeed(ctx context.Context, to recordSink) (err error) {
	s := spool.New(feedMemory, to.dir)
	defer func() { err = joinClose(err, s.Close()) }()
	for r, err := range o.feed(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		at, err := formatInstant(r.at)
		if err != nil {
			return o.eventError(r, History, err)
		}
		b, err := appendRecord(nil, r)
		if err != nil {
			return o.eventError(r, History, err)
		}
		if err := s.Add([]byte(at+separator+r.key), b); err != nil {
			return err
		}
	}
	var last spool.Entry
	for e, err := range s.Sorted() {
		if err != nil {
			return err
		}
		r, err := parseRecord(e.Value)
		if err != nil {
			return err
		}
		if bytes.Equal(e.Key, last.Key) {
			if !bytes.Equal(e.Value, last.Value) {
				return o.eventError(r, History, ErrDuplicate)
			}
			if to.duplicate != nil {
				to.duplicate()
			}
			continue
		}
		last = e
		if err := to.event(r); err != nil {
			return err
		}
	}
	return nil
}

// joinClose joins an error and one of closing.
func joinClose(err, closing error) error {
	if closing == nil {
		return err
	}
	return errors.Join(err, closing)
}

// historyFloor returns the time from which on no event has expired; zero if events do not expire. Items expire at
// whole seconds, so events of the current second may be gone already.
func historyFloor(all []*origin, now time.Time) time.Time {
	var latest time.Time
	for _, o := range all {
		if o.retention > 0 {
			if t := now.Add(-o.retention).Truncate(time.Second).Add(time.Second); t.After(latest) {
				latest = t
			}
		}
	}
	return latest
}

// historyFloor returns the time from which on no event of the sources has expired.
func (d *definition) historyFloor(now time.Time) time.Time { return historyFloor(d.all, now) }

// expiresSilently reports whether events of the source, or all states of an item, can expire without a trace. What is
// left then does not prove that there was nothing else, not even an empty history.
func (o *origin) expiresSilently() bool {
	switch {
	case o.core == nil:
		return false
	case o.kind != "versions" || o.core.Schema.Expires:
		return o.retention > 0 || o.core.Schema.Expires
	}
	m, moved := schema.Feature[softDeleter](o.core.Schema)
	return o.retention > 0 && (!moved || m.Kept() > 0) // the last state of an item remains, or its deleted copy, with its version
}

// softDeleter is the feature that makes copies of deleted items, and for how long.
type softDeleter interface {
	plan.SoftDeleter
	Kept() time.Duration
}

// provable reports whether a history that was read completely is everything that was accepted.
func provable(all []*origin) bool { return !slices.ContainsFunc(all, (*origin).expiresSilently) }

// eventsExpire reports whether events of the source disappear when they expire. The history of a versioned entity
// starts with a baseline instead.
func (o *origin) eventsExpire() bool {
	return o.kind == "series" && o.retention > 0 || o.kind == "items" && (o.retention > 0 || o.core.Schema.Expires)
}

// expiryStart returns the time from which the lifetime of an event counts; zero for events that do not expire.
func (o *origin) expiryStart(r *record) time.Time {
	switch {
	case !o.eventsExpire():
		return time.Time{}
	case o.kind == "series", !r.acceptedAt.IsZero() && r.acceptedAt.Before(r.at):
		return r.acceptedAt
	default:
		return r.at
	}
}

func (d *definition) eventsExpire() bool { return slices.ContainsFunc(d.all, (*origin).eventsExpire) }

// historyStart returns the time before which sources with expiring events are assumed to have had no event; zero if
// nothing is known. It takes a build that found no event in the older half of the retention, and later builds so close
// together that no event could arrive and expire between two of them. now is when a build started to read, and end
// when it had read everything.
func (d *definition) historyStart(before *generation, now, end time.Time, n Counters) time.Time {
	switch {
	case !d.eventsExpire():
		return time.Time{}
	case n.Oldest.IsZero():
		return now.Add(-overlap) // events in flight may be as old
	case before != nil && before.Fingerprint == d.fingerprint && d.continues(before, end):
		return earlier(before.HistoryStart, n.Oldest)
	case !d.expiryUnknown() && n.Oldest.Sub(d.historyFloor(end)) >= end.Sub(n.Oldest):
		return n.Oldest // half of the retention had no event: assume that the history starts here
	}
	return time.Time{}
}

// continues reports that no event can have expired by now that g, or a generation before it, did not contain.
func (d *definition) continues(g *generation, now time.Time) bool {
	return !g.HistoryStart.IsZero() && !d.expiryUnknown() && !d.historyFloor(now).After(g.ReadAt.Add(-overlap))
}

// expiryUnknown reports whether a source has expiring events with an unknown lifetime.
func (d *definition) expiryUnknown() bool {
	return slices.ContainsFunc(d.all, func(o *origin) bool { return o.eventsExpire() && o.retention == 0 })
}

// gapFree reports that, as far as builds have seen, the rows of a generation do not lack events that had expired when
// they were built.
func (d *definition) gapFree(g *generation) bool {
	return !d.eventsExpire() || !g.HistoryStart.IsZero() && !d.expiryUnknown() && !g.HistoryStart.Before(d.historyFloor(g.Finished))
}

// noGapSeen reports that the builds of the view have seen no event that can have expired before a replay. It reads the
// manifest if events expire.
func (v *view) noGapSeen(ctx context.Context, now time.Time) (bool, error) {
	if !v.eventsExpire() {
		return true, nil
	}
	m, err := v.manifest(ctx)
	if err != nil || m.Active == nil || m.Active.Fingerprint != v.fingerprint {
		return false, err
	}
	end := now.Add(overlap) // until the replay has read everything
	return v.continues(m.Active, end) && !m.Active.HistoryStart.Before(v.historyFloor(end)), nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
