package unique

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

type handle = engine.Handle

// Lookup finds items of type T by the value of one constraint. It is safe for concurrent use. VerifyUnique and RepairUnique of
// package migrate compare all items with all sentinels of the constraint.
type Lookup[T any] struct {
	_ lookupOf[T]
	handle
	k *constraint
}

// Of opens the constraint that T declares under name. The error is an *entity.SchemaError if T declares no such constraint.
func Of[T any](store entity.Source[T], name string) (*Lookup[T], error) {
	c := engine.Of(store)
	k, err := constraintNamed(c, name)
	if err != nil {
		return nil, err
	}
	return &Lookup[T]{handle: engine.NewHandle(c), k: k}, nil
}

// lookupOf opens lookups for entity.Bind.
type lookupOf[T any] struct{}

func (*lookupOf[T]) Entity() any { return (*T)(nil) }

func (*lookupOf[T]) OpenStore(db *entity.DB, opts []entity.StoreOption) (entity.Handle, error) {
	return entity.New[T](db, opts...)
}

func (*lookupOf[T]) Named() {}

func (*lookupOf[T]) OpenPart(store entity.Handle, name string) (any, error) {
	return Of(store.(entity.Source[T]), name)
}

func constraintNamed(c *engine.Core, name string) (*constraint, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	var known []string
	for _, f := range c.Schema.Features {
		if k, ok := f.(*constraint); ok {
			if k.name == name {
				return k, nil
			}
			known = append(known, k.name)
		}
	}
	problem := "the struct declares no unique.Constraint"
	if known != nil {
		problem = fmt.Sprintf("the struct declares no constraint %q; it declares: %s", name, strings.Join(known, ", "))
	}
	return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: problem}
}

// Find returns the item that has the value in the constraint's fields of v; it ignores other fields. It is strongly consistent and needs no
// index. It costs two requests: one for the sentinel and one for its owner. If another item has taken the value in between, it reads both
// in one transaction until they agree. Errors: entity.ErrNotFound; entity.ErrConflict if the value changed its owner before each of
// Config.MaxAttempts such reads; *entity.InputError for a missing field.
func (l *Lookup[T]) Find(ctx context.Context, v T) (found T, err error) {
	err = l.untyped().find(ctx, v, &found)
	return found, err
}

// Constraint returns the name of the constraint.
func (l *Lookup[T]) Constraint() string {
	if k := l.untyped().k; k != nil {
		return k.name
	}
	return ""
}

// untyped returns what the methods of l, which only add the type, are about.
func (l *Lookup[T]) untyped() lookup {
	if l == nil {
		return lookup{c: engine.Of(l)}
	}
	return lookup{engine.Of(l), l.k}
}

type lookup struct {
	c *engine.Core
	k *constraint // nil if c was not opened
}

// find reads the item with the value that v has into the value that into points to.
func (l lookup) find(ctx context.Context, v, into any) error {
	if err := l.c.Err(); err != nil {
		return l.c.Wrap("Find", "", err)
	}
	k, err := l.valueKey(reflect.ValueOf(v))
	if err != nil {
		return l.c.Measure(ctx, "Find", "", func(context.Context) error { return err })
	}
	return l.c.Measure(ctx, "Find", "", func(ctx context.Context) error {
		it, err := l.owner(ctx, k)
		if err != nil {
			return err
		}
		return l.c.ReadFound(&l.c.Schema.Codec, wire.Of(it), into)
	})
}

// valueKey returns the key of the sentinel for the value in v.
func (l lookup) valueKey(v reflect.Value) (item.Item, error) {
	s, given := l.k.s, item.Item{}
	for _, a := range l.k.fields {
		av, err := bind.EncodeAttr(s, a, v)
		if err != nil {
			return nil, err
		}
		if item.Absent(av) {
			return nil, &entity.InputError{Code: bind.CodeKeyPart, Type: s.Type.String(), Field: a.Field, Problem: "the field of the unique constraint " + l.k.name + " is missing"}
		}
		given[a.Name] = av
	}
	return l.k.sentinelKey(given)
}

// owner returns the owner of the sentinel under k. It reads one after the other. If the owner does not have the value,
// another item may have taken it in between; a transaction then reads both at one instant, and its answer counts if the
// sentinel still names the item that was read with it.
func (l lookup) owner(ctx context.Context, k item.Item) (item.Item, error) {
	c, r := l.c, l.c.Runner
	sentinel, err := r.Get(ctx, c.Table, k, true)
	if err != nil {
		return nil, err
	}
	named, err := l.ownerNamed(sentinel)
	if err != nil {
		return nil, err
	}
	owner, err := layout.GetItem(ctx, r, c.Schema, c.Table, named)
	if err != nil || l.holds(owner.Item, k) {
		return owner.Item, err
	}
	for range r.MaxAttempts {
		got, err := r.TransactGet(ctx, []engine.Key{{Table: c.Table, Key: k}, {Table: c.Table, Key: named}})
		if err != nil {
			return nil, err
		}
		still, err := l.ownerNamed(got[0])
		if err == nil {
			owner, err = layout.Open(c.Schema, got[1])
		}
		switch {
		case err != nil:
			return nil, err
		case !sameKey(still, named):
			named = still
		case l.holds(owner.Item, k):
			return owner.Item, nil
		default:
			return nil, entity.ErrNotFound
		}
	}
	return nil, fmt.Errorf("%w: the value changed its owner during each read", entity.ErrConflict)
}

// ownerNamed returns the primary key of the item that a sentinel names. The error is entity.ErrNotFound without a
// sentinel or if it has expired.
func (l lookup) ownerNamed(sentinel item.Item) (item.Item, error) {
	c := l.c
	if len(sentinel) == 0 || layout.Expired(c.Schema, sentinel, c.Runner.Clock()) {
		return nil, entity.ErrNotFound
	}
	if _, named := ownerOf(sentinel); !named {
		return nil, &entity.DecodeError{Entity: l.k.EntityName(), Attr: schema.OwnerPKAttr, Problem: "the sentinel names no owner"}
	}
	return item.Item{c.Schema.PK.Attribute(): sentinel[schema.OwnerPKAttr], c.Schema.SK.Attribute(): sentinel[schema.OwnerSKAttr]}, nil
}

// holds reports whether an item is live and has the value of the sentinel under k.
func (l lookup) holds(it, k item.Item) bool {
	if len(it) == 0 || !layout.Live(l.c.Schema, it, l.c.Runner.Clock()) {
		return false
	}
	own, err := l.k.storedKey(it)
	return err == nil && sameKey(own, k)
}

func sameKey(x, y item.Item) bool { return x != nil && y != nil && layout.KeyID(x) == layout.KeyID(y) }
