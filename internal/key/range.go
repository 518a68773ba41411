package key

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// DynamoDB's limits, in bytes.
const (
	MaxSortKey      = 1024
	MaxPartitionKey = 2048
)

// RangeOp is the condition of a query on the sort key.
type RangeOp int

// The conditions on a sort key.
const (
	Whole   RangeOp = iota // no condition
	Empty                  // matches nothing: no request is needed
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
	// Filter reports that the range may contain keys that do not meet the bound: the caller must also filter on the bounded
	// attribute, lower-cased where the part is, since DynamoDB's filter sees the attribute as given.
	Filter bool
}

// Range returns the range of the items whose first parts equal lead and whose next part meets bound, unless that is nil. If
// bound is on the last part of an escaped template, the range may contain related items (keys that continue an item's key with
// '#') of items outside it, and may leave out related items of items in it.
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
		if len(head) > MaxSortKey {
			return Range{Op: Empty}, nil
		}
		return Range{Op: Equal, Lo: head}, nil
	case len(head) >= MaxSortKey:
		return Range{Op: Empty}, nil // the next part needs at least one byte
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
			return Range{Op: Empty}, nil //nolint:nilerr // no key has a part that cannot be composed
		}
		return r, nil
	case BeginsWith:
		return t.beginning(head, next, bound.Lo), nil
	default:
		return t.between(head, next, bound), nil
	}
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

// span returns the range from lo to hi among the keys that begin with head; an empty end is open. Ends too long for
// DynamoDB are cut after the comparison.
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
	BeginsWith // for a String only
)

// Bound is a condition on one key part. Operations with one argument use Lo.
type Bound struct {
	Op             Op
	Lo, Hi         Value
	LoOpen, HiOpen bool // for Between: the end is not part of the range
}

// check rejects a bound that is wrong for any value of the part.
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
			return f.problem("is not a string, as begins_with requires")
		}
	case f.Kind == String && !t.Escaped:
		// "a-" sorts below "a" if what follows in the key begins with "b".
		if literal, _ := t.after(i); literal != "" {
			return f.problem("is followed by %q in a verbatim key, whose order is then not that of the part: "+
				"only equality and begins_with are possible", literal)
		}
	}
	return nil
}

// beginning returns the range of the items whose part of segment i, after head, begins with v.
func (t *Template) beginning(head string, i int, v Value) Range {
	text := v.S
	if t.Segments[i].Field.Lower {
		text = strings.ToLower(text)
	}
	if t.Escaped {
		return prefix(head + Escape(text))
	}
	literal, more := t.after(i)
	if more && strings.Contains(text, literal) {
		return Range{Op: Empty} // such a part cannot be composed
	}
	r := prefix(head + text)
	// The end of text may match the literal instead of the part: the whole literal, or the beginning of it.
	for n := min(len(text), len(literal)); n > 0 && r.Op == Prefix; n-- {
		r.Filter = r.Filter || strings.HasSuffix(text, literal[:n])
	}
	return r
}

// between returns the range of a comparison of the part of segment i, after head.
func (t *Template) between(head string, i int, b *Bound) Range {
	f := t.Segments[i].Field
	var lo, hi string // "" for an open end
	if b.Op == Gt || b.Op == Ge || b.Op == Between {
		closed := b.Op == Ge || b.Op == Between && !b.LoOpen
		text, where := f.round(b.Lo, closed)
		switch {
		case where == above:
			return Range{Op: Empty}
		case where == within && closed:
			lo = head + t.escaped(text)
		case where == within:
			lo = t.beyond(head+t.escaped(text), i, "\x00") // not "$": the item's key ends here, and its related items do not matter
		}
	}
	before := false
	if b.Op == Lt || b.Op == Le || b.Op == Between {
		end, closed := b.Lo, b.Op == Le
		if b.Op == Between {
			end, closed = b.Hi, !b.HiOpen
		}
		text, where := f.round(end, !closed)
		switch {
		case where == below:
			return Range{Op: Empty}
		case where == within && closed:
			hi = t.beyond(head+t.escaped(text), i, "")
		case where == within:
			hi, before = head+t.escaped(text), true
		}
	}
	r := span(head, lo, hi)
	// BETWEEN includes its ends, and the key of a last part may be the upper one.
	r.Filter = r.Filter || before && r.Op != Empty
	return r
}

// beyond returns the end of the keys whose part of segment i ends with text: text+"$" where a literal follows that begins with '#',
// and text+last where nothing follows.
func (t *Template) beyond(text string, i int, last string) string {
	literal, _ := t.after(i)
	if literal == "" {
		return text + last
	}
	_, size := utf8.DecodeRuneInString(literal)
	return Successor(text + literal[:size])
}

func (t *Template) escaped(text string) string {
	if t.Escaped {
		return Escape(text)
	}
	return text
}

// position compares a value with all values that the part can have.
type position int

const (
	below position = iota - 1
	within
	above
)

// round returns the text of the nearest value that the part can have, upwards or downwards; the position is not within if it has none.
func (f *Field) round(v Value, up bool) (string, position) {
	switch {
	case v.Kind == String && v.S == "", v.Kind == Int && v.I < 0:
		return "", below
	case v.Kind == Time:
		exact := f.Time.Exact(v.T)
		if v.T = f.Time.Truncate(v.T); up && !exact {
			v.T = v.T.Add(f.Time.Unit())
		}
		if v.T.Year() < 0 || !f.Time.Text() && v.T.Before(time.Unix(0, 0)) {
			return "", below
		}
	}
	text, err := f.Text(v)
	if err != nil {
		return "", above // too wide, or after the year 9999
	}
	return text, within
}

// Successor returns the least text above every text that begins with prefix: the prefix with its last rune incremented. It
// returns "" if no text is above.
func Successor(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case r == utf8.MaxRune, r == utf8.RuneError && size == 1:
			// It cannot be incremented: increment the rune before it.
		case r+1 == 0xD800: // surrogates are not text
			return prefix + "\uE000"
		default:
			return prefix + string(r+1)
		}
	}
	return ""
}

// cutLower cuts a lower bound to the size of a sort key, at a character boundary. The result is at or below text, so the range may grow.
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

// maxSlack is the most bytes of a character before a cut.
const maxSlack = utf8.UTFMax - 1

// greatest has the greatest text of each number of bytes.
var greatest = [maxSlack + 1]string{"", "\x7f", "\u07ff", "\uffff"}

// cutUpper cuts an upper bound to the size of a sort key without changing the range: a key that begins with the cut text is
// too long or, where a character of n bytes was cut off, continues with a shorter character, which sorts below it. The
// result is filled up so that it is above all of those.
func cutUpper(text string) string {
	cut := cutLower(text)
	if len(cut) == len(text) {
		return text
	}
	return cut + greatest[MaxSortKey-len(cut)]
}
