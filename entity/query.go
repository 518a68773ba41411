package entity

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Query is one intended read of a partition, made by [Store.Query], [Index.Query] and the histories of other packages.
// It can be run any number of times; printing it shows its plan. Mistakes in its arguments are returned when it is run.
type Query[T any] interface {
	fmt.Stringer
	// All yields every item, at most [Limit] of them. It fetches pages as they are needed and stops at the first error.
	All(ctx context.Context) iter.Seq2[T, error]
	// Collect returns every item, at most [Limit] of them. Without any it returns an empty slice, not nil.
	Collect(ctx context.Context) ([]T, error)
	// First returns the first item, or [ErrNotFound].
	First(ctx context.Context) (T, error)
	// One returns the only item: [ErrNotFound] if no item matches, [ErrMultipleItems] if several do.
	One(ctx context.Context) (T, error)
	// Page returns up to [Limit] items (without Limit what one request gives) at the cursor: "" for the first page, Next or
	// Prev of another page. A cursor of another query is [ErrInvalidCursor].
	Page(ctx context.Context, cursor string) (Page[T], error)
	// Count returns the number of items, at most [Limit]. It costs as much as reading them.
	Count(ctx context.Context) (int, error)
	// Into makes the query a part of [DB.GetCollection], which sets *dst to what Collect would return.
	Into(dst *[]T) CollectionPart
	// Visit makes the query a part of [DB.GetCollection], which calls f with each item, one at a time.
	Visit(f func(T) error) CollectionPart

	query.Sealed
}

// Page has the fields Items, Next and Prev: a part of a query's result, in the order of the query, and the cursors of the pages around it.
//
// Next is the cursor of the next page, "" after the last one. The last page can be empty.
//
// Prev is the cursor of the previous page, "" on the first one. The previous page ends right before the first item of this page, whatever
// was written since, so paging back and forth repeats no item and leaves none out. It has fewer than [Limit] items only if it is the first
// page, and it is never empty: if all items before this page were deleted, it is the first page. With [MaxEvaluated] or [MaxRequests], any
// page can be shorter, or empty: an empty page without Prev can end the way back. Going back reads in the other direction, one item more
// than the page has; without Limit, one more request finds out whether there are items before. Scans, lists of versions and timelines have
// no Prev.
type Page[T any] = entitytype.Page[T]

// StringSet is a stored set of strings that was read into an any. It is stored as a set again.
type StringSet = entitytype.StringSet

// NumberSet is a stored set of numbers that was read into an any. It is stored as a set again, with all digits.
type NumberSet = entitytype.NumberSet

// useFilter is the advice in errors about conditions on other fields.
const useFilter = "put conditions on other fields into entity.Filter"

// source returns what a query or a scan reads of the table or, if x is not nil, of an index.
func source(c *engine.Core, x *schema.Index, verb string) query.Source {
	s := c.Schema
	src := query.Source{
		Core: c, Index: x, PK: s.PK, SK: s.SK, Verb: verb, Expire: s.Expires,
		Code: schema.CodeUnknownTarget, Other: useFilter,
	}
	base := s.CurrentInNamespace
	if x != nil {
		src.PK, src.SK, src.Spread = x.PK, x.SK, x.Shards
	}
	switch scans := verb == "Scan"; {
	case x == nil && !scans:
		base = s.Current
	case x == nil, x.Local:
	case x.PK.Prefixed && !scans:
		base = expr.Cond{}
	default:
		base = expr.All(s.InNamespace, s.Own)
	}
	// Sentinels and items of `$` entities that share the table or index with a verbatim entity have an entity marker, which a
	// verbatim item never has. Entities can be declared later, so each run looks whether some write such items.
	src.Base = func() expr.Cond {
		if s.Templated || !plan.Marked(c.DB.On(c.Table), x) {
			return base
		}
		return expr.All(base, expr.Compare(expr.NotExists, expr.Attr(schema.EntityAttr)))
	}
	if (x == nil || x.Local) && s.Templated && !s.HasMetadata && s.SK != nil {
		// No attribute distinguishes a current item from what effect-dynamodb stores with it, but its sort key is composed of its own
		// attributes.
		for _, a := range s.SK.Parts {
			src.Needs = append(src.Needs, a.Name)
		}
		src.Own = func(it item.Item) (bool, error) {
			if attr, problem := s.Profile.CheckDigits(s.SK, it); problem != "" {
				return false, &DecodeError{Entity: s.Name, Attr: attr, Problem: problem}
			}
			kind, known := layout.KindOf(s, it)
			return known && kind == layout.CurrentKind, nil
		}
	}
	return src
}

