package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Sealed is embedded by public interfaces that only this module implements.
type Sealed interface{ plan() *Plan }

// Cursors are those of the pages after and before a page, "" at the ends.
type Cursors struct{ Next, Prev string }

// Reading is a query that returns undecoded items, which can be used until f returns. Its errors name the verb and the entity.
type Reading interface {
	fmt.Stringer
	// Each calls f for every item, up to the query's limit, until f returns false or an error, and end after the last one.
	Each(ctx context.Context, f func(wire.Item) (more bool, err error), end func() error) error
	// AtMost returns the query of its first n items.
	AtMost(n int) Reading
	// Page reads one page and passes its items, and the cursors of the pages around it, to f.
	Page(ctx context.Context, cursor string, f func(items []wire.Item, around Cursors) error) error
	// Count counts the items.
	Count(ctx context.Context) (int, error)
}

// Decoding is a reading with the way to decode its items. What a query does is done here, once for all types: into is what
// a typed query passes, a pointer to a value or to a slice.
type Decoding struct {
	Reading
	Decode func(it wire.Item, into any) error // into points to a value
	Skip   bool                               // go on past items that do not decode
}

// Skipped are the errors of items that a read has left out.
type Skipped struct {
	count int
	errs  []error
}

// Take returns the error of an item, or keeps it for End and returns nil.
func (s *Skipped) Take(skip bool, err error) error {
	if err == nil || !skip {
		return err
	}
	if s.count++; s.count <= 20 {
		s.errs = append(s.errs, err)
	}
	return nil
}

// End returns the error of the read, nil if no item was left out.
func (s *Skipped) End() error {
	if s.count == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d, of which the first are: %w", sentinel.ErrUndecodable, s.count, errors.Join(s.errs...))
}

// all decodes one item after the other into the value that into points to, and calls yield for each. That value is zero if yield
// gets an error.
func (d Decoding) all(ctx context.Context, into any, yield func(error) bool) {
	v, stopped, skipped := reflect.ValueOf(into).Elem(), false, new(Skipped)
	err := d.Each(ctx, func(it wire.Item) (bool, error) {
		v.SetZero()
		if err := d.Decode(it, into); err != nil {
			return true, skipped.Take(d.Skip, err)
		}
		stopped = !yield(nil)
		return !stopped, nil
	}, skipped.End)
	if err != nil && !stopped {
		v.SetZero()
		yield(err)
	}
}

// first decodes the first item, which with n = 2 must be the only one.
func (d Decoding) first(ctx context.Context, n int, into any) error {
	found := 0
	return d.AtMost(n).Each(ctx, func(it wire.Item) (bool, error) {
		if found++; found > 1 {
			reflect.ValueOf(into).Elem().SetZero()
			return false, sentinel.ErrMultipleItems
		}
		return true, d.Decode(it, into)
	}, func() error {
		if found == 0 {
			return sentinel.ErrNotFound
		}
		return nil
	})
}

func (d Decoding) collect(ctx context.Context, into any) error {
	all, skipped := reflect.ValueOf(into).Elem(), new(Skipped)
	all.Set(reflect.MakeSlice(all.Type(), 0, 0))
	err := d.Each(ctx, func(it wire.Item) (bool, error) {
		err := d.add(all, it)
		if err != nil {
			err = skipped.Take(d.Skip, err)
		}
		return true, err
	}, skipped.End)
	if err != nil && !errors.Is(err, sentinel.ErrUndecodable) {
		all.SetZero()
	}
	return err
}

// add decodes an item and appends it to a slice.
func (d Decoding) add(all reflect.Value, it wire.Item) (err error) {
	n := all.Len()
	if n == all.Cap() {
		all.Grow(it.Together())
	}
	all.SetLen(n + 1)
	at := all.Index(n)
	at.SetZero()
	if err = d.Decode(it, at.Addr().Interface()); err != nil {
		all.SetLen(n)
	}
	return err
}

func (d Decoding) page(ctx context.Context, cursor string, into any) (around Cursors, err error) {
	all, skipped := reflect.ValueOf(into).Elem(), new(Skipped)
	err = d.Page(ctx, cursor, func(items []wire.Item, found Cursors) error {
		all.Set(reflect.MakeSlice(all.Type(), 0, len(items)))
		for _, it := range items {
			if err := skipped.Take(d.Skip, d.add(all, it)); err != nil {
				all.SetZero()
				return err
			}
		}
		around = found
		return skipped.End()
	})
	return around, err
}

// Query implements entity.Query[T]: it decodes the items of a reading as T.
type Query[T any] struct {
	From Decoding
}

// Items returns the reading of p that decodes items of its entity.
func Items(p *Plan) Decoding {
	codec := &p.Schema.Codec
	if p.Index != nil && !p.Hydrate {
		codec = p.Schema.CodecOf(p.Index)
	}
	return Decoding{p, func(it wire.Item, into any) error { return p.ReadFound(codec, it, into) }, p.Skip}
}

