package timeline

import (
	"bytes"
	"context"
	"iter"
	"reflect"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/timeline/internal/spool"
)

// tally is a digest of the recently accepted events of a group: for each minute, in seconds since 1970, the sum of the
// fingerprints of the events that were accepted or touched in it. Equal sums of a minute mean the same events. With
// it, a catch-up recognizes events that a row already contains.
type tally map[int64]uint64

// noAcceptTime is the minute of events without an accept time. A catch-up reads all of them.
var noAcceptTime = minuteOf(time.Time{})

func minuteOf(t time.Time) int64 { return t.Truncate(time.Minute).Unix() }

// rereadFrom returns the time from which on a catch-up reads events again, if the last known event was accepted at
// newest. It is a whole minute, as tallies count.
func rereadFrom(newest time.Time) time.Time { return newest.Add(-overlap).Truncate(time.Minute) }

// since returns the part of t that a catch-up reads again.
func (t tally) since(newest time.Time) tally {
	from, part := minuteOf(rereadFrom(newest)), tally{}
	for minute, sum := range t {
		if minute >= from || minute == noAcceptTime {
			part[minute] = sum
		}
	}
	return part
}

// groupState is a group and its state after the events applied so far.
type groupState struct {
	group       string
	key         any
	state       any // a pointer
	events      int64
	first, last time.Time   // of its events
	touched     time.Time   // latest time at which an event had happened and was accepted; the row's retention counts from it
	position    string      // of the last applied event
	cause       *EventError // the error to report if the row cannot be stored: names the group and its last event
	newest      time.Time   // latest accept time of its events
	tally       tally       // of the events that a catch-up may read again
	from        int64       // minute of tally with the sum of several, 0: none; see keptTally
	start       int64       // of a row that was read: the minute up to which that sum goes
	complete    int64       // of a row that was read: the minute from which on tally is complete
	rereads     int64       // minute from which on the next catch-up reads events again; 0: unknown
	recent      marks       // of the last applied events
	marks       bool        // recent is stored with the row

	// stored is the row as it was read, which the next write expects; nil for the first write of a row by a build.
	stored *storedVersion
}

// storedVersion identifies what a row contained when it was read.
type storedVersion struct {
	exists          bool
	revision, fence int64
}

// maxTallyMinutes is the number of minutes that a tally holds before old ones are dropped.
const maxTallyMinutes = 100

// count adds an applied event to the tally.
func (g *groupState) count(r *record, position string) {
	if g.newest = later(g.newest, r.acceptedAt); g.tally == nil {
		g.tally = tally{}
	}
	mark := r.fingerprint(position)
	g.recent = g.recent.with(mark)
	if g.tally[minuteOf(r.lastAccept())] += mark; len(g.tally) > maxTallyMinutes {
		g.tally, g.from = g.keptTally()
		g.completeFrom()
	}
}

// apply applies an event to the group's state.
func (d *definition) apply(g *groupState, r *record, at string) error {
	o := d.all[r.origin]
	x, err := o.decodeEvent(r)
	if err != nil {
		return d.withView(err)
	}
	h := d.byEvent[x.Name]
	if g.events == 0 {
		g.key, g.state = h.key(x), d.Start()
	}
	if h.apply != nil {
		if err := h.apply(&g.state, x); err != nil {
			return d.withView(o.eventError(r, Handling, hidden(err, d.types()...)))
		}
	}
	if g.events++; g.events == 1 || r.at.Before(g.first) {
		g.first = r.at
	}
	if r.at.After(g.last) {
		g.last = r.at
	}
	touched := r.at
	if !r.acceptedAt.IsZero() {
		touched = earlier(r.at, r.acceptedAt)
	}
	if touched.After(g.touched) {
		g.touched = touched
	}
	g.position = at
	g.count(r, at)
	return nil
}

// minMemory is the least memory of a replay, in bytes. With less, every few events would need a file.
const minMemory = 1 << 16

