package stream

import (
	"context"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Source is a store whose changes can be read from a stream: an *entity.Store[T] or a *timeseries.Series[T].
type Source[T any] interface {
	core.Holder
	// Get is what makes a handle one of items, and of T.
	Get(ctx context.Context, key T, opts ...entity.GetOption) (T, error)
}

// Change is a record that belongs to entity T: one write to its current item, or to an event, snapshot or deleted copy
// beside it.
type Change[T any] struct {
	Kind Kind
	// New and Old are the item that the record is about after and before the write, decoded as reads decode it. New is nil
	// when the item was removed, Old when it was stored for the first time, and each when the view of the stream leaves it out.
	New, Old *T
	// NewVersion and OldVersion are the versions of New and Old; 0 without the role version, or without the image.
	NewVersion, OldVersion int64
	// DeletedAt is when the item was deleted: of a deleted copy, and of the snapshot of a deleted state; zero otherwise.
	DeletedAt time.Time
	// Record is what the change was read from: its time, sequence number and id, and the items as they are stored.
	Record Record

	entity string
}

// Of says what a record means to a store. ok is false when it belongs to another entity, table or namespace, or to what
// the library keeps for itself: then there is nothing to do, and no error. It does no I/O, and never changes the record.
//
// Errors are *entity.Error; behind it a *[RecordError], an *[ImageError], or an *entity.DecodeError when the item does not
// fit T.
func Of[T any](store Source[T], r Record) (change Change[T], ok bool, err error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return Change[T]{}, false, err
	}
	x, ok, err := tell(c, r)
	if err != nil || !ok {
		return Change[T]{}, false, err
	}
	if change, err = decode[T](c, r, x); err != nil {
		return Change[T]{}, false, wrap(c, r, err)
	}
	return change, true, nil
}

// tell is classify with its error as it leaves the package.
func tell(c *core.Core, r Record) (found, bool, error) {
	if err := r.Err(); err != nil {
		return found{}, false, wrap(c, r, err)
	}
	x, ok, err := classify(c, &r)
	return x, ok, wrap(c, r, err)
}

func wrap(c *core.Core, r Record, err error) error {
	return c.Wrap("stream", plan.KeyText(c.Schema, r.Keys), err)
}

func decode[T any](c *core.Core, r Record, x found) (Change[T], error) {
	change := Change[T]{Kind: x.kind, Record: r, entity: c.Schema.Name}
	s := c.Schema
	for _, side := range []struct {
		image   item.Item
		value   **T
		version *int64
	}{{x.old, &change.Old, &change.OldVersion}, {x.new, &change.New, &change.NewVersion}} {
		if side.image == nil {
			continue
		}
		v, err := core.Decode[T](c, side.image)
		if err != nil {
			return change, err
		}
		*side.value, *side.version = &v, plan.StoredVersion(s, side.image)
	}
	image := x.new
	if image == nil {
		image = x.old
	}
	if image == nil || x.of != copied && (x.of != snapshot || !plan.IsDeleted(s, image)) {
		return change, nil
	}
	name, format := plan.DeletedAttr(s)
	at, err := format.FromValue(image[name])
	if err != nil {
		return change, &entity.DecodeError{Entity: s.Name, Attr: name, Problem: "it is not a time"}
	}
	change.DeletedAt = at
	return change, nil
}

// Item returns New, or Old when there is no New: what a handler needs that is interested in the key. The error is an
// *[ImageError] when the view of the stream carries neither.
func (c Change[T]) Item() (T, error) {
	for _, v := range []*T{c.New, c.Old} {
		if v != nil {
			return *v, nil
		}
	}
	var none T
	return none, c.missing("NewImage or OldImage")
}

// Current returns what the change makes of the current item, for a program that keeps a copy of it elsewhere: current is
// false when the change is about something beside it. Otherwise item is the new state, or nil when the item is gone.
//
// It depends on the records of the current item alone, whose order DynamoDB guarantees. The error is an *[ImageError] when
// the view of the stream leaves the new state out.
func (c Change[T]) Current() (item *T, current bool, err error) {
	if !c.Kind.ofItem() {
		return nil, false, nil
	}
	switch c.Kind {
	case Created, Updated, Restored:
		if c.New == nil {
			return nil, true, c.missing("NewImage")
		}
		return c.New, true, nil
	}
	return nil, true, nil
}

func (c Change[T]) missing(needs string) error {
	return &ImageError{Entity: c.entity, Operation: c.Record.Operation, View: c.Record.View, Needs: needs}
}
