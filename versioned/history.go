package versioned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/internal/wire"
)

type handle = engine.Handle

// ErrVersionExpired is the error of [History.At] for a time whose state has expired.
var ErrVersionExpired = bind.Sentinel(bind.NotFound, "the state has expired")

// History reads the past and present states of items of type T. It is safe for concurrent use.
type History[T any] struct {
	_ historyOf[T]
	handle
	r *retain
}

// Of opens the history of a store. The error is an *entity.SchemaError if T does not declare [Retain].
func Of[T any](store *entity.Store[T]) (*History[T], error) { return open[T](store) }

func open[T any](h entity.Handle) (*History[T], error) {
	c := engine.Of(h)
	if err := c.Err(); err != nil {
		return nil, err
	}
	r, ok := schema.Feature[*retain](c.Schema)
	if !ok {
		return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: "the struct lacks the declaration versioned.Retain"}
	}
	return &History[T]{handle: engine.NewHandle(c), r: r}, nil
}

// historyOf opens histories for entity.Bind.
type historyOf[T any] struct{}

func (*historyOf[T]) Entity() any { return (*T)(nil) }

func (*historyOf[T]) OpenStore(db *entity.DB, opts []entity.StoreOption) (entity.Handle, error) {
	return entity.New[T](db, opts...)
}

func (*historyOf[T]) OpenPart(store entity.Handle, _ string) (any, error) { return open[T](store) }

// Version is one state of an item.
type Version[T any] struct {
	Number    int64     `json:"number"`
	Item      T         `json:"item"`
	Deleted   bool      `json:"deleted,omitempty"`   // whether this is the state after a delete
	ValidFrom time.Time `json:"valid_from,omitzero"` // when the item got this state; zero without the role updated_at
	Omitted   error     `json:"omitted,omitempty"`   // an entity.ErrOmitted for a state without its content: Item has only what the library needs
}

// decode returns a function that fills a *Version[T] from a stored state, which with whole needs its content.
func decode[T any](c *engine.Core, whole bool) func(it wire.Item, into any) error {
	return func(stored wire.Item, into any) error {
		v, it := into.(*Version[T]), stored.Map()
		v.Number, v.Deleted = layout.StoredVersion(c.Schema, it), layout.IsDeletedState(c.Schema, it)
		v.ValidFrom, _ = validFrom(c.Schema, it)
		v.Omitted = bind.Omitted(c.Schema, it)
		if err := c.ReadFound(&c.Schema.Codec, stored, &v.Item); err != nil || !whole {
			return err
		}
		return v.Omitted
	}
}

// Get returns version n of the item with key's primary key. It looks for it in the current item and the deleted copies,
// then in the snapshots, because states move in that order. It costs one or two strongly consistent requests, more only
// for over 1 MB of deleted copies. Errors: entity.ErrNotFound; entity.ErrOmitted, with the rest of the version; *entity.InputError.
func (h *History[T]) Get(ctx context.Context, key T, n int64) (Version[T], error) {
	var v Version[T]
	c := engine.Of(h)
	err := getVersion(ctx, c, reflect.ValueOf(key), n, func(it item.Item) error { return decode[T](c, true)(wire.Of(it), &v) })
	return v, err
}

// getVersion reads version n of an item and passes it to f.
func getVersion(ctx context.Context, c *engine.Core, key reflect.Value, n int64, f func(item.Item) error) error {
	op, err := newOp(c, "History.Get", key)
	if err != nil {
		return c.Wrap(op.Verb, op.KeyText(), err)
	}
	return c.MeasureItem(ctx, op.Verb, op.Key, func(ctx context.Context) error {
		it, err := readVersion(ctx, c, c.Runner, op, n)
		if err != nil {
			return err
		}
		return f(it)
	})
}

// At returns the state of the item at time t: the one with the highest version whose updated_at is not after t. T needs a field with the
// role updated_at. At reads backwards from the newest state, strongly consistently. It costs one request for the current item and the
// deleted copies, and one per MB of snapshots. Errors: entity.ErrNotFound if the item did not exist yet, or had expired by then; both
// [ErrVersionExpired] and entity.ErrNotFound if the state has expired; entity.ErrOmitted, with the rest of the version; *entity.InputError.
func (h *History[T]) At(ctx context.Context, key T, t time.Time) (Version[T], error) {
	var found Version[T]
	c := engine.Of(h)
	err := stateAt(ctx, c, reflect.ValueOf(key), t, func(it item.Item) error { return decode[T](c, true)(wire.Of(it), &found) })
	return found, err
}

