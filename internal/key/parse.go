package key

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// errText is the error of a text that the template cannot compose. It never contains the text.
var errText = errors.New("key: the text does not fit the template")

// Parse is the inverse of ComposeValues: it returns the values of a key text, one for each part. A lower-cased string is
// returned as written, not as it was; see Determines. The number of a partition is left out, whatever their number is.
func (t *Template) Parse(text string) ([]Value, error) {
	if t.Shards != nil {
		text = CutShard(text)
	}
	rest, ok := strings.CutPrefix(text, t.Prefix)
	var vs []Value
	for i, s := range t.Segments {
		if ok && t.Escaped {
			rest, ok = strings.CutPrefix(rest, "#")
		}
		if ok {
			rest, ok = strings.CutPrefix(rest, s.Literal)
		}
		if !ok {
			return nil, errText
		}
		if s.Field == nil {
			continue
		}
		n := t.length(i, rest)
		if n <= 0 {
			return nil, errText
		}
		part := rest[:n]
		rest = rest[n:]
		if t.Escaped {
			part, _ = url.PathUnescape(part) // with an error "", which is no part
		}
		v, ok := s.Field.parse(part)
		if !ok {
			return nil, errText
		}
		vs = append(vs, v)
	}
	if !ok || rest != "" {
		return nil, errText
	}
	// This rejects text that is not canonical: another escape, a sign, a time of another precision.
	if again, err := t.ComposeValues(vs); err != nil || again != text {
		return nil, errText
	}
	return vs, nil
}

// length returns how many bytes of rest the part of segment i has; not positive if unknown.
func (t *Template) length(i int, rest string) int {
	if t.Escaped {
		if end := strings.IndexByte(rest, '#'); end >= 0 {
			return end
		}
		return len(rest)
	}
	f := t.Segments[i].Field
	if f.Kind != String {
		return min(f.size(rest), len(rest)) // a part that is too short does not parse, or composes another text
	}
	literal, more := t.after(i)
	switch {
	case !more:
		return len(rest) - len(literal)
	case literal == "":
		return -1
	}
	return strings.Index(rest, literal) // part rejects values that contain literal
}

// size returns how many bytes a part that is not a string has at the beginning of rest.
func (f *Field) size(rest string) int {
	switch {
	case f.Kind == Bool && strings.HasPrefix(rest, "true"):
		return len("true")
	case f.Kind == Bool:
		return len("false")
	case f.Kind == Time && f.Time.Text():
		return textSizes[f.Time]
	case f.Width > 0:
		return f.Width
	case f.Kind == Uint:
		return uintWidth
	}
	return intWidth
}

// textSizes are the lengths of times in the text formats.
var textSizes = map[TimeFormat]int{Nano: 30, Micro: 27, Milli: 24, Second: 20}

// parse reads the text of a value, before escaping.
func (f *Field) parse(text string) (Value, bool) {
	v, err := Value{Kind: f.Kind}, error(nil)
	switch f.Kind {
	case String:
		v.S = text
	case Int:
		v.I, err = strconv.ParseInt(text, 10, 64)
	case Uint:
		v.U, err = strconv.ParseUint(text, 10, 64)
	case Bool:
		v.B, err = strconv.ParseBool(text)
	case Time:
		v.T, err = f.Time.Parse(text)
	default:
		return v, false
	}
	return v, err == nil
}

// Attribute returns v as the attribute that FromAttribute reads.
func (f *Field) Attribute(v Value) (types.AttributeValue, error) {
	switch f.Kind {
	case Int:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v.I, 10)}, nil
	case Uint:
		return &types.AttributeValueMemberN{Value: strconv.FormatUint(v.U, 10)}, nil
	case Bool:
		return &types.AttributeValueMemberBOOL{Value: v.B}, nil
	case Time:
		return f.Time.Value(v.T)
	}
	return &types.AttributeValueMemberS{Value: v.S}, nil
}

// Determines reports whether the text of the key determines the value of the attribute. It does not for a lower-cased
// string, nor for parts after a string that is not separated from the next part.
func (t *Template) Determines(attr string) bool {
	known := false
	for i, s := range t.Segments {
		if s.Field == nil {
			continue
		}
		if literal, more := t.after(i); !t.Escaped && s.Field.Kind == String && more && literal == "" {
			return false
		}
		known = known || s.Field.determines(attr)
	}
	return known
}

func (f *Field) determines(attr string) bool { return f.Attr == attr && (f.Kind != String || !f.Lower) }

// Read returns the attribute's value from the text of the key. Determines must hold for it.
func (t *Template) Read(text, attr string) (types.AttributeValue, error) {
	vs, err := t.Parse(text)
	if err != nil {
		return nil, err
	}
	for i, f := range t.Fields() {
		if f.determines(attr) {
			return f.Attribute(vs[i])
		}
	}
	return nil, errText
}
