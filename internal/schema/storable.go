package schema

import (
	"encoding"
	"reflect"
)

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// unsupported says why values of t cannot be stored and the code of that mistake; "" when they can.
func unsupported(t reflect.Type, seen map[reflect.Type]bool) (code, problem string) {
	if seen[t] || t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) || isTime(t) {
		return "", ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return CodeUnsupportedType, "values of type " + t.String() + " cannot be stored"
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unsupported(t.Elem(), seen)
	case reflect.Map:
		if !keyType(t.Key()) {
			return CodeUnsupportedType, "a map with keys of type " + t.Key().String() + " cannot be stored; use strings or numbers"
		}
		return unsupported(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if code, problem := unsupportedField(t, t.Field(i), seen); problem != "" {
				return code, problem
			}
		}
	}
	return "", ""
}

func unsupportedField(t reflect.Type, f reflect.StructField, seen map[reflect.Type]bool) (code, problem string) {
	attrTag, err := attributeTag(f)
	_, hasRole := f.Tag.Lookup("entity")
	switch {
	case err != nil:
		return CodeCodecOption, "field " + f.Name + " of " + t.String() + ": dynamodbav: " + err.Error()
	case hasRole:
		return CodeMalformed, "field " + f.Name + " of the nested struct " + t.String() + " has an entity tag; roles belong to top-level attributes"
	case f.PkgPath != "" && !f.Anonymous || attrTag.Skip:
		return "", ""
	}
	return unsupported(f.Type, seen)
}

// keyType reports that attributevalue can turn map keys of type t into text and back.
func keyType(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.String, k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr:
		return true
	}
	return t.Implements(textMarshaler) && reflect.PointerTo(t).Implements(textUnmarshaler)
}
