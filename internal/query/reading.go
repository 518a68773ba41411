package query

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Sealed is embedded by public interfaces that only this module implements.
type Sealed interface{ sealed() }

// Seal makes a type of this module implement Sealed.
type Seal struct{}

func (Seal) sealed() {}

// Cursors are those of the pages after and before a page, "" at the ends.
type Cursors struct{ Next, Prev string }

// Reading is a query that returns undecoded items, which can be used until f returns. Its errors name the verb and the entity.
type Reading interface {
	fmt.Stringer
	// Each calls f for every item, up to the query's limit, until f returns false or an error.
	Each(ctx context.Context, f func(wire.Item) (more bool, err error)) error
	// Few reads at most n items and passes them to f. It returns entitytype.ErrNotFound if there are none.
	Few(ctx context.Context, n int, f func([]wire.Item) error) error
	// Page reads one page and passes its items, and the cursors of the pages around it, to f.
	Page(ctx context.Context, cursor string, f func(items []wire.Item, around Cursors) error) error
	// Count counts the items.
	Count(ctx context.Context) (int, error)
	// ForCollection returns the query for entity.DB.GetCollection, nil if it cannot be part of a collection.
	ForCollection() (*engine.Core, *Plan)
}

// Decoding is a reading with the way to decode its items. What a query does is done here, once for all types: into is what
// a typed query passes, a pointer to a value or to a slice.
type Decoding struct {
	Reading
	Decode func(it wire.Item, into any) error // into points to a value
}

// all decodes one item after the other into the value that into points to, and calls yield for each. That value is zero if yield
// gets an error.
func (d Decoding) all(ctx context.Context, into any, yield func(error) bool) {
	v, stopped := reflect.ValueOf(into).Elem(), false
	err := d.Each(ctx, func(it wire.Item) (bool, error) {
		v.SetZero()
		if err := d.Decode(it, into); err != nil {
			return false, err
		}
		stopped = !yield(nil)
		return !stopped, nil
	})
	if err != nil && !stopped {
		v.SetZero()
		yield(err)
	}
}

func (d Decoding) first(ctx context.Context, into any) error {
	return d.Few(ctx, 1, func(items []wire.Item) error { return d.Decode(items[0], into) })
}

func (d Decoding) one(ctx context.Context, into any) error {
	return d.Few(ctx, 2, func(items []wire.Item) error {
		if len(items) > 1 {
			return entitytype.ErrMultipleItems
		}
		return d.Decode(items[0], into)
	})
}

func (d Decoding) collect(ctx context.Context, into any) error {
	all := reflect.ValueOf(into).Elem()
	err := d.Each(ctx, func(it wire.Item) (bool, error) { return true, d.add(all, it) })
	if err != nil {
		all.SetZero()
	}
	return err
}

// add decodes an item and appends it to a slice.
func (d Decoding) add(all reflect.Value, it wire.Item) error {
	n := all.Len()
	if n == all.Cap() {
		all.Grow(it.Together())
	}
	all.SetLen(n + 1)
	at := all.Index(n)
	at.SetZero()
	return d.Decode(it, at.Addr().Interface())
}

func (d Decoding) page(ctx context.Context, cursor string, into any) (around Cursors, err error) {
	all := reflect.ValueOf(into).Elem()
	err = d.Page(ctx, cursor, func(items []wire.Item, found Cursors) error {
		all.Set(reflect.MakeSlice(all.Type(), len(items), len(items)))
		around = found
		for i, it := range items {
			if err := d.Decode(it, all.Index(i).Addr().Interface()); err != nil {
				all.SetZero()
				return err
			}
		}
		return nil
	})
	return around, err
}

// Query implements entity.Query[T]: it decodes the items of a reading as T.
type Query[T any] struct {
	Seal
	From Decoding
}

// Items returns the reading of c's plan p that decodes items of the entity.
func Items(c *engine.Core, p *Plan) Decoding {
	codec := p.Codec()
	p.Runner, p.Cursor = c.Runner, c.Cursor
	return Decoding{planned{c, p, p}, func(it wire.Item, into any) error { return c.ReadFound(codec, it, into) }}
}

// Reading returns what q reads from.
func (q *Query[T]) Reading() Reading { return q.From.Reading }

