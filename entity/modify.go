package entity

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Modify reads the item, lets f change it, and writes what f changed, guarded by what was read; it returns the item as
// stored. When another write came between, it reads again and f runs again, up to Config.MaxAttempts times; so f must
// only change the value that it is given. An error of f ends the call and is found behind the returned one. When f
// changes nothing, nothing is written. Changing a key part, a field that the library sets or one that is set once is an
// *[InputError]. It costs a consistent read and a write of the whole item. Errors: [ErrNotFound]; [ErrConditionFailed];
// [ErrConflict].
func (s *Store[T]) Modify(ctx context.Context, key T, f func(*T) error, opts ...WriteOption) (T, error) {
	c := core.Of(s)
	spec := core.Returning(c, opt.Writes(opts))
	if f == nil {
		spec.Add(errors.New("the function that is to change the value is nil"))
	}
	var stored T
	_, err := modify(c, reflect.ValueOf(key), spec, func(v any) error { return f(v.(*T)) }).Run(ctx, &stored)
	return stored, err
}

// modify plans a change by f, which is given a pointer to the value that was read.
func modify(c *core.Core, key reflect.Value, spec opt.Write, f func(any) error) *core.Operation {
	return core.ItemOperation(c, plan.NewModify(c.Schema, c.Table, key, spec, func(image item.Item) (was, is reflect.Value, err error) {
		// Decoded twice: what f changes may be reached through pointers, slices and maps.
		before, after := reflect.New(c.Schema.Type), reflect.New(c.Schema.Type)
		if err := c.Decode(image, before.Interface()); err != nil {
			return was, is, err
		}
		if err = c.Decode(image, after.Interface()); err == nil {
			err = f(after.Interface())
		}
		return before.Elem(), after.Elem(), err
	}))
}

// Touch sets field, the address of a time field of [Fields], to now if it is absent or at least every old, and reports
// whether it did. It leaves version, updated_at and history alone. It costs one request; when not due, that request
// fails its condition and costs one write unit. Errors: [ErrNotFound]; *[InputError] for a field that an index key is
// composed from together with others.
func (s *Store[T]) Touch(ctx context.Context, key T, field *time.Time, every time.Duration) (bool, error) {
	c := core.Of(s)
	op := plan.NewTouch(c.Schema, c.Table, reflect.ValueOf(key), opt.Target{Pointer: field}, every)
	result, err := core.NewOperation(c, op, func(plan.Result, any) error { return nil }).Run(ctx, nil)
	return err == nil && !result.Skipped, err
}
