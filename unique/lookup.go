package unique

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type handle = core.Handle

// Lookup finds items of type T by the value of one constraint. It is safe for concurrent use.
type Lookup[T any] struct {
	handle
	k *constraint
}

// Of opens the constraint of that name. The error is an *entity.SchemaError when T does not declare it.
func Of[T any](store *entity.Store[T], name string) (*Lookup[T], error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return nil, err
	}
	var known []string
	for _, f := range c.Schema.Features {
		if k, ok := f.(*constraint); ok {
			if k.name == name {
				return &Lookup[T]{core.NewHandle(c), k}, nil
			}
			known = append(known, k.name)
		}
	}
	problem := "the struct declares no unique.Constraint"
	if known != nil {
		problem = fmt.Sprintf("there is no constraint %q; there are: %s", name, strings.Join(known, ", "))
	}
	return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: problem}
}

// Find returns the item that has the value which the constraint's fields of v hold; other fields are ignored. It is
// strongly consistent and needs no index: it reads the sentinel and then its owner, two requests, and both once more
// when the value changed hands in between. Errors: entity.ErrNotFound; *entity.InputError for a missing field.
func (l *Lookup[T]) Find(ctx context.Context, v T) (T, error) {
	c := core.Of(l)
	var found T
	if err := c.Err(); err != nil {
		return found, c.Wrap("Find", "", err)
	}
	k, err := l.wanted(reflect.ValueOf(v))
	if err != nil {
		return found, c.Measure(ctx, "Find", "", func(context.Context) error { return err })
	}
	err = c.Measure(ctx, "Find", "", func(ctx context.Context) error {
		it, err := l.find(ctx, k)
		if err == nil && it == nil { // between the two reads the owner may have given the value up to another
			it, err = l.find(ctx, k)
		}
		switch {
		case err != nil:
			return err
		case it == nil:
			return entity.ErrNotFound
		}
		found, err = core.Decode[T](c, it)
		return err
	})
	return found, err
}

// wanted is the key of the sentinel of the value in v.
func (l *Lookup[T]) wanted(v reflect.Value) (item.Item, error) {
	s, given := l.k.s, item.Item{}
	for _, a := range l.k.fields {
		av, err := plan.EncodeAttr(s, a, v)
		if err != nil {
			return nil, err
		}
		if item.Absent(av) {
			return nil, &entity.InputError{Code: plan.CodeKeyPart, Type: s.Type.String(), Field: a.Field, Problem: "the field of the unique constraint " + l.k.name + " is missing"}
		}
		given[a.Name] = av
	}
	return l.k.sentinelKey(given)
}

// find reads the sentinel and its owner; nil when the value is not claimed, or its owner does not have it.
func (l *Lookup[T]) find(ctx context.Context, k item.Item) (item.Item, error) {
	c := core.Of(l)
	r, s := c.Runner, c.Schema
	sentinel, err := r.Get(ctx, c.Table, k, true)
	if err != nil || sentinel == nil || plan.Expired(s, sentinel, r.Clock()) {
		return nil, err
	}
	primary := item.Item{s.PK.Attributes()[0]: sentinel[schema.OwnerPKAttr], s.SK.Attributes()[0]: sentinel[schema.OwnerSKAttr]}
	if _, err := ownerOf(sentinel); err != nil {
		return nil, &entity.DecodeError{Entity: l.k.entityName(), Attr: schema.OwnerPKAttr, Problem: err.Error()}
	}
	owner, err := r.Get(ctx, c.Table, primary, true)
	if err != nil || !plan.Live(s, owner, r.Clock()) {
		return nil, err
	}
	if has, err := l.k.sentinelKey(owner); err != nil || has == nil || plan.KeyID(has) != plan.KeyID(k) {
		return nil, err
	}
	return owner, nil
}
