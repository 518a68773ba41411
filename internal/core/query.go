package core

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
)

// Sealed is embedded by public interfaces that only this module implements.
type Sealed interface{ sealed() }

// Seal makes a type of this module implement Sealed.
type Seal struct{}

func (Seal) sealed() {}

// Page is a part of a query's result.
type Page[T any] = entitytype.Page[T]

// Reading is a query whose items are not decoded yet. Its errors say what was being read.
type Reading interface {
	fmt.Stringer
	// Each calls f for every item, at most the query's limit of them, until f asks for no more.
	Each(ctx context.Context, f func(item.Item) (more bool, err error)) error
	// Few reads at most n items and gives them to f; it is plan.ErrNotFound when there are no items.
	Few(ctx context.Context, n int, f func([]item.Item) error) error
	// Page reads one page, and gives its items and the next cursor to f.
	Page(ctx context.Context, after string, f func(items []item.Item, next string) error) error
	// Count counts the items.
	Count(ctx context.Context) (int, error)
	// Gathered is what entity.DB.GetCollection has to know; its Plan is nil for a query that cannot be gathered.
	Gathered() Gathered
}

// Query implements entity.Query[T]: a reading whose items are decoded as T.
type Query[T any] struct {
	Seal
	r      Reading
	decode func(it item.Item, into any) error // into is a *T
}

// NewQuery makes a query of a reading; decode fills what its second argument, a *T, points to.
func NewQuery[T any](r Reading, decode func(it item.Item, into any) error) *Query[T] {
	return &Query[T]{r: r, decode: decode}
}

// NewItemQuery makes a query of c's plan p, whose items are those of the entity.
func NewItemQuery[T any](c *Core, p *query.Plan) *Query[T] {
	codec := c.Schema.CodecOf(p.Index)
	return NewQuery[T](Planned(c, p), func(it item.Item, into any) error { return c.DecodeBy(codec, it, into) })
}

// Reading is what q reads from.
func (q *Query[T]) Reading() Reading { return q.r }

// String prints the compiled query.
func (q *Query[T]) String() string { return q.r.String() }

// All yields every item.
func (q *Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := q.r.Each(ctx, func(it item.Item) (bool, error) {
			var v T
			if err := q.decode(it, &v); err != nil {
				return false, err
			}
			stopped = !yield(v, nil)
			return !stopped, nil
		})
		if err != nil && !stopped {
			var none T
			yield(none, err)
		}
	}
}

// Collect returns every item.
func (q *Query[T]) Collect(ctx context.Context) ([]T, error) {
	var all []T
	err := q.r.Each(ctx, func(it item.Item) (bool, error) { return true, q.add(&all, it) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// add decodes an item behind the others.
func (q *Query[T]) add(all *[]T, it item.Item) error {
	var none T
	*all = append(*all, none)
	return q.decode(it, &(*all)[len(*all)-1])
}

// First returns the first item.
func (q *Query[T]) First(ctx context.Context) (first T, err error) {
	err = q.r.Few(ctx, 1, func(items []item.Item) error { return q.decode(items[0], &first) })
	return first, err
}

// One returns the only item.
func (q *Query[T]) One(ctx context.Context) (only T, err error) {
	err = q.r.Few(ctx, 2, func(items []item.Item) error {
		if len(items) > 1 {
			return plan.ErrMultipleItems
		}
		return q.decode(items[0], &only)
	})
	return only, err
}

// Page returns the items after a cursor.
func (q *Query[T]) Page(ctx context.Context, after string) (page Page[T], err error) {
	err = q.r.Page(ctx, after, func(items []item.Item, next string) error {
		page.Items, page.Next = make([]T, len(items)), next
		for i, it := range items {
			if err := q.decode(it, &page.Items[i]); err != nil {
				page.Items = nil
				return err
			}
		}
		return nil
	})
	return page, err
}

// Count counts the items.
func (q *Query[T]) Count(ctx context.Context) (int, error) { return q.r.Count(ctx) }

// planned is a reading of one compiled plan.
type planned struct {
	c *Core
	p *query.Plan
}

// Planned makes a reading of c's plan p.
func Planned(c *Core, p *query.Plan) Reading {
	p.Runner, p.Cursor = c.Runner, c.Cursor
	return planned{c, p}
}

func (r planned) String() string { return r.p.String() }

func (r planned) Gathered() Gathered { return Gathered{Core: r.c, Plan: r.p} }

func (r planned) run(ctx context.Context, f func(context.Context) error) error {
	return r.p.Measure(ctx, func(ctx context.Context) error { return r.c.Wrap(r.p.Verb, r.p.Where, f(ctx)) })
}

func (r planned) Each(ctx context.Context, f func(item.Item) (bool, error)) error {
	return r.run(ctx, func(ctx context.Context) error {
		for it, err := range r.p.All(ctx) {
			if err != nil {
				return err
			}
			if more, err := f(it); err != nil || !more {
				return err
			}
		}
		return nil
	})
}

func (r planned) Few(ctx context.Context, n int, f func([]item.Item) error) error {
	return r.run(ctx, func(ctx context.Context) error {
		items, err := r.p.Head(ctx, n)
		switch {
		case err != nil:
			return err
		case len(items) == 0:
			return plan.ErrNotFound
		}
		return f(items)
	})
}

func (r planned) Page(ctx context.Context, after string, f func([]item.Item, string) error) error {
	return r.run(ctx, func(ctx context.Context) error {
		page, err := r.p.Page(ctx, after, r.p.Limit)
		if err != nil {
			return err
		}
		return f(page.Items, page.Next)
	})
}

func (r planned) Count(ctx context.Context) (n int, err error) {
	err = r.run(ctx, func(ctx context.Context) error {
		n, err = r.p.Count(ctx)
		return err
	})
	return n, err
}

// CollectionPart is one query of entity.DB.GetCollection and the slice that its items go to; it implements entity.CollectionPart.
type CollectionPart interface {
	fmt.Stringer
	gathered() Gathered
}

// Gathered is an opened Part.
type Gathered struct {
	Core *Core
	Plan *query.Plan // nil: the query is none that can be gathered
	Into any         // the pointer to the slice; nil when it is nil
	// Collect begins a group: add decodes an item, and fill assigns the slice.
	Collect func() (add func(item.Item) error, fill func())
}

// PartOf opens a part.
func PartOf(p CollectionPart) Gathered { return p.gathered() }

// part is a Part of a query.
type part struct {
	fmt.Stringer
	Gathered
}

func (p *part) gathered() Gathered { return p.Gathered }

// Into makes q a part of entity.DB.GetCollection.
func (q *Query[T]) Into(dst *[]T) CollectionPart {
	p := &part{q, q.r.Gathered()}
	if dst != nil {
		p.Into = dst
	}
	p.Collect = func() (func(item.Item) error, func()) {
		var group []T
		return func(it item.Item) error { return q.add(&group, it) }, func() { *dst = group }
	}
	return p
}
