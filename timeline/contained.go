package timeline

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// This file is about what a row knows of the events that it contains: the sums of its tally, which a catch-up compares, and
// the marks of the last events, by which Apply recognizes duplicates.

// rereadFrom returns the time from which on the next catch-up of the generation reads events again.
func (g *generation) rereadFrom() time.Time {
	from := rereadFrom(g.Newest)
	if g.Since.IsZero() {
		return from
	}
	return earlier(from, g.Since.Truncate(time.Minute))
}

// leftSince returns what Since is after a catch-up that began when it was read: an event that was left meanwhile stays.
func (g *generation) leftSince(read time.Time) time.Time {
	if g.Since.Equal(read) {
		return time.Time{}
	}
	return g.Since
}

// windowStart returns the first minute of which the row's tally has a sum of its own.
func (g *groupState) windowStart() int64 { return minuteOf(rereadFrom(g.newest)) }

// clone returns a copy that can be folded further.
func (g *groupState) clone() *groupState {
	c := *g
	c.tally, c.recent = maps.Clone(g.tally), slices.Clone(g.recent)
	c.completeFrom()
	return &c
}

// completeFrom notes what the tally covers, once earlier minutes have been dropped.
func (g *groupState) completeFrom() {
	g.start = g.windowStart()
	if g.complete = g.start; g.from != 0 {
		g.complete = g.from
	}
}

// keptTally returns the tally as it is stored: a sum for each of the last 15 minutes before newest, and, if the next
// catch-up reads events again from an earlier minute on, one sum for all minutes from that one to these. from is that
// minute, 0 without one. If the stored row did not reach back as far, from is later, and the catch-up will see that.
func (g *groupState) keptTally() (kept tally, from int64) {
	start := g.windowStart()
	if from = g.rereads; from == 0 || from >= start {
		return g.tally.since(g.newest), 0
	}
	if from = max(from, g.complete); g.from != 0 && from < g.start {
		from = g.from // a sum cannot be divided
	}
	if from >= start {
		return g.tally.since(g.newest), 0
	}
	return g.tally.merged(from, start), from
}

// merged returns t with one sum, in minute from, for all minutes from that one to start, and without earlier ones.
func (t tally) merged(from, start int64) tally {
	m := tally{}
	for minute, sum := range t {
		switch {
		case minute == noAcceptTime || minute >= start:
			m[minute] += sum
		case minute >= from:
			m[from] += sum
		}
	}
	return m
}

// containsExactly reports whether events that were accepted in minute from or later, with this tally, are those that the
// row contains of that time. If the row does not know, it reports false.
func (g *groupState) containsExactly(events tally, from int64) bool {
	start, own := g.windowStart(), tally{}
	for minute, sum := range g.tally {
		if minute >= from || minute == noAcceptTime || minute == g.from && g.from != 0 && start > from {
			own[minute] = sum
		}
	}
	if g.from != 0 && start > from {
		all := tally{}
		for minute, sum := range events {
			if minute != noAcceptTime && minute >= g.from && minute < start {
				minute = g.from
			}
			all[minute] += sum
		}
		events = all
	}
	return maps.Equal(events, own)
}

// marks are the fingerprints of the events that were applied last, 8 bytes each, the newest at the end.
type marks []byte

const (
	markSize = 8
	maxMarks = 64 // in a row
)

// with returns m with another mark.
func (m marks) with(mark uint64) marks {
	if len(m) >= 4*maxMarks*markSize {
		m = m[:copy(m, m.last())]
	}
	return binary.BigEndian.AppendUint64(m, mark)
}

// last returns the marks that a row stores.
func (m marks) last() []byte { return m[max(0, len(m)-maxMarks*markSize):] }

// has reports whether a mark is in m.
func (m marks) has(mark uint64) bool {
	for i := 0; i+markSize <= len(m); i += markSize {
		if binary.BigEndian.Uint64(m[i:]) == mark {
			return true
		}
	}
	return false
}
