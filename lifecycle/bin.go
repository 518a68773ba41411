package lifecycle

import (
	"context"
	"reflect"
	"slices"
	"strconv"
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

// Bin reads and restores the deleted items of type T. It is safe for concurrent use.
type Bin[T any] struct {
	handle
	store *entity.Store[T]
}

// Of opens the bin of a store. The error is an *entity.SchemaError when T does not declare [SoftDelete].
func Of[T any](store *entity.Store[T]) (*Bin[T], error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if _, ok := schema.Feature[*softDelete](c.Schema); !ok {
		return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: "the struct lacks the declaration lifecycle.SoftDelete"}
	}
	return &Bin[T]{core.NewHandle(c), store}, nil
}

// Copy is an item as it was deleted.
type Copy[T any] struct {
	Item      T
	DeletedAt time.Time
	ExpiresAt time.Time // when its time to live ends; zero: never
}

// Get returns the newest deleted copy of the item with key's primary key. It is strongly consistent and costs one
// request; more only when copies have expired. Errors: entity.ErrNotFound; *entity.InputError.
func (b *Bin[T]) Get(ctx context.Context, key T) (Copy[T], error) {
	return b.list("Bin.Get", key, opt.Spec{Strong: true}).First(ctx)
}

// List reads the deleted copies of one item, the newest first, a request per MB. Copies whose time to live has passed
// are left out unless entity.IncludeExpired is given. It takes no range condition; entity.Filter takes any other.
func (b *Bin[T]) List(key T, opts ...entity.QueryOption) entity.Query[Copy[T]] {
	return b.list("Bin.List", key, opt.Queries(opts))
}

func (b *Bin[T]) list(verb string, v T, spec opt.Spec) entity.Query[Copy[T]] {
	c := core.Of(b)
	if c.Err() != nil {
		return core.Refused[Copy[T]](c, verb)
	}
	half := copyHalf(c.Schema)
	spec.Desc = true
	src := query.Source{
		Schema: c.Schema, Table: c.Table, PK: c.Schema.PK, SK: half, Verb: verb, Expire: true, Lead: append([]*schema.Attr{}, c.Schema.SK.Parts...),
		Code: plan.CodeOption, Other: "the bin is read whole; put conditions into entity.Filter",
		Base: func(time.Time) expr.Cond { return expr.Cond{} },
	}
	if _, parts, err := plan.Key(c.Schema, reflect.ValueOf(v)); err == nil && len(c.Schema.Cased()) > 0 {
		src.Own = func(it item.Item) (bool, error) { return true, plan.SameCase(c.Schema, parts, it) }
		for _, a := range c.Schema.Cased() {
			src.Needs = append(src.Needs, a.Name)
		}
	}
	if len(spec.Range) > 0 {
		spec.Errs = append(spec.Errs, &entity.InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: src.Other})
	}
	p := query.Build(src, reflect.ValueOf(v), spec)
	return core.NewQuery(c, p, func(it item.Item) (Copy[T], error) { return decodeCopy[T](c, it) })
}

// copyHalf is the sort key of deleted copies.
func copyHalf(s *schema.Schema) *schema.Half {
	name, format := plan.DeletedAttr(s)
	t := *s.SK.Template
	t.Segments = append(slices.Clone(t.Segments), key.Segment{Literal: "deleted"}, key.Segment{Field: &key.Field{Attr: name, Kind: key.Time, Time: format}})
	return &schema.Half{Attr: s.SK.Attr, Template: &t, Parts: append(slices.Clone(s.SK.Parts), &schema.Attr{Name: name}), Prefixed: true, Type: s.SK.Type}
}

func decodeCopy[T any](c *core.Core, it item.Item) (Copy[T], error) {
	var out Copy[T]
	var err error
	if out.Item, err = core.Decode[T](c, it); err != nil {
		return out, err
	}
	name, format := plan.DeletedAttr(c.Schema)
	if out.DeletedAt, err = format.FromValue(it[name]); err != nil {
		return out, &entity.DecodeError{Entity: c.Schema.Name, Attr: name, Problem: "it is not a time"}
	}
	if n, ok := it[c.Schema.Options.TTL].(*types.AttributeValueMemberN); ok {
		seconds, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			return out, &entity.DecodeError{Entity: c.Schema.Name, Attr: c.Schema.Options.TTL, Problem: "it is not a whole number of seconds"}
		}
		out.ExpiresAt = time.Unix(seconds, 0).UTC()
	}
	return out, nil
}

// Restore makes the newest deleted copy current again, under the version after the copy's, and returns the item; every
// key is composed anew, and unique values are claimed again. It costs two requests: a consistent query and a
// transaction. Errors: entity.ErrNotFound when there is nothing to restore; entity.ErrNotDeleted when the item is there,
// entity.ErrExists too when there is a copy beside it; a *unique.ViolationError when somebody else has a unique value
// by now; entity.ErrCondition, for conditions on the copy; a *versioned.ConflictError; entity.ErrConflict.
func (b *Bin[T]) Restore(ctx context.Context, key T, opts ...entity.WriteOption) (T, error) {
	return run(ctx, b.Op().Restore(key, opts...))
}

// RestoreCopy is [Bin.Restore] of a chosen copy, as Get or List returned it. Under versioned.Retain it reads the highest
// version too, so that no version is given twice.
func (b *Bin[T]) RestoreCopy(ctx context.Context, chosen Copy[T], opts ...entity.WriteOption) (T, error) {
	return run(ctx, b.Op().RestoreCopy(chosen, opts...))
}

// Purge removes the item for good, with its deleted copies, its snapshots and the unique values that it still has; see
// entity.Store.Purge.
func (b *Bin[T]) Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error {
	if err := core.Of(b).Err(); err != nil {
		return core.Of(b).Wrap("Purge", "", err)
	}
	return b.store.Purge(ctx, key, opts...)
}

func run[R any](ctx context.Context, w entity.Write[R]) (R, error) {
	return w.(*core.Write[R]).Run(ctx)
}

// Op builds writes as values.
func (b *Bin[T]) Op() Ops[T] { return Ops[T]{core.HandleOf(b)} }

// Ops builds the writes of a bin as values.
type Ops[T any] struct{ handle }

// Restore is [Bin.Restore] as a value.
func (o Ops[T]) Restore(key T, opts ...entity.WriteOption) entity.Write[T] {
	c := core.Of(o)
	return o.write(newRestore(c, reflect.ValueOf(key), opt.Writes(opts), ""))
}

// RestoreCopy is [Bin.RestoreCopy] as a value.
func (o Ops[T]) RestoreCopy(chosen Copy[T], opts ...entity.WriteOption) entity.Write[T] {
	c, spec := core.Of(o), opt.Writes(opts)
	_, format := plan.DeletedAttr(c.Schema)
	text, err := timeText(format, chosen.DeletedAt)
	if err != nil || chosen.DeletedAt.IsZero() {
		spec.Errs = append(spec.Errs, errNoCopy)
		text = ""
	}
	return o.write(newRestore(c, reflect.ValueOf(chosen.Item), spec, text))
}

func (o Ops[T]) write(op *plan.Op) entity.Write[T] {
	c := core.Of(o)
	return core.NewWrite(c, op, func(outcome any) (T, error) { return core.Decode[T](c, outcome.(item.Item)) })
}
