package timeline

import (
	"errors"
	"fmt"
	"reflect"
	"time"
)

// ErrStateLost is the cause of an *[EventError]: a state would come back from storage as another one.
var ErrStateLost = errors.New("the state would come back from storage as another one")

// survives fails with [ErrStateLost] unless v comes back as it is. A catch-up goes on with what comes back, and a build with
// what was never stored: their rows are equal only if the two are. It encodes, decodes and compares, which is little beside
// the write of the row.
func (k valueCodec) checkRoundTrip(v reflect.Value) error {
	back, err := k.roundTrip(v)
	if err != nil {
		return err
	}
	if at, differs := differingPath(v, back, ""); differs {
		return fmt.Errorf("%w: %s is not kept", ErrStateLost, fieldName(at))
	}
	return nil
}

func fieldName(path string) string {
	if path == "" {
		return "its value"
	}
	return path[1:]
}

// difference is where two values of one type differ: the names of fields, with [] for an element and {} for an entry.
// Values of the data are not in it.
func differingPath(a, b reflect.Value, path string) (at string, differs bool) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return path, a.IsNil() != b.IsNil()
		}
		return differingPath(a.Elem(), b.Elem(), path)
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return path, true
		}
		return elements(a, b, path)
	case reflect.Array:
		return elements(a, b, path)
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return path, true
		}
		return entries(a, b, path)
	case reflect.Struct:
		if a.Type() == timeType {
			return path, !sameTime(a.Interface().(time.Time), b.Interface().(time.Time))
		}
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.Name == "_" {
				continue
			}
			if at, differs := differingPath(a.Field(i), b.Field(i), path+"."+f.Name); differs {
				return at, true
			}
		}
		return path, false
	}
	return path, !a.Equal(b)
}

func elements(a, b reflect.Value, path string) (at string, differs bool) {
	for i := range a.Len() {
		if at, differs := differingPath(a.Index(i), b.Index(i), path+"[]"); differs {
			return at, true
		}
	}
	return path, false
}

// entries compares maps; of several differences it gives the first as text, since maps have no order.
func entries(a, b reflect.Value, path string) (first string, differs bool) {
	for _, k := range a.MapKeys() {
		at, other := path+"{}", true
		if v := b.MapIndex(k); v.IsValid() {
			at, other = differingPath(a.MapIndex(k), v, path+"{}")
		}
		if other && (!differs || at < first) {
			first, differs = at, true
		}
	}
	return first, differs
}

// sameTime compares what a time shows: its zone does not come back.
func sameTime(a, b time.Time) bool {
	_, x := a.Zone()
	_, y := b.Zone()
	return a.Equal(b) && x == y
}
