package query

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// segment is one part of a table that is scanned in several parts.
type segment struct{ number, of int32 }

// fetched is the answer to one request.
type fetched struct {
	items     []item.Item
	count     int // items that passed the filter
	evaluated int // items that were read and charged
	last      item.Item
	units     float64 // read units, if asked for
}

// fetch sends one request. limit is how many items it evaluates at most, 0 what fits into 1 MB.
func (p *Plan) fetch(ctx context.Context, start item.Item, limit int, count bool, seg *segment) (fetched, error) {
	if p.Scan {
		return p.fetchScan(ctx, start, limit, count, seg)
	}
	var r expr.Renderer
	in := &dynamodb.QueryInput{
		TableName: &p.Table, ExclusiveStartKey: start, Limit: evaluate(limit), Select: p.selection(count),
		KeyConditionExpression: text(r.Cond(p.Key)),
		FilterExpression:       text(r.Cond(p.filter(p.Runner.Clock()))),
		ProjectionExpression:   p.projection(&r, count),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	if p.Index != nil {
		in.IndexName = &p.Index.Index
	}
	if p.Desc {
		forward := false
		in.ScanIndexForward = &forward
	}
	if p.Strong {
		in.ConsistentRead = &p.Strong
	}
	out, err := p.Runner.Query(ctx, in)
	if err != nil {
		return fetched{}, err
	}
	return p.own(fetched{items: out.Items, count: int(out.Count), evaluated: int(out.ScannedCount), last: out.LastEvaluatedKey})
}

func (p *Plan) fetchScan(ctx context.Context, start item.Item, limit int, count bool, seg *segment) (fetched, error) {
	var r expr.Renderer
	in := &dynamodb.ScanInput{
		TableName: &p.Table, ExclusiveStartKey: start, Limit: evaluate(limit), Select: p.selection(count),
		FilterExpression:     text(r.Cond(p.filter(p.Runner.Clock()))),
		ProjectionExpression: p.projection(&r, count),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	if p.Index != nil {
		in.IndexName = &p.Index.Index
	}
	if p.Strong {
		in.ConsistentRead = &p.Strong
	}
	if seg != nil {
		in.Segment, in.TotalSegments = &seg.number, &seg.of
	}
	if p.Scanned != nil {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	}
	out, err := p.Runner.Scan(ctx, in)
	if err != nil {
		return fetched{}, err
	}
	got := fetched{items: out.Items, count: int(out.Count), evaluated: int(out.ScannedCount), last: out.LastEvaluatedKey}
	if c := out.ConsumedCapacity; c != nil && c.CapacityUnits != nil {
		got.units = *c.CapacityUnits
	}
	return p.own(got)
}

// own drops what passed the filter and is not what the query is about.
func (p *Plan) own(got fetched) (fetched, error) {
	if p.Own == nil {
		return got, nil
	}
	var items []item.Item
	for _, it := range got.items {
		ours, err := p.Own(it)
		if err != nil {
			return fetched{}, err
		}
		if ours {
			items = append(items, it)
		}
	}
	got.items, got.count = items, len(items)
	return got, nil
}

// projection returns what to fetch: nil is everything.
func (p *Plan) projection(r *expr.Renderer, count bool) *string {
	names := p.Project
	switch {
	case count && p.Own != nil:
		names = []string{}
	case names == nil || count:
		return nil
	}
	needed := slices.Clone(p.Needs)
	for _, a := range p.keyAttrs() { // a page's cursor is made of them
		needed = append(needed, a.Name)
	}
	for _, name := range needed {
		if !slices.Contains(names, name) {
			names = append(names[:len(names):len(names)], name)
		}
	}
	return text(r.Project(names))
}

// selection asks for no items where a number will do.
func (p *Plan) selection(count bool) types.Select {
	if count && p.Own == nil {
		return types.SelectCount
	}
	return ""
}

func evaluate(limit int) *int32 {
	if limit == 0 {
		return nil
	}
	n := int32(limit)
	return &n
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
