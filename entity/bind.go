package entity

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Bind opens the handles of a program together. T is a struct with a pointer field for each:
//
//	type Tables struct {
//		Customers *entity.Store[Customer]
//		ByTenant  *entity.Index[Customer]  `entity:"byTenant"`
//		ByEmail   *unique.Lookup[Customer] `entity:"email"`
//		Trash     *lifecycle.Deleted[Customer]
//		Past      *versioned.History[Customer]
//		Usage     *timeseries.Series[Usage]
//		Leases    *lease.Leases
//		Totals    *timeline.View[Month, Total] // with timeline.Define
//	}
//
// The tag names the index, the constraint or the view, as its declaration does. A field of struct type is opened the same way,
// embedded or not, so the tables of a program can be made up of those of its parts. Unexported fields, and fields of other
// types, are left alone. The store of an entity that has other handles only is opened too, with the options of [For].
//
// Bind does no I/O. The error joins all mistakes in the order of the fields, each once, under the name of the first field
// that has it: those that the handle's own constructor returns, and a *[SchemaError] with code EDD-9055 for an exported
// pointer that is no handle, a second store of one entity, a tag that is missing or of no use, and an option without a field.
// A db that is nil or a zero value is an *[InputError].
func Bind[T any](db *DB, opts ...BindOption) (*T, error) {
	app := new(T)
	if err := db.bind(reflect.ValueOf(app), bind.Collect(opts)); err != nil {
		return nil, err
	}
	return app, nil
}

// BindOption is accepted by [Bind]: [For], lease.With, timeline.Define.
type BindOption interface{ bind.BindOption }

// For gives options to the store of T that [Bind] opens.
func For[T any](opts ...StoreOption) BindOption {
	return bind.Option{Setting: func(o *bind.Options) {
		o.Bound = append(o.Bound, bind.Bound{Type: reflect.TypeFor[T](), Value: opts})
	}}
}

// The types of handles say how Bind opens them, by the type of their first field, which is blank. So they need no methods that programs see.
type (
	// A storeOpener opens the store of an entity. Entity returns a nil pointer to the entity's type.
	storeOpener interface {
		Entity() any
		OpenStore(db *DB, opts []StoreOption) (Handle, error)
	}
	// A partOpener opens a handle of an entity that has a store. name is the field's tag, "" for an opener that is not named.
	partOpener interface {
		storeOpener
		OpenPart(store Handle, name string) (any, error)
	}
	// A named opener opens what the tag of the field names.
	named interface{ Named() }

	// A soleOpener opens a handle that is of no entity. given are the values of the options for its type, not yet used. parts are the
	// pointers to the structs that Bind has opened, by type. It also returns which of given it used, -1 for none.
	soleOpener interface {
		OpenSole(db *DB, name string, given []any, parts map[reflect.Type]any) (handle any, used int, err error)
	}
)

// storeOf opens stores.
type storeOf[T any] struct{}

func (*storeOf[T]) Entity() any { return (*T)(nil) }

func (*storeOf[T]) OpenStore(db *DB, opts []StoreOption) (Handle, error) {
	return New[T](db, opts...)
}

// indexOf opens indexes.
type indexOf[T any] struct{ storeOf[T] }

func (*indexOf[T]) Named() {}

func (*indexOf[T]) OpenPart(store Handle, name string) (any, error) {
	c := engine.Of(store)
	x, err := indexNamed(c, name)
	if err != nil {
		return nil, err
	}
	return &Index[T]{handle: engine.NewHandle(c), x: x}, nil
}

// A boundField is a field that Bind sets.
type boundField struct {
	value     reflect.Value
	name, tag string
	opener    any
	errs      []error
}

// binding is one call of Bind.
type binding struct {
	db     *DB
	fields []*boundField
	parts  map[reflect.Type]any
	stores map[reflect.Type]Handle // nil for a store that cannot be opened
	given  []bind.Bound
}

func (db *DB) bind(app reflect.Value, spec *bind.Options) error {
	if err := db.unopened(); err != nil {
		return err
	}
	t := app.Type().Elem()
	if err := spec.Err(); err != nil {
		return &InputError{Code: bind.CodeOption, Type: t.String(), Problem: err.Error()}
	}
	if t.Kind() != reflect.Struct {
		return &SchemaError{Code: schema.CodeNotStruct, Type: t.String(), Problem: fmt.Sprintf("Bind opens the fields of a struct, not of a %s", t.Kind())}
	}
	b := &binding{db: db, parts: map[reflect.Type]any{}, stores: map[reflect.Type]Handle{}, given: spec.Bound}
	b.collect(app, "")
	for _, f := range b.fields {
		b.openStore(f, true)
	}
	for _, f := range b.fields {
		b.openStore(f, false)
		if o, ok := f.opener.(partOpener); ok {
			if store := b.stores[typeOf(o.Entity())]; store != nil { // it was opened
				f.set(o.OpenPart(store, f.tag))
			}
		}
	}
	failed := slices.ContainsFunc(b.fields, func(f *boundField) bool { return len(f.errs) > 0 })
	for _, f := range b.fields {
		b.openSole(f, failed)
	}
	return b.err(t)
}