// String prints the compiled query.
func (q *Query[T]) String() string { return q.From.String() }

// All yields every item.
func (q *Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var v T
		q.From.all(ctx, &v, func(err error) bool { return yield(v, err) })
	}
}

// Collect returns every item.
func (q *Query[T]) Collect(ctx context.Context) (all []T, err error) {
	err = q.From.collect(ctx, &all)
	return all, err
}

// First returns the first item.
func (q *Query[T]) First(ctx context.Context) (first T, err error) {
	err = q.From.first(ctx, &first)
	return first, err
}

// One returns the only item.
func (q *Query[T]) One(ctx context.Context) (only T, err error) {
	err = q.From.one(ctx, &only)
	return only, err
}

// Page returns the items at a cursor.
func (q *Query[T]) Page(ctx context.Context, cursor string) (page entitytype.Page[T], err error) {
	around, err := q.From.page(ctx, cursor, &page.Items)
	page.Next, page.Prev = around.Next, around.Prev
	return page, err
}

// Count counts the items.
func (q *Query[T]) Count(ctx context.Context) (int, error) { return q.From.Count(ctx) }

// source is a compiled query without an error: a *Plan, or a *Merge of several.
type source interface {
	fmt.Stringer
	all(context.Context, *budget) iter.Seq2[wire.Item, error]
	Head(ctx context.Context, n int) ([]wire.Item, error)
	Page(ctx context.Context, cursor string, limit int) (Page, error)
	Count(context.Context) (int, error)
}

// planned is the reading of a compiled query.
type planned struct {
	c    *engine.Core
	p    *Plan // the plan, or what the plans of a merge share
	from source
}

// Planned returns a reading of c's plan p.
func Planned(c *engine.Core, p *Plan) Reading {
	p.Runner, p.Cursor = c.Runner, c.Cursor
	return planned{c, p, p}
}

// ItemsOfEach returns the reading of what BuildEach has compiled, in one order.
func ItemsOfEach(c *engine.Core, where string, plans []*Plan) Decoding {
	if len(plans) == 1 || plans[0].Err != nil { // an error is the same for all
		return Items(c, plans[0])
	}
	return MergedItems(c, BuildMerge(c.Schema, plans[0].Verb, where, plans))
}

// MergedItems returns the reading of c's plans, merged in m, that decodes items of the entity.
func MergedItems(c *engine.Core, m *Merge) Decoding {
	m.Open(c.Runner, c.Cursor)
	codec := m.Plan().Codec()
	return Decoding{planned{c, m.Plan(), m}, func(it wire.Item, into any) error { return c.ReadFound(codec, it, into) }}
}

// Compiled returns what a Query reads from, with its core and its plan, of several partitions what they share; nil for any other.
func Compiled(q any) (Reading, *engine.Core, *Plan) {
	var r planned
	if q, ok := q.(interface{ Reading() Reading }); ok {
		r, _ = q.Reading().(planned)
	}
	return r, r.c, r.p
}

func (r planned) String() string { return r.from.String() }

// ForCollection returns the plan. Several partitions cannot be part of a collection.
func (r planned) ForCollection() (*engine.Core, *Plan) {
	if r.from != source(r.p) {
		return nil, nil
	}
	return r.c, r.p
}

func (r planned) run(ctx context.Context, f func(context.Context) error) error {
	p := r.p
	call := entitytype.Call{Verb: p.Verb, Entity: p.Schema.Name, Table: p.Table}
	if p.Index != nil {
		call.Index = p.Index.Index
	}
	if p.Truth || r.c.Schema.Options.Derived {
		ctx = p.Runner.Direct(ctx)
	}
	return p.Runner.Measure(ctx, call, func(ctx context.Context) error {
		if p.Budget != nil {
			ctx = write.WithPace(ctx, p.Budget)
		}
		err := p.Err
		if err == nil {
			err = f(ctx)
		}
		if err != nil {
			return r.c.Wrap(p.Verb, p.Where(), err)
		}
		return nil
	})
}