// Query reads the items of one partition of the table: current items of T only, in the order of the sort key. partition has the fields of
// the partition key and, from the left, the fixed fields of the sort key; any other field that is set is an error. A [Cond] can bound the
// next part of the sort key, or two: one of [Gt] and [Ge], and one of [Lt] and [Le]. It costs one request per MB read. Events, snapshots
// and deleted copies in the same partition are read and charged, but not returned.
func (s *Store[T]) Query(partition T, opts ...QueryOption) Query[T] {
	return &query.Query[T]{From: queryOne(s, nil, partition, opts)}
}

// queryOne reads one partition of the table or, if x is an index, of that.
func queryOne(h engine.Holder, x *schema.Index, partition any, opts []QueryOption) query.Decoding {
	c := engine.Of(h)
	src, v, spec := source(c, x, "Query"), reflect.ValueOf(partition), bind.Collect(opts)
	if src.Spread != nil {
		return query.Items(query.OfEach("", query.BuildEach(src, v, spec)))
	}
	return query.Items(query.Build(src, v, spec))
}

// queryAny reads several partitions, in a slice, of the table or of an index.
func queryAny(h engine.Holder, x *schema.Index, partitions any, opts []QueryOption) query.Decoding {
	c, given := engine.Of(h), reflect.ValueOf(partitions)
	var plans []*query.Plan
	for i := range given.Len() {
		plans = append(plans, query.BuildEach(source(c, x, "Query"), given.Index(i), bind.Collect(opts))...)
	}
	return query.Items(query.BuildMerge(c, "QueryAny", "", plans))
}

// QueryAny reads the items of several partitions of the table as one query; see [Index.QueryAny].
func (s *Store[T]) QueryAny(partitions []T, opts ...QueryOption) Query[T] {
	return &query.Query[T]{From: queryAny(s, nil, partitions, opts)}
}

// Scan reads every current item of T in the table. It reads, and pays for, the whole table. Only [Filter] restricts it,
// by any attribute. It reads page after page unless [Segments] is given. It costs one request per MB.
func (s *Store[T]) Scan(opts ...ScanOption) Query[T] {
	return &query.Query[T]{From: scan(s, nil, opts)}
}

// Index is a secondary index of a store. It has current items only; indexes of deleted copies are opened by package lifecycle.
type Index[T any] struct {
	_ indexOf[T]
	handle
	x *schema.Index
}

// scan reads the whole table or, if x is an index, that.
func scan(h engine.Holder, x *schema.Index, opts []ScanOption) query.Decoding {
	return query.Items(query.BuildScan(source(engine.Of(h), x, "Scan"), bind.Collect(opts)))
}

func indexNamed(c *engine.Core, name string) (*schema.Index, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	x := c.Schema.IndexNamed(name)
	switch {
	case x == nil:
		return nil, &SchemaError{Code: schema.CodeUnknownIndex, Type: c.Schema.Type.String(), Problem: fmt.Sprintf("there is no index declared with the name %q", name) + c.Schema.KnownIndexes(false)}
	case c.Schema.HoldsCopies(x):
		return nil, &SchemaError{Code: schema.CodeUnknownIndex, Type: c.Schema.Type.String(), Problem: "the index " + name + " holds deleted copies and no items; lifecycle.Deleted.Index opens it"}
	}
	return x, nil
}

// Index returns the index that T declares under name, which is not the physical name. The error is a *[SchemaError] with code EDD-9051.
func (s *Store[T]) Index(name string) (*Index[T], error) {
	x, err := indexNamed(engine.Of(s), name)
	if err != nil {
		return nil, err
	}
	return &Index[T]{handle: s.handle, x: x}, nil
}

// opened returns the declaration of the index, nil if x is nil or a zero value.
func (x *Index[T]) opened() *schema.Index {
	if x == nil {
		return nil
	}
	return x.x
}

// Query reads the items of one partition of the index, as [Store.Query] does for the table. Reads of a global index are
// eventually consistent: a write may not be visible yet. An index with shards is read as [Index.QueryAny] reads partitions.
func (x *Index[T]) Query(partition T, opts ...QueryOption) Query[T] {
	return &query.Query[T]{From: queryOne(x, x.opened(), partition, opts)}
}

