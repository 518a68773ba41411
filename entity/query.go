package entity

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/query"
)

// Query is one intended read of a partition, made by [Store.Query], [Index.Query] and the histories of other packages.
// It can be run any number of times; print it to see its plan. Mistakes in its arguments come out when it is run.
type Query[T any] interface {
	fmt.Stringer
	// All yields every item, at most [Limit] of them, fetching pages as they are needed. It stops at the first error.
	All(ctx context.Context) iter.Seq2[T, error]
	// Collect returns every item, at most [Limit] of them.
	Collect(ctx context.Context) ([]T, error)
	// First returns the first item, or [ErrNotFound].
	First(ctx context.Context) (T, error)
	// One returns the only item: [ErrNotFound] if there is none, [ErrNotUnique] if there are more.
	One(ctx context.Context) (T, error)
	// Page returns up to [Limit] items (without Limit what one request gives) after the cursor, "" for the first page.
	// A cursor of another query is [ErrInvalidCursor].
	Page(ctx context.Context, after string) (Page[T], error)
	// Count counts the items, at most [Limit], without returning them. It is charged like reading them.
	Count(ctx context.Context) (int, error)

	sealed()
}

// Page is a part of a query's result.
type Page[T any] struct {
	Items []T
	Next  string // cursor of the next page, "" after the last one; the last page can be empty
}

// typed is a query whose items are decoded as T.
type typed[T any] struct {
	c      *core.Core
	p      *query.Plan
	decode func(item.Item) (T, error)
}

// newQuery makes a Query of a plan.
func newQuery[T any](c *core.Core, p *query.Plan) Query[T] {
	p.Runner, p.Cursor = c.Runner, c.Cursor
	return &typed[T]{c, p, func(it item.Item) (T, error) { return core.Decode[T](c, it) }}
}

func (q *typed[T]) sealed()        {}
func (q *typed[T]) String() string { return q.p.String() }

func (q *typed[T]) run(ctx context.Context, f func(context.Context) error) error {
	return q.p.Measure(ctx, func(ctx context.Context) error { return q.c.Wrap(q.p.Verb, q.p.Where, f(ctx)) })
}

func (q *typed[T]) All(ctx context.Context) iter.Seq2[T, error] {
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

func (q *typed[T]) Collect(ctx context.Context) ([]T, error) {
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
func (q *typed[T]) few(ctx context.Context, n int) (items []T, err error) {
	err = q.run(ctx, func(ctx context.Context) error {
		page, err := q.p.Page(ctx, "", n)
		if err != nil {
			return err
		}
		if len(page.Items) == 0 {
			return ErrNotFound
		}
		items, err = q.decodeAll(page)
		return err
	})
	return items, err
}

func (q *typed[T]) decodeAll(page query.Page) ([]T, error) {
	items := make([]T, 0, len(page.Items))
	for _, it := range page.Items {
		v, err := q.decode(it)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

func (q *typed[T]) First(ctx context.Context) (T, error) {
	var none T
	items, err := q.few(ctx, 1)
	if err != nil {
		return none, err
	}
	return items[0], nil
}

func (q *typed[T]) One(ctx context.Context) (T, error) {
	var none T
	items, err := q.few(ctx, 2)
	switch {
	case err != nil:
		return none, err
	case len(items) > 1:
		return none, q.c.Wrap(q.p.Verb, q.p.Where, ErrNotUnique)
	}
	return items[0], nil
}

func (q *typed[T]) Page(ctx context.Context, after string) (page Page[T], err error) {
	err = q.run(ctx, func(ctx context.Context) error {
		raw, err := q.p.Page(ctx, after, q.p.Limit)
		if err != nil {
			return err
		}
		page.Next = raw.Next
		page.Items, err = q.decodeAll(raw)
		return err
	})
	return page, err
}

func (q *typed[T]) Count(ctx context.Context) (n int, err error) {
	err = q.run(ctx, func(ctx context.Context) error {
		n, err = q.p.Count(ctx)
		return err
	})
	return n, err
}