func (r planned) Each(ctx context.Context, f func(wire.Item) (bool, error)) error {
	return r.run(ctx, func(ctx context.Context) error {
		for it, err := range r.from.all(ctx, r.p.budget()) {
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

func (r planned) Few(ctx context.Context, n int, f func([]wire.Item) error) error {
	return r.run(ctx, func(ctx context.Context) error {
		items, err := r.from.Head(ctx, n)
		switch {
		case err != nil:
			return err
		case len(items) == 0:
			return entitytype.ErrNotFound
		}
		defer wire.ReleaseAll(items)
		return f(items)
	})
}

func (r planned) Page(ctx context.Context, cursor string, f func([]wire.Item, Cursors) error) error {
	return r.run(ctx, func(ctx context.Context) error {
		p := r.p
		if err := p.Cursor.Allow(p.Schema, p.Schema.PK, p.Schema.SK, p.PK, p.SK); err != nil {
			return err
		}
		page, err := r.from.Page(ctx, cursor, p.Limit)
		if err != nil {
			return err
		}
		defer wire.ReleaseAll(page.Items)
		return f(page.Items, Cursors{page.Next, page.Prev})
	})
}

func (r planned) Count(ctx context.Context) (n int, err error) {
	err = r.run(ctx, func(ctx context.Context) error {
		n, err = r.from.Count(ctx)
		return err
	})
	return n, err
}

// Part is one query of entity.DB.GetCollection or entity.DB.Each, and where its items go.
type Part struct {
	fmt.Stringer
	Core          *engine.Core
	Plan          *Plan  // nil: the query cannot be part of a collection
	Into          any    // the pointer to the slice for the items; nil for a function
	Code, Problem string // what is wrong with where the items go, "" for nothing
	// Start starts a run: take decodes an item and passes it on, and fill assigns the slice.
	Start func() (take func(item.Item) error, fill func())
}

// CollectionPart is a part of entity.DB.GetCollection.
type CollectionPart interface {
	fmt.Stringer
	opened() *Part
	collected()
}

// VisitPart is a part of entity.DB.Each.
type VisitPart interface {
	fmt.Stringer
	opened() *Part
	visited()
}

func (p *Part) opened() *Part { return p }

type collectedPart struct{ *Part }

func (collectedPart) collected() {}

type visitedPart struct{ *Part }

func (visitedPart) visited() {}

// Opened opens parts. A nil one is nil.
func Opened[P interface{ opened() *Part }](parts []P) []*Part {
	all := make([]*Part, len(parts))
	for i, p := range parts {
		if any(p) != nil {
			all[i] = p.opened()
		}
	}
	return all
}

// Visit returns q as a part of entity.DB.Each that calls f with each of its items.
func Visit[T any](q *Query[T], f func(T) error) VisitPart {
	p := &Part{Stringer: q}
	p.Core, p.Plan = q.From.ForCollection()
	if f == nil {
		p.Code, p.Problem = write.CodeCollection, "needs a function, not nil"
	}
	take := func(it item.Item) error {
		var to T
		if err := q.From.Decode(wire.Of(it), &to); err != nil {
			return err
		}
		return f(to)
	}
	p.Start = func() (func(item.Item) error, func()) { return take, func() {} }
	return visitedPart{p}
}

// Into returns q as a part of entity.DB.GetCollection that stores its items in dst.
func (q *Query[T]) Into(dst *[]T) CollectionPart { return q.From.into(dst) }

// into makes a part of a collection of d, whose items go to the slice that dst points to.
func (d Decoding) into(dst any) CollectionPart {
	p, to := &Part{Stringer: d, Into: dst}, reflect.ValueOf(dst)
	p.Core, p.Plan = d.ForCollection()
	if to.IsNil() {
		p.Code, p.Problem = write.CodePointer, "needs a pointer to a slice to read into, not nil"
	}
	p.Start = func() (func(item.Item) error, func()) {
		group := reflect.New(to.Type().Elem()).Elem()
		return func(it item.Item) error { return d.add(group, wire.Of(it)) }, func() { to.Elem().Set(group) }
	}
	return collectedPart{p}
}

// ClosedQuery returns the plan of a query on a core that was not opened. verb is for the error.
func ClosedQuery(c *engine.Core, verb string) *Plan {
	return &Plan{Source: Source{Schema: c.Schema, Verb: verb}, Err: c.Err()}
}
