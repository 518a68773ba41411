package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Core is one entity type on one database.
type Core struct {
	Schema *schema.Schema
	Table  string // physical name
	Runner *Runner
	Cursor cursor.Codec
	DB     *Database
}

// Handle is embedded by every public handle.
type Handle struct{ c *Core }

func NewHandle(c *Core) Handle { return Handle{c} }

func (h Handle) core() *Core { return h.c }

func (h *Handle) open(c *Core) { h.c = c }

// Refuse makes every call of a handle fail with err.
func Refuse(h interface {
	Holder
	open(*Core)
}, err error) {
	c := *h.core()
	c.Schema = &schema.Schema{Type: c.Schema.Type, Name: c.Schema.Name, Unopened: err}
	h.open(&c)
}

// Holder is any public handle of this module.
type Holder interface{ core() *Core }

// Of opens a handle. For a nil or zero handle it returns a core whose calls all fail. See [Core.Err].
func Of(h Holder) *Core {
	if v := reflect.ValueOf(h); v.IsValid() && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		if c := h.core(); c != nil {
			return c
		}
	}
	return Closed(reflect.TypeOf(h))
}

func HandleOf(h Holder) Handle { return NewHandle(Of(h)) }

// Wrap adds verb, entity and key to an error that leaves the module.
func (c *Core) Wrap(verb, key string, err error) error {
	if err == nil {
		return nil
	}
	return &entitytype.Error{Verb: verb, Entity: c.Schema.Name, Key: key, Err: err}
}

// Decode decodes an item with its content into the value that into points to. On an error it sets that value to zero.
func (c *Core) Decode(it item.Item, into any) error {
	if err := bind.Omitted(c.Schema, it); err != nil { // into is a new value wherever a state is decoded
		return err
	}
	return layout.Decode(c.Schema, &c.Schema.Codec, it, into)
}

// ReadBy decodes an item by the codec of a struct into the value that into points to, which is zero. On an error it sets
// that value to zero.
func (c *Core) ReadBy(codec *item.Codec, it wire.Item, into any) error {
	if c.Schema.HasMetadata {
		if v := it.Value(schema.PayloadAttr); c.Schema.Upgrades != nil || v.Kind() != wire.None {
			payload := v.Attribute()
			if err := layout.CheckPayload(c.Schema, payload); err != nil {
				return err
			}
			if layout.Outdated(c.Schema, item.Item{schema.PayloadAttr: payload}) {
				return layout.Decode(c.Schema, codec, it.Map(), into)
			}
		}
	}
	if err := codec.Read(it, reflect.Value{}, reflect.ValueOf(into)); err != nil {
		return c.undecoded(err, into)
	}
	return nil
}

// undecoded sets the value that into points to to zero and returns the error of decoding it.
func (c *Core) undecoded(err error, into any) error {
	reflect.ValueOf(into).Elem().SetZero()
	return layout.Misfit(c.Schema, "the item cannot be decoded", err)
}

// ReadFound is [Core.ReadBy] for an item that a query found, whose key the error names.
func (c *Core) ReadFound(codec *item.Codec, it wire.Item, into any) error {
	if err := c.ReadBy(codec, it, into); err != nil {
		return layout.OfItem(c.Schema, it.Map(), err)
	}
	return nil
}

func (c *Core) Readable(spec *bind.Options) error {
	if err := spec.Err(); err != nil {
		return &entitytype.InputError{Code: bind.CodeOption, Type: c.Schema.Type.String(), Problem: err.Error()}
	}
	return nil
}

func Decode[T any](c *Core, it item.Item) (v T, err error) {
	err = c.Decode(it, &v)
	return v, err
}

// MeasureCall runs f as one measured call and wraps its error. key formats what the call is about, for an error.
func (c *Core) MeasureCall(ctx context.Context, call entitytype.Call, key func() string, f func(context.Context) error) error {
	verb := call.Verb
	if c.Schema.Unopened != nil {
		return c.Wrap(verb, key(), c.Schema.Unopened)
	}
	call.Entity, call.Table = c.Schema.Name, c.Table
	if c.Schema.Options.Derived { // which rows of a timeline there are must not be older than the rows
		ctx = c.Runner.Direct(ctx)
	}
	return c.Runner.Measure(ctx, call, func(ctx context.Context) error {
		if err := f(ctx); err != nil {
			return c.Wrap(verb, key(), err)
		}
		return nil
	})
}

func (c *Core) Measure(ctx context.Context, verb, key string, f func(context.Context) error) error {
	return c.MeasureCall(ctx, entitytype.Call{Verb: verb}, func() string { return key }, f)
}

// MeasureBatch is MeasureCall for a call about n keys or values.
func (c *Core) MeasureBatch(ctx context.Context, verb string, n int, f func(context.Context) error) error {
	return c.MeasureCall(ctx, entitytype.Call{Verb: verb, Batch: n}, func() string { return "" }, f)
}

// MeasureItem is MeasureCall for a call about the item with a primary key.
func (c *Core) MeasureItem(ctx context.Context, verb string, primary item.Item, f func(context.Context) error) error {
	return c.MeasureCall(ctx, entitytype.Call{Verb: verb}, func() string { return layout.KeyText(c.Schema, primary) }, f)
}

// Unopened returns the error for a nil or zero handle of type t, or database.
func Unopened(t reflect.Type) error {
	name := "handle"
	if t != nil {
		name = t.String()
	}
	return &entitytype.InputError{Code: bind.CodeUnopened, Type: name, Problem: "it is nil or a zero value; use what the functions that open it return"}
}

// Closed returns the core of a nil or zero handle of type t. Everything made from it fails with the same error, before any request.
func Closed(t reflect.Type) *Core {
	s := &schema.Schema{Type: t, Unopened: Unopened(t)}
	if t == nil {
		s.Type = reflect.TypeFor[Handle]()
	}
	return &Core{Schema: s, Runner: &Runner{MaxAttempts: 1, Clock: time.Now, NewID: func() string { return "" }}}
}

// Err returns the error of a handle that was not opened, and nil for others.
func (c *Core) Err() error { return c.Schema.Unopened }
