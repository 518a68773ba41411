package entity

import (
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// As makes q fetch only the attributes of S, a smaller struct whose fields have the names and types of T's. It saves
// transfer and decoding, not read units. A field that T does not have is an *[InputError] when the query is run.
func As[S, T any](q Query[T]) Query[S] {
	from := q.(*typed[T])
	p := *from.p
	projection, err := schema.Project(typeOf[S](), from.c.Schema)
	if err != nil && p.Err == nil {
		p.Err = &InputError{Code: plan.CodeOption, Type: typeOf[S]().String(), Problem: fmt.Sprintf("it is no part of %s: %v", from.c.Schema.Type, err)}
	}
	p.Project = projection.Names
	return &typed[S]{from.c, &p, func(it item.Item) (S, error) {
		var v S
		if err := projection.Codec.Decode(it, reflect.ValueOf(&v)); err != nil {
			var none S
			return none, core.Misfit(from.c, err)
		}
		return v, nil
	}}
}
