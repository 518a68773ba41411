package key

import (
	"errors"
	"slices"
	"strings"
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
