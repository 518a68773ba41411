package bind

import (
	"context"
	"encoding"
	"reflect"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// IDSource makes ids, with Config.Clock and Config.NewID.
type IDSource struct {
	Clock func() time.Time
	NewID func() string
}

// Completed is the value that a verb writes instead of the given one.
type Completed struct {
	Value     reflect.Value
	Filled    []string // attributes that the given value left empty, and that have a default or a generated id
	Generated bool     // one of them has a generated id
}

// Whole is a value that a verb writes as a whole, and what the declaration adds to it: defaults, then the Prepare method,
// then the generated ids of what is still empty. It generates an id once. Calls must not overlap.
type Whole struct {
	s     *schema.Schema
	given reflect.Value // a copy of the caller's, if there is a Prepare method
	ids   *IDSource     // nil: the verb generates none
	made  map[*schema.Attr][16]byte
}

// NewWhole returns v, to be completed. Without ids, no ids are generated.
func NewWhole(s *schema.Schema, v reflect.Value, ids *IDSource) *Whole {
	w := &Whole{s: s, given: v, ids: ids}
	if s.Prepares {
		w.given = copyStored(v)
	}
	return w
}

// Prepared returns the completed value; it calls Prepare with ctx, and does not recover a panic. Errors: *entitytype.PrepareError;
// *entitytype.InputError for a clock that ids cannot hold.
func (w *Whole) Prepared(ctx context.Context) (Completed, error) {
	v := w.copy()
	if !w.s.Prepares {
		return w.fill(v)
	}
	var set []*schema.Attr // by their defaults
	for _, a := range w.s.Filled {
		if fv := v.FieldByIndex(a.Index); a.Role.Default != "" && !a.Given(fv) {
			a.SetDefault(fv)
			set = append(set, a)
		}
	}
	if !promotedFromNil(v, "Prepare") { // like Validate
		if err := v.Addr().Interface().(schema.Preparer).Prepare(ctx); err != nil {
			return Completed{Value: v}, &entitytype.PrepareError{Code: CodePrepare, Type: w.s.Type.String(), Err: err, Redacted: w.s.HasSecret()}
		}
	}
	for _, a := range set { // what Prepare has changed is given
		if fv, is := v.FieldByIndex(a.Index), reflect.New(a.Type).Elem(); a.Given(fv) {
			if a.SetDefault(is); reflect.DeepEqual(fv.Interface(), is.Interface()) {
				fv.SetZero()
			}
		}
	}
	return w.fill(v)
}

// AsGiven returns the value with defaults and ids, but without Prepare.
func (w *Whole) AsGiven() (Completed, error) { return w.fill(w.copy()) }

// copy returns a copy of the given value that may be changed.
func (w *Whole) copy() reflect.Value {
	if w.s.Prepares {
		return copyStored(w.given)
	}
	v := reflect.New(w.s.Type).Elem()
	v.Set(w.given)
	return v
}

// fill sets the empty fields of v that have a default or a generated id.
func (w *Whole) fill(v reflect.Value) (Completed, error) {
	done := Completed{Value: v}
	for _, a := range w.s.Filled {
		fv := v.FieldByIndex(a.Index)
		switch {
		case a.Given(fv):
			continue
		case a.Role.Default != "":
			a.SetDefault(fv)
		case w.ids == nil:
			continue
		default:
			id, ok := w.made[a]
			if !ok {
				var err error
				if id, err = newID(w.s, a, w.ids.Clock(), w.ids.NewID()); err != nil {
					return done, err
				}
				if w.made == nil {
					w.made = map[*schema.Attr][16]byte{}
				}
				w.made[a] = id
			}
			switch done.Generated = true; {
			case fv.Kind() != reflect.String:
				reflect.Copy(fv, reflect.ValueOf(id))
			case a.Role.ID == schema.UUIDv7:
				fv.SetString(uuidText(id))
			default:
				fv.SetString(ulidText(id))
			}
		}
		done.Filled = append(done.Filled, a.Name)
	}
	return done, nil
}

// copyStored returns a copy of v that shares nothing with v that is stored: a method that changes the copy through its
// pointers, slices and maps does not change v. Fields that are not stored are shared.
func copyStored(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(copyStored(v.Elem()))
			out.Set(p.Convert(v.Type()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(copyStored(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		copyElements(out, v)
	case reflect.Array:
		copyElements(out, v)
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		for _, k := range v.MapKeys() {
			out.SetMapIndex(k, copyStored(v.MapIndex(k)))
		}
	case reflect.Struct:
		copyFields(out, v)
	}
	return out
}

func copyElements(out, v reflect.Value) {
	if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
		reflect.Copy(out, v)
		return
	}
	for i := range v.Len() {
		out.Index(i).Set(copyStored(v.Index(i)))
	}
}

// copyFields copies the fields of struct v that are stored. A type that is stored as its text, such as big.Int, may hold
// more than its fields show, so it is copied through the text.
func copyFields(out, v reflect.Value) {
	if item.Opaque(v.Type()) && item.IsText(v.Type()) {
		source := reflect.New(v.Type())
		source.Elem().Set(v)
		fresh := reflect.New(v.Type())
		text, err := source.Interface().(encoding.TextMarshaler).MarshalText()
		if err == nil && fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText(text) == nil {
			out.Set(fresh.Elem())
		}
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
		switch {
		case name == "-":
		case f.IsExported():
			out.Field(i).Set(copyStored(v.Field(i)))
		case f.Anonymous && f.Type.Kind() == reflect.Struct: // its exported fields are stored
			copyFields(out.Field(i), v.Field(i))
		}
	}
}
