package query

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// positionNames returns the attributes that are an item's position in the query.
func (p *Plan) positionNames() []string {
	var names []string
	for _, a := range p.keyAttrs() {
		names = append(names, a.Name)
	}
	return names
}

func (p *Plan) positionOf(it wire.Item) item.Item {
	if p.After != nil {
		return p.After(it)
	}
	key := item.Item{}
	for _, name := range p.positionNames() {
		key[name] = it.Get(name)
	}
	return key
}

// variable returns what a cursor has of a position: what the query does not fix.
func (p *Plan) variable(position item.Item) item.Item {
	fixed, key := p.fixed(), maps.Clone(position)
	maps.DeleteFunc(key, func(name string, _ types.AttributeValue) bool { return fixed[name] != nil })
	return key
}

// variableAttrs returns the attributes of what a cursor has of a position.
func (p *Plan) variableAttrs() []cursor.Attr {
	fixed := p.fixed()
	return slices.DeleteFunc(p.keyAttrs(), func(a cursor.Attr) bool { return fixed[a.Name] != nil })
}

// cursorAt returns the cursor of a place, of which there is a position for each partition.
func (p *Plan) cursorAt(at cursor.Places, before bool) (string, error) {
	if p.parts == nil {
		return p.Cursor.EncodePosition(p.binding(), cursor.Position{Key: p.variable(at.Keys[0]), Before: before})
	}
	at.Before, at.Keys = before, slices.Clone(at.Keys)
	for i, part := range p.parts {
		at.Keys[i] = part.variable(at.Keys[i])
	}
	return p.Cursor.EncodePlaces(p.binding(), at)
}

// place decodes a cursor, to which it adds what the query fixes. The positions must be inside the query.
func (p *Plan) place(text string) (at cursor.Places, err error) {
	parts := p.parts
	switch {
	case text == "":
		return at, nil
	case p.Nothing: // such a query never returned a cursor
		return at, &cursor.Error{Reason: cursor.Foreign}
	case parts == nil:
		var one cursor.Position
		one, err = p.Cursor.DecodePosition(p.binding(), text, p.variableAttrs())
		if err == nil && one.Before && p.Scan { // a scan never returned such a cursor
			err = &cursor.Error{Reason: cursor.Altered}
		}
		at, parts = cursor.Places{Before: one.Before, Keys: []item.Item{one.Key}}, []*Plan{p}
	default:
		var attrs [][]cursor.Attr
		for _, part := range parts {
			attrs = append(attrs, part.variableAttrs())
		}
		names := p.SK.Attributes()
		bounds := slices.DeleteFunc(p.keyAttrs(), func(a cursor.Attr) bool { return !slices.Contains(names, a.Name) })
		at, err = p.Cursor.DecodePlaces(p.binding(), text, attrs, bounds)
	}
	for i, part := range parts {
		if err != nil {
			return at, err
		}
		if key := at.Keys[i]; key != nil {
			if maps.Copy(key, part.fixed()); !part.Key.Holds(key) {
				err = &cursor.Error{Reason: cursor.Altered}
			}
		}
	}
	return at, err
}

// atEnd reports that nothing can follow start, where DynamoDB refuses to go on. Several items of an index can have one sort key.
func (p *Plan) atEnd(start item.Item) bool {
	if p.Scan || p.Index != nil {
		return false
	}
	names := p.Schema.SK.Attributes()
	if len(names) == 0 {
		return true
	}
	for _, c := range terms(p.Key) {
		last := len(c.Values) - 1
		switch {
		case c.Path.Root() != names[0]:
			continue
		case c.Op == expr.Between && p.Desc:
			last = 0
		case c.Op != expr.Eq && c.Op != expr.Between && !(c.Op == expr.Le && !p.Desc) && !(c.Op == expr.Ge && p.Desc):
			continue
		}
		return item.Equal(start[names[0]], c.Values[last])
	}
	return false
}

// page has the items that a page takes from the streams, in the direction in which it was read.
type page struct {
	items      []wire.Item
	begin, end cursor.Places // where the pages around it are
	more       bool          // something may follow its end
}

// turn reads the page at a cursor: up to Limit items, without a limit those of one request. The page that ends before a place is read in
// the other direction. If everything before has been deleted, it is the first page. A bound can hide that nothing precedes a page, so then
// an empty page ends the way back.
func (p *Plan) turn(ctx context.Context, text string) (items []wire.Item, around Cursors, err error) {
	at, err := p.place(text)
	if err != nil || p.Nothing {
		return nil, around, err
	}
	b := p.budget()
	got, err := p.pageAt(ctx, at, p.Limit, b)
	if err == nil && at.Before && len(got.items) == 0 && !got.more && p.Evaluate == 0 && p.Requests == 0 {
		at = cursor.Places{}
		got, err = p.pageAt(ctx, at, p.Limit, b)
	}
	next, prev := &around.Next, &around.Prev
	if at.Before {
		slices.Reverse(got.items)
		next, prev = prev, next
	}
	if err == nil && got.more {
		*next, err = p.cursorAt(got.end, at.Before)
	}
	if err == nil && !at.Beginning() && !p.Scan {
		*prev, err = p.cursorAt(got.begin, !at.Before)
	}
	return got.items, around, err
}

// pageAt reads a page at a place. Backwards it reads one item more than the page has, or without limit once more, which shows whether
// there is another page.
func (p *Plan) pageAt(ctx context.Context, at cursor.Places, limit int, b *budget) (got page, err error) {
	if p.parts != nil {
		return p.mergedPageAt(ctx, at, limit, b)
	}
	q, start, want := p, item.Item(nil), limit
	if at.Keys != nil {
		start = at.Keys[0]
	}
	if at.Before {
		back := *p
		if q, back.Desc = &back, !p.Desc; limit > 0 {
			want = limit + 1
		}
	}
	s := q.stream(start, want, b)
	if p.Hydrate && limit == 0 {
		s.ask = mostHydrated
	}
	if got.items, err = s.page(ctx, want); err != nil {
		return page{}, err
	}
	if limit > 0 && len(got.items) > limit {
		got.items = got.items[:limit]
		s.at = p.positionOf(got.items[limit-1])
	}
	got.more = s.at != nil
	if at.Before && limit == 0 && got.more && !b.spent {
		ahead := q.stream(s.at, 1, b)
		items, err := ahead.page(ctx, 1)
		if err != nil {
			wire.ReleaseAll(got.items)
			return page{}, err
		}
		got.more = len(items) > 0 || ahead.at != nil
		wire.ReleaseAll(items)
	}
	first := s.at // an empty page: what comes before where it ended
	if len(got.items) > 0 {
		first = p.positionOf(got.items[0])
	}
	got.begin.Keys, got.end.Keys = []item.Item{first}, []item.Item{s.at}
	return got, nil
}