// collector sorts the events of a replay by group and position. It is safe for concurrent use.
type collector struct {
	d       *definition
	w       window
	only    func(group string, r *record) bool // selects groups and events; nil: all
	without func(*record) bool                 // events that are left out; nil: none

	out func(key, value []byte) error // takes the events that are wanted

	mu     sync.Mutex
	spool  *spool.Spool // of out, unless that is another
	counts Counters
	by     time.Time // later events do not count for newest; zero: all do
	newest time.Time // latest accept time of events in the window
}

func (d *definition) newCollector(w window, memory int) *collector {
	s := spool.New(max(memory, minMemory), d.TempDir)
	return &collector{d: d, w: w, spool: s, out: s.Add}
}

// add adds an event if it is wanted.
func (c *collector) add(r *record) error {
	n := Counters{Scanned: 1, Oldest: c.d.all[r.origin].expiryStart(r)}
	key, value, err := c.entry(r, &n)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.add(n)
	if c.w.includes(c.d.all[r.origin], r) && (c.by.IsZero() || !r.acceptedAt.After(c.by)) {
		c.newest = later(c.newest, r.acceptedAt)
	}
	if err != nil || key == nil {
		return err
	}
	return c.out(key, value)
}

// entry returns an event as the spool stores it, nil for one that is not wanted.
func (c *collector) entry(r *record, n *Counters) (key, value []byte, err error) {
	if c.without != nil && c.without(r) {
		return nil, nil, nil
	}
	o := c.d.all[r.origin]
	if o.isBaseline(r) && c.isAbout(r) {
		n.Baselines++
	}
	if !c.w.includes(o, r) {
		return nil, nil, nil
	}
	g, err := c.d.groupOf(r, n)
	if err != nil || g == nil || c.only != nil && !c.only(g.group, r) {
		return nil, nil, err
	}
	at, err := position(o, r)
	if err != nil {
		return nil, nil, c.d.withView(o.eventError(r, History, err))
	}
	if value, err = appendRecord(nil, r); err != nil {
		return nil, nil, c.d.withView(o.eventError(r, History, err))
	}
	return sortKey(g.group, at, c.d.Descending), value, nil
}

// isAbout reports whether an event belongs to the groups of the replay, or its group is unknown.
func (c *collector) isAbout(r *record) bool {
	if c.only == nil {
		return true
	}
	g, err := c.d.groupOf(r, &Counters{})
	return err != nil || g == nil || c.only(g.group, r)
}

// addFrom returns a function that adds the events of source i.
func (c *collector) addFrom(i int) func(*record) error {
	return func(r *record) error {
		r.origin = i
		return c.add(r)
	}
}

// countDuplicate counts an event that a source yielded again.
func (c *collector) countDuplicate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Duplicates++
}

// foldPolicy decides what a fold does with each group.
type foldPolicy interface {
	begin(group string) (*groupState, error)                       // returns what the group starts from
	admit(g *groupState, r *record, position string) (bool, error) // reports whether to apply an event
	done(g *groupState) error                                      // called after the last event of the group
}

// fullFold folds every group from its start.
type fullFold struct {
	give    func(*groupState) error
	rereads int64 // see groupState
}

func (w fullFold) begin(group string) (*groupState, error) {
	return &groupState{group: group, rereads: w.rereads}, nil
}

func (fullFold) admit(*groupState, *record, string) (bool, error) { return true, nil }

func (w fullFold) done(g *groupState) error { return w.give(g) }

// blame makes an event the one that is reported if the row of g cannot be stored.
func (d *definition) blame(g *groupState, r *record) {
	o := d.all[r.origin]
	g.cause = o.eventError(r, Storing, nil)
	g.cause.View, g.cause.Group = d.Name, d.keyCodec.redacted(reflect.ValueOf(g.key), o.confidentialTexts(r.item))
}

