package versioned

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type handle = core.Handle

// ErrVersionExpired says that the history does not reach back to the wanted time: the states from then have expired.
var ErrVersionExpired = errors.New("the state has expired")

// History reads the states that items of type T have been in. It is safe for concurrent use.
type History[T any] struct {
	handle
	r *retain
}

// Of opens the history of a store. The error is an *entity.SchemaError when T does not declare [Retain].
func Of[T any](store *entity.Store[T]) (*History[T], error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return nil, err
	}
	r, ok := schema.Feature[*retain](c.Schema)
	if !ok {
		return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: "the struct lacks the declaration versioned.Retain"}
	}
	return &History[T]{core.NewHandle(c), r}, nil
}

// Version is one state of an item.
type Version[T any] struct {
	Number    int64
	Item      T
	Deleted   bool      // the state after a delete
	ValidFrom time.Time // when the item came into the state; zero without the role updated_at
}

// decode fills a *Version[T] from a stored state.
func decode[T any](c *core.Core) func(it item.Item, into any) error {
	return func(it item.Item, into any) error {
		v := into.(*Version[T])
		v.Number, v.Deleted = plan.StoredVersion(c.Schema, it), plan.IsDeletedState(c.Schema, it)
		v.ValidFrom, _ = since(c.Schema, it)
		return c.Decode(it, &v.Item)
	}
}

// since is when the item came into a state.
func since(s *schema.Schema, it item.Item) (time.Time, bool) {
	if s.UpdatedAt == nil {
		return time.Time{}, false
	}
	t, err := s.UpdatedAt.Format.FromValue(it[s.UpdatedAt.Name])
	return t, err == nil
}

// subject is the item whose history is read.
func subject(c *core.Core, verb string, v reflect.Value) (*plan.Op, error) {
	primary, parts, err := plan.Key(c.Schema, v)
	return &plan.Op{Verb: verb, Schema: c.Schema, Table: c.Table, Key: primary, KeyIs: plan.KeyText(c.Schema, primary), Parts: parts}, err
}

// Get returns version n of the item with key's primary key: of the current item, of a deleted copy, or of a snapshot,
// looked for in this order, because states only move that way. All reads are strongly consistent; it costs one to three
// requests. Errors: entity.ErrNotFound; *entity.InputError.
func (h *History[T]) Get(ctx context.Context, key T, n int64) (Version[T], error) {
	var v Version[T]
	c := core.Of(h)
	err := get(ctx, c, reflect.ValueOf(key), n, func(it item.Item) error { return decode[T](c)(it, &v) })
	return v, err
}

// get reads version n of an item and gives it to f.
func get(ctx context.Context, c *core.Core, key reflect.Value, n int64, f func(item.Item) error) error {
	op, err := subject(c, "History.Get", key)
	if err != nil {
		return c.Wrap(op.Verb, op.KeyIs, err)
	}
	return c.Measure(ctx, op.Verb, op.KeyIs, func(ctx context.Context) error {
		it, err := raw(ctx, c, c.Runner, op, n)
		if err != nil {
			return err
		}
		return f(it)
	})
}

// raw reads version n as it is stored.
func raw(ctx context.Context, c *core.Core, r plan.Reader, op *plan.Op, n int64) (item.Item, error) {
	now := c.Runner.Clock()
	if n < 0 || n > maxVersion {
		return nil, &entity.InputError{Code: plan.CodeValue, Type: c.Schema.Type.String(), Problem: "a version is a number from 0 to 999999999999"}
	}
	current, err := r.Get(ctx, op.Table, op.Key, true)
	if err != nil {
		return nil, err
	}
	if current != nil {
		if err := plan.SameCase(c.Schema, op.Parts, current); err != nil || plan.StoredVersion(c.Schema, current) == n {
			return current, err
		}
	}
	others, err := copies(ctx, r, op, now)
	if err != nil {
		return nil, err
	}
	var copied item.Item
	for _, it := range others {
		switch {
		case plan.StoredVersion(c.Schema, it) != n:
		case isCurrent(op, it) || !c.Schema.Options.Interop:
			return it, nil
		case copied == nil: // a copy of effect-dynamodb has the version of the state before it
			copied = it
		}
	}
	at := plan.KeyOf(c.Schema, plan.Satellite(c.Schema, op.Key, infix+versionText(n), kind))
	it, err := r.Get(ctx, op.Table, at, true)
	switch {
	case err != nil:
		return nil, err
	case it != nil && !plan.Expired(c.Schema, it, now):
		return it, plan.SameCase(c.Schema, op.Parts, it)
	case copied != nil:
		return copied, nil
	}
	return nil, plan.ErrNotFound
}

