package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// OneOf returns an *[Error] with [RuleOneOf] unless v is one of allowed, which the error lists.
func OneOf[T comparable](v T, allowed ...T) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	list := make([]string, len(allowed))
	for i, a := range allowed {
		list[i] = fmt.Sprintf("%#v", a)
	}
	return &Error{RuleOneOf, "one of " + strings.Join(list, ", ") + " is needed"}
}

// Between returns an *[Error] with [RuleBetween] unless v is from minimum to maximum, both included. NaN never is.
func Between[T cmp.Ordered](v, minimum, maximum T) error {
	if v >= minimum && v <= maximum {
		return nil
	}
	return &Error{RuleBetween, fmt.Sprintf("a value from %#v to %#v is needed", minimum, maximum)}
}

// Finite returns an *[Error] with [RuleFinite] when f is NaN or infinite. The library refuses these in every write by
// itself; Finite is for programs that check values earlier.
func Finite[F ~float32 | ~float64](f F) error {
	if f := float64(f); math.IsNaN(f) || math.IsInf(f, 0) {
		return &Error{RuleFinite, "a finite number is needed"}
	}
	return nil
}
