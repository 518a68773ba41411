package timeline

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// window says which events of a history take part.
type window struct {
	until time.Time // accepted at or before; zero: all
	asOf  time.Time // happened at or before; zero: all
	since time.Time // happened at or after
	now   time.Time // events whose time to live ends at or before are gone
}

// holds reports that an event is in the window.
func (w window) holds(o *origin, r *record) bool {
	if !w.asOf.IsZero() && r.at.After(w.asOf) || r.at.Before(w.since) {
		return false
	}
	return w.until.IsZero() || !o.accepted || !r.seen.After(w.until)
}

// sink takes what a history is read into.
type sink struct {
	event     func(*record) error               // an event
	partition func(last map[string]value) error // a partition is through; last is the key of its last item
	page      func(evaluated int)               // a page was read
	repeated  func()                            // an event was there once more
	dir       string                            // of temporary files; default the system's
}

// scan reads one of several segments of an origin's table, after start, in the order of partitions.
func (o *origin) scan(ctx context.Context, segment, of int32, start item.Item, now time.Time, to sink) error {
	strong := true
	var r expr.Renderer
	in := &dynamodb.ScanInput{
		TableName: &o.core.Table, ConsistentRead: &strong, ExclusiveStartKey: start,
		FilterExpression: expression(&r, o.filter(now)), Segment: &segment, TotalSegments: &of,
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	p := &partitions{o: o, to: to, events: o.assemble()}
	if start != nil {
		p.skip = p.idOf(start)
	}
	for {
		out, err := o.core.Runner.Scan(ctx, in)
		if err != nil {
			return err
		}
		if to.page != nil {
			to.page(int(out.ScannedCount))
		}
		for _, it := range out.Items {
			if err := p.push(it); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return p.end()
		}
	}
}

// partitions cuts items into partitions.
type partitions struct {
	o      *origin
	to     sink
	events assembler
	id     string
	skip   string // partition that was through before: what was written into it since is not the whole of it
	last   item.Item
}

func (p *partitions) idOf(it item.Item) string {
	pk := p.o.core.Schema.PK.Attributes()[0]
	return plan.KeyID(item.Item{pk: it[pk]})
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

// partition reads the events under the key parts that are filled in: a partition, or a part of one.
func (o *origin) partition(ctx context.Context, key reflect.Value, now time.Time, to sink) error {
	cond, err := o.under(key)
	if err != nil {
		return err
	}
	strong := true
	var r expr.Renderer
	keyText := r.Cond(cond)
	in := &dynamodb.QueryInput{
		TableName: &o.core.Table, ConsistentRead: &strong, KeyConditionExpression: &keyText,
		FilterExpression: expression(&r, o.beside(cond, now)),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	p := &partitions{o: o, to: to, events: o.assemble()}
	for {
		out, err := o.core.Runner.Query(ctx, in)
		if err != nil {
			return err
		}
		if to.page != nil {
			to.page(int(out.ScannedCount))
		}
		for _, it := range out.Items {
			if err := p.push(it); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return p.end()
		}
	}
}

// beside is the filter of a query: DynamoDB refuses one that names a key attribute, and the key condition has done that
// part of the work.
func (o *origin) beside(key expr.Cond, now time.Time) expr.Cond {
	s := o.core.Schema
	keys := append(slices.Clone(s.PK.Attributes()), s.SK.Attributes()...)
	var conds []expr.Cond
	for _, c := range flat(o.filter(now)) {
		if len(c.Path) == 0 || !slices.Contains(keys, c.Path.Root()) {
			conds = append(conds, c)
		}
	}
	return expr.All(conds...)
}

func flat(c expr.Cond) []expr.Cond {
	if c.Op != expr.And {
		return []expr.Cond{c}
	}
	var all []expr.Cond
	for _, inner := range c.Conds {
		all = append(all, flat(inner)...)
	}
	return all
}

// under is the key condition of what lies under the given key parts.
func (o *origin) under(v reflect.Value) (expr.Cond, error) {
	s := o.core.Schema
	given := item.Item{}
	for _, a := range s.PK.Parts {
		av, err := plan.EncodeAttr(s, a, v)
		if err != nil {
			return expr.Cond{}, err
		}
		if err := plan.Present(s, a, av); err != nil {
			return expr.Cond{}, err
		}
		given[a.Name] = av
	}
	pk := expr.Cond{}
	if h := s.PK; h.Native != nil {
		pk = expr.Compare(expr.Eq, expr.Attr(h.Native[0].Name), given[h.Native[0].Name])
	} else {
		text, _, err := h.Template.Compose(given)
		if err != nil {
			return expr.Cond{}, plan.KeyError(s, err)
		}
		pk = expr.Compare(expr.Eq, expr.Attr(h.Attr), item.S(text))
	}
	sk, err := o.sortUnder(s.SK, v)
	if err != nil || sk.Op == expr.None {
		return pk, err
	}
	return expr.Cond{Op: expr.And, Conds: []expr.Cond{pk, sk}}, nil
}

// sortUnder is the condition on the sort key: what begins with the parts that are filled in.
func (o *origin) sortUnder(h *schema.Half, v reflect.Value) (expr.Cond, error) {
	s := o.core.Schema
	if h == nil {
		return expr.Cond{}, nil
	}
	lead, err := o.filled(h, v)
	switch {
	case err != nil:
		return expr.Cond{}, err
	case h.Native != nil && len(lead) == 0:
		return expr.Cond{}, nil
	case h.Native != nil:
		return expr.Compare(expr.Eq, expr.Attr(h.Native[0].Name), lead[0]), nil
	}
	fields := h.Template.Fields()
	if len(lead) == len(fields) {
		return o.exactly(h, fields, lead)
	}
	values, err := keyValues(fields, lead)
	if err != nil {
		return expr.Cond{}, plan.KeyError(s, err)
	}
	r, err := h.Template.Range(values, nil)
	if err != nil {
		return expr.Cond{}, plan.KeyError(s, err)
	}
	if r.Lo == "" {
		return expr.Cond{}, nil
	}
	return expr.Compare(expr.BeginsWith, expr.Attr(h.Attr), item.S(r.Lo)), nil
}

// exactly is the condition of one item and its satellites: they go on with the separator, and no key of another item sorts
// between it and the end of a range.
func (o *origin) exactly(h *schema.Half, fields []*key.Field, values []types.AttributeValue) (expr.Cond, error) {
	it := item.Item{}
	for i, f := range fields {
		it[f.Attr] = values[i]
	}
	text, _, err := h.Template.Compose(it)
	if err != nil {
		return expr.Cond{}, plan.KeyError(o.core.Schema, err)
	}
	if o.core.Schema.Satellites == 0 || !h.Prefixed {
		return expr.Compare(expr.Eq, expr.Attr(h.Attr), item.S(text)), nil
	}
	return expr.Compare(expr.Between, expr.Attr(h.Attr), item.S(text), item.S(text+"$")), nil
}

// filled are the values of the leading sort-key parts that v has.
func (o *origin) filled(h *schema.Half, v reflect.Value) ([]types.AttributeValue, error) {
	var lead []types.AttributeValue
	for _, a := range h.Parts {
		av, err := plan.EncodeAttr(o.core.Schema, a, v)
		if err != nil {
			return nil, err
		}
		if plan.Present(o.core.Schema, a, av) != nil {
			return lead, nil
		}
		lead = append(lead, av)
	}
	return lead, nil
}
