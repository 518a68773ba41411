package lifecycle

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type handle = core.Handle

// Deleted reads and restores the deleted items of type T. It is safe for concurrent use.
type Deleted[T any] struct {
	handle
	store *entity.Store[T]
}

// Of opens the bin of a store. The error is an *entity.SchemaError when T does not declare [SoftDelete].
func Of[T any](store *entity.Store[T]) (*Deleted[T], error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if _, ok := schema.Feature[*softDelete](c.Schema); !ok {
		return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: "the struct lacks the declaration lifecycle.SoftDelete"}
	}
	return &Deleted[T]{core.NewHandle(c), store}, nil
}

// DeletedItem is an item as it was deleted.
type DeletedItem[T any] struct {
	Item      T
	DeletedAt time.Time
	ExpiresAt time.Time // when its time to live ends; zero: never
}

// Get returns the newest deleted copy of the item with key's primary key. It is strongly consistent and costs one
// request; more only when copies have expired. Errors: entity.ErrNotFound; *entity.InputError.
func (b *Deleted[T]) Get(ctx context.Context, key T) (DeletedItem[T], error) {
	c := core.Of(b)
	found, err := copies[T](c, list(c, "Deleted.Get", reflect.ValueOf(key), opt.Bounded{Select: opt.Select{Read: opt.Read{Strong: true}}})).First(ctx)
	if errors.Is(err, entity.ErrNotFound) && shared(c.Schema) {
		err = otherSpelling(ctx, c, reflect.ValueOf(key))
	}
	return found, err
}

// otherSpelling is the error where no copy has the key as it is given: that of the newest copy under the stored key, if
// it is spelled in another case.
func otherSpelling(ctx context.Context, c *core.Core, key reflect.Value) error {
	op, _ := plan.Begin(c.Schema, c.Table, "Deleted.Get", key, opt.Write{})
	return c.Measure(ctx, op.Verb, op.KeyIs, func(ctx context.Context) error {
		it, err := plan.Newest(ctx, c.Runner, op, infix, c.Runner.Clock())
		if err == nil {
			err = plan.SameCase(c.Schema, op.Parts, it)
		}
		if err == nil {
			err = entity.ErrNotFound
		}
		return err
	})
}

// List reads the deleted copies of one item, the newest first, a request per MB. Copies whose time to live has passed
// are left out unless entity.IncludeExpired is given.
func (b *Deleted[T]) List(key T, opts ...ListOption) entity.Query[DeletedItem[T]] {
	c := core.Of(b)
	return copies[T](c, list(c, "Deleted.List", reflect.ValueOf(key), opt.Bounds(opts)))
}

// copies makes a query of deleted copies of its plan.
func copies[T any](c *core.Core, p *query.Plan) entity.Query[DeletedItem[T]] {
	codec := c.Schema.CodecOf(p.Index)
	return core.NewQuery[DeletedItem[T]](core.Planned(c, p), func(it item.Item, into any) (err error) {
		deleted := into.(*DeletedItem[T])
		if err = c.DecodeBy(codec, it, &deleted.Item); err == nil {
			deleted.DeletedAt, deleted.ExpiresAt, err = times(c.Schema, it)
		}
		return err
	})
}

// shared reports that copies of items whose keys differ in case can lie under one key: where a new life begins without a
// look at earlier ones.
func shared(s *schema.Schema) bool {
	f, _ := schema.Feature[*softDelete](s)
	_, retains := schema.Feature[plan.Snapshotter](s)
	return len(s.Cased()) > 0 && !retains && !f.reserve
}

// list compiles the query of one item's deleted copies.
func list(c *core.Core, verb string, v reflect.Value, spec opt.Bounded) *query.Plan {
	if c.Err() != nil {
		return core.Refused(c, verb)
	}
	src := copySource(c, verb)
	src.Lead, src.Base = append([]*schema.Attr{}, c.Schema.SK.Parts...), func(time.Time) expr.Cond { return expr.Cond{} }
	if _, parts, err := plan.Key(c.Schema, v); err == nil && len(c.Schema.Cased()) > 0 {
		src.Own = func(it item.Item) (bool, error) {
			err := plan.SameCase(c.Schema, parts, it)
			if shared(c.Schema) {
				return err == nil, nil
			}
			return true, err
		}
		for _, a := range c.Schema.Cased() {
			src.Needs = append(src.Needs, a.Name)
		}
	}
	return query.Build(src, v, opt.Query{Bounded: spec, Order: opt.Order{Desc: true}})
}

// copySource reads what has the sort key of a deleted copy.
func copySource(c *core.Core, verb string) query.Source {
	return query.Source{Schema: c.Schema, Table: c.Table, PK: c.Schema.PK, SK: copyHalf(c.Schema), Verb: verb, Expire: true}
}

