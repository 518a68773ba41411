package key

import (
	"crypto/sha256"
	"encoding/binary"
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
	Shards   *Shards // nil: the text ends with the segments
}

// Shards spreads the items of one key over N partitions: its text ends with '#' and the two digits of one of them, the [Shard] of the
// item's primary key, which By are.
type Shards struct {
	N  int
	By []TableKey
}

// TableKey is a key attribute of a table, and the template of its text, nil if it has none.
type TableKey struct {
	Attr     string
	Template *Template
}

// Shard returns which of n partitions holds what a text identifies: the first eight bytes of its SHA-256 hash, as a big-endian number,
// modulo n.
func Shard(text string, n int) int {
	sum := sha256.Sum256([]byte(text))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

// ShardText returns the two digits of a partition.
func ShardText(number int) string {
	return string([]byte{'0' + byte(number/10), '0' + byte(number%10)})
}

// end returns the end of the key text of an item, or the key attribute that it lacks. That of a deleted copy continues the key of its
// item, which its parts give.
func (s *Shards) end(item map[string]types.AttributeValue) (text, missing string) {
	by := ""
	for _, k := range s.By {
		if k.Template != nil {
			if own, missing, err := k.Template.Compose(item); err == nil && len(missing) == 0 {
				by += own
				continue
			}
		}
		switch v := item[k.Attr].(type) {
		case *types.AttributeValueMemberS:
			by += v.Value
		case *types.AttributeValueMemberN:
			by += v.Value
		case *types.AttributeValueMemberB:
			by += string(v.Value)
		default:
			return "", k.Attr
		}
	}
	return "#" + ShardText(Shard(by, s.N)), ""
}

// CutShard returns a key text without the number of its partition, "" if it has none.
func CutShard(text string) string {
	if n := len(text) - len("#00"); n > 0 && text[n] == '#' && strings.Trim(text[n+1:], "0123456789") == "" {
		return text[:n]
	}
	return ""
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
	if t.Shards != nil {
		end, absent := t.Shards.end(item)
		if b = append(b, end...); absent != "" {
			missing = append(missing, absent)
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

// ComposeValues returns the key text for one value of each part, without the number of a partition.
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
// with its attribute and format. Templates with equal descriptions and shards compose equal texts from equal items.
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
