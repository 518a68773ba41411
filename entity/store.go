package entity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

type handle = engine.Handle

// Handle is a store, an index, a series, or any other handle that a package of this module has opened.
type Handle interface{ engine.Holder }

// Source is the handle of all items of an entity: a *Store[T] or a *timeseries.Series[T].
type Source[T any] interface {
	Handle
	Get(ctx context.Context, key T, opts ...GetOption) (T, error)
}

// typeOf returns the type that a pointer points to. Unlike reflect.TypeFor it adds nothing to a program for each type.
func typeOf(pointer any) reflect.Type { return reflect.TypeOf(pointer).Elem() }

// Store reads and writes the entities of type T. It is safe for concurrent use.
type Store[T any] struct {
	_ storeOf[T]
	handle
}

// sameOptions returns an error if New is called again with options that the store of the first call does not have.
func sameOptions(c *engine.Core, spec *bind.Options) error {
	had := c.Schema.Options
	switch {
	case spec.Err() != nil:
		return &InputError{Code: bind.CodeOption, Type: c.Schema.Type.String(), Problem: spec.Err().Error()}
	case spec.Upgrades != nil && c.Schema.Upgrades == nil:
		return &InputError{Code: bind.CodeOption, Type: c.Schema.Type.String(), Problem: "the store exists without upgrades"}
	case spec.NoExpiry && !had.NoExpiry, spec.After != nil && (had.After == nil || *had.After != *spec.After):
		return &InputError{Code: bind.CodeOption, Type: c.Schema.Type.String(), Problem: "the store exists with another time to live"}
	}
	return nil
}

// declare returns the store of a struct's entity: the one that an earlier call returned, or empty, whose handle it sets.
func (db *DB) declare(t reflect.Type, opts []StoreOption, empty engine.Holder, handle *engine.Handle) (engine.Holder, error) {
	if err := db.unopened(); err != nil {
		return nil, err
	}
	db.registry.mu.Lock()
	defer db.registry.mu.Unlock()
	known, err := db.base.declareOwn(t, bind.Collect(opts))
	switch {
	case err != nil:
		return nil, err
	case db.base != db:
		c := *known.core
		c.Runner, c.DB = db.runner, engine.DatabaseOf(db)
		*handle = engine.NewHandle(&c)
		return empty, nil
	case known.store == nil:
		*handle = engine.NewHandle(known.core)
		known.store = empty
	}
	return known.store, nil
}

// declareOwn returns what a struct declares on a DB with declarations of its own. The registry is locked.
func (db *DB) declareOwn(t reflect.Type, spec *bind.Options) (*registered, error) {
	id := storeKey{t, spec.Name, spec.Handle}
	if known, ok := db.registry.stores[id]; ok {
		return known, sameOptions(known.core, spec)
	}
	cfg := &db.config
	s, err := plan.Declare(t, schema.Options{
		Namespace: cfg.Namespace.Name, NamespaceVersion: cfg.Namespace.Version, PK: cfg.PK, SK: cfg.SK, TTL: cfg.TTL, Precision: db.format,
		Profile: schema.NewProfile(cfg.Interop), Validator: cfg.Validator, FromContext: cfg.FromContext, SDKCodec: cfg.Codec == SDKCodec,
	}, spec)
	if err != nil {
		return nil, err
	}
	if err := db.regional(s, spec); err != nil {
		return nil, err
	}
	table := cfg.Table
	if s.Table != "" {
		table = cmp.Or(cfg.Tables[s.Table], s.Table)
	}
	if table == "" {
		return nil, &SchemaError{Code: schema.CodeConfig, Type: "entity.Config", Field: "Table", Problem: "no table for entity " + s.Name + ": set Table, or name a table in its entity.Key"}
	}
	if err := engine.DatabaseOf(db).Add(table, s); err != nil {
		return nil, err
	}
	made := &registered{core: &engine.Core{Schema: s, Table: table, Runner: db.runner, Cursor: db.cursors, DB: engine.DatabaseOf(db)}}
	db.registry.stores[id] = made
	return made, nil
}

