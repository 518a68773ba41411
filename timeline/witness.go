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
func (o *origin) ends() bool {
	switch {
	case o.core == nil:
		return false
	case o.kind != "versions" || o.core.Schema.Expires:
		return o.kept > 0 || o.core.Schema.Expires
	}
	m, moved := schema.Feature[mover](o.core.Schema)
	return o.kept > 0 && (!moved || m.Kept() > 0) // the last state of an item stays, or its deleted copy, with its version
}

// mover is the feature that makes copies of deleted items, and for how long.
type mover interface {
	plan.SoftDeleter
	Kept() time.Duration
}

// proves reports that a history which was read whole is everything that has been accepted.
func proves(all []*origin) bool { return !slices.ContainsFunc(all, (*origin).ends) }

// lapses reports that events of the origin go without a trace when their time to live ends. The history of a versioned
// entity begins with a baseline instead.
func (o *origin) lapses() bool {
	return o.kind == "series" && o.kept > 0 || o.kind == "items" && (o.kept > 0 || o.core.Schema.Expires)
}

// born is what the end of an event is counted from; zero for events that do not lapse.
func (o *origin) born(r *record) time.Time {
	switch {
	case !o.lapses():
		return time.Time{}
	case o.kind == "series", !r.seen.IsZero() && r.seen.Before(r.at):
		return r.seen
	default:
		return r.at
	}
}

func (d *definition) lapses() bool { return slices.ContainsFunc(d.all, (*origin).lapses) }

// begins is the instant before which the sources that lapse are taken to have had no event; zero when nothing is known. That
// takes a build that found nothing in the older half of what is kept, and builds after it that were never so far apart that an event could come and
// expire between two of them. now is when a build began to read, end when it had read everything.
func (d *definition) begins(before *generation, now, end time.Time, n Counters) time.Time {
	switch {
	case !d.lapses():
		return time.Time{}
	case n.Oldest.IsZero():
		return now.Add(-overlap) // what is on its way may be as old
	case before != nil && before.Print == d.print && d.follows(before, end):
		return earlier(before.Begins, n.Oldest)
	case !d.forgets() && n.Oldest.Sub(d.floor(end)) >= end.Sub(n.Oldest):
		return n.Oldest // half of what is kept was silent: the history is taken to begin
	}
	return time.Time{}
}

// follows reports that nothing can have expired by now that a generation, or one before it, did not have.
func (d *definition) follows(g *generation, now time.Time) bool {
	return !g.Begins.IsZero() && !d.forgets() && !d.floor(now).After(g.Now.Add(-overlap))
}

// forgets reports that nobody knows when events of a source lapse.
func (d *definition) forgets() bool {
	return slices.ContainsFunc(d.all, func(o *origin) bool { return o.lapses() && o.kept == 0 })
}

// whole reports that, as far as builds have seen, the rows of a generation lack no event that had expired when they were made.
func (d *definition) whole(g *generation) bool {
	return !d.lapses() || !g.Begins.IsZero() && !d.forgets() && !g.Begins.Before(d.floor(g.Finished))
}

// remembered reports that the builds of the view have seen no event that can have expired before a replay. It reads the
// manifest if the sources lapse.
func (v *view) remembered(ctx context.Context, now time.Time) (bool, error) {
	if !v.lapses() {
		return true, nil
	}
	m, err := v.manifest(ctx)
	if err != nil || m.Active == nil || m.Active.Print != v.print {
		return false, err
	}
	end := now.Add(overlap) // of reading
	return v.follows(m.Active, end) && !m.Active.Begins.Before(v.floor(end)), nil
}
