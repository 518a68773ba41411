package timeline

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/spool"
)

// window says which events of a history take part.
type window struct {
	until time.Time // accepted at or before; zero: all
	asOf  time.Time // happened at or before; zero: all
	since time.Time // happened at or after
	now   time.Time // events whose time to live ends at or before are gone
}

// holds reports that an event is in the window.
func (w window) includes(o *origin, r *record) bool {
	if at := o.effectiveTime(r); !w.asOf.IsZero() && at.After(w.asOf) || at.Before(w.since) {
		return false
	}
	return w.until.IsZero() || !o.hasAcceptTimes || !r.acceptedAt.After(w.until)
}

// happened is when an event happened as far as is known: no later than it was accepted, whatever the clock that dated it
// said. The times of versions are in their order already.
func (o *origin) effectiveTime(r *record) time.Time {
	if o.kind == "versions" || r.acceptedAt.IsZero() {
		return r.at
	}
	return earlier(r.at, r.acceptedAt)
}

// sink takes what a history is read into.
type recordSink struct {
	event     func(*record) error               // an event
	partition func(last map[string]value) error // a partition is through; last is the key of its last item
	page      func(evaluated int)               // a page was read
	duplicate func()                            // an event was there once more
	dir       string                            // of temporary files; default the system's
}

// page is the answer to one request.
type page struct {
	items     []item.Item
	evaluated int32
	last      item.Item // where the next page starts; nil after the last
}

// scan reads one of several segments of an origin's table, after start, in the order of partitions.
func (o *origin) scan(ctx context.Context, segment, of int32, start item.Item, now time.Time, to recordSink) error {
	strong := true
	var r expr.Renderer
	in := &dynamodb.ScanInput{
		TableName: &o.core.Table, ConsistentRead: &strong,
		FilterExpression: expression(&r, o.scanFilter(now)), Segment: &segment, TotalSegments: &of,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	p := &partitions{o: o, to: to, events: o.assemble()}
	if start != nil {
		p.skip = p.idOf(start)
	}
	return p.readPages(start, func(start item.Item) (page, error) {
		in.ExclusiveStartKey = start
		out, err := o.core.Runner.Scan(ctx, in)
		if err != nil {
			return page{}, err
		}
		return page{out.Items, out.ScannedCount, out.LastEvaluatedKey}, nil
	})
}

// readPartition reads the events under the key fields of key that are set: a partition, or a part of one.
func (o *origin) readPartition(ctx context.Context, key reflect.Value, now time.Time, to recordSink) error {
	cond, err := query.Under(o.core.Schema, key)
	if err != nil {
		return err
	}
	strong := true
	var r expr.Renderer
	in := &dynamodb.QueryInput{
		TableName: &o.core.Table, ConsistentRead: &strong, KeyConditionExpression: expression(&r, cond),
		FilterExpression: expression(&r, o.queryFilter(now)),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	p := &partitions{o: o, to: to, events: o.assemble()}
	return p.readPages(nil, func(start item.Item) (page, error) {
		in.ExclusiveStartKey = start
		out, err := o.core.Runner.Query(ctx, in)
		if err != nil {
			return page{}, err
		}
		return page{out.Items, out.ScannedCount, out.LastEvaluatedKey}, nil
	})
}

// partitions cuts items into partitions.
type partitions struct {
	o      *origin
	to     recordSink
	events assembler
	id     string
	skip   string // partition that was through before: what was written into it since is not the whole of it
	last   item.Item
}

// readPages reads page after page from start on.
func (p *partitions) readPages(start item.Item, read func(start item.Item) (page, error)) error {
	for {
		got, err := read(start)
		if err != nil {
			return err
		}
		if err := p.take(got); err != nil {
			return err
		}
		if start = got.last; len(start) == 0 {
			return p.end()
		}
	}
}

func (p *partitions) idOf(it item.Item) string {
	pk := p.o.core.Schema.PK.Attributes()[0]
	return plan.KeyID(item.Item{pk: it[pk]})
}

func (p *partitions) take(got page) error {
	if p.to.page != nil {
		p.to.page(int(got.evaluated))
	}
	for _, it := range got.items {
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
	p.last = plan.KeyOf(s, it)
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

// expression renders a condition, nil for the empty one.
func expression(r *expr.Renderer, c expr.Cond) *string {
	text := r.Cond(c)
	if text == "" {
		return nil
	}
	return &text
}

// everything reads the whole history of an origin, one page after the other.
func (o *origin) readWhole(ctx context.Context, now time.Time, to recordSink) error {
	if o.feed != nil {
		return o.readFeed(ctx, to)
	}
	return o.scan(ctx, 0, 1, nil, now, to)
}

// feedMemory is what a feed may hold in memory while its duplicates are looked for, in bytes.
const feedMemory = 16 << 20

// drain reads a feed. Nothing keeps it from giving an event twice, or two events with one identity, in any order: they are
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

// joined adds an error of tidying up to one that came before.
func joinClose(err, closing error) error {
	if closing == nil {
		return err
	}
	return errors.Join(err, closing)
}

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

// floor is the instant from which on nothing has expired; zero when nothing expires. Times to live end with whole seconds:
// the events of the second that is passing may have gone already.
func (d *definition) historyFloor(now time.Time) time.Time { return historyFloor(d.all, now) }

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