// New declares the struct T on db and returns its store; called again, it returns the same store. It does no I/O. The
// error joins a *SchemaError for every mistake in T's declarations. A struct that needs a handle of its own, such as a
// time series, is refused; so is a db that is nil or a zero value, with an *[InputError].
func New[T any](db *DB, opts ...StoreOption) (*Store[T], error) {
	s := new(Store[T])
	store, err := db.declare(typeOf((*T)(nil)), opts, s, &s.handle)
	if err != nil {
		return nil, err
	}
	return store.(*Store[T]), nil
}

// Fields returns the prototype of T, one value for the whole program. The addresses of its fields name attributes in
// [Set], [Eq] and others; its pointer fields point to prototypes too, so &t.Address.City works. Never write to it.
func Fields[T any]() *T {
	return prototype((*T)(nil)).(*T)
}

func prototype(pointer any) any {
	t := typeOf(pointer)
	if t.Kind() != reflect.Struct {
		return reflect.New(t).Interface()
	}
	return schema.Prototype(t).Interface()
}

// Op is one intended write. Printing it shows its plan; [DB.Transact] applies it. It can be used any number of times.
type Op interface {
	fmt.Stringer
	engine.Op
}

// Write is an [Op] with a result.
type Write[R any] interface {
	Op
	// Result returns what the last successful transaction with this Write stored, the zero R before that. A transaction
	// returns no item, so attributes that the plan does not determine are zero.
	Result() R
}

// The functions below do the work of the methods of [Store], [Index] and [Ops], which only add the type: a program contains a function
// once, and a method once for each entity. h is the handle, and the value or key is what the caller gave; where there is a result, a
// pointer to it.

// inOut is what a write gets and what it returns, in one allocation.
type inOut[T any] struct{ in, out T }

func create(h engine.Holder, value any, opts []CreateOption) engine.Operation {
	c, v, spec := engine.Of(h), reflect.ValueOf(value).Elem(), bind.Collect(opts)
	if c.Schema.Completes {
		return engine.WholeOperation(c, "Create", v, false, func(v reflect.Value, _ []string) *plan.Op {
			return plan.NewCreate(c.Schema, c.Table, v, spec)
		})
	}
	return engine.Operation{Core: c, Op: plan.NewCreate(c.Schema, c.Table, v, spec)}
}

func complete(ctx context.Context, h engine.Holder, value, into any) error {
	c := engine.Of(h)
	return c.Measure(ctx, "Complete", "", func(ctx context.Context) error {
		done, err := engine.NewWhole(c, reflect.ValueOf(value), false).Prepared(ctx)
		if err == nil {
			reflect.ValueOf(into).Elem().Set(done.Value)
		}
		return err
	})
}

func put(h engine.Holder, value any, opts []WriteOption) engine.Operation {
	c, v, spec := engine.Of(h), reflect.ValueOf(value).Elem(), bind.Collect(opts)
	if c.Schema.Completes {
		return engine.WholeOperation(c, "Put", v, false, func(v reflect.Value, filled []string) *plan.Op {
			return plan.NewUpsert(c.Schema, c.Table, v, spec, filled, true)
		})
	}
	return engine.Operation{Core: c, Op: plan.NewUpsert(c.Schema, c.Table, v, spec, nil, true)}
}

func update(h engine.Holder, key any, opts []UpdateOption) engine.Operation {
	c := engine.Of(h)
	return engine.Operation{Core: c, Op: plan.NewUpdate(c.Schema, c.Table, reflect.ValueOf(key).Elem(), bind.Collect(opts))}
}

func remove(h engine.Holder, key any, opts []DeleteOption) engine.Operation {
	c := engine.Of(h)
	return engine.Operation{Core: c, Op: plan.NewDelete(c.Schema, c.Table, reflect.ValueOf(key), bind.Collect(opts))}
}

