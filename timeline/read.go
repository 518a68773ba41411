package timeline

import (
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
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

// page is the answer to one request.
type page struct {
	items     []item.Item
	evaluated int32
	last      item.Item // where the next page starts; nil after the last
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
