package schema

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/tag"
)

// numberer is implemented by texts that stand for numbers: attributevalue.Number and json.Number.
type numberer interface {
	Float64() (float64, error)
	Int64() (int64, error)
	String() string
}

var numbererType = reflect.TypeFor[numberer]()

// optionMisfit says which option of a dynamodbav tag does not fit type t, "" when all do. attributevalue ignores some of
// them in silence, and fails for others when the first value is written.
func optionMisfit(t reflect.Type, o tag.Attribute) string {
	for t.Kind() == reflect.Pointer && !encodesItself(t) {
		t = t.Elem()
	}
	misfit := func(option, why string) string {
		return "the option " + option + " does not fit " + t.String() + ": " + why
	}
	own := encodesItself(t)
	switch {
	case o.OmitEmpty && o.NullEmpty:
		return "omitempty and nullempty exclude each other"
	case o.OmitEmptyElem && o.NullEmptyElem:
		return "omitemptyelem and nullemptyelem exclude each other"
	case o.Set != "" && (own || !holdsSet(t, o.Set)):
		return misfit(o.Set+"set", map[string]string{
			"string": "it is for slices of strings", "number": "it is for slices of numbers, but not of bytes", "binary": "it is for slices of byte slices",
		}[o.Set])
	case o.String && (own || !numeric(t)):
		return misfit("string", "it is for numbers")
	case o.UnixTime && !isTime(t):
		return misfit("unixtime", "it is for times")
	case o.NullEmpty && t.Kind() == reflect.Struct:
		return misfit("nullempty", "a struct is never empty")
	case o.OmitEmptyElem && (own || !hasElements(t)):
		return misfit("omitemptyelem", "it is for slices and maps")
	case o.NullEmptyElem && (own || !hasElements(t) || o.Set != ""):
		return misfit("nullemptyelem", "it is for lists and maps")
	}
	return ""
}

func encodesItself(t reflect.Type) bool {
	return t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
}

// numeric reports that values of t are stored as numbers.
func numeric(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.String:
		return t.Implements(numbererType)
	case k >= reflect.Int && k <= reflect.Float64:
		return k != reflect.Uintptr
	}
	return false
}

func bytesOf(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

// hasElements reports that t is stored as a list, set or map, or may be.
func hasElements(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return !bytesOf(t)
	}
	return t.Kind() == reflect.Interface
}

// holdsSet reports that a t can be stored as a set of that kind.
func holdsSet(t reflect.Type, kind string) bool {
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Array || bytesOf(t) {
		return false
	}
	e := t.Elem()
	for e.Kind() == reflect.Pointer && !encodesItself(e) {
		e = e.Elem()
	}
	if encodesItself(e) {
		return true // it knows what it is
	}
	switch kind {
	case "string":
		return isTime(e) || e.Kind() == reflect.String && !numeric(e)
	case "number":
		return numeric(e)
	}
	return bytesOf(e)
}
