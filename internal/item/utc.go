package item

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/internal/key"
)

// inUTC turns the times that attributevalue has read in v under the option unixtime, which are in the zone of the
// process, into UTC, as all others are. It reports whether they have years that times can have.
func inUTC(v reflect.Value) bool {
	if !hasUnixTime(v.Type()) {
		return true
	}
	fits := true
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fits = inUTC(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fits = inUTC(v.Index(i)) && fits
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem() // entries have no address
			e.Set(v.MapIndex(k))
			fits = inUTC(e) && fits
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if fv := v.Field(i); unixTime(v.Type().Field(i)) {
				fits = toUTC(fv) && fits
			} else if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				fits = inUTC(fv) && fits
			}
		}
	}
	return fits
}

func toUTC(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	t := v.Convert(timeType).Interface().(time.Time).UTC()
	if v.CanSet() {
		v.Set(reflect.ValueOf(t).Convert(v.Type()))
	}
	_, err := key.Unix.Format(t)
	return err == nil
}

// unixTime reports that a field is a time with the option unixtime.
func unixTime(f reflect.StructField) bool {
	t := f.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, options, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
	return isTime(t) && f.IsExported() && slices.Contains(strings.Split(options, ","), "unixtime")
}

var unixTimes sync.Map // reflect.Type → bool

// hasUnixTime reports that a field with the option unixtime lies somewhere in t.
func hasUnixTime(t reflect.Type) bool {
	if known, ok := unixTimes.Load(t); ok {
		return known.(bool)
	}
	found := findUnixTime(t, map[reflect.Type]bool{})
	unixTimes.Store(t, found)
	return found
}

func findUnixTime(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || isTime(t) || t.Implements(unmarshalerType) || reflect.PointerTo(t).Implements(unmarshalerType) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return findUnixTime(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if unixTime(f) || (f.IsExported() || f.Anonymous) && findUnixTime(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
