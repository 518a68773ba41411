package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// ends reports that events of the origin, or all the states of an item, can have gone without a trace after a time. What is
// left does not prove then that there was nothing else: not even a history without events does.
func (o *origin) expiresSilently() bool {
	switch {
	case o.core == nil:
		return false
	case o.kind != "versions" || o.core.Schema.Expires:
		return o.retention > 0 || o.core.Schema.Expires
	}
	m, moved := schema.Feature[softDeleter](o.core.Schema)
	return o.retention > 0 && (!moved || m.Kept() > 0) // the last state of an item stays, or its deleted copy, with its version
}

// mover is the feature that makes copies of deleted items, and for how long.
type softDeleter interface {
	plan.SoftDeleter
	Kept() time.Duration
}

// proves reports that a history which was read whole is everything that has been accepted.
func provable(all []*origin) bool { return !slices.ContainsFunc(all, (*origin).expiresSilently) }

// lapses reports that events of the origin go without a trace when their time to live ends. The history of a versioned
// entity begins with a baseline instead.
func (o *origin) eventsExpire() bool {
	return o.kind == "series" && o.retention > 0 || o.kind == "items" && (o.retention > 0 || o.core.Schema.Expires)
}

// born is what the end of an event is counted from; zero for events that do not lapse.
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

// begins is the instant before which the sources that lapse are taken to have had no event; zero when nothing is known. That
// takes a build that found nothing in the older half of what is kept, and builds after it that were never so far apart that an event could come and
// expire between two of them. now is when a build began to read, end when it had read everything.
func (d *definition) historyStart(before *generation, now, end time.Time, n Counters) time.Time {
	switch {
	case !d.eventsExpire():
		return time.Time{}
	case n.Oldest.IsZero():
		return now.Add(-overlap) // what is on its way may be as old
	case before != nil && before.Fingerprint == d.fingerprint && d.continues(before, end):
		return earlier(before.HistoryStart, n.Oldest)
	case !d.expiryUnknown() && n.Oldest.Sub(d.historyFloor(end)) >= end.Sub(n.Oldest):
		return n.Oldest // half of what is kept was silent: the history is taken to begin
	}
	return time.Time{}
}

// follows reports that nothing can have expired by now that a generation, or one before it, did not have.
func (d *definition) continues(g *generation, now time.Time) bool {
	return !g.HistoryStart.IsZero() && !d.expiryUnknown() && !d.historyFloor(now).After(g.ReadAt.Add(-overlap))
}

// forgets reports that nobody knows when events of a source lapse.
func (d *definition) expiryUnknown() bool {
	return slices.ContainsFunc(d.all, func(o *origin) bool { return o.eventsExpire() && o.retention == 0 })
}

// whole reports that, as far as builds have seen, the rows of a generation lack no event that had expired when they were made.
func (d *definition) gapFree(g *generation) bool {
	return !d.eventsExpire() || !g.HistoryStart.IsZero() && !d.expiryUnknown() && !g.HistoryStart.Before(d.historyFloor(g.Finished))
}

// remembered reports that the builds of the view have seen no event that can have expired before a replay. It reads the
// manifest if the sources lapse.
func (v *view) noGapSeen(ctx context.Context, now time.Time) (bool, error) {
	if !v.eventsExpire() {
		return true, nil
	}
	m, err := v.manifest(ctx)
	if err != nil || m.Active == nil || m.Active.Fingerprint != v.fingerprint {
		return false, err
	}
	end := now.Add(overlap) // of reading
	return v.continues(m.Active, end) && !m.Active.HistoryStart.Before(v.historyFloor(end)), nil
}
