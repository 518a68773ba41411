package versioned

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// FieldChange is an attribute that two states have different values of.
type FieldChange struct {
	Attribute string // its name in DynamoDB
	Field     string // the struct field
	Before    any    // the field's value in the first state; nil when the state does not have the attribute
	After     any    // the field's value in the second state; nil when the state does not have the attribute
}

// Diff compares versions a and b of the item with key's primary key, attribute by attribute, in the order of the struct.
// Attributes that T does not have are not compared. It costs what two Gets cost. Errors: entity.ErrNotFound.
func (h *History[T]) Diff(ctx context.Context, key T, a, b int64) ([]FieldChange, error) {
	c := core.Of(h)
	op, err := subject(c, "History.Diff", reflect.ValueOf(key))
	if err != nil {
		return nil, c.Wrap(op.Verb, op.KeyIs, err)
	}
	var diff []FieldChange
	err = c.Measure(ctx, op.Verb, op.KeyIs, func(ctx context.Context) error {
		before, err := raw(ctx, c, c.Runner, op, a)
		if err != nil {
			return err
		}
		after, err := raw(ctx, c, c.Runner, op, b)
		if err != nil {
			return err
		}
		diff, err = compare(c, before, after)
		return err
	})
	return diff, err
}

func compare(c *core.Core, before, after item.Item) ([]FieldChange, error) {
	was, is := reflect.New(c.Schema.Type), reflect.New(c.Schema.Type)
	if err := c.Decode(before, was.Interface()); err != nil {
		return nil, err
	}
	if err := c.Decode(after, is.Interface()); err != nil {
		return nil, err
	}
	var diff []FieldChange
	for _, a := range c.Schema.Attrs {
		x, y := before[a.Name], after[a.Name]
		if item.Equal(x, y) {
			continue
		}
		d := FieldChange{Attribute: a.Name, Field: a.Field}
		if x != nil {
			d.Before = fieldValue(was.Elem(), a.Index)
		}
		if y != nil {
			d.After = fieldValue(is.Elem(), a.Index)
		}
		diff = append(diff, d)
	}
	return diff, nil
}

// fieldValue is the value of a field; of a pointer, what it points to.
func fieldValue(v reflect.Value, index []int) any {
	fv, err := v.FieldByIndexErr(index)
	for err == nil && fv.Kind() == reflect.Pointer && !fv.IsNil() {
		fv = fv.Elem()
	}
	if err != nil || fv.Kind() == reflect.Pointer {
		return nil
	}
	return fv.Interface()
}

// Revert gives the item the content of version n, as a new version, and returns it. Key parts, and fields that are
// immutable, set once or the library's own, stay as they are; attributes that T does not have stay too. It is an Update
// of everything else that differs: planned from the item as read, guarded, and planned again after a lost race. It costs
// the reads of Get and an Update. Errors: entity.ErrNotFound when the item or the version is not there, entity.ErrDeleted
// too when the item can be restored; a *[ConflictError]; a *unique.ViolationError; entity.ErrConditionFailed.
func (h *History[T]) Revert(ctx context.Context, key T, n int64, opts ...entity.WriteOption) (stored T, err error) {
	_, err = revert(core.Of(h), reflect.ValueOf(key), n, core.Returning(core.Of(h), opt.Writes(opts))).Run(ctx, &stored)
	return stored, err
}

// Op builds writes as values.
func (h *History[T]) Op() Ops[T] { return Ops[T]{core.HandleOf(h)} }