// copyHalf is the sort key of deleted copies.
func copyHalf(s *schema.Schema) *schema.KeyDef {
	name, format := plan.DeletedAttr(s)
	t := *s.SK.Template
	t.Segments = append(slices.Clone(t.Segments), key.Segment{Literal: "deleted"}, key.Segment{Field: &key.Field{Attr: name, Kind: key.Time, Time: format}})
	return &schema.KeyDef{Attr: s.SK.Attr, Template: &t, Parts: append(slices.Clone(s.SK.Parts), &schema.Attr{Name: name}), Prefixed: true, Type: s.SK.Type}
}

// times are when a stored copy was deleted and when it expires; zero: never.
func times(s *schema.Schema, it item.Item) (deleted, expires time.Time, err error) {
	name, format := plan.DeletedAttr(s)
	if deleted, err = format.FromValue(it[name]); err != nil {
		return deleted, expires, &entity.DecodeError{Entity: s.Name, Attr: name, Problem: "it is not a time"}
	}
	if n, ok := it[s.Options.TTL].(*types.AttributeValueMemberN); ok {
		if expires, err = key.Unix.FromValue(n); err != nil {
			return deleted, expires, &entity.DecodeError{Entity: s.Name, Attr: s.Options.TTL, Problem: "it is no time in seconds: it " + err.Error()}
		}
	}
	return deleted, expires, nil
}

// RestoreOption is accepted by Restore and RestoreCopy: entity.If, entity.Idempotent, versioned.Expect,
// versioned.AnyVersion.
type RestoreOption interface{ opt.RestoreOption }

// ListOption is accepted by [Deleted.List]: entity.Filter, entity.Limit, entity.MaxEvaluated, entity.MaxRequests,
// entity.Consistent, entity.IncludeExpired.
type ListOption interface{ opt.BoundedOption }

// Restore makes the newest deleted copy current again, under the version after the copy's, and returns the item; every
// key is composed again, and unique values are claimed again. It costs two requests: a consistent query and a
// transaction. Errors: entity.ErrNotFound when there is nothing to restore; entity.ErrNotDeleted when the item is there,
// entity.ErrExists too when there is a copy beside it; a *unique.ViolationError when another item has a unique value
// by now; entity.ErrConditionFailed, for conditions on the copy; a *versioned.ConflictError; entity.ErrConflict.
func (b *Deleted[T]) Restore(ctx context.Context, key T, opts ...RestoreOption) (restored T, err error) {
	c := core.Of(b)
	_, err = core.ItemOperation(c, newRestore(c, reflect.ValueOf(key), opt.Restores(opts), "")).Run(ctx, &restored)
	return restored, err
}

// RestoreCopy is [Deleted.Restore] of a chosen copy, as Get or List returned it. Under versioned.Retain it reads the highest
// version too, so that no version is given twice.
func (b *Deleted[T]) RestoreCopy(ctx context.Context, chosen DeletedItem[T], opts ...RestoreOption) (restored T, err error) {
	c := core.Of(b)
	_, err = core.ItemOperation(c, restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, opt.Restores(opts))).Run(ctx, &restored)
	return restored, err
}

// Purge removes the item for good, with its deleted copies, its snapshots and the unique values that it still has; see
// entity.Store.Purge.
func (b *Deleted[T]) Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error {
	if err := core.Of(b).Err(); err != nil {
		return core.Of(b).Wrap("Purge", "", err)
	}
	return b.store.Purge(ctx, key, opts...)
}

// Op builds writes as values.
func (b *Deleted[T]) Op() Ops[T] { return Ops[T]{core.HandleOf(b)} }

// Ops builds the writes of a bin as values.
type Ops[T any] struct{ handle }

// Restore is [Deleted.Restore] as a value.
func (o Ops[T]) Restore(key T, opts ...RestoreOption) entity.Write[T] {
	c := core.Of(o)
	return core.NewWrite[T](core.ItemOperation(c, newRestore(c, reflect.ValueOf(key), opt.Restores(opts), "")))
}

// RestoreCopy is [Deleted.RestoreCopy] as a value.
func (o Ops[T]) RestoreCopy(chosen DeletedItem[T], opts ...RestoreOption) entity.Write[T] {
	c := core.Of(o)
	return core.NewWrite[T](core.ItemOperation(c, restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, opt.Restores(opts))))
}

// restoreCopy plans the restore of the copy of v that was deleted at a time.
func restoreCopy(c *core.Core, v reflect.Value, deletedAt time.Time, spec opt.Restore) *plan.Op {
	_, format := plan.DeletedAttr(c.Schema)
	text, err := timeText(format, deletedAt)
	if err != nil || deletedAt.IsZero() {
		spec.Errs = append(spec.Errs, errNoCopy)
		text = ""
	}
	return newRestore(c, v, spec, text)
}
