// Package item encodes Go values as DynamoDB items and decodes them, with this module's formats for times. It also computes
// the size of items and compares attribute values.
package item

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/wire"
)

// Item is an undecoded DynamoDB item.
type Item = map[string]types.AttributeValue

// Clone returns a shallow copy: attribute values are never changed in place, so sharing them is safe.
func Clone(it Item) Item {
	if it == nil {
		return Item{}
	}
	return maps.Clone(it)
}

func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// N returns a number attribute value; text must be a decimal number.
func N(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

// Absent reports whether av is missing, NULL or the empty string. Such a value is not allowed in keys.
func Absent(av types.AttributeValue) bool {
	switch v := av.(type) {
	case nil, *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberS:
		return v.Value == ""
	}
	return false
}

// Empty reports whether av is absent or an empty collection. A required attribute must not be empty.
func Empty(av types.AttributeValue) bool {
	if b, ok := av.(*types.AttributeValueMemberB); ok {
		return len(b.Value) == 0
	}
	v := wire.ValueOf(av)
	return Absent(av) || v.Kind() >= wire.L && v.Len() == 0
}

// MaxBytes is the size in bytes above which an item is refused before it is sent: DynamoDB's 400 KB, less 1 KB for what
// DynamoDB's own accounting adds.
const MaxBytes = 400*1024 - 1024

// KeptBytes is what the library may add to MaxBytes when it makes a snapshot, a copy, or an item of a copy.
const KeptBytes = 512

// Size returns the size of it in bytes as DynamoDB counts it: names and values, with the overhead of numbers, lists and maps.
func Size(it Item) int {
	total := 0
	for name, av := range it {
		total += len(name) + ValueSize(av)
	}
	return total
}

// ValueSize returns the size of one value in bytes as DynamoDB counts it; 1 for nil.
func ValueSize(av types.AttributeValue) int {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		return total(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return total(v.Value, numberSize)
	case *types.AttributeValueMemberBS:
		return total(v.Value, func(b []byte) int { return len(b) })
	case *types.AttributeValueMemberL:
		return 3 + len(v.Value) + total(v.Value, ValueSize)
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + Size(v.Value)
	}
	return 1
}

func total[E any](list []E, size func(E) int) (n int) {
	for _, e := range list {
		n += size(e)
	}
	return n
}

// numberSize returns one byte for every two significant digits, one for the exponent and one for a sign: at least what
// DynamoDB counts, and at most the 21 bytes of the largest number.
func numberSize(text string) int {
	digits := 0
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			digits++
		}
	}
	return min(digits/2+3, 21)
}

// Equal reports whether DynamoDB considers a and b equal: numbers by value, sets in any order, nil equal only to nil.
func Equal(a, b types.AttributeValue) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case *types.AttributeValueMemberS:
		y, ok := b.(*types.AttributeValueMemberS)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberN:
		y, ok := b.(*types.AttributeValueMemberN)
		return ok && equalNumbers(x.Value, y.Value)
	case *types.AttributeValueMemberB:
		y, ok := b.(*types.AttributeValueMemberB)
		return ok && bytes.Equal(x.Value, y.Value)
	case *types.AttributeValueMemberBOOL:
		y, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && x.Value == y.Value
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)
		return ok
	case *types.AttributeValueMemberL:
		y, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(x.Value, y.Value, Equal)
	case *types.AttributeValueMemberM:
		y, ok := b.(*types.AttributeValueMemberM)
		return ok && maps.EqualFunc(x.Value, y.Value, Equal)
	case *types.AttributeValueMemberSS:
		y, ok := b.(*types.AttributeValueMemberSS)
		return ok && sameElements(x.Value, y.Value, func(p, q string) bool { return p == q })
	case *types.AttributeValueMemberNS:
		y, ok := b.(*types.AttributeValueMemberNS)
		return ok && sameElements(x.Value, y.Value, equalNumbers)
	case *types.AttributeValueMemberBS:
		y, ok := b.(*types.AttributeValueMemberBS)
		return ok && sameElements(x.Value, y.Value, bytes.Equal)
	}
	return false
}

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	if short(a) && short(b) {
		x, errX := strconv.ParseInt(a, 10, 64)
		y, errY := strconv.ParseInt(b, 10, 64)
		if errX == nil && errY == nil {
			return x == y
		}
	}
	x, errX := ParseDecimal(a)
	y, errY := ParseDecimal(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

func sameElements[E any](a, b []E, equal func(E, E) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y E) bool { return equal(x, y) }) {
			return false
		}
	}
	return true
}

// TypeName returns what attribute_type calls the type of av, "" for nil.
func TypeName(av types.AttributeValue) string { return wire.ValueOf(av).Kind().String() }
