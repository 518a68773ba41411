package entity

import (
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// Number is any numeric type.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func change(kind expr.Kind, t opt.Target, v any) UpdateOption {
	return forUpdate{Do: func(s *opt.Update) { s.Changes = append(s.Changes, opt.Change{Kind: kind, Target: t, Value: v}) }}
}

// Set gives the attribute the value v. An empty value of a field tagged omitempty removes the attribute, as whole
// values do.
func Set[V any](field *V, v V) UpdateOption { return change(expr.Set, opt.Target{Pointer: field}, v) }

// SetIfNotExists gives the attribute the value v unless it is there already.
func SetIfNotExists[V any](field *V, v V) UpdateOption {
	return change(expr.SetIfAbsent, opt.Target{Pointer: field}, v)
}

// Remove removes the attribute; removing an absent one does nothing.
func Remove[V any](field *V) UpdateOption {
	return change(expr.Remove, opt.Target{Pointer: field}, nil)
}

// Add adds d to the number; an absent attribute counts as 0. After a lost answer it is not sent again:
// see [IsAmbiguous].
func Add[N Number](field *N, d N) UpdateOption {
	return change(expr.Increment, opt.Target{Pointer: field}, d)
}

// ListAppend adds es at the end of the list; an absent attribute counts as the empty list. After a lost answer it is
// not sent again: see [IsAmbiguous].
func ListAppend[S ~[]E, E any](field *S, es ...E) UpdateOption {
	return change(expr.Push, opt.Target{Pointer: field}, S(es))
}

// ListPrepend adds es at the beginning of the list, in their order; an absent attribute counts as the empty list. It is not
// repeated after a lost answer: see [IsAmbiguous].
func ListPrepend[S ~[]E, E any](field *S, es ...E) UpdateOption {
	return change(expr.Prepend, opt.Target{Pointer: field}, S(es))
}

// AddToSet adds es to the set, of a field tagged stringset, numberset or binaryset.
func AddToSet[S ~[]E, E any](field *S, es ...E) UpdateOption {
	return change(expr.Insert, opt.Target{Pointer: field}, S(es))
}

// DeleteFromSet takes es out of the set. A set that becomes empty is removed.
func DeleteFromSet[S ~[]E, E any](field *S, es ...E) UpdateOption {
	return change(expr.Discard, opt.Target{Pointer: field}, S(es))
}
