package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Form is the form of a key's declaration.
type Form int

// The forms of a key.
const (
	Prefixed Form = iota // "$", "$#{a}#lit_{b}": a template below the entity's own prefix
	Verbatim             // "attr={template}", "attr=constant": stored as written in the named attribute
	Native               // "attr", "a+b": model attributes are the key, in their own types
)

// MaxNative is the most attributes that a partition or sort key can have.
const MaxNative = 4

// Placeholder stands for the value of an attribute in a template.
type Placeholder struct {
	Attr  string
	Width int  // {attr:013}: digits to pad an integer to; 0 when not given
	Lower bool // {attr|lower}
}

// Segment is a literal, a placeholder, or a literal followed by a placeholder.
type Segment struct {
	Literal string
	Field   *Placeholder
}

// Key is a parsed key declaration.
type Key struct {
	Form     Form
	Attr     string    // Verbatim: the attribute that stores the text
	Attrs    []string  // Native: one to MaxNative attributes
	Segments []Segment // Prefixed: those after "$", one for each "#"; Verbatim: concatenated
}

// maxWidth is the number of digits of the greatest uint64. bigintWidth is the width of a bigint in effect-dynamodb.
const (
	maxWidth    = 20
	bigintWidth = 38
)

// parsePlaceholder reads the text between the braces, text[start:end].
func parsePlaceholder(text string, start, end int) (*Placeholder, error) {
	mark := end
	if at := strings.IndexAny(text[start:end], ":|"); at >= 0 {
		mark = start + at
	}
	if err := attributeName(text, start, mark); err != nil {
		return nil, err
	}
	field := &Placeholder{Attr: text[start:mark]}
	if mark == end {
		return field, nil
	}
	option := text[mark+1 : end]
	if strings.ContainsAny(option, ":|") {
		return nil, errorAt(mark+1, "a placeholder takes a width or |lower, not both")
	}
	if text[mark] == '|' {
		if option != "lower" {
			return nil, errorAt(mark+1, `the only option of a placeholder is "lower"`)
		}
		field.Lower = true
		return field, nil
	}
	digits, padded := strings.CutPrefix(option, "0") // as in a printf verb, because {a:13} looks like a truncation or padding with spaces
	width, err := strconv.Atoi(digits)
	if !padded || err != nil || width < 1 || width > maxWidth && width != bigintWidth || strconv.Itoa(width) != digits { // a sign or a second zero
		return nil, errorAt(mark+1, "a width is written :01 to :0%d, or :0%d, with its leading zero", maxWidth, bigintWidth)
	}
	field.Width = width
	return field, nil
}

// lastReserved is the greatest byte that a literal of a "$" template cannot contain: "#" separates segments, "$" ends a
// range and "%" begins an escape. Such a byte would break the order of keys and the ends of ranges.
const lastReserved = '%'

// ParseKey reads the declaration of a key in any of the three forms.
func ParseKey(text string) (Key, error) {
	if text == "" {
		return Key{}, errorAt(0, "empty key")
	}
	if text[0] == '$' {
		return parsePrefixed(text)
	}
	if equals := strings.IndexByte(text, '='); equals >= 0 {
		return parseVerbatim(text, equals)
	}
	if brace := strings.IndexByte(text, '{'); brace >= 0 {
		return Key{}, errorAt(brace, `a template begins with "$" or with "attribute="`)
	}
	return parseNative(text)
}

func parsePrefixed(text string) (Key, error) {
	key := Key{Form: Prefixed}
	for at := 1; at < len(text); {
		if text[at] != '#' {
			return Key{}, errorAt(at, `only "#" may follow "$"`)
		}
		start := at + 1
		at = len(text)
		if next := strings.IndexByte(text[start:], '#'); next >= 0 {
			at = start + next
		}
		segment, end, err := parseSegment(text, start, at)
		switch {
		case err != nil:
			return Key{}, err
		case start == at:
			return Key{}, errorAt(start, "empty segment")
		case end < at:
			return Key{}, errorAt(end, `only "#" may follow a placeholder`)
		}
		for i := range len(segment.Literal) {
			if segment.Literal[i] <= lastReserved {
				return Key{}, errorAt(start+i, `a literal of a "$" key may not contain %q`, segment.Literal[i])
			}
		}
		key.Segments = append(key.Segments, segment)
	}
	return key, nil
}

func parseVerbatim(text string, equals int) (Key, error) {
	if err := attributeName(text, 0, equals); err != nil {
		return Key{}, err
	}
	key := Key{Form: Verbatim, Attr: text[:equals]}
	start := equals + 1
	if start == len(text) {
		return Key{}, errorAt(start, `a template must follow "="`)
	}
	for at := start; at < len(text); {
		segment, end, err := parseSegment(text, at, len(text))
		if err != nil {
			return Key{}, err
		}
		if at > start && segment.Literal == "" {
			return Key{}, errorAt(at, "a literal must separate two placeholders")
		}
		key.Segments = append(key.Segments, segment)
		at = end
	}
	return key, nil
}

func parseNative(text string) (Key, error) {
	key := Key{Form: Native}
	for at := 0; at <= len(text); {
		end := len(text)
		if plus := strings.IndexByte(text[at:], '+'); plus >= 0 {
			end = at + plus
		}
		if err := attributeName(text, at, end); err != nil {
			return Key{}, err
		}
		attr := text[at:end]
		if slices.Contains(key.Attrs, attr) {
			return Key{}, errorAt(at, "%s is given twice", attr)
		}
		if len(key.Attrs) == MaxNative {
			return Key{}, errorAt(at, "a key has at most %d attributes", MaxNative)
		}
		key.Attrs = append(key.Attrs, attr)
		at = end + 1
	}
	return key, nil
}

// parseSegment reads a literal, and the placeholder after it if any, from text[start:end]. It returns the offset after them.
func parseSegment(text string, start, end int) (Segment, int, error) {
	brace := end
	if at := strings.IndexByte(text[start:end], '{'); at >= 0 {
		brace = start + at
	}
	literal := text[start:brace]
	if at := strings.IndexByte(literal, '}'); at >= 0 {
		return Segment{}, 0, errorAt(start+at, `"}" without "{"`)
	}
	if !utf8.ValidString(literal) {
		// DynamoDB stores UTF-8; the SDK would replace other bytes.
		return Segment{}, 0, errorAt(start, "the literal is not valid UTF-8")
	}
	if brace == end {
		return Segment{Literal: literal}, end, nil
	}
	closing := strings.IndexByte(text[brace:end], '}')
	if closing < 0 {
		return Segment{}, 0, errorAt(brace, `"{" is never closed`)
	}
	field, err := parsePlaceholder(text, brace+1, brace+closing)
	if err != nil {
		return Segment{}, 0, err
	}
	return Segment{Literal: literal, Field: field}, brace + closing + 1, nil
}