func checkExists(h engine.Holder, key any, conds []Cond) engine.Operation {
	c := engine.Of(h)
	return engine.Operation{Core: c, Op: plan.NewCheckExists(c.Schema, c.Table, reflect.ValueOf(key), erase(conds))}
}

func checkNotExists(h engine.Holder, key any) engine.Operation {
	c := engine.Of(h)
	return engine.Operation{Core: c, Op: plan.NewCheckNotExists(c.Schema, c.Table, reflect.ValueOf(key))}
}

func upsert(h engine.Holder, value any, opts []UpdateOption) engine.Operation {
	c, v, spec := engine.Of(h), reflect.ValueOf(value).Elem(), bind.Collect(opts)
	if c.Schema.Completes {
		return engine.WholeOperation(c, "Upsert", v, true, func(v reflect.Value, filled []string) *plan.Op {
			return plan.NewUpsert(c.Schema, c.Table, v, spec, filled, false)
		})
	}
	return engine.Operation{Core: c, Op: plan.NewUpsert(c.Schema, c.Table, v, spec, nil, false)}
}

// Ops builds the writes of a store as values. Mistakes in the arguments are returned when the op is run, and shown when it is printed.
type Ops[T any] struct{ handle }

// opened returns the handle of o, a closed one for nil. As a value it does not keep o in the heap.
func (o *Ops[T]) opened() handle {
	if o == nil {
		return handle{}
	}
	return o.handle
}

// Create is [Store.Create] as a value.
func (o *Ops[T]) Create(v T, opts ...CreateOption) Write[T] {
	return engine.NewWrite[T](create(o.opened(), &v, opts))
}

// Update is [Store.Update] as a value.
func (o *Ops[T]) Update(key T, opts ...UpdateOption) Write[T] {
	return engine.NewWrite[T](update(o.opened(), &key, opts))
}

// Delete is [Store.Delete] as a value. Its result is the zero T.
func (o *Ops[T]) Delete(key T, opts ...DeleteOption) Write[T] {
	return engine.NewWrite[T](remove(o.opened(), key, opts))
}

// CheckExists makes the transaction fail unless the item exists ([ErrNotFound]) and conds hold ([ErrConditionFailed]).
func (o *Ops[T]) CheckExists(key T, conds ...Cond) Op {
	return engine.NewWrite[T](checkExists(o.opened(), key, conds))
}

// CheckNotExists makes the transaction fail with [ErrExists] if the item exists.
func (o *Ops[T]) CheckNotExists(key T) Op {
	return engine.NewWrite[T](checkNotExists(o.opened(), key))
}

// Upsert is [Store.Upsert] as a value.
func (o *Ops[T]) Upsert(v T, opts ...UpdateOption) Write[T] {
	return engine.NewWrite[T](upsert(o.opened(), &v, opts))
}

// Put is [Store.Put] as a value.
func (o *Ops[T]) Put(v T, opts ...WriteOption) Write[T] {
	return engine.NewWrite[T](put(o.opened(), &v, opts))
}

// Op builds writes as values.
func (s *Store[T]) Op() *Ops[T] { return &Ops[T]{engine.HandleOf(s)} }

// unexpired returns it, or no item if it has expired for a read with the options spec.
func unexpired(c *engine.Core, it wire.Item, spec *bind.Options) wire.Item {
	if c.Schema.Expires && !spec.Expired && layout.Expired(c.Schema, it.Pick(c.Schema.Options.TTL), c.Runner.Clock()) {
		return wire.Item{}
	}
	return it
}

// sameCase returns an error if the key of an item differs in case from parts.
func sameCase(s *schema.Schema, parts item.Item, it wire.Item) error {
	var names []string
	for _, a := range s.Folded {
		names = append(names, a.Name)
	}
	if names == nil {
		return nil
	}
	return layout.SameCase(s, parts, it.Pick(names...))
}

