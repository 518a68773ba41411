package entity

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type handle = core.Handle

// Store reads and writes the entities of type T. It is safe for concurrent use.
type Store[T any] struct{ handle }

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// New declares the struct T on db and returns its store; called again, it returns the same store. It does no I/O. The
// error joins a *SchemaError for every mistake in T's declarations. A struct that declares a kind of entity with a
// handle of its own (a time series) is refused; so is a db that is nil or a zero value, with an *[InputError].
func New[T any](db *DB, opts ...StoreOption) (*Store[T], error) {
	s, err := db.declare(typeOf[T](), opt.Stores(opts), func(c *core.Core) core.Holder { return &Store[T]{core.NewHandle(c)} })
	if err != nil {
		return nil, err
	}
	return s.(*Store[T]), nil
}

// declare returns the store of a struct's entity, which open makes when it is asked for the first time.
func (db *DB) declare(t reflect.Type, spec opt.Store, open func(*core.Core) core.Holder) (core.Holder, error) {
	if err := db.unopened(); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	id := storeKey{t, spec.Name, spec.Handle}
	if store, ok := db.stores[id]; ok {
		return store, sameOptions(core.Of(store), spec)
	}
	if err := spec.Err(); err != nil {
		return nil, &InputError{Code: plan.CodeOption, Type: t.String(), Problem: err.Error()}
	}
	options := db.options(spec.Name)
	options.After, options.NoExpiry, options.Table, options.Derived = spec.After, spec.NoExpiry, spec.Table, spec.Derived
	if spec.Own {
		options.Precision, options.Profile, options.Validator = key.Nano, schema.Profile{}, nil
	}
	s, err := schema.Build(t, options)
	if err != nil {
		return nil, err
	}
	switch expiry := spec.After != nil || spec.NoExpiry; {
	case expiry && !s.Expires:
		return nil, &InputError{Code: plan.CodeOption, Type: t.String(), Problem: "After and NoExpiry need a lifecycle.TTL declaration"}
	case spec.After != nil && spec.NoExpiry:
		return nil, &InputError{Code: plan.CodeOption, Type: t.String(), Problem: "After and NoExpiry exclude each other"}
	}
	if s.Handle != spec.Handle {
		return nil, wrongHandle(s, spec.Handle)
	}
	table, err := db.register(s)
	if err != nil {
		return nil, err
	}
	c := &core.Core{Schema: s, Table: table, Runner: db.runner, Cursor: db.cursors, DB: core.DatabaseOf(db)}
	store := open(c)
	db.stores[id] = store
	return store, nil
}

// sameOptions refuses options that a store which exists already does not have.
func sameOptions(c *core.Core, spec opt.Store) error {
	had := c.Schema.Options
	switch {
	case spec.NoExpiry && !had.NoExpiry, spec.After != nil && (had.After == nil || *had.After != *spec.After):
		return &InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: "the store exists with another time to live"}
	}
	return nil
}

func wrongHandle(s *schema.Schema, used string) error {
	problem := "the struct needs no declaration of " + used + "; use entity.New"
	switch {
	case s.Handle != "":
		problem = "the struct's declarations need " + s.Handle
	case used != "":
		problem = "the struct lacks the declaration that " + used + " is for"
	}
	return &SchemaError{Code: schema.CodeHandle, Type: s.Type.String(), Problem: problem}
}

// Fields returns the prototype of T, one value for the whole program. The addresses of its fields name attributes in
// [Set], [Eq] and the like; its pointer fields point to prototypes too, so that t.Alert and &t.Address.City work. Never
// write to it.
func Fields[T any]() *T {
	t := typeOf[T]()
	if t.Kind() != reflect.Struct {
		return new(T)
	}
	return schema.Prototype(t).Interface().(*T)
}

// Op builds writes as values.
func (s *Store[T]) Op() Ops[T] { return Ops[T]{core.HandleOf(s)} }

// Get reads the item with key's primary key; only the key parts of key need to be filled in. It costs one request and
// is eventually consistent unless [Consistent] is given. Errors: [ErrNotFound]; *[InputError] for a missing key part.
func (s *Store[T]) Get(ctx context.Context, key T, opts ...GetOption) (T, error) {
	var found T
	err := get(ctx, core.Of(s), reflect.ValueOf(key), opt.Gets(opts), &found)
	return found, err
}

