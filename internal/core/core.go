// Package core is what the public handles share once their type parameter is erased: the schema, the table and the
// runner. Public handles embed Handle under an unexported name, so that only this module can open them.
package core

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Core is one entity type on one database.
type Core struct {
	Schema *schema.Schema
	Table  string // physical name
	Runner *exec.Runner
	Cursor cursor.Codec
	DB     *Database
}

// Handle is embedded by every public handle.
type Handle struct{ c *Core }

// NewHandle wraps c.
func NewHandle(c *Core) Handle { return Handle{c} }

func (h Handle) core() *Core { return h.c }

// Holder is any public handle of this module.
type Holder interface{ core() *Core }

// Of opens a handle. Of one that is nil or a zero value, it is a core of which every call fails; see Err.
func Of(h Holder) *Core {
	if v := reflect.ValueOf(h); v.IsValid() && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		if c := h.core(); c != nil {
			return c
		}
	}
	return Closed(reflect.TypeOf(h))
}

// HandleOf is a handle of what h is one of.
func HandleOf(h Holder) Handle { return NewHandle(Of(h)) }

// Wrap adds what was being done, and to what, to an error that leaves the module.
func (c *Core) Wrap(verb, key string, err error) error {
	if err == nil {
		return nil
	}
	return &plan.Error{Verb: verb, Entity: c.Schema.Name, Key: key, Err: err}
}

// Decode fills what into, a pointer, points to from an item. With an error it leaves the zero value there.
func (c *Core) Decode(it item.Item, into any) error { return c.DecodeBy(&c.Schema.Codec, it, into) }

// DecodeBy is [Core.Decode] with the codec of a smaller struct.
func (c *Core) DecodeBy(codec *item.Codec, it item.Item, into any) error {
	v := reflect.ValueOf(into)
	if err := codec.Decode(it, v); err != nil {
		v.Elem().SetZero()
		return Misfit(c, err)
	}
	return nil
}

// Decode makes a T of an item.
func Decode[T any](c *Core, it item.Item) (v T, err error) {
	err = c.Decode(it, &v)
	return v, err
}

// Misfit makes a *plan.DecodeError of a codec's error.
func Misfit(c *Core, err error) error {
	misfit := &plan.DecodeError{Entity: c.Schema.Name, Problem: "the item cannot be decoded"}
	if f, ok := err.(*item.FieldError); ok {
		misfit.Attr, misfit.Problem = f.Attr, f.Problem
	}
	return misfit
}

// Measure runs f as one measured call and wraps its error.
func (c *Core) Measure(ctx context.Context, verb, key string, f func(context.Context) error) error {
	if err := c.Err(); err != nil {
		return c.Wrap(verb, key, err)
	}
	return c.Runner.Measure(ctx, verb, c.Schema.Name, func(ctx context.Context) error { return c.Wrap(verb, key, f(ctx)) })
}

// Unopened is the error of a handle of type t, or of a database, that is nil or a zero value.
func Unopened(t reflect.Type) error {
	name := "handle"
	if t != nil {
		name = t.String()
	}
	return &plan.InputError{Code: plan.CodeUnopened, Type: name, Problem: "it is nil or a zero value; use what the functions that open it return"}
}

// Closed is the core of a handle of type t that is nil or a zero value: whatever is made of it fails with the same error,
// before any request.
func Closed(t reflect.Type) *Core {
	s := &schema.Schema{Type: t, Unopened: Unopened(t)}
	if t == nil {
		s.Type = reflect.TypeFor[Handle]()
	}
	return &Core{Schema: s, Runner: &exec.Runner{MaxAttempts: 1, Clock: time.Now, NewID: func() string { return "" }}}
}

// Err is why nothing can be done with c: its handle was not opened. It is nil for others.
func (c *Core) Err() error { return c.Schema.Unopened }

// Refused is the plan of a query of a core that was not opened; verb is what it would have done.
func Refused(c *Core, verb string) *query.Plan {
	return &query.Plan{Source: query.Source{Schema: c.Schema, Verb: verb}, Err: c.Err()}
}

// Returning is spec for a verb that knows the item before its write: what entity.Returning asks for is filled in when the
// write has been applied.
func Returning(c *Core, spec opt.Write) opt.Write {
	if spec.Old == nil {
		return spec
	}
	dst := reflect.ValueOf(spec.Old)
	if dst.Type() != reflect.PointerTo(c.Schema.Type) {
		spec.Add(fmt.Errorf("Returning takes a pointer to a %s, not a %T", c.Schema.Type, spec.Old))
		return spec
	}
	spec.Was = func(it map[string]types.AttributeValue) error {
		old := reflect.New(c.Schema.Type)
		if it != nil {
			if err := c.Decode(it, old.Interface()); err != nil {
				return err
			}
		}
		dst.Elem().Set(old.Elem())
		return nil
	}
	return spec
}
