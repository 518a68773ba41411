package schema

import (
	"reflect"
	"sync"
)

// Validates is implemented by entities and types of fields that check their own values.
type Validates interface{ Validate() error }

var ValidateType = reflect.TypeFor[Validates]()

var validateTypes sync.Map // reflect.Type → bool

// HasValidate reports whether a value of type t, or its address, has a Validate method.
func HasValidate(t reflect.Type) bool {
	return t.Implements(ValidateType) || reflect.PointerTo(t).Implements(ValidateType)
}

func findValidate(t reflect.Type, inside map[reflect.Type]bool) bool {
	if t.Kind() == reflect.Interface || HasValidate(t) {
		return true
	}
	if inside[t] {
		return false // the search is already inside it
	}
	inside[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return findValidate(t.Elem(), inside)
	case reflect.Map:
		return findValidate(t.Key(), inside) || findValidate(t.Elem(), inside)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && findValidate(f.Type, inside) {
				return true
			}
		}
	}
	return false
}

// MayHaveValidate reports whether a value of type t, or one inside it, may have a Validate method.
func MayHaveValidate(t reflect.Type) bool {
	if known, ok := validateTypes.Load(t); ok {
		return known.(bool)
	}
	found := findValidate(t, map[reflect.Type]bool{})
	validateTypes.Store(t, found)
	return found
}
