package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// part is one of several partitions that a page is merged from.
type part struct {
	in    *dynamodb.QueryInput
	head  []item.Item // read, and not yet on the page
	after item.Item   // the page goes on after it; nil for the beginning
	last  item.Item   // of the last answer
	ended bool        // no answer follows
	asked int
}

// mergedPlace is where a page of several partitions begins.
type mergedPlace struct {
	Of    string      `json:",omitempty"` // the partition of the rows of a read model
	Parts []partPlace `json:",omitempty"` // nil for the beginning
}

type partPlace struct {
	After json.RawMessage `json:",omitempty"`
	End   bool            `json:",omitempty"` // nothing follows
}

// errFull ends a page before it is full, since few of the items that were read are shown.
var errFull = errors.New("the page has asked often enough")

// merged reads a page of several partitions: of the shards of an index, in the order of the sort key, or of the rows of a read model, one partition after the other.
func (b *browsing) merged(ctx context.Context) error {
	groups, err := b.d.s.partitions(ctx, b.e, b.x, b.given, &b.cost)
	if err != nil {
		return err
	}
	var from mergedPlace
	if b.q.Start != nil {
		if err := json.Unmarshal(b.q.Start, &from); err != nil {
			return badKey("this place is damaged")
		}
		i := slices.IndexFunc(groups, func(g given) bool { return g["generation"] == from.Of })
		if i < 0 {
			return badKey("the rows were built again since the first page: begin there")
		}
		groups = groups[i:]
	}
	for _, g := range groups {
		place := mergedPlace{Of: g["generation"]}
		if len(b.out.Items) == b.q.Limit {
			b.out.Next, _ = json.Marshal(place)
			return nil
		}
		parts, err := b.parts(g, from.Parts)
		if err != nil {
			return err
		}
		from.Parts = nil
		err = b.merge(ctx, parts)
		begun, more := b.q.Start != nil || len(b.out.Items) > 0, false
		for _, p := range parts {
			at := partPlace{End: p.ended && len(p.head) == 0}
			if p.after != nil && !at.End {
				at.After = positionText(p.after)
			}
			place.Parts = append(place.Parts, at)
			begun, more = begun || p.after != nil, more || !at.End
		}
		if more && (err == nil || begun) {
			b.out.Next, _ = json.Marshal(place)
		}
		switch {
		case errors.Is(err, errFull):
			b.out.Partial = fmt.Sprintf("After %d requests the page is not full: few of the items that were read are shown. Go on with the next page.", b.cost.requests)
			return nil
		case err != nil || more:
			return err
		}
	}
	return nil
}

// parts returns the partitions that a group has, each at its place.
func (b *browsing) parts(g given, places []partPlace) (all []*part, err error) {
	keys := []*schema.KeyDef{b.pk}
	if b.x != nil && b.x.Shards != nil {
		keys = b.x.Shards
	}
	if b.given = g; places != nil && len(places) != len(keys) {
		return nil, badKey("this place is of another declaration")
	}
	filter, err := b.filter()
	if err != nil {
		return nil, err
	}
	for i, pk := range keys {
		if err := b.locate(pk, g); err != nil {
			return nil, err
		}
		p := &part{}
		if p.in, err = b.input(); err != nil {
			return nil, err
		}
		if b.out.Plan == "" {
			if b.words("Query", p.in, filter); len(keys) > 1 {
				b.out.Plan += fmt.Sprintf("\n  and the same in %s, merged in the order of the sort key", count(len(keys)-1, "other partition"))
			}
		}
		if places != nil {
			p.ended = places[i].End
			if places[i].After != nil {
				if p.after, err = position(places[i].After); err != nil {
					return nil, badKey("%v", err)
				}
			}
		}
		p.last = p.after
		all = append(all, p)
	}
	b.pk = keys[0]
	return all, nil
}

// merge takes items until the page is full, or the partitions have no more.
func (b *browsing) merge(ctx context.Context, parts []*part) error {
	for len(b.out.Items) < b.q.Limit {
		var next *part
		for _, p := range parts {
			if err := b.ask(ctx, p, int32(2*b.q.Limit/len(parts)+2)); err != nil {
				return err
			}
			if len(p.head) > 0 && (next == nil || b.precedes(p.head[0], next.head[0])) {
				next = p
			}
		}
		if next == nil {
			return nil
		}
		it := next.head[0]
		next.head, next.after = next.head[1:], b.keyOf(it)
		b.take(it)
	}
	return nil
}

// ask reads on in a partition until it has an item, or has ended.
func (b *browsing) ask(ctx context.Context, p *part, limit int32) error {
	for len(p.head) == 0 && !p.ended {
		if p.after = p.last; p.asked == mostRequests {
			return errFull
		}
		p.in.ExclusiveStartKey, p.in.Limit = p.last, &limit
		out, err := b.d.s.client.Query(ctx, p.in, again)
		if err != nil {
			return b.d.s.failed("query "+b.e.table, err)
		}
		p.asked++
		limit = min(limit*4, 1000)
		b.cost.add(out.ConsumedCapacity)
		b.out.Read += int(out.ScannedCount)
		p.head, p.last, p.ended = out.Items, out.LastEvaluatedKey, len(out.LastEvaluatedKey) == 0
	}
	return nil
}

// precedes reports whether an item comes before another on the page.
func (b *browsing) precedes(x, y item.Item) bool {
	for _, name := range b.sk.Attributes() {
		if order, _ := expr.Compares(x[name], y[name]); order != 0 {
			return (order < 0) != b.q.Desc
		}
	}
	return false
}
