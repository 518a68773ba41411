package item

import "reflect"

// IsKeySet reports whether t is a map[T]struct{}, which can hold the elements of a set. T is no time, since equal times can differ as
// keys, and no pointer.
func IsKeySet(t reflect.Type) bool {
	if t.Kind() != reflect.Map || t.Elem() != reflect.TypeFor[struct{}]() {
		return false
	}
	k := t.Key()
	return !isTime(k) && k.Kind() != reflect.Pointer && k.Kind() != reflect.Interface
}

// Listed returns t, and []T for a map[T]struct{}.
func Listed(t reflect.Type) reflect.Type {
	if IsKeySet(t) {
		return reflect.SliceOf(t.Key())
	}
	return t
}

// Elements returns v, and the keys of a map[T]struct{}, in any order, as a slice.
func Elements(v reflect.Value) reflect.Value {
	if !IsKeySet(v.Type()) {
		return v
	}
	list := reflect.Zero(Listed(v.Type()))
	if !v.IsNil() {
		list = reflect.MakeSlice(list.Type(), 0, v.Len())
	}
	return reflect.Append(list, v.MapKeys()...)
}
