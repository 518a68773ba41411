package key

import (
	"strings"
	"unicode/utf8"
)

// Op is a comparison of a key part.
type Op int

// The comparisons of a bound.
const (
	Eq Op = iota
	Lt
	Le
	Gt
	Ge
	Between
	BeginsWith // of a String only
)

// Bound is a condition on one key part. Operations of one argument use Lo.
type Bound struct {
	Op             Op
	Lo, Hi         Value
	LoOpen, HiOpen bool // of Between: the end does not belong to the range
}

// lower gives the lower end, if there is one, and whether it belongs to the
// range.
func (b *Bound) lower() (v Value, closed, ok bool) {
	return b.Lo, b.Op == Ge || b.Op == Between && !b.LoOpen, b.Op == Gt || b.Op == Ge || b.Op == Between
}

// upper gives the upper end, as lower does.
func (b *Bound) upper() (v Value, closed, ok bool) {
	if b.Op == Between {
		return b.Hi, !b.HiOpen, true
	}
	return b.Lo, b.Op == Le, b.Op == Lt || b.Op == Le
}

// check refuses what no value of the part could make right.
func (t *Template) check(i int, b *Bound) error {
	f := t.Segments[i].Field
	if b.Op < Eq || b.Op > BeginsWith {
		return f.problem("has an unknown comparison")
	}
	if err := f.accepts(b.Lo); err != nil {
		return err
	}
	if b.Op == Between {
		if err := f.accepts(b.Hi); err != nil {
			return err
		}
	}
	switch {
	case b.Op == Eq:
	case b.Op == BeginsWith:
		if f.Kind != String {
			return f.problem("is no string, which begins_with needs")
		}
	case f.Kind == String && !t.Escaped:
		// "a-" sorts below "a" when "b" sorts above what follows in the key.
		if literal, _ := t.after(i); literal != "" {
			return f.problem("is followed by %q in a verbatim key, whose order is then not that of the part: "+
				"only equality and begins_with are possible", literal)
		}
	}
	return nil
}

// beginning gives the range of the items whose part of segment i, behind head,
// begins with v.
func (t *Template) beginning(head string, i int, v Value) Range {
	text := t.Segments[i].Field.cased(v.S)
	if t.Escaped {
		return prefix(head + Escape(text))
	}
	literal, more := t.after(i)
	if more && strings.Contains(text, literal) {
		return Range{Op: Empty} // such a part cannot be composed
	}
	r := prefix(head + text)
	// The end of text may match the literal instead of the part.
	r.Filter = r.Op == Prefix && overlaps(text, literal)
	return r
}

// overlaps reports whether the end of text could be the beginning of literal,
// or literal the end of text.
func overlaps(text, literal string) bool {
	for n := min(len(text), len(literal)); n > 0; n-- {
		if strings.HasSuffix(text, literal[:n]) {
			return true
		}
	}
	return false
}

// between gives the range of a comparison of the part of segment i, behind head.
func (t *Template) between(head string, i int, b *Bound) Range {
	f := t.Segments[i].Field
	var lo, hi string // "" is no end
	if v, closed, ok := b.lower(); ok {
		text, where := f.round(v, closed)
		switch {
		case where == above:
			return Range{Op: Empty}
		case where == within && closed:
			lo = head + t.escaped(text)
		case where == within:
			lo = t.past(head+t.escaped(text), i)
		}
	}
	before := false
	if v, closed, ok := b.upper(); ok {
		text, where := f.round(v, !closed)
		switch {
		case where == below:
			return Range{Op: Empty}
		case where == within && closed:
			hi = t.through(head+t.escaped(text), i)
		case where == within:
			hi, before = head+t.escaped(text), true
		}
	}
	r := span(head, lo, hi)
	// BETWEEN includes its ends, and the key of a last part may be the upper one.
	r.Filter = r.Filter || before && r.Op != Empty
	return r
}

// past gives the least text above the keys whose part of segment i ends at text.
func (t *Template) past(text string, i int) string {
	if literal, _ := t.after(i); literal != "" {
		return behind(text, literal)
	}
	return text + "\x00" // not text+"$": the item itself ends here, its satellites do not matter
}

// through gives a text at or above the keys whose part of segment i ends at
// text, and below all later ones.
func (t *Template) through(text string, i int) string {
	if literal, _ := t.after(i); literal != "" {
		return behind(text, literal)
	}
	return text
}

// behind gives the end of the keys that continue text with literal: text+"$"
// where the literal begins with '#'.
func behind(text, literal string) string {
	_, size := utf8.DecodeRuneInString(literal)
	return Successor(text + literal[:size])
}

func (t *Template) escaped(text string) string {
	if t.Escaped {
		return Escape(text)
	}
	return text
}