// QueryAny reads the items of several partitions of the index as one query, in the order of the sort key: the tasks that are
// open or blocked, by due date. Each of partitions, 1 to 100, is what [Index.Query] takes; opts are for all of them. Items with
// equal sort keys come in the order of their partition keys, those of one partition in DynamoDB's order, whatever the order of
// partitions. [Desc] reverses the whole order.
//
// [Limit] counts the items of all partitions. Pages have cursors in both directions, which hold a position in each partition: about
// 100 bytes for each, with long keys up to 4 KB. [MaxEvaluated] and [MaxRequests] bound all partitions together, and must be at
// least their number. The result cannot be part of [DB.GetCollection], and [Project] does not take it.
//
// Each partition is read when an item of it is needed, so that at most one response of each is held. At the beginning all are
// read, up to 8 at a time; with Limit each is asked for its share. It costs at least one request for each partition,
// and for each page. Errors: *[InputError] with code EDD-9166 if there are no partitions, more than 100, or one twice. Each shard
// of an index with shards counts as a partition.
func (x *Index[T]) QueryAny(partitions []T, opts ...QueryOption) Query[T] {
	return &query.Query[T]{From: queryAny(x, x.opened(), partitions, opts)}
}

// Scan reads every item of T in the index; see [Store.Scan].
func (x *Index[T]) Scan(opts ...ScanOption) Query[T] {
	return &query.Query[T]{From: scan(x, x.opened(), opts)}
}

// Project makes q fetch only the attributes of S, a smaller struct whose fields have the names and types of T's. It
// saves transfer and decoding, but no read units; with [Hydrate] it saves decoding only. If S has a field that T does not have, running the query returns an
// *[InputError].
func Project[S, T any](q Query[T]) Query[S] {
	from := query.OfOne(q)
	if from == nil {
		m := query.BuildMerge(engine.Closed(typeOf((*S)(nil))), "Query", "", nil)
		m.Err = &InputError{Code: bind.CodeOption, Type: m.Schema.Type.String(), Problem: "Project takes queries of a store, an index or a history of events, not of several partitions or shards"}
		return &query.Query[S]{From: query.Items(m)}
	}
	p, c, index := *from, from.Core, from.Index
	if p.Hydrate {
		index = nil // the items are whole
	}
	projection, err := schema.Project(typeOf((*S)(nil)), c.Schema, index)
	if err != nil && p.Err == nil {
		p.Err = &InputError{Code: bind.CodeOption, Type: typeOf((*S)(nil)).String(), Problem: fmt.Sprintf("it is no part of %s: %v", c.Schema.Type, err)}
	}
	if c.Schema.Upgrades != nil && p.Err == nil {
		p.Err = &InputError{Code: bind.CodeUpgrade, Type: typeOf((*S)(nil)).String(), Problem: "a part of an item cannot be upgraded; read whole items"}
	}
	p.Project = projection.Names
	return &query.Query[S]{From: query.Decoding{Reading: &p, Skip: p.Skip, Decode: func(it wire.Item, into any) error {
		return c.ReadFound(&projection.Codec, it, into)
	}}}
}

// Erased has what [Store.DeleteAll] or [Store.PurgeAll] did with the items that its query found.
type Erased struct {
	Found   int    // by the query: the sum of the others, and after an error the items that were not decided too
	Deleted int    // removed by this call
	Changed int    // not matching the query when their turn came, and left as they were
	Missing int    // deleted by others, or expired, when their turn came
	Cursor  string // where to go on: "" after the last item, and after an error the page that was not finished, "" for the first
}

// erasing is one run of DeleteAll or PurgeAll. It deletes in batches if the primary key alone makes an item match.
type erasing struct {
	mu sync.Mutex
	Erased
	c                 *engine.Core
	p                 *query.Plan
	purges, inBatches bool
}

// one decides about an item.
func (e *erasing) one(ctx context.Context, it wire.Item) (err error) {
	e.mu.Lock()
	key, whole, match := e.p.Found(it)
	e.mu.Unlock()
	c, lost := e.c, false
	if e.purges {
		err = (&engine.Purge{Runner: c.Runner, Schema: c.Schema, Table: c.Table, Key: key, Only: match}).Run(ctx)
	} else {
		op := plan.NewDeleteFound(c.Schema, c.Table, key, whole, match)
		op.Unsure = func() { lost = true }
		_, err = c.Runner.Run(ctx, op)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil, lost && errors.Is(err, ErrNotFound):
		e.Deleted++
	case errors.Is(err, ErrNotFound):
		e.Missing++
	case errors.Is(err, ErrConditionFailed):
		e.Changed++
	default:
		return fmt.Errorf("item %s: %w", layout.KeyText(c.Schema, key), err)
	}
	return nil
}