// get reads the item with the key parts of key into the value that into points to.
func get(ctx context.Context, h engine.Holder, key any, opts []GetOption, into any) error {
	c, spec := engine.Of(h), bind.Collect(opts)
	composed, parts, err := bind.Key(c.Schema, reflect.ValueOf(key), nil, nil)
	if len(spec.Errs) > 0 {
		err = c.Readable(spec)
	}
	if err != nil {
		return c.MeasureItem(ctx, "Get", nil, func(context.Context) error { return err })
	}
	primary := item.Primary{Names: c.Schema.SortedKey}.With(composed)
	if spec.Keep != nil {
		ctx = c.Runner.Direct(ctx)
	}
	return c.MeasureCall(ctx, Call{Verb: "Get"}, func() string { return layout.KeyText(c.Schema, primary.Map()) }, func(ctx context.Context) error {
		if spec.Budget != nil {
			ctx = bind.WithPace(ctx, spec.Budget)
		}
		stored, err := c.Runner.Find(ctx, c.Table, primary, spec.Strong)
		if err != nil {
			return err
		}
		defer stored.Release()
		it := stored
		if c.Schema.Expires {
			it = unexpired(c, it, spec)
		}
		if spec.Keep != nil {
			spec.Keep(it.Map(), c.Table)
		}
		if it.Missing() {
			return ErrNotFound
		}
		if len(c.Schema.Folded) > 0 {
			if err := sameCase(c.Schema, parts, it); err != nil {
				return err
			}
		}
		return c.ReadBy(&c.Schema.Codec, it, into)
	})
}

// Get reads the item with key's primary key; only the key parts of key are used. It costs one request and is eventually
// consistent unless [Consistent] is given. Errors: [ErrNotFound]; *[InputError] for a missing key part.
func (s *Store[T]) Get(ctx context.Context, key T, opts ...GetOption) (T, error) {
	var found T
	err := get(ctx, s, key, opts, &found)
	return found, err
}

// Complete returns v as Create and Put would write it: with its defaults, generated ids and what its Prepare method sets. So an id
// can be used before the item is written: in another operation of the transaction, or in a URL. Writing the result generates no other
// ids; it calls Prepare again, which must leave alone what it has made; and an Upsert takes what was a default for a given value,
// which replaces a stored one. Timestamps, versions and keys without a field are set by the write, which also validates. Complete
// makes no request but those of Prepare. Errors: *[PrepareError]; *[InputError] for a nil context, or a clock that ids cannot hold.
func (s *Store[T]) Complete(ctx context.Context, v T) (completed T, err error) {
	err = complete(ctx, s, v, &completed)
	return completed, err
}

// Create writes a new item and returns it as stored: created_at equals updated_at, the version is 1. A [Preparer],
// defaults and generated ids complete v first. It costs one request and one write of the item's size. Errors:
// [ErrExists]; [ErrConditionFailed]; *[InputError] and [ErrTooLarge] before any request.
func (s *Store[T]) Create(ctx context.Context, v T, opts ...CreateOption) (stored T, err error) {
	x := &inOut[T]{in: v}
	_, err = create(s, &x.in, opts).Run(ctx, &x.out)
	return x.out, err
}

// Put creates the item, or replaces the attributes that the struct has, and returns the item. Every attribute of T is
// set, and absent ones are removed; created_at, set_once and immutable attributes are kept, the version is incremented,
// and attributes that T does not have stay. v is completed as by [Store.Create]. It has no guard of its own: it undoes
// what another program wrote since v was read, unless [If] or versioned.Lock prevents that, with which a v of version 0
// expects that nothing is stored. It costs one request, and a read if an index key is composed of given and kept attributes.
// Errors: [ErrConditionFailed], a *[ConditionError] for an immutable attribute; [ErrConflict]; *[InputError] and [ErrTooLarge].
func (s *Store[T]) Put(ctx context.Context, v T, opts ...WriteOption) (stored T, err error) {
	x := &inOut[T]{in: v}
	_, err = put(s, &x.in, opts).Run(ctx, &x.out)
	return x.out, err
}

