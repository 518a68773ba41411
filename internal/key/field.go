package key

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The digits of the greatest int64 and uint64.
const (
	intWidth  = 19
	uintWidth = 20
)

// Field is a key part of a template.
type Field struct {
	Attr  string
	Kind  Kind
	Time  TimeFormat // of a Time
	Width int        // digits of an Int, a Uint or a numeric Time; 0 for the default
	Lower bool       // a String, or the text of a Time, is lower-cased
	Plain bool       // a String that would have to be escaped, or has non-ASCII characters, is rejected
}

// Number reports whether the part is written as a number.
func (f *Field) Number() bool {
	return f.Kind == Int || f.Kind == Uint || f.Kind == Time && !f.Time.Text()
}

// FromAttribute reads the part from an item's attribute. A missing attribute, NULL and the empty string are absent.
func (f *Field) FromAttribute(av types.AttributeValue) (v Value, present bool, err error) {
	switch av := av.(type) {
	case nil, *types.AttributeValueMemberNULL:
		return Value{}, false, nil
	case *types.AttributeValueMemberS:
		if av != nil && av.Value == "" {
			return Value{}, false, nil
		}
	}
	v = Value{Kind: f.Kind}
	switch f.Kind {
	case String:
		s, ok := av.(*types.AttributeValueMemberS)
		if !ok || s == nil {
			return Value{}, false, f.problem("is not stored as a string")
		}
		v.S = s.Value
	case Int, Uint:
		n, ok := av.(*types.AttributeValueMemberN)
		if !ok || n == nil {
			return Value{}, false, f.problem("is not stored as a number")
		}
		if f.Kind == Int {
			v.I, err = strconv.ParseInt(n.Value, 10, 64)
		} else {
			v.U, err = strconv.ParseUint(n.Value, 10, 64)
		}
		if err != nil {
			return Value{}, false, f.problem("is not stored as a 64-bit %s", f.Kind)
		}
	case Bool:
		b, ok := av.(*types.AttributeValueMemberBOOL)
		if !ok || b == nil {
			return Value{}, false, f.problem("is not stored as a bool")
		}
		v.B = b.Value
	case Time:
		if v.T, err = f.Time.FromValue(av); err != nil {
			return Value{}, false, f.problem("%s", err.Error())
		}
	default:
		return Value{}, false, f.problem("has an %s", f.Kind)
	}
	return v, true, nil
}

// Text returns the text of v in a key, before escaping.
func (f *Field) Text(v Value) (text string, err error) {
	if f.Kind <= String || f.Kind > Time || v.Kind != f.Kind {
		if err := f.accepts(v); err != nil {
			return "", err
		}
	}
	switch f.Kind {
	case Int:
		return f.pad(strconv.FormatInt(v.I, 10))
	case Uint:
		return f.pad(strconv.FormatUint(v.U, 10))
	case Bool:
		return strconv.FormatBool(v.B), nil
	case String:
		text = v.S
	case Time:
		if !f.Time.Exact(v.T) {
			return "", f.problem("is finer than its format %s; give it as t.Truncate(%s)", f.Time, f.Time.UnitName())
		}
		if text, err = f.Time.Format(v.T); err != nil {
			return "", f.problem("%s", err.Error())
		}
		if !f.Time.Text() {
			return f.pad(text)
		}
	}
	if f.Lower {
		text = strings.ToLower(text)
	}
	return text, nil
}

// accepts rejects a value that is a mistake of the caller, whatever the range of the part.
func (f *Field) accepts(v Value) error {
	switch {
	case f.Kind < String || f.Kind > Time:
		return f.problem("has an %s", f.Kind)
	case v.Kind != f.Kind:
		return f.problem("takes a value of type %s, not %s", f.Kind, v.Kind)
	case v.Kind == String && !utf8.ValidString(v.S):
		// The SDK would replace the bytes, and two values would share a key.
		return f.problem("is not valid UTF-8")
	case v.Kind == String && f.Plain && strings.ContainsFunc(v.S, func(r rune) bool { return r <= lastEscaped || r >= utf8.RuneSelf }):
		return f.problem("has a character that cannot be written here without escaping: a control character, a space, one of !\"#$%%, or one beyond ASCII")
	}
	return nil
}

// pad returns the text of a number in a key.
func (f *Field) pad(digits string) (string, error) {
	if digits[0] == '-' {
		return "", f.problem("is negative")
	}
	width := f.Width
	switch {
	case width > 0:
	case f.Kind == Uint:
		width = uintWidth
	default:
		width = intWidth
	}
	if len(digits) > width {
		return "", f.problem("does not fit in %d digits", width)
	}
	return strings.Repeat("0", width-len(digits)) + digits, nil
}