// Compiled returns the plan that a Query reads, nil for any other query.
func Compiled(q any) *Plan {
	if q, ok := q.(Sealed); ok {
		return q.plan()
	}
	return nil
}

func (q *Query[T]) plan() *Plan {
	p, _ := q.From.Reading.(*Plan)
	return p
}

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

func (q *Query[T]) First(ctx context.Context) (first T, err error) {
	err = q.From.first(ctx, 1, &first)
	return first, err
}

func (q *Query[T]) One(ctx context.Context) (only T, err error) {
	err = q.From.first(ctx, 2, &only)
	return only, err
}

// Page returns the items at a cursor.
func (q *Query[T]) Page(ctx context.Context, cursor string) (page entitytype.Page[T], err error) {
	around, err := q.From.page(ctx, cursor, &page.Items)
	page.Next, page.Prev = around.Next, around.Prev
	return page, err
}

func (q *Query[T]) Count(ctx context.Context) (int, error) { return q.From.Count(ctx) }

// measure runs f as the measured call of the query.
func (p *Plan) measure(ctx context.Context, f func(context.Context) error) error {
	call := entitytype.Call{Verb: p.Verb, Entity: p.Schema.Name, Table: p.Table}
	if p.Index != nil {
		call.Index = p.Index.Index
	}
	if p.Truth || p.Schema.Options.Derived {
		ctx = p.Runner.Direct(ctx)
	}
	return p.Runner.Measure(ctx, call, func(ctx context.Context) error {
		if p.Budget != nil {
			ctx = bind.WithPace(ctx, p.Budget)
		}
		err := p.Err
		if err == nil {
			err = f(ctx)
		}
		if err != nil {
			return p.Wrap(p.Verb, p.Where(), err)
		}
		return nil
	})
}

func (p *Plan) Each(ctx context.Context, f func(wire.Item) (bool, error), end func() error) error {
	return p.measure(ctx, func(ctx context.Context) error {
		if stopped, err := p.each(ctx, f); err != nil || stopped {
			return err
		}
		return end()
	})
}

func (p *Plan) AtMost(n int) Reading {
	q := *p
	q.Limit, q.Segments = n, 0
	return &q
}

func (p *Plan) Page(ctx context.Context, text string, f func([]wire.Item, Cursors) error) error {
	return p.measure(ctx, func(ctx context.Context) error {
		if err := p.Cursor.Allow(p.Schema, p.Schema.PK, p.Schema.SK, p.PK, p.SK); err != nil {
			return err
		}
		items, around, err := p.turn(ctx, text)
		defer wire.ReleaseAll(items)
		if err != nil {
			return err
		}
		return f(items, around)
	})
}

func (p *Plan) Count(ctx context.Context) (n int, err error) {
	err = p.measure(ctx, func(ctx context.Context) error {
		n, err = p.count(ctx, p.budget())
		return err
	})
	return n, err
}

// Part is one query of entity.DB.GetCollection, and where its items go: to the slice that Into points to, or, if that is
// nil, to Take, which may end the reading.
type Part struct {
	Decoding
	Plan          *Plan // nil: the query cannot be part of a collection
	Into          any
	Take          func(wire.Item) (stop bool, err error)
	Code, Problem string // what is wrong with where the items go, "" for nothing
}

// CollectionPart is a part of entity.DB.GetCollection, a *Part.
type CollectionPart interface {
	fmt.Stringer
	part()
}

func (*Part) part() {}

// Into returns q as a part of entity.DB.GetCollection that stores its items in dst.
func (q *Query[T]) Into(dst *[]T) CollectionPart {
	p := &Part{Decoding: q.From, Plan: q.plan().ofOne(), Into: dst}
	if dst == nil {
		p.Code, p.Problem = bind.CodePointer, "needs a pointer to a slice to read into, not nil"
	}
	return p
}

// Visit returns q as a part of entity.DB.GetCollection that calls f with each of its items.
func (q *Query[T]) Visit(f func(T) error) CollectionPart {
	p := &Part{Decoding: q.From, Plan: q.plan().ofOne(), Take: func(it wire.Item) (bool, error) {
		var v T
		if err := q.From.Decode(it, &v); err != nil {
			return false, err
		}
		err := f(v)
		if errors.Is(err, sentinel.ErrStop) {
			return true, nil
		}
		return false, err
	}}
	if f == nil {
		p.Code, p.Problem = bind.CodeCollection, "needs a function, not nil"
	}
	return p
}

// ofOne returns the plan of a query of one partition, nil for one of several.
func (p *Plan) ofOne() *Plan {
	if p == nil || p.parts != nil {
		return nil
	}
	return p
}

// OfOne returns the plan of q if it reads one partition, the table or an index, and nil for any other query.
func OfOne(q any) *Plan { return Compiled(q).ofOne() }

// ClosedQuery returns the plan of a query on a core that was not opened. verb is for the error.
func ClosedQuery(c *engine.Core, verb string) *Plan {
	return &Plan{Source: Source{Core: c, Verb: verb}, Err: c.Err()}
}