// Upsert creates the item, or merges v into it: attributes that v encodes are set, absent ones (omitempty) keep their stored value;
// created_at, set_once and immutable attributes are kept. Changes such as [Add] can be given in addition to v: the attributes that they
// name are left out of v, and in a new item a counter or list starts with what is added. A change inside a map or list needs a stored map
// or list. Upsert returns the item and whether it was created. Like [Store.Put] it has no guard of its own. A [Preparer] completes v first.
// The default of an empty field is stored if the item has no such attribute, and ids are not generated: an empty one is left as stored.
//
// It costs one request, and a read if an index key is composed of given and absent attributes. Errors: [ErrConditionFailed], a
// *[ConditionError] for an immutable attribute or a nested change without its parent; [ErrConflict]; *[InputError] and [ErrTooLarge] before
// any request; one for which [IsAmbiguous] is true if the response was lost and the stored item does not prove that it was written, or
// whether this write created it: a version proves that (an item from before the entity had one counts as created if the write set all that
// it has), and so does an attribute that the write did not set; [ErrReadBack] if the request arrived twice, and nothing proves whether it
// created the item.
func (s *Store[T]) Upsert(ctx context.Context, v T, opts ...UpdateOption) (item T, created bool, err error) {
	x := &inOut[T]{in: v}
	result, err := upsert(s, &x.in, opts).Run(ctx, &x.out)
	return x.out, result.Created, err
}

// Update changes attributes of an existing item and returns it. It costs one request, and a read if an index key is
// composed of changed and unchanged attributes. Without a change, such as of a PATCH without fields, it is one consistent read,
// which returns the item as it is, without a new version or updated_at; with [If], and in a transaction, also a check that the
// item is still so. Errors: [ErrNotFound]; [ErrConditionFailed], a *[ConditionError] for a nested change without its parent
// or an immutable attribute; [ErrConflict]; *[InputError] before any request.
func (s *Store[T]) Update(ctx context.Context, key T, opts ...UpdateOption) (stored T, err error) {
	x := &inOut[T]{in: key}
	_, err = update(s, &x.in, opts).Run(ctx, &x.out)
	return x.out, err
}

// Delete removes the item. With soft delete or a history, a [ChangeOption] changes the state that these keep: who deleted it, and why. It
// costs one request. Errors: [ErrNotFound], unless [IfPresent] is given; [ErrConditionFailed]; one for which
// [IsAmbiguous] is true if the response was lost: a second delete could remove an item created since.
func (s *Store[T]) Delete(ctx context.Context, key T, opts ...DeleteOption) error {
	_, err := remove(s, key, opts).Run(ctx, nil)
	return err
}

// modify plans a change by f, which gets a pointer to the value that was read. If f is nil, that is the caller's mistake.
func modify(h engine.Holder, key any, opts []WriteOption, f func(any) error) engine.Operation {
	c, spec := engine.Of(h), *bind.Collect(opts)
	if f == nil {
		spec.Add(errors.New("the function that is to change the value is nil"))
	}
	return engine.Operation{Core: c, Op: plan.NewModify(c.Schema, c.Table, reflect.ValueOf(key), &spec, func(image item.Item) (was, is reflect.Value, err error) {
		// Decoded twice: what f changes may be reached through pointers, slices and maps.
		before, after := reflect.New(c.Schema.Type), reflect.New(c.Schema.Type)
		if err := c.Decode(image, before.Interface()); err != nil {
			return was, is, err
		}
		if err = c.Decode(image, after.Interface()); err == nil {
			err = f(after.Interface())
		}
		return before.Elem(), after.Elem(), err
	})}
}

// Modify reads the item, calls f to change it, and writes what f changed, guarded by what was read; it returns the
// stored item. If another write came in between, it reads and calls f again, up to Config.MaxAttempts times; so f must
// change nothing but its argument. An error of f ends the call and is wrapped. If f changes nothing, nothing is
// written. Changing a key part, a field that the library sets or a set_once field is an *[InputError]. It costs a
// consistent read and a write of the whole item. Errors: [ErrNotFound]; [ErrConditionFailed]; [ErrConflict].
func (s *Store[T]) Modify(ctx context.Context, key T, f func(*T) error, opts ...WriteOption) (stored T, err error) {
	var change func(any) error
	if f != nil {
		change = func(v any) error { return f(v.(*T)) }
	}
	_, err = modify(s, key, opts, change).Run(ctx, &stored)
	return stored, err
}

