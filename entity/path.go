package entity

import (
	"encoding"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// Path names an attribute inside a map or a list, which has no address in Go. V is the type of its value. Its methods
// are the conditions and changes that a field has. What is not known from the struct's types is not checked before a
// request; a stored value of another type makes a condition false and a change a *[ConditionError].
type Path[V any] struct{ target opt.Target }

// MapEntry is the value under key in a map field. The map must be stored: a change of an entry in an absent map is a
// *[ConditionError] that names the map. A key that marshals itself as text is found under that text.
func MapEntry[M ~map[K]V, K ~string, V any](field *M, key K) Path[V] {
	k := string(key)
	if m, ok := any(key).(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if k = string(text); err != nil {
			k = "" // refused, as the empty key is
		}
	}
	return Path[V]{opt.Target{Pointer: field, Entry: &k, Key: key}}
}

// Elem is the element at index i of a list field. The list must be stored. Set beyond its end adds an element at the end:
// of several, the one with the lower index comes first. Remove moves the elements behind it.
func Elem[S ~[]E, E any](field *S, i int) Path[E] {
	return Path[E]{opt.Target{Pointer: field, Elem: &i}}
}

// Attr is the attribute at a path in text, such as "features.colour" or "items[0].qty". Its first name must be an
// attribute of the struct.
func Attr[V any](path string) Path[V] { return Path[V]{opt.Target{Text: path}} }

// Inside is what lies in p at a path in text, such as "ports[0].hits" or "[2]". Where map keys have dots or brackets in
// them, it goes on from an [MapEntry].
func Inside[V, P any](p Path[P], path string) Path[V] {
	t := p.target
	switch {
	case t.Inside == "" || path != "" && path[0] == '[':
		t.Inside += path
	default:
		t.Inside += "." + path
	}
	if path == "" {
		t.Inside = "." // refused
	}
	return Path[V]{t}
}

// Set is [Set] for the path.
func (p Path[V]) Set(v V) UpdateOption { return change(expr.Set, p.target, v) }

// SetIfNotExists is [SetIfNotExists] for the path.
func (p Path[V]) SetIfNotExists(v V) UpdateOption { return change(expr.SetIfAbsent, p.target, v) }

// Remove is [Remove] for the path.
func (p Path[V]) Remove() UpdateOption { return change(expr.Remove, p.target, nil) }

// Add is [Add] for the path, whose value is a number.
func (p Path[V]) Add(d V) UpdateOption { return change(expr.Increment, p.target, d) }

// ListAppend is [ListAppend] for the path, whose value is a list; es is a slice of at least one element.
func (p Path[V]) ListAppend(es V) UpdateOption { return change(expr.Push, p.target, es) }

// ListPrepend is [ListPrepend] for the path, whose value is a list; es is a slice of at least one element.
func (p Path[V]) ListPrepend(es V) UpdateOption { return change(expr.Prepend, p.target, es) }

// AddToSet is [AddToSet] for the path; es is a slice of at least one element. Where no field says that a set is stored,
// strings make a string set, slices of bytes a binary set, and numbers a number set.
func (p Path[V]) AddToSet(es V) UpdateOption { return change(expr.Insert, p.target, es) }

// DeleteFromSet is [DeleteFromSet] for the path; es is as for AddToSet.
func (p Path[V]) DeleteFromSet(es V) UpdateOption { return change(expr.Discard, p.target, es) }

// Eq is [Eq] for the path.
func (p Path[V]) Eq(v V) Cond { return target(expr.Eq, p.target, v) }

// Ne is [Ne] for the path.
func (p Path[V]) Ne(v V) Cond { return target(expr.Ne, p.target, v) }

// Lt is [Lt] for the path.
func (p Path[V]) Lt(v V) Cond { return target(expr.Lt, p.target, v) }

// Le is [Le] for the path.
func (p Path[V]) Le(v V) Cond { return target(expr.Le, p.target, v) }

// Gt is [Gt] for the path.
func (p Path[V]) Gt(v V) Cond { return target(expr.Gt, p.target, v) }

// Ge is [Ge] for the path.
func (p Path[V]) Ge(v V) Cond { return target(expr.Ge, p.target, v) }

// Between is [Between] for the path.
func (p Path[V]) Between(lo, hi V) Cond { return target(expr.Between, p.target, lo, hi) }

// In is [In] for the path.
func (p Path[V]) In(vs ...V) Cond { return target(expr.In, p.target, vs...) }

// BeginsWith is [BeginsWith] for the path, whose value is a text.
func (p Path[V]) BeginsWith(prefix string) Cond { return target(expr.BeginsWith, p.target, prefix) }

// Contains is [Contains] for the path: e is an element of its list or set.
func (p Path[V]) Contains(e any) Cond { return target(expr.Contains, p.target, e) }

// Exists is [Exists] for the path.
func (p Path[V]) Exists() Cond { return target[V](expr.Exists, p.target) }

// NotExists is [NotExists] for the path.
func (p Path[V]) NotExists() Cond { return target[V](expr.NotExists, p.target) }
