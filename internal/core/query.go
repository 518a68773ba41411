package core

import (
	"context"
	"iter"

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
type Page[T any] struct {
	Items []T
	Next  string // cursor of the next page, "" after the last one; the last page can be empty
}

// Query is a compiled query whose items are decoded as T; it implements entity.Query[T].
type Query[T any] struct {
	Seal
	c      *Core
	p      *query.Plan
	decode func(item.Item) (T, error)
}

// NewQuery makes a Query of c's plan p; decode turns each item into a T.
func NewQuery[T any](c *Core, p *query.Plan, decode func(item.Item) (T, error)) *Query[T] {
	p.Runner, p.Cursor = c.Runner, c.Cursor
	return &Query[T]{c: c, p: p, decode: decode}
}

// Source returns what q reads from, and a copy of its plan.
func (q *Query[T]) Source() (*Core, query.Plan) { return q.c, *q.p }

// String prints the compiled query.
func (q *Query[T]) String() string { return q.p.String() }

func (q *Query[T]) run(ctx context.Context, f func(context.Context) error) error {
	return q.p.Measure(ctx, func(ctx context.Context) error { return q.c.Wrap(q.p.Verb, q.p.Where, f(ctx)) })
}

// All yields every item.
func (q *Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := q.run(ctx, func(ctx context.Context) error {
			for it, err := range q.p.All(ctx) {
				if err != nil {
					return err
				}
				v, err := q.decode(it)
				if err != nil {
					return err
				}
				if stopped = !yield(v, nil); stopped {
					return nil
				}
			}
			return nil
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
	for v, err := range q.All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// few reads at most n items.
func (q *Query[T]) few(ctx context.Context, n int) (items []T, err error) {
	err = q.run(ctx, func(ctx context.Context) error {
		found, err := q.p.Head(ctx, n)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return plan.ErrNotFound
		}
		items, err = q.decodeAll(found)
		return err
	})
	return items, err
}

func (q *Query[T]) decodeAll(found []item.Item) ([]T, error) {
	items := make([]T, 0, len(found))
	for _, it := range found {
		v, err := q.decode(it)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

// First returns the first item.
func (q *Query[T]) First(ctx context.Context) (T, error) {
	var none T
	items, err := q.few(ctx, 1)
	if err != nil {
		return none, err
	}
	return items[0], nil
}

// One returns the only item.
func (q *Query[T]) One(ctx context.Context) (T, error) {
	var none T
	items, err := q.few(ctx, 2)
	switch {
	case err != nil:
		return none, err
	case len(items) > 1:
		return none, q.c.Wrap(q.p.Verb, q.p.Where, plan.ErrNotUnique)
	}
	return items[0], nil
}

// Page returns the items after a cursor.
func (q *Query[T]) Page(ctx context.Context, after string) (page Page[T], err error) {
	err = q.run(ctx, func(ctx context.Context) error {
		raw, err := q.p.Page(ctx, after, q.p.Limit)
		if err != nil {
			return err
		}
		page.Next = raw.Next
		page.Items, err = q.decodeAll(raw.Items)
		return err
	})
	return page, err
}

// Count counts the items.
func (q *Query[T]) Count(ctx context.Context) (n int, err error) {
	err = q.run(ctx, func(ctx context.Context) error {
		n, err = q.p.Count(ctx)
		return err
	})
	return n, err
}
