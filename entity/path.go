package entity

import (
	"encoding"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// Path names an attribute inside a map or a list, which has no address in Go. V is the type of its value.
type Path[V any] struct{ target opt.Target }

// Entry is the value under key in a map field. The map must be stored: a change of an entry in an absent map is a
// *[ConditionError] that names the map. A key that marshals itself as text is found under that text.
func Entry[M ~map[K]V, K ~string, V any](field *M, key K) Path[V] {
	k := string(key)
	if m, ok := any(key).(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if k = string(text); err != nil {
			k = "" // refused, as the empty key is
		}
	}
	return Path[V]{opt.Target{Pointer: field, Entry: &k, Key: key}}
}

// Attr is the attribute at a path in text, such as "features.colour" or "items[0].qty". Its first name must be an
// attribute of the struct; what lies inside is not checked.
func Attr[V any](path string) Path[V] { return Path[V]{opt.Target{Text: path}} }

// Set is [Set] for the path.
func (p Path[V]) Set(v V) UpdateOption { return change(expr.Set, p.target, v) }

// Remove is [Remove] for the path.
func (p Path[V]) Remove() UpdateOption { return change(expr.Remove, p.target, nil) }

// Eq is [Eq] for the path.
func (p Path[V]) Eq(v V) Cond { return target(expr.Eq, p.target, v) }

// Exists is [Exists] for the path.
func (p Path[V]) Exists() Cond { return target[V](expr.Exists, p.target) }

// NotExists is [NotExists] for the path.
func (p Path[V]) NotExists() Cond { return target[V](expr.NotExists, p.target) }
