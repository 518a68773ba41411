package schema

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// storedType is the type of a value in DynamoDB, and what of it the program can read: the range of a number, the elements
// of a set, the length of an array, the keys of a map. What encodes itself is custom, and what can be anything is any.
func storedType(t reflect.Type, o tag.Attribute, format key.TimeFormat) []string {
	switch {
	case encodesItself(t):
		return []string{"custom"}
	case o.Set != "":
		return append(storedSet(t, o.Set), arrayLength(t)...)
	case isTime(t) && format.Text():
		return []string{"S", "time=" + format.String()}
	case isTime(t):
		return []string{"N", "time=" + format.String()}
	}
	switch k := t.Kind(); {
	case numeric(t) && o.String:
		return []string{"S", "number", numberRange(t)}
	case numeric(t):
		return []string{"N", numberRange(t)}
	case k == reflect.String:
		return []string{"S"}
	case k == reflect.Bool:
		return []string{"BOOL"}
	case bytesOf(t):
		return append([]string{"B"}, arrayLength(t)...)
	case k == reflect.Slice || k == reflect.Array:
		return append([]string{"L"}, arrayLength(t)...)
	case k == reflect.Map:
		return []string{"M", "keys=" + mapKeys(t.Key())}
	case k == reflect.Struct:
		return []string{"M"}
	}
	return []string{"any"}
}

// storedSet is a set's type, and that of its elements where the set does not say it.
func storedSet(t reflect.Type, set string) []string {
	words := []string{strings.ToUpper(set[:1]) + "S"}
	e := t.Elem()
	for e.Kind() == reflect.Pointer && !encodesItself(e) {
		e = e.Elem()
	}
	switch {
	case encodesItself(e):
		return append(words, "custom")
	case numeric(e):
		return append(words, numberRange(e))
	case bytesOf(e):
		return append(words, elementLength(e)...)
	}
	return words
}

// numberRange names the numbers that a numeric type holds: int8 to uint64, float32, float64, or decimal for a text that
// holds any. An int has 64 bits, for a table outlives the machine.
func numberRange(t reflect.Type) string {
	switch k := t.Kind(); k {
	case reflect.String:
		return "decimal"
	case reflect.Int, reflect.Uint:
		return k.String() + "64"
	default:
		return k.String()
	}
}

// mapKeys names how the keys of a map become text; text is a type's own way.
func mapKeys(t reflect.Type) string {
	switch k := t.Kind(); {
	case t.Implements(textMarshaler):
		return "text"
	case k != reflect.String && numeric(t):
		return numberRange(t)
	default:
		return k.String()
	}
}

// arrayLength says how many elements fit; a slice takes any number.
func arrayLength(t reflect.Type) []string {
	if t.Kind() != reflect.Array {
		return nil
	}
	return []string{"length=" + strconv.Itoa(t.Len())}
}

// elementLength is the length of the arrays in a set.
func elementLength(t reflect.Type) []string {
	if t.Kind() != reflect.Array {
		return nil
	}
	return []string{"each=" + strconv.Itoa(t.Len())}
}