// get reads the item with the key parts of v into what into points to.
func get(ctx context.Context, c *core.Core, v reflect.Value, spec opt.Get, into any) error {
	primary, parts, text, err := primaryKey(c, v, spec.Read)
	if err != nil {
		return c.Measure(ctx, "Get", text, func(context.Context) error { return err })
	}
	return c.Measure(ctx, "Get", text, func(ctx context.Context) error {
		it, err := c.Runner.Get(ctx, c.Table, primary, spec.Strong)
		if err != nil {
			return err
		}
		if it != nil && c.Schema.Expires && !spec.Expired && plan.Expired(c.Schema, it, c.Runner.Clock()) {
			it = nil
		}
		if spec.Keep != nil {
			spec.Keep(it, c.Table)
		}
		if it == nil {
			return ErrNotFound
		}
		if err := plan.SameCase(c.Schema, parts, it); err != nil {
			return err
		}
		return c.Decode(it, into)
	})
}

// primaryKey composes the key of a read; parts are what it is composed of.
func primaryKey(c *core.Core, v reflect.Value, spec opt.Read) (primary, parts item.Item, text string, err error) {
	if err := spec.Err(); err != nil {
		return nil, nil, "", &InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: err.Error()}
	}
	primary, parts, err = plan.Key(c.Schema, v)
	return primary, parts, plan.KeyText(c.Schema, primary), err
}

// Create writes a new item and returns it as stored: created_at equals updated_at, the version is 1. It costs one
// request and one write of the item's size. Errors: [ErrExists]; [ErrConditionFailed]; *[InputError] and [ErrTooLarge] before
// any request.
func (s *Store[T]) Create(ctx context.Context, v T, opts ...CreateOption) (stored T, err error) {
	_, err = create(core.Of(s), reflect.ValueOf(v), opts).Run(ctx, &stored)
	return stored, err
}

// Put creates the item or replaces what the struct knows of it, and returns it: every attribute of T is set, absent ones
// are removed; created_at, set_once and immutable survive, the version goes up by one, and attributes that T does not
// have stay. It has no guard of its own: what another program wrote since v was read is undone, unless versioned.Lock or
// [If] prevents it. It costs one request, and a read more when an index key is composed from given and kept attributes.
// Errors: [ErrConditionFailed], a *[ConditionError] for an immutable attribute; [ErrConflict]; *[InputError] and [ErrTooLarge]
// before any request.
func (s *Store[T]) Put(ctx context.Context, v T, opts ...WriteOption) (stored T, err error) {
	_, err = put(core.Of(s), reflect.ValueOf(v), opts).Run(ctx, &stored)
	return stored, err
}

// Upsert creates the item or merges v into it: attributes that v encodes to are set, absent ones (omitempty) stay as
// stored; created_at, set_once and immutable survive. Changes, such as [Add], can be given beside v: what they name is left
// out of v, and in a new item a counter or list begins with what is added to it. A change inside a map or list needs the
// map or list to be there already. Upsert returns the item and whether there was none before. Like [Store.Put] it has no
// guard of its own.
//
// It costs one request, and a read more when an index key is composed from given and absent attributes. Errors:
// [ErrConditionFailed], a *[ConditionError] for an immutable attribute or a nested change without a parent; [ErrConflict];
// *[InputError] and [ErrTooLarge] before any request; one for which [IsAmbiguous] is true when the answer was lost and
// the item does not prove that it was written, or whether this write created it: a version proves that, and so does an
// attribute that the write did not set.
func (s *Store[T]) Upsert(ctx context.Context, v T, opts ...UpdateOption) (item T, created bool, err error) {
	result, err := upsert(core.Of(s), reflect.ValueOf(v), opts).Run(ctx, &item)
	return item, result.Created, err
}

// Update changes attributes of an item that exists and returns it. It costs one request, and a read more when an index
// key is composed from changed and unchanged attributes. Errors: [ErrNotFound]; [ErrConditionFailed], a *[ConditionError] for
// a nested change without a parent or an immutable attribute; [ErrConflict]; *[InputError] before any request.
func (s *Store[T]) Update(ctx context.Context, key T, opts ...UpdateOption) (stored T, err error) {
	_, err = update(core.Of(s), reflect.ValueOf(key), opts).Run(ctx, &stored)
	return stored, err
}

// Delete removes the item. It costs one request. Errors: [ErrNotFound]; [ErrConditionFailed]; one for which [IsAmbiguous] is
// true when the answer was lost: a second delete could hit an item created since.
func (s *Store[T]) Delete(ctx context.Context, key T, opts ...WriteOption) error {
	_, err := remove(core.Of(s), reflect.ValueOf(key), opts).Run(ctx, nil)
	return err
}