// Touch sets field, the address of a time field of [Fields], to now if it is absent or at least every old, and reports whether it did. It
// does not change version, updated_at and history. It costs one request; if the field is not due, that request fails its condition and
// costs one write unit. Errors: [ErrNotFound]; *[InputError] for a field that is one of several parts of an index key.
func (s *Store[T]) Touch(ctx context.Context, key T, field *time.Time, every time.Duration) (bool, error) {
	return touch(ctx, s, key, field, every)
}

func touch(ctx context.Context, h engine.Holder, key any, field *time.Time, every time.Duration) (bool, error) {
	c := engine.Of(h)
	op := plan.NewTouch(c.Schema, c.Table, reflect.ValueOf(key), bind.Target{Pointer: field}, every)
	result, err := engine.Operation{Core: c, Op: op, Decode: func(plan.Result, any) error { return nil }}.Run(ctx, nil)
	return err == nil && !result.Skipped, err
}

// Image holds an item exactly as Get read it, including attributes that the struct does not have, so that a write that
// is planned from the stored item can save its read. The zero value is empty; a Get with [KeepImage] fills it. It is
// safe for concurrent use and must not be copied.
type Image struct {
	mu    sync.Mutex
	image item.Item
	table string
}

// KeepImage makes Get store the item in h, as it was read; if Get finds none, it empties h.
func KeepImage(h *Image) GetOption {
	if h == nil {
		return bind.Option{}
	}
	return bind.Option{Setting: func(o *bind.Options) {
		o.Keep = func(it map[string]types.AttributeValue, table string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.image, h.table = item.Clone(it), table
			if it == nil {
				h.image = nil
			}
		}
	}}
}

// FromImage plans a write of the item in h instead of reading it. The write is guarded by h: if the item has changed
// since, it is read and planned again, as if there were no image. A write that does not read ignores it. An empty
// image, or one of another item, is an *[InputError].
func FromImage(h *Image) WriteOption {
	if h == nil {
		return bind.Option{}
	}
	return bind.Option{Setting: func(o *bind.Options) { o.From = held{h} }}
}

// held gives the planner access to an Image.
type held struct{ h *Image }

func (x held) Image() (it map[string]types.AttributeValue, table string) {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	return x.h.image, x.h.table
}

// PurgeOption is accepted by Purge, DeleteAll and PurgeAll: [OnProgress], [Budget].
type PurgeOption interface{ bind.PurgeOption }

// OnProgress makes Purge call f after each request that removed items, with the number of items removed so far, not
// counting sentinels; DeleteAll and PurgeAll after each page of items. The calls come one after the other, from several goroutines.
func OnProgress(f func(deleted int)) PurgeOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if o.Progress = f; f == nil {
			o.Add(errors.New("OnProgress needs a function"))
		}
	}}
}

// Purge removes everything that belongs to the item with key's primary key permanently: the current item, its deleted copies, snapshots and
// events, expired or not, and its unique values. Other items of its partition, such as those of an item collection, are not removed. If
// there is nothing to remove, it returns nil. The current item, copies and unique values are removed in one transaction (more than 100 in
// several, the current item last), then the rest in transactions of up to 100 items, 8 in parallel, each item under the condition that it
// has not changed since it was read. Purge can be interrupted at any request and run again. It costs two reads if there is nothing, and
// otherwise the reads of all items, two more, and the transactions.
//
// Errors: [ErrConflict] if the item existed again each time that everything had been removed; *[InputError].
func (s *Store[T]) Purge(ctx context.Context, key T, opts ...PurgeOption) error {
	return engine.Of(s).PurgeItem(ctx, reflect.ValueOf(key), bind.Collect(opts))
}
