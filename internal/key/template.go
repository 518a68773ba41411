package key

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Segment is a literal, a part, or a literal followed by a part.
type Segment struct {
	Literal string
	Field   *Field
}

// Template composes the text of a key from its parts.
//
// An Escaped template (a "$" key) is its Prefix and then, for each segment, '#', the literal and the escaped value. The
// keys that continue a text P of whole segments are exactly those from P# to P$. A verbatim template has no prefix, and its
// segments are concatenated with unchanged values.
type Template struct {
	Prefix   string
	Escaped  bool
	Segments []Segment
}

// Fields returns the parts, in order.
func (t *Template) Fields() []*Field {
	var fields []*Field
	for _, s := range t.Segments {
		if s.Field != nil {
			fields = append(fields, s.Field)
		}
	}
	return fields
}

// Compose returns the key text of an item, or the attributes of the parts that are absent from it, in order.
func (t *Template) Compose(item map[string]types.AttributeValue) (text string, missing []string, err error) {
	b := append(make([]byte, 0, 128), t.Prefix...)
	var wrong error // of the first part whose value cannot be written
	for i := range t.Segments {
		s := &t.Segments[i]
		if t.Escaped {
			b = append(b, '#')
		}
		b = append(b, s.Literal...)
		if s.Field == nil {
			continue
		}
		av := item[s.Field.Attr]
		if str, ok := av.(*types.AttributeValueMemberS); ok && t.Escaped && s.Field.Kind == String && !s.Field.Lower && !s.Field.Plain && str.Value != "" && utf8.ValidString(str.Value) {
			b = append(b, Escape(str.Value)...) // most parts
			continue
		}
		v, present, err := s.Field.FromAttribute(av)
		switch {
		case err != nil:
			return "", nil, err
		case !present:
			missing = append(missing, s.Field.Attr)
		case wrong == nil:
			var part string
			part, wrong = t.part(i, v)
			b = append(b, part...)
		}
	}
	switch {
	case len(missing) > 0:
		return "", missing, nil
	case wrong != nil:
		return "", nil, wrong
	}
	return string(b), nil, nil
}

// ComposeValues returns the key text for one value of each part.
func (t *Template) ComposeValues(vs []Value) (string, error) {
	if n := len(t.Fields()); len(vs) != n {
		return "", fmt.Errorf("key: %d values for %d parts", len(vs), n)
	}
	text, _, err := t.head(vs)
	return text, err
}

// head composes as much of the key as the leading values determine: up to and including the literal before the first part
// without a value. It returns the index of that part's segment, or the number of segments.
func (t *Template) head(lead []Value) (text string, next int, err error) {
	b := append(make([]byte, 0, 128), t.Prefix...)
	for i, s := range t.Segments {
		if t.Escaped {
			b = append(b, '#')
		}
		b = append(b, s.Literal...)
		if s.Field == nil {
			continue
		}
		if len(lead) == 0 {
			return string(b), i, nil
		}
		part, err := t.part(i, lead[0])
		if err != nil {
			return "", 0, err
		}
		b = append(b, part...)
		lead = lead[1:]
	}
	return string(b), len(t.Segments), nil
}

// part returns the text of v as the part of segment i.
func (t *Template) part(i int, v Value) (string, error) {
	f := t.Segments[i].Field
	text, err := f.Text(v)
	if err != nil {
		return "", err
	}
	if text == "" {
		return "", f.problem("is empty")
	}
	if t.Escaped {
		return Escape(text), nil
	}
	literal, more := t.after(i)
	// Parse splits at the first occurrence of the literal, so that must be the one written here: "x-" before "--" would be
	// read as "x" and "-…".
	if f.Kind == String && more && strings.Index(text+literal, literal) != len(text) {
		return "", f.problem("contains %q, which follows it in the key", literal)
	}
	return text, nil
}

// after returns the literal text that follows the part of segment i, and whether another part follows.
func (t *Template) after(i int) (literal string, more bool) {
	var b strings.Builder
	for _, s := range t.Segments[i+1:] {
		if t.Escaped {
			b.WriteByte('#')
		}
		b.WriteString(s.Literal)
		if s.Field != nil {
			return b.String(), true
		}
	}
	return b.String(), false
}

// Describe returns how the template composes a text, for people and for comparison: its prefix and literals, and each part
// with its attribute and format. Templates with equal descriptions compose equal texts from equal items.
func (t *Template) Describe() string {
	var b strings.Builder
	b.WriteString(t.Prefix)
	for _, s := range t.Segments {
		if t.Escaped {
			b.WriteByte('#')
		}
		b.WriteString(s.Literal)
		if s.Field != nil {
			b.WriteString("{" + s.Field.Attr + " " + s.Field.Describe() + "}")
		}
	}
	return b.String()
}

// Describe returns how a value is written: string, string|lower, int:19, uint:20, bool, time=ns, time=unix:19.
func (f *Field) Describe() string {
	digits := func(standard int) string {
		if f.Width > 0 {
			return ":" + strconv.Itoa(f.Width)
		}
		return ":" + strconv.Itoa(standard)
	}
	text := ""
	switch f.Kind {
	case String:
		text = "string"
	case Bool:
		text = "bool"
	case Int:
		text = "int" + digits(intWidth)
	case Uint:
		text = "uint" + digits(uintWidth)
	case Time:
		if text = "time=" + f.Time.String(); !f.Time.Text() {
			text += digits(intWidth)
		}
	}
	if f.Lower {
		text += "|lower"
	}
	return text
}
