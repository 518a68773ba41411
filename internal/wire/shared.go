package wire

import (
	"reflect"
	"strings"
)

// What is decoded from the items of a page shares memory, one allocation for many values. A value that is kept keeps what it
// shares memory with, so that is less than 4 KB: texts of up to maxShared bytes are in pieces of maxPiece, the texts of one
// value one after the other, and equal short texts are shared within a piece; lists of up to shortList strings, and strings
// behind pointers, are in arrays of mostTexts whose texts are in one piece; numbers, truth values and times behind pointers
// are in arrays of mostTargets. Longer texts and lists and larger values have memory of their own.
const (
	maxPiece  = 1536
	minPiece  = 256
	maxShared = 512

	mostTexts = 16
	shortList = 8

	mostTargets = 16

	mostRecent  = 128
	longestText = 64 // that equal texts share: many are the same in most items, such as a partition key or a state
)

// shared allocates texts, lists of strings and targets of pointers.
type shared struct {
	piece   strings.Builder
	left    int      // bytes of the strings that may still come
	texts   []string // whose texts are in piece
	targets []targets
}

// targets are zero values of one type.
type targets struct {
	typ  reflect.Type
	left reflect.Value // a slice
	next int
}

// room makes the piece have room for n bytes, at most maxShared.
func (a *answer) room(n int) {
	if a.piece.Cap()-a.piece.Len() >= n {
		return
	}
	size := min(a.left, max(2*a.piece.Cap(), minPiece), maxPiece) // many texts are not the first of their kind
	if size < n {                                                 // names and numbers
		size = max(n, minPiece)
	}
	a.piece.Reset()
	a.piece.Grow(size)
	a.texts = nil
	clear(a.recent[:])
}

// text returns a copy of b, which values with the same text may share.
func (a *answer) text(b []byte) string {
	n, at := len(b), new(string)
	switch {
	case n == 0:
		return ""
	case n > maxShared:
		return string(b)
	case n <= longestText:
		if at = &a.recent[hash(b)%mostRecent]; *at == string(b) {
			return *at
		}
	}
	a.room(n)
	a.left -= n
	from := a.piece.Len()
	a.piece.Write(b)
	*at = a.piece.String()[from:]
	return *at
}

// Texts returns n empty strings for the elements of a list, or one for a text behind a pointer.
func (v Value) Texts(n int) []string {
	p := v.page
	if p == nil || n > shortList {
		return make([]string, n)
	}
	bytes := 0
	for _, e := range p.nodes[v.at:p.nodes[v.at].next] {
		if e.kind == S || e.kind == N {
			bytes += int(e.to - e.from)
		}
	}
	if bytes > maxShared {
		return make([]string, n)
	}
	p.room(bytes)
	if len(p.texts) < n {
		p.texts = make([]string, min(mostTexts, n*len(p.rows)))
	}
	own := p.texts[:n:n]
	p.texts = p.texts[n:]
	return own
}

// New returns a pointer to a zero value of type t. of is the type of slices of t, nil if values of t can hold others.
func (v Value) New(t, of reflect.Type) reflect.Value {
	p := v.page
	if p == nil || of == nil || len(p.rows) == 1 {
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
