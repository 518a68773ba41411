package query

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Page is a part of a query's result, with the cursors of the pages around it. The caller releases the items.
type Page struct {
	Items []wire.Item
	Cursors
}

// positionNames returns the attributes that are an item's position in the query.
func (p *Plan) positionNames() []string {
	var names []string
	for _, a := range p.keyAttrs() {
		names = append(names, a.Name)
	}
	return names
}

// positionOf returns the item's position in the query.
func (p *Plan) positionOf(it wire.Item) item.Item {
	key := item.Item{}
	for _, name := range p.positionNames() {
		key[name] = it.Get(name)
	}
	return key
}

// variable returns what a cursor has of a position: what the query does not fix.
func (p *Plan) variable(position item.Item) item.Item {
	if position == nil {
		return nil
	}
	fixed, key := p.fixed(), item.Item{}
	for name, av := range position {
		if fixed[name] == nil {
			key[name] = av
		}
	}
	return key
}

// variableAttrs returns the attributes of what a cursor has of a position.
func (p *Plan) variableAttrs() []cursor.Attr {
	fixed := p.fixed()
	return slices.DeleteFunc(p.keyAttrs(), func(a cursor.Attr) bool { return fixed[a.Name] != nil })
}

// inside adds what the query fixes to the position in a cursor. The position must be inside the query.
func (p *Plan) inside(key item.Item) error {
	for name, av := range p.fixed() {
		key[name] = av
	}
	if !p.Key.Holds(key) {
		return &cursor.Error{Reason: cursor.Altered}
	}
	return nil
}

// cursorAt returns the cursor of a position.
func (p *Plan) cursorAt(at cursor.Position) (string, error) {
	at.Key = p.variable(at.Key)
	return p.Cursor.EncodePosition(p.binding(), at)
}

// position decodes a cursor.
func (p *Plan) position(text string) (cursor.Position, error) {
	if text == "" {
		return cursor.Position{}, nil
	}
	at, err := p.Cursor.DecodePosition(p.binding(), text, p.variableAttrs())
	if err == nil && at.Before && p.Scan { // a scan never returned such a cursor
		err = &cursor.Error{Reason: cursor.Altered}
	}
	if err == nil && at.Key != nil {
		err = p.inside(at.Key)
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

// page reads from start. last is the start of the next page, nil at the end.
func (p *Plan) page(ctx context.Context, start item.Item, limit int, r *run) (items []wire.Item, last item.Item, err error) {
	ask := p.firstAsk(limit)
	if limit == 0 && p.Hydrate && r.paging {
		ask = mostHydrated
	}
	for ; ; ask = nextAsk(ask) {
		got, err := p.next(ctx, start, ask, r)
		if err != nil {
			wire.ReleaseAll(items)
			return nil, nil, err
		}
		if items == nil {
			items = got.Rows
		} else {
			items = append(items, got.Rows...)
		}
		start = got.Last
		switch {
		case limit > 0 && len(items) > limit:
			items = items[:limit]
			return items, p.positionOf(items[limit-1]), nil
		case start == nil, limit > 0 && len(items) == limit, limit == 0 && len(items) > 0, r.exhausted():
			return items, start, nil
		}
	}
}

// pageOf reads up to limit items at the cursor. With limit 0 it returns the items of one request, and at least one if
// there is any. It may return fewer if the query bounds its requests or the items that they evaluate.
func (p *Plan) pageOf(ctx context.Context, text string, limit int) (Page, error) {
	if p.Nothing {
		if text != "" { // such a query never returned a cursor
			return Page{}, &cursor.Error{Reason: cursor.Foreign}
		}
		return Page{}, nil
	}
	at, err := p.position(text)
	if err != nil {
		return Page{}, err
	}
	r := &run{budget: p.budget(), paging: true}
	if at.Before {
		return p.pageBefore(ctx, at.Key, limit, r)
	}
	page, err := p.pageAfter(ctx, at.Key, limit, r)
	if err != nil || at.Key == nil || p.Scan {
		return page.Page, err
	}
	first := page.last // an empty page: what comes before where it ended
	if len(page.Items) > 0 {
		first = p.positionOf(page.Items[0])
	}
	page.Prev, err = p.cursorAt(cursor.Position{Key: first, Before: true})
	return page.Page, err
}

// pageEnd is a page with the position of its end, nil if nothing follows.
type pageEnd struct {
	Page
	last item.Item
}

func (p *Plan) pageAfter(ctx context.Context, start item.Item, limit int, r *run) (pageEnd, error) {
	items, last, err := p.page(ctx, start, limit, r)
	page := pageEnd{Page{Items: items}, last}
	if err == nil && last != nil {
		page.Next, err = p.cursorAt(cursor.Position{Key: last})
	}
	return page, err
}

// pageBefore reads the page that ends before the item with the key start, or at the end of the query if start is nil. It reads
// in the other direction, one item more than the page has, which shows whether there is another page. If everything before
// has been deleted, it reads the first page. A bound can hide that nothing precedes a page, so then an empty page ends the way back.
func (p *Plan) pageBefore(ctx context.Context, start item.Item, limit int, r *run) (page Page, err error) {
	back := *p
	back.Desc = !p.Desc
	ask := 0
	if limit > 0 {
		ask = limit + 1
	}
	items, last, err := back.page(ctx, start, ask, r)
	switch {
	case err != nil:
		return Page{}, err
	case len(items) == 0 && last == nil && !p.bounded():
		page, err := p.pageAfter(ctx, nil, limit, r)
		return page.Page, err
	case limit > 0 && len(items) > limit:
		items = items[:limit]
		last = p.positionOf(items[limit-1])
	case limit == 0 && last != nil && !r.spent:
		more, after, err := back.page(ctx, last, 1, &run{budget: r.budget, paging: true})
		if err != nil {
			wire.ReleaseAll(items)
			return Page{}, err
		}
		if len(more) == 0 && after == nil {
			last = nil
		}
		wire.ReleaseAll(more)
	}
	page.Items = items
	end := last // an empty page: what follows where it ended
	if len(items) > 0 {
		end = p.positionOf(items[0])
	}
	slices.Reverse(items)
	if page.Next, err = p.cursorAt(cursor.Position{Key: end}); err == nil && last != nil {
		page.Prev, err = p.cursorAt(cursor.Position{Key: last, Before: true})
	}
	return page, err
}
