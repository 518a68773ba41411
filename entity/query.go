package entity

import (
	"context"
	"fmt"
	"iter"

	"github.com/dynastrata/dynastrata/internal/core"
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
	// One returns the only item: [ErrNotFound] if no item matches, [ErrMultipleItems] if several do.
	One(ctx context.Context) (T, error)
	// Page returns up to [Limit] items (without Limit what one request gives) after the cursor, "" for the first page.
	// A cursor of another query is [ErrInvalidCursor].
	Page(ctx context.Context, after string) (Page[T], error)
	// Count counts the items, at most [Limit], without returning them. It is charged like reading them.
	Count(ctx context.Context) (int, error)
	// Into makes the query a part of [DB.GetCollection], which sets *dst to what Collect would return.
	Into(dst *[]T) CollectionPart

	core.Sealed
}

// Page is a part of a query's result: Items, and Next, the cursor of the next page, which is "" after the last one. The
// last page can be empty.
type Page[T any] = core.Page[T]