// fold applies sorted events, group by group.
func (d *definition) fold(ctx context.Context, sorted iter.Seq2[spool.Entry, error], n *Counters, f foldPolicy) error {
	var g *groupState
	var last spool.Entry
	var latest *record // last one of the group
	through := func() error {
		if g.key != nil { // else no event was applied, and no row is stored
			d.blame(g, latest)
		}
		return f.done(g)
	}
	for e, err := range sorted {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		r, err := parseRecord(e.Value)
		if err != nil {
			return err
		}
		if group := groupOfSortKey(e.Key); g == nil || g.group != group {
			if g != nil {
				if err := through(); err != nil {
					return err
				}
			}
			if g, err = f.begin(group); err != nil {
				return err
			}
		} else if bytes.Equal(e.Key, last.Key) {
			if !bytes.Equal(e.Value, last.Value) {
				return d.withView(d.all[r.origin].eventError(r, History, ErrDuplicate))
			}
			n.Duplicates++
			continue
		}
		last, latest = e, r
		at, err := position(d.all[r.origin], r)
		if err != nil {
			return err
		}
		if ok, err := f.admit(g, r, at); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		if err := d.apply(g, r, at); err != nil {
			return err
		}
		n.Folded++
	}
	if g == nil {
		return nil
	}
	return through()
}

// What groupsAhead holds back at most.
const (
	aheadGroups = 100 // as many rows as one request reads
	aheadBytes  = 1 << 20
)

// groupsAhead yields sorted entries, and calls load with the groups of the next ones before it yields them. A group whose
// entries do not fit is loaded once.
func groupsAhead(sorted iter.Seq2[spool.Entry, error], load func(groups []string) error) iter.Seq2[spool.Entry, error] {
	return func(yield func(spool.Entry, error) bool) {
		var held []spool.Entry
		var groups []string
		var last *string
		bytes := 0
		give := func() bool {
			if len(groups) > 0 {
				if err := load(groups); err != nil {
					yield(spool.Entry{}, err)
					return false
				}
			}
			for _, e := range held {
				if !yield(e, nil) {
					return false
				}
			}
			held, groups, bytes = held[:0], groups[:0], 0
			return true
		}
		for e, err := range sorted {
			if err != nil {
				yield(e, err)
				return
			}
			group := groupOfSortKey(e.Key)
			another := last == nil || *last != group
			if bytes > aheadBytes || another && len(groups) == aheadGroups {
				if !give() {
					return
				}
			}
			if another {
				groups, last = append(groups, group), &group
			}
			held = append(held, e)
			bytes += len(e.Key) + len(e.Value)
		}
		give()
	}
}

// replay folds everything in the window and gives each group, in group order.
func (d *definition) replay(ctx context.Context, w window, n *Counters, done func(*groupState) error) error {
	return d.replayFrom(ctx, d.newCollector(w, d.Memory), n, fullFold{give: done}, func(o *origin, to recordSink) error {
		return o.readWhole(ctx, w.now, to)
	})
}

// replayGroup folds the events of one group, apart from those that without holds for. It returns nil if there are none. rereads is for its tally; see
// groupState.
func (d *definition) replayGroup(ctx context.Context, k any, group string, w window, rereads int64, without func(*record) bool, n *Counters) (found *groupState, err error) {
	c := d.newCollector(w, d.Memory)
	c.without = without
	c.only = func(g string, _ *record) bool { return g == group }
	keep := fullFold{give: func(g *groupState) error { found = g; return nil }, rereads: rereads}
	err = d.replayFrom(ctx, c, n, keep, func(o *origin, to recordSink) error {
		if o.partitionOf == nil {
			return o.readWhole(ctx, w.now, to)
		}
		return o.readPartition(ctx, o.partitionOf(k), w.now, to)
	})
	return found, err
}

// replayFrom reads every source into c and folds what c has collected.
func (d *definition) replayFrom(
	ctx context.Context, c *collector, n *Counters, f fullFold, read func(*origin, recordSink) error,
) (err error) {
	defer func() { err = joinClose(err, c.spool.Close()) }()
	for i, o := range d.all {
		if err := read(o, recordSink{event: c.addFrom(i), duplicate: c.countDuplicate, dir: d.TempDir}); err != nil {
			return d.withView(err)
		}
	}
	n.add(c.counts)
	return d.fold(ctx, c.spool.Sorted(), n, f)
}
