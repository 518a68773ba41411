package tag

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// lastReserved is the greatest byte that a "$" template keeps for itself: "#"
// separates, "$" ends a range and "%" begins an escape. A literal with such a
// byte would break the order of keys and the ends of ranges.
const lastReserved = '%'

// ParseKey reads the declaration of a key in any of its three forms.
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
			return Key{}, errorAt(at, "a literal must stand between two placeholders")
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

// parseSegment reads a literal, and the placeholder behind it if there is one,
// from text[start:end]; it returns the offset behind what it has read.
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
		// DynamoDB stores UTF-8; the SDK would replace the bytes in silence.
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
