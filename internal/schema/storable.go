package schema

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
)

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	stringerType    = reflect.TypeFor[fmt.Stringer]()
	formatterType   = reflect.TypeFor[fmt.Formatter]()
	errorType       = reflect.TypeFor[error]()
)

// place is a type and whether its values there have an address: those in maps have none.
type place struct {
	typ       reflect.Type
	addressed bool
}

// unsupported says why values of t cannot be stored or read back, and the code of that mistake; "" when they can.
func unsupported(t reflect.Type, addressed bool, seen map[place]bool) (code, problem string) {
	at := place{t, addressed}
	if seen[at] || t.Implements(marshalerType) {
		return "", ""
	}
	if seen[at] = true; reflect.PointerTo(t).Implements(marshalerType) {
		if addressed {
			return "", ""
		}
		return CodeUnsupportedType, "in a map " + t.String() + " does not encode itself, only a pointer to it does; use a map of pointers"
	}
	if isTime(t) {
		return "", ""
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return CodeUnsupportedType, "values of type " + t.String() + " cannot be stored"
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return CodeUnsupportedType, "what is stored cannot be read back into the interface " + t.String() + "; use a type, or any"
		}
	case reflect.Pointer, reflect.Slice:
		return unsupported(t.Elem(), true, seen)
	case reflect.Array:
		return unsupported(t.Elem(), addressed, seen)
	case reflect.Map:
		if !keyType(t.Key()) {
			return CodeUnsupportedType, "a map with keys of type " + t.Key().String() + " cannot be stored or read back; use plain strings or numbers, or a type that marshals and unmarshals itself as text"
		}
		return unsupported(t.Elem(), false, seen)
	case reflect.Struct:
		return unsupportedStruct(t, addressed, seen)
	}
	return "", ""
}

func unsupportedStruct(t reflect.Type, addressed bool, seen map[place]bool) (code, problem string) {
	if item.Opaque(t) {
		return CodeUnsupportedType, "a " + t.String() + " keeps its content in unexported fields, of which nothing would be stored; give it the methods of attributevalue.Marshaler and Unmarshaler" + textNested(t)
	}
	return unsupportedFields(t, addressed, seen)
}

func unsupportedFields(t reflect.Type, addressed bool, seen map[place]bool) (code, problem string) {
	for i := range t.NumField() {
		if code, problem := unsupportedField(t, t.Field(i), addressed, seen); problem != "" {
			return code, problem
		}
	}
	return "", ""
}

func unsupportedField(t reflect.Type, f reflect.StructField, addressed bool, seen map[place]bool) (code, problem string) {
	attrTag, err := attributeTag(f)
	_, hasRole := f.Tag.Lookup("entity")
	where := "field " + f.Name + " of " + t.String() + ": "
	switch {
	case err != nil:
		return CodeCodecOption, where + "dynamodbav: " + err.Error()
	case hasRole:
		return CodeMalformed, "field " + f.Name + " of the nested struct " + t.String() + " has an entity tag; roles belong to top-level attributes"
	case f.PkgPath != "" && !f.Anonymous || attrTag.Skip:
		return "", ""
	case f.PkgPath != "" && f.Type.Kind() != reflect.Struct:
		return CodeUnsupportedType, where + unreachable
	}
	if inner := flattened(f, attrTag); inner != nil {
		at := place{inner, addressed || f.Type.Kind() == reflect.Pointer}
		if seen[at] {
			return "", ""
		}
		seen[at] = true
		return unsupportedFields(inner, at.addressed, seen)
	}
	if problem := optionMisfit(f.Type, attrTag); problem != "" {
		return CodeCodecOption, where + problem
	}
	return unsupported(f.Type, addressed, seen)
}

// unreachable is what is wrong with embedded types that the codec cannot get at, or cannot fill.
const unreachable = "an embedded unexported type that is no struct, and an embedded pointer to an unexported one, cannot be stored and read back; export it, or give the field a name"

// keyType reports that attributevalue turns map keys of type t into text, and that text back into the same keys. It
// writes keys as fmt prints them, so that a String method of a key, which reading does not know, would be what is stored.
func keyType(t reflect.Type) bool {
	writes := t.Implements(textMarshaler)
	reads := t.Implements(textUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)
	if writes || reads {
		return writes && reflect.PointerTo(t).Implements(textUnmarshaler)
	}
	for _, prints := range []reflect.Type{stringerType, formatterType, errorType} {
		if t.Implements(prints) {
			return false
		}
	}
	k := t.Kind()
	return k == reflect.String || k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}
