package key

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// What DynamoDB allows, in bytes.
const (
	MaxSortKey      = 1024
	MaxPartitionKey = 2048
)

// RangeOp is the condition of a query on its sort key.
type RangeOp int

// The conditions on a sort key.
const (
	Whole   RangeOp = iota // none
	Empty                  // nothing can match: no request is needed
	Equal                  // = Lo
	Prefix                 // begins_with Lo
	Span                   // BETWEEN Lo AND Hi
	AtLeast                // >= Lo
	AtMost                 // <= Hi
)

// Range is a range of sort keys.
type Range struct {
	Op     RangeOp
	Lo, Hi string
	// Filter says that the range may hold keys that do not meet the bound: the
	// caller must also filter on the bounded attribute. (Lower-cased, where the
	// part is: DynamoDB's own filter sees the attribute as it was given.)
	Filter bool
}

// Contains reports whether a sort key lies in the range.
func (r Range) Contains(key string) bool {
	switch r.Op {
	case Whole:
		return true
	case Equal:
		return key == r.Lo
	case Prefix:
		return strings.HasPrefix(key, r.Lo)
	case Span:
		return r.Lo <= key && key <= r.Hi
	case AtLeast:
		return r.Lo <= key
	case AtMost:
		return key <= r.Hi
	default:
		return false
	}
}

// Range gives the range of the items whose first parts equal lead and whose
// next part meets bound, if there is one. On the last part of an escaped
// template it may hold satellites (keys that continue an item's key with '#')
// of items that it does not hold, and need not hold those of items that it does.
func (t *Template) Range(lead []Value, bound *Bound) (Range, error) {
	fields := t.Fields()
	switch {
	case len(lead) > len(fields):
		return Range{}, errors.New("key: more values than parts")
	case bound != nil && len(lead) == len(fields):
		return Range{}, errors.New("key: no part is left for the bound")
	}
	head, next, err := t.head(lead)
	switch {
	case err != nil:
		return Range{}, err
	case len(lead) == len(fields):
		return equal(head), nil
	case len(head) >= MaxSortKey:
		return Range{Op: Empty}, nil // the next part has at least one byte
	case bound == nil:
		return prefix(head), nil
	}
	if err := t.check(next, bound); err != nil {
		return Range{}, err
	}
	switch bound.Op {
	case Eq:
		r, err := t.Range(append(slices.Clone(lead), bound.Lo), nil)
		if err != nil {
			return Range{Op: Empty}, nil // no key has a part that cannot be composed
		}
		return r, nil
	case BeginsWith:
		return t.beginning(head, next, bound.Lo), nil
	default:
		return t.between(head, next, bound), nil
	}
}

func equal(text string) Range {
	if len(text) > MaxSortKey {
		return Range{Op: Empty}
	}
	return Range{Op: Equal, Lo: text}
}

func prefix(text string) Range {
	switch {
	case text == "":
		return Range{Op: Whole}
	case len(text) > MaxSortKey:
		return Range{Op: Empty}
	}
	return Range{Op: Prefix, Lo: text}
}

// span gives the range from lo to hi below the prefix head; an empty end is
// open. Ends too long for DynamoDB are cut after they have been compared.
func span(head, lo, hi string) Range {
	if lo == "" && hi == "" {
		return prefix(head)
	}
	if lo == "" {
		lo = head
	}
	if hi == "" {
		hi = Successor(head)
	}
	if hi != "" && lo > hi {
		return Range{Op: Empty}
	}
	r := Range{Op: Span, Filter: len(lo) > MaxSortKey, Lo: cutLower(lo), Hi: cutUpper(hi)}
	switch {
	case lo == "":
		r.Op = AtMost
	case hi == "":
		r.Op = AtLeast
	}
	return r
}

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

// position says where a value lies relative to all values the part can have.
type position int

const (
	below position = iota - 1
	within
	above
)

// round gives the text of the nearest value that the part can have, upwards or
// downwards, or says that there is none.
func (f *Field) round(v Value, up bool) (string, position) {
	switch {
	case v.Kind == String && v.S == "", v.Kind == Int && v.I < 0:
		return "", below
	case v.Kind == Time:
		v.T = f.Time.nearest(v.T, up)
		if v.T.Year() < 0 || !f.Time.Text() && v.T.Before(time.Unix(0, 0)) {
			return "", below
		}
	}
	text, err := f.Text(v)
	if err != nil {
		return "", above // too wide, or behind the year 9999
	}
	return text, within
}

// nearest gives the nearest time of the format that is not before t, or not
// after it.
func (f TimeFormat) nearest(t time.Time, up bool) time.Time {
	if up {
		return f.ceil(t)
	}
	return f.Truncate(t)
}

// Successor gives the least text above every text that begins with prefix: the
// prefix with its last rune incremented. It is "" if absent.
func Successor(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case r == utf8.MaxRune, r == utf8.RuneError && size == 1:
			// nothing to increment here: increment what stands before it
		case r+1 == 0xD800: // surrogates are no text
			return prefix + "\uE000"
		default:
			return prefix + string(r+1)
		}
	}
	return ""
}

// cutLower cuts a lower bound to the size of a sort key, at a character
// boundary. The result is at or below text, so it lets more keys through.
func cutLower(text string) string {
	if len(text) <= MaxSortKey {
		return text
	}
	end := MaxSortKey
	for end > MaxSortKey-maxSlack && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// maxSlack is how many bytes of a character can lie before a cut.
const maxSlack = utf8.UTFMax - 1

// greatest has, for each number of bytes, the greatest text of that size.
var greatest = [maxSlack + 1]string{"", "\x7f", "\u07ff", "\uffff"}

// cutUpper cuts an upper bound to the size of a sort key. No key lets more or
// fewer through: a key that begins with the cut text is too long or, where a
// character of n bytes was cut off, goes on with one of fewer bytes, which
// sorts below it. The slack is filled so that the bound is above all of those.
func cutUpper(text string) string {
	cut := cutLower(text)
	if len(cut) == len(text) {
		return text
	}
	return cut + greatest[MaxSortKey-len(cut)]
}
