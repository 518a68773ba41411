package item

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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

// sortSet sorts the elements of a set that was encoded from the keys of a map.
func sortSet(av types.AttributeValue) {
	switch set := av.(type) {
	case *types.AttributeValueMemberSS:
		slices.Sort(set.Value)
	case *types.AttributeValueMemberNS:
		slices.Sort(set.Value)
	case *types.AttributeValueMemberBS:
		slices.SortFunc(set.Value, bytes.Compare)
	}
}

// setKeys makes the elements of list the keys of the map fv.
func setKeys(fv, list reflect.Value) {
	if list.IsNil() {
		return
	}
	fv.Set(reflect.MakeMapWithSize(fv.Type(), list.Len()))
	for i := range list.Len() {
		fv.SetMapIndex(list.Index(i), reflect.Zero(fv.Type().Elem()))
	}
}
