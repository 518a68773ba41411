package timeline

import (
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Define gives the projection of the [View] that entity.Bind opens in a field of type *View[K, S]. The field's tag is the Name of the
// projection; it can be left out if the struct has one field of that type. f returns the projection. It is called with the struct that
// Bind opens, or the part of it that has type T, which must not be embedded with an unexported type; the fields of stores, series and others that the Source needs are set by then. If Bind found
// mistakes, those that have one are nil, and the projection is only checked.
func Define[T any, K comparable, S any](f func(app *T) Projection[K, S]) entity.BindOption {
	var given any = definer[K, S](func(parts map[reflect.Type]any) (Projection[K, S], error) {
		app, ok := parts[reflect.TypeFor[T]()].(*T)
		if !ok {
			return Projection[K, S]{}, &schema.Error{Code: schema.CodeBind, Problem: fmt.Sprintf("timeline.Define takes a %s, which is neither this struct nor a part of it", reflect.TypeFor[T]())}
		}
		return f(app), nil
	})
	return bind.Option{Setting: func(o *bind.Options) {
		if f == nil {
			o.Add(fmt.Errorf("timeline.Define of %s needs a function", reflect.TypeFor[View[K, S]]()))
			return
		}
		o.Bound = append(o.Bound, bind.Bound{Type: reflect.TypeFor[View[K, S]](), Value: given})
	}}
}

// definer returns a projection over the handles of the given structs.
type definer[K comparable, S any] func(parts map[reflect.Type]any) (Projection[K, S], error)

// viewOf opens views for entity.Bind.
type viewOf[K comparable, S any] struct{}

func (*viewOf[K, S]) Named() {}

func (*viewOf[K, S]) OpenSole(db *entity.DB, name string, given []any, parts map[reflect.Type]any) (handle any, used int, err error) {
	var found Projection[K, S]
	used = -1
	for i, g := range given {
		p, err := g.(definer[K, S])(parts)
		switch {
		case err != nil:
			return nil, i, err
		case name != "" && p.Name != name:
		case used >= 0:
			return nil, -1, &schema.Error{Code: schema.CodeBind, Problem: "several projections fit; the tag entity:\"name\" says which"}
		default:
			found, used = p, i
		}
	}
	if used < 0 {
		return nil, -1, &schema.Error{Code: schema.CodeBind, Problem: fmt.Sprintf("no timeline.Define gives the projection %q", name)}
	}
	v, err := New(db, found)
	return v, used, err
}
