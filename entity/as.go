package entity

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// As makes q fetch only the attributes of S, a smaller struct whose fields have the names and types of T's. It saves
// transfer and decoding, not read units. A field that T does not have is an *[InputError] when the query is run.
func As[S, T any](q Query[T]) Query[S] {
	from, ok := q.(*core.Query[T])
	if !ok {
		return unprojectable[S]{}
	}
	c, p := from.Source()
	projection, err := schema.Project(typeOf[S](), c.Schema, p.Index)
	if err != nil && p.Err == nil {
		p.Err = &InputError{Code: plan.CodeOption, Type: typeOf[S]().String(), Problem: fmt.Sprintf("it is no part of %s: %v", c.Schema.Type, err)}
	}
	p.Project = projection.Names
	return core.NewQuery(c, &p, func(it item.Item) (S, error) {
		var v S
		if err := projection.Codec.Decode(it, reflect.ValueOf(&v)); err != nil {
			var none S
			return none, core.Misfit(c, err)
		}
		return v, nil
	})
}

// unprojectable is a query of what is no part of a stored item, such as versions.
type unprojectable[S any] struct{ core.Seal }

func (unprojectable[S]) mistake() error {
	return &InputError{Code: plan.CodeOption, Type: typeOf[S]().String(), Problem: "As takes queries of a store, an index or a history of events"}
}

func (q unprojectable[S]) String() string { return q.mistake().Error() }

func (q unprojectable[S]) All(context.Context) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		var none S
		yield(none, q.mistake())
	}
}

func (q unprojectable[S]) Collect(context.Context) ([]S, error) { return nil, q.mistake() }

func (q unprojectable[S]) First(context.Context) (none S, err error) { return none, q.mistake() }

func (q unprojectable[S]) One(context.Context) (none S, err error) { return none, q.mistake() }

func (q unprojectable[S]) Page(context.Context, string) (Page[S], error) {
	return Page[S]{}, q.mistake()
}

func (q unprojectable[S]) Into(*[]S) Part { return core.Apart(q) }

func (q unprojectable[S]) Count(context.Context) (int, error) { return 0, q.mistake() }