// page decides about the items of a page, 8 at the same time. After an error no further ones are begun.
func (e *erasing) page(ctx context.Context, items []wire.Item) error {
	e.Found += len(items)
	if !e.inBatches {
		return engine.ParallelUntilError(ctx, len(items), 8, func(_ context.Context, i int) error { return e.one(ctx, items[i]) })
	}
	writes := make([]engine.BatchWrite, len(items))
	for i, it := range items {
		writes[i] = engine.BatchWrite{Table: e.c.Table, Key: it.Pick(e.c.Schema.KeyNames()...)}
	}
	left, err := e.c.Runner.WriteMany(ctx, writes)
	e.Deleted += len(items) - len(left)
	return err
}

func eraseAll(ctx context.Context, h engine.Holder, verb string, q any, cursor string, opts []PurgeOption) (Erased, error) {
	c, spec := engine.Of(h), bind.Collect(opts)
	p := query.Compiled(q)
	e := &erasing{Erased: Erased{Cursor: cursor}, c: c, p: p, purges: verb == "PurgeAll"}
	err := c.Measure(ctx, verb, "", func(ctx context.Context) (err error) {
		switch err = c.Readable(spec); {
		case err != nil:
		case p == nil || p.Schema != c.Schema || p.DB != c.DB:
			err = bind.Invalid(c.Schema, bind.CodeErase, nil, "%s takes what Query, QueryAny or Scan of this store, or of one of its indexes, returned", verb)
		case e.purges:
			err = bind.InMemory(c.Schema, p.User, verb)
		case c.Schema.Contexts != nil && (c.Schema.SoftDeletes || c.Schema.KeepsHistory):
			_, err = plan.InContext(ctx, c.Schema) // before the first page
		default:
			e.inBatches = plan.Transactional(c.Schema) == "" && p.Index == nil && p.User.Op == expr.None && (c.Schema.Templated || p.Base().Op == expr.None) && (p.Expire || !c.Schema.Expires)
		}
		ctx = bind.WithPace(ctx, spec.Budget)
		for more := err == nil; more; {
			err = p.Page(ctx, e.Cursor, func(items []wire.Item, around query.Cursors) (err error) {
				if err = e.page(ctx, items); err == nil {
					e.Cursor = around.Next
				}
				return err
			})
			more = err == nil && e.Cursor != "" && p.Limit+p.Evaluate+p.Requests == 0
			if spec.Progress != nil {
				spec.Progress(e.Deleted)
			}
		}
		return err
	})
	return e.Erased, err
}

// DeleteAll deletes what q finds, page by page, each item as [Store.Delete] does, if it matches then: the [Filter] of q holds, and its keys of
// the index are those that were found. q is a query or a scan of this store or one of its indexes; its [Limit], [MaxEvaluated] or
// [MaxRequests] ends the call. cursor is "" or the Cursor of a call with the same query. The call can be repeated at any time.
// It costs the pages and one write for each item, 8 at the same time; soft delete adds a read, and so does an index that carries parts of items,
// without [Hydrate]. In a table without a Filter the primary key alone makes an item match: those of an entity without soft delete,
// history and unique values are deleted in batches, as by [Store.DeleteMany], and Deleted counts all of them. Errors come with what has been
// done: *[InputError], EDD-9240 for another query; those of Query.Page and Delete, but not [ErrNotFound] and [ErrConditionFailed], which are
// counted. A lost answer counts as Deleted if the item is gone; without write ids it is an error.
func (s *Store[T]) DeleteAll(ctx context.Context, q Query[T], cursor string, opts ...PurgeOption) (Erased, error) {
	return eraseAll(ctx, s, "DeleteAll", q, cursor, opts)
}

// PurgeAll removes what q finds with all that belongs to it, like [Store.Purge]; the rest is as for [Store.DeleteAll]. It reads each item and, if
// that matches and is unchanged, removes it with its history in one transaction; a history of more than 99 items or 4 MB goes before it. What
// is deleted already stays so: purge it by package lifecycle. A [Filter] that only DynamoDB can evaluate is EDD-9140.
func (s *Store[T]) PurgeAll(ctx context.Context, q Query[T], cursor string, opts ...PurgeOption) (Erased, error) {
	return eraseAll(ctx, s, "PurgeAll", q, cursor, opts)
}
