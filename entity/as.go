package entity

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Project makes q fetch only the attributes of S, a smaller struct whose fields have the names and types of T's. It saves
// transfer and decoding, not read units. A field that T does not have is an *[InputError] when the query is run.
func Project[S, T any](q Query[T]) Query[S] {
	var from core.CollectionQuery
	if known, ok := q.(*core.Query[T]); ok {
		from = known.Reading().ForCollection()
	}
	if from.Plan == nil {
		err := &InputError{Code: plan.CodeOption, Type: typeOf[S]().String(), Problem: "Project takes queries of a store, an index or a history of events"}
		return core.NewQuery[S](failing{err}, nil)
	}
	c, p := from.Core, *from.Plan
	projection, err := schema.Project(typeOf[S](), c.Schema, p.Index)
	if err != nil && p.Err == nil {
		p.Err = &InputError{Code: plan.CodeOption, Type: typeOf[S]().String(), Problem: fmt.Sprintf("it is no part of %s: %v", c.Schema.Type, err)}
	}
	p.Project = projection.Names
	return core.NewQuery[S](core.Planned(c, &p), func(it item.Item, into any) error {
		return c.DecodeBy(&projection.Codec, it, into)
	})
}

// failing is a reading that cannot be run.
type failing struct{ err error }

func (r failing) String() string { return r.err.Error() }

func (r failing) Each(context.Context, func(item.Item) (bool, error)) error { return r.err }

func (r failing) Few(context.Context, int, func([]item.Item) error) error { return r.err }

func (r failing) Page(context.Context, string, func([]item.Item, string) error) error { return r.err }

func (r failing) Count(context.Context) (int, error) { return 0, r.err }

func (r failing) ForCollection() core.CollectionQuery { return core.CollectionQuery{} }