// collect finds the fields of the struct that p points to.
func (b *binding) collect(p reflect.Value, path string) {
	v := p.Elem()
	if p.CanInterface() { // not for an embedded struct of an unexported type
		b.parts[v.Type()] = p.Interface()
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag, tagged := f.Tag.Lookup("entity")
		field := &boundField{value: v.Field(i), name: path + f.Name, tag: tag}
		switch {
		case f.Name == "_", !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct):
			continue
		case f.Type.Kind() == reflect.Struct:
			b.collect(field.value.Addr(), field.name+".")
			continue
		case f.Type.Kind() == reflect.Pointer:
			if t := f.Type.Elem(); t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Name == "_" {
				field.opener = reflect.New(t.Field(0).Type).Interface()
			}
			switch field.opener.(type) {
			case storeOpener, soleOpener:
				if _, ok := field.opener.(named); !ok && tagged {
					field.bad("the tag %q names nothing: a %s has no name", tag, f.Type)
				}
			default:
				field.bad("a %s is no handle that Bind opens", f.Type)
			}
		case tagged:
			field.bad("a %s is no handle that Bind opens", f.Type)
		default:
			continue
		}
		b.fields = append(b.fields, field)
	}
}

// bad adds a mistake of Bind's own.
func (f *boundField) bad(format string, args ...any) {
	f.errs = append(f.errs, &SchemaError{Code: schema.CodeBind, Problem: fmt.Sprintf(format, args...)})
}

// openStore opens the store of the entity of f: that in the field itself, or else one that no field has.
func (b *binding) openStore(f *boundField, own bool) {
	o, ok := f.opener.(storeOpener)
	if _, part := f.opener.(partOpener); !ok || own == part {
		return
	}
	entity := typeOf(o.Entity())
	if _, known := b.stores[entity]; known {
		if own {
			f.bad("a second store of %s", entity)
		}
		return
	}
	var opts []StoreOption
	b.given = slices.DeleteFunc(b.given, func(g bind.Bound) bool {
		if g.Type == entity {
			opts = append(opts, g.Value.([]StoreOption)...)
		}
		return g.Type == entity
	})
	store, err := o.OpenStore(b.db, opts)
	if err != nil {
		b.stores[entity], f.errs = nil, append(f.errs, err)
		return
	}
	b.stores[entity] = store
	if own {
		f.value.Set(reflect.ValueOf(store))
	}
}

// openSole opens a handle that is of no entity. If others were not opened, a view is not blamed for a source that it lacks.
func (b *binding) openSole(f *boundField, failed bool) {
	o, ok := f.opener.(soleOpener)
	if !ok {
		return
	}
	var given []any
	var at []int
	for i, g := range b.given {
		if g.Type == f.value.Type().Elem() {
			given, at = append(given, g.Value), append(at, i)
		}
	}
	handle, used, err := o.OpenSole(b.db, f.tag, given, b.parts)
	if used >= 0 {
		b.given = slices.Delete(b.given, at[used], at[used]+1)
	}
	if !failed || err == nil {
		f.set(handle, err)
		return
	}
	for _, err := range unjoined(err) {
		var mistake *SchemaError
		if !errors.As(err, &mistake) || mistake.Code != schema.CodeTimelineSource {
			f.errs = append(f.errs, err)
		}
	}
}

func (f *boundField) set(handle any, err error) {
	if err != nil {
		f.errs = append(f.errs, err)
		return
	}
	f.value.Set(reflect.ValueOf(handle))
}

// err joins the mistakes of all fields, each under the name of the first field that has it.
func (b *binding) err(t reflect.Type) error {
	var all []error
	seen := map[SchemaError]bool{}
	for _, f := range b.fields {
		for _, err := range f.errs {
			for _, err := range unjoined(err) {
				var known *SchemaError
				if errors.As(err, &known) {
					if known.Type == "" {
						known.Type, known.Field = t.String(), f.name
						all = append(all, known)
						continue
					}
					if seen[*known] {
						continue
					}
					seen[*known] = true
				}
				all = append(all, fmt.Errorf("%s.%s: %w", t, f.name, err))
			}
		}
	}
	for _, g := range b.given {
		all = append(all, &SchemaError{Code: schema.CodeBind, Type: t.String(), Problem: fmt.Sprintf("there is an option for %s, of which the struct has no field", g.Type)})
	}
	return errors.Join(all...)
}

func unjoined(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}
