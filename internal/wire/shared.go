package wire

import (
	"reflect"
	"strings"
)

// What is decoded from the items of a page shares memory, one allocation for many values. A value that is kept keeps the
// others that it shares memory with, so little memory is shared: equal short texts, also of different answers; texts of up to
// maxShared bytes in pieces of maxPiece; lists
// of up to shortList strings in one array of mostTexts, and small values behind pointers, mostTargets together. Longer texts
// and lists and larger values have memory of their own.
const (
	maxPiece  = 4 << 10
	minPiece  = 256
	maxShared = 1 << 10

	mostTexts = 32
	shortList = 8

	mostTargets = 16
	smallTarget = 32 // bytes
)

// arena allocates texts.
type arena struct {
	piece strings.Builder
	left  int // bytes of the strings that may still come
}

// text returns a copy of b.
func (a *arena) text(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case len(b) > maxShared:
		return string(b)
	case a.piece.Cap()-a.piece.Len() < len(b):
		size := min(a.left, max(2*a.piece.Cap(), minPiece), maxPiece) // many texts are not the first of their kind
		if size < len(b) {                                            // names and numbers
			size = max(len(b), minPiece)
		}
		a.piece.Reset()
		a.piece.Grow(size)
	}
	a.left -= len(b)
	from := a.piece.Len()
	a.piece.Write(b)
	return a.piece.String()[from:]
}

// shared allocates lists of strings and targets of pointers.
type shared struct {
	texts   []string
	targets []targets
}

// targets are zero values of one type.
type targets struct {
	typ  reflect.Type
	left reflect.Value // a slice
	next int
}

// Texts returns n empty strings for a list.
func (v Value) Texts(n int) []string {
	p := v.page
	if p == nil || n > shortList {
		return make([]string, n)
	}
	if len(p.texts) < n {
		p.texts = make([]string, min(mostTexts, n*len(p.rows)))
	}
	own := p.texts[:n:n]
	p.texts = p.texts[n:]
	return own
}

// New returns a pointer to a zero value of type t. of is the type of slices of t.
func (v Value) New(t, of reflect.Type) reflect.Value {
	p := v.page
	if p == nil || t.Size() > smallTarget || len(p.rows) == 1 {
		return reflect.New(t)
	}
	i := 0
	for i < len(p.targets) && p.targets[i].typ != t {
		i++
	}
	if i == len(p.targets) {
		p.targets = append(p.targets, targets{typ: t})
	}
	s := &p.targets[i]
	if !s.left.IsValid() || s.next == s.left.Len() {
		n := min(mostTargets, len(p.rows))
		s.left, s.next = reflect.MakeSlice(of, n, n), 0
	}
	s.next++
	return s.left.Index(s.next - 1).Addr()
}