// stateAt finds the state of an item at t and passes it to f.
func stateAt(ctx context.Context, c *engine.Core, key reflect.Value, t time.Time, f func(item.Item) error) error {
	op, err := newOp(c, "History.At", key)
	if err == nil && c.Schema.UpdatedAt == nil {
		err = &entity.InputError{Code: bind.CodeOption, Type: c.Schema.Type.String(), Problem: `At needs a field with entity:"updated_at"`}
	}
	if err != nil {
		return c.Wrap(op.Verb, op.KeyText(), err)
	}
	return c.MeasureItem(ctx, op.Verb, op.Key, func(ctx context.Context) error {
		l := &stateReader{c: c, op: op, high: maxVersion, desc: true, current: true}
		lowest := int64(-1)
		for it, err := range l.all(ctx) {
			if err != nil {
				return err
			}
			later := lowest
			lowest = layout.StoredVersion(c.Schema, it)
			at, ok := validFrom(c.Schema, it)
			switch {
			case !ok || at.After(t):
			case !layout.IsDeletedState(c.Schema, it) && !layout.Live(c.Schema, it, t):
				return fmt.Errorf("%w: the item had expired", sentinel.ErrNotFound)
			case later > lowest+1: // the state at t may be one of those missing in between
				return fmt.Errorf("%w: there is no state between versions %d and %d: %w", ErrVersionExpired, lowest, later, sentinel.ErrNotFound)
			default:
				return f(it)
			}
		}
		if lowest > 1 {
			return fmt.Errorf("%w: the oldest remaining state is version %d: %w", ErrVersionExpired, lowest, sentinel.ErrNotFound)
		}
		return sentinel.ErrNotFound
	})
}

// FieldChange is an attribute that has different values in two states.
type FieldChange struct {
	Attribute string // its name in DynamoDB
	Field     string // the struct field
	Before    any    // the field's value in the first state; nil if the attribute is absent
	After     any    // the field's value in the second state; nil if the attribute is absent
}

// Diff compares versions a and b of the item with key's primary key and returns the attributes that differ, in the
// order of the struct's fields. It ignores attributes that T does not have. It costs two calls of [History.Get].
// Errors: entity.ErrNotFound; entity.ErrOmitted; *entity.InputError.
func (h *History[T]) Diff(ctx context.Context, key T, a, b int64) ([]FieldChange, error) {
	c := engine.Of(h)
	op, err := newOp(c, "History.Diff", reflect.ValueOf(key))
	if err != nil {
		return nil, c.Wrap(op.Verb, op.KeyText(), err)
	}
	var diff []FieldChange
	err = c.MeasureItem(ctx, op.Verb, op.Key, func(ctx context.Context) error {
		before, err := readVersion(ctx, c, c.Runner, op, a)
		if err != nil {
			return err
		}
		after, err := readVersion(ctx, c, c.Runner, op, b)
		if err != nil {
			return err
		}
		diff, err = changedFields(c, before, after)
		return err
	})
	return diff, err
}

// changedFields returns the attributes of T that differ between two stored states.
func changedFields(c *engine.Core, before, after item.Item) ([]FieldChange, error) {
	was, is := reflect.New(c.Schema.Type), reflect.New(c.Schema.Type)
	if err := c.Decode(before, was.Interface()); err != nil {
		return nil, err
	}
	if err := c.Decode(after, is.Interface()); err != nil {
		return nil, err
	}
	diff := []FieldChange{}
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

// fieldValue returns the value of a field, or what it points to; nil for a nil pointer.
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

// Revert gives the item the content of version n, as a new version, and returns it. It does not change key parts, fields that are
// immutable, set once or set by the library, and attributes that T does not have. The write is an Update of every other field that differs:
// planned from the item as read, guarded, and planned again after a lost race. It costs the read of the item, one of the snapshot, and the
// write; of a soft-deleted entity two reads more if there is no such snapshot. Errors: entity.ErrNotFound if there is no such item or
// version, and entity.ErrDeleted too if the item can be restored; entity.ErrOmitted; a *[ConflictError]; a *unique.ViolationError;
// entity.ErrConditionFailed.
func (h *History[T]) Revert(ctx context.Context, key T, n int64, opts ...entity.WriteOption) (stored T, err error) {
	_, err = revert(engine.Of(h), reflect.ValueOf(key), n, opts).Run(ctx, &stored)
	return stored, err
}

// Op returns the writes of the history as values.
func (h *History[T]) Op() *Ops[T] { return &Ops[T]{engine.HandleOf(h)} }

// Ops makes the writes of a history as values, to be printed or joined in entity.DB.Transact.
type Ops[T any] struct{ handle }

// Revert is [History.Revert] as a value.
func (o *Ops[T]) Revert(key T, n int64, opts ...entity.WriteOption) entity.Write[T] {
	return engine.NewWrite[T](revert(engine.Of(o), reflect.ValueOf(key), n, opts))
}

// revert returns the operation that gives an item the content of version n.
func revert(c *engine.Core, key reflect.Value, n int64, opts []entity.WriteOption) engine.Operation {
	return engine.Operation{Core: c, Op: newRevert(c, key, n, bind.Collect(opts))}
}

// RevertOp returns the operation of [History.Revert] for a key of the entity's type.
func (*retain) RevertOp(c *engine.Core, key reflect.Value, n int64, spec *bind.Options) *plan.Op {
	return newRevert(c, key, n, spec)
}

func newRevert(c *engine.Core, key reflect.Value, n int64, spec *bind.Options) *plan.Op {
	return plan.NewRevert(c.Schema, c.Table, key, spec, func(ctx context.Context, r layout.Reader, op *plan.Op, in *plan.Input) (item.Item, error) {
		it, err := readVersionWithCurrent(ctx, c, r, op, n, in.Image)
		switch live := layout.Live(c.Schema, in.Image, in.Now); {
		case err != nil && live:
			err = &plan.ItemPresent{Err: err} // the version is missing, not the item
		case errors.Is(err, sentinel.ErrNotFound): // neither is there: the plan reports the item, which a restore may bring back with this version
			return nil, nil
		}
		return it, cmp.Or(err, bind.Omitted(c.Schema, it))
	})
}