// latest reads the states that have no snapshot yet, or may have none: the current item, if there is one, first, then
// the deleted copies, the newest first.
func latest(ctx context.Context, r plan.Reader, op *plan.Op, now time.Time) ([]item.Item, error) {
	var all []item.Item
	current, err := r.Get(ctx, op.Table, op.Key, true)
	if err != nil {
		return nil, err
	}
	if current != nil {
		if err := plan.SameCase(op.Schema, op.Parts, current); err != nil {
			return nil, err
		}
		all = append(all, current)
	}
	deleted, err := copies(ctx, r, op, now)
	return append(all, deleted...), err
}

// copies reads the deleted copies that have not expired, the newest first.
func copies(ctx context.Context, r plan.Reader, op *plan.Op, now time.Time) ([]item.Item, error) {
	m, ok := schema.Feature[plan.SoftDeleter](op.Schema)
	if !ok {
		return nil, nil
	}
	var all []item.Item
	desc, strong := false, true
	in := &dynamodb.QueryInput{TableName: &op.Table, ScanIndexForward: &desc, ConsistentRead: &strong}
	plan.Among(in, op.Schema, op.Key, m.Infix())
	for {
		out, err := r.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, it := range out.Items {
			if err := plan.SameCase(op.Schema, op.Parts, it); err != nil {
				return nil, err
			}
		}
		all = append(all, slices.DeleteFunc(out.Items, func(it item.Item) bool { return plan.Expired(op.Schema, it, now) })...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, nil
		}
	}
}

// At returns the state that the item was in at t: the one with the highest version whose updated_at is not after t. It
// needs the role updated_at. It reads from the newest state backwards, consistently, a request per MB of snapshots and
// one or two besides. Errors: entity.ErrNotFound when the item did not exist yet; [ErrVersionExpired] when the state has
// expired; *entity.InputError.
func (h *History[T]) At(ctx context.Context, key T, t time.Time) (Version[T], error) {
	var found Version[T]
	c := core.Of(h)
	err := at(ctx, c, reflect.ValueOf(key), t, func(it item.Item) error { return decode[T](c)(it, &found) })
	return found, err
}

// at finds the state of an item at t and gives it to f.
func at(ctx context.Context, c *core.Core, key reflect.Value, t time.Time, f func(item.Item) error) error {
	op, err := subject(c, "History.At", key)
	if err == nil && c.Schema.UpdatedAt == nil {
		err = &entity.InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: `At needs a field with entity:"updated_at"`}
	}
	if err != nil {
		return c.Wrap(op.Verb, op.KeyIs, err)
	}
	return c.Measure(ctx, op.Verb, op.KeyIs, func(ctx context.Context) error {
		l := &listing{c: c, op: op, high: maxVersion, desc: true, current: true}
		lowest := int64(-1)
		for it, err := range l.all(ctx) {
			if err != nil {
				return err
			}
			later := lowest
			lowest = plan.StoredVersion(c.Schema, it)
			at, ok := since(c.Schema, it)
			switch {
			case !ok || at.After(t):
			case later > lowest+1: // the state at t may be one of those that are missing in between
				return fmt.Errorf("%w: there is no state between versions %d and %d: %w", ErrVersionExpired, lowest, later, plan.ErrNotFound)
			default:
				return f(it)
			}
		}
		if lowest > 1 {
			return fmt.Errorf("%w: the oldest state that is left is version %d: %w", ErrVersionExpired, lowest, plan.ErrNotFound)
		}
		return plan.ErrNotFound
	})
}
