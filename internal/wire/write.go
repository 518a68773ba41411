package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Writer writes the text of one request. Maps are written in the order of their names. The zero Writer is ready.
type Writer struct {
	Text []byte // as far as it is written

	unknown bool // a value was not written, because it is nil or of a type that is not DynamoDB's
}

var errUnknown = errors.New("a value is nil or of a type that is not DynamoDB's")

// Finish returns a copy of the text, and forgets it: the next one uses the same memory. It fails if a value could not be written.
func (w *Writer) Finish() ([]byte, error) {
	text, unknown := w.Text, w.unknown
	w.Text, w.unknown = text[:0], false
	if unknown {
		return nil, &smithy.SerializationError{Err: errUnknown}
	}
	return bytes.Clone(text), nil
}

// Add writes some JSON.
func (w *Writer) Add(json string) { w.Text = append(w.Text, json...) }

// String writes some JSON, and a string after it.
func (w *Writer) String(json, s string) { w.Text = AppendString(append(w.Text, json...), s) }

// Key writes a key.
func (w *Writer) Key(k Key) {
	w.Text = append(w.Text, '{')
	for i := range k.Len() {
		if i > 0 {
			w.Text = append(w.Text, ',')
		}
		w.Text = append(AppendString(w.Text, k.Names[i]), ':')
		w.Value(k.Values[i])
	}
	w.Text = append(w.Text, '}')
}

// member is an attribute of an item.
type member struct {
	name  string
	value types.AttributeValue
}

// Item writes an item.
func (w *Writer) Item(m map[string]types.AttributeValue) {
	var room [16]member // on the stack
	members := room[:0]
	for name, v := range m {
		members = append(members, member{name, v})
	}
	if len(members) > len(room) {
		slices.SortFunc(members, func(x, y member) int { return strings.Compare(x.name, y.name) })
	} else { // by insertion
		for i := 1; i < len(members); i++ {
			x, at := members[i], i
			for ; at > 0 && x.name < members[at-1].name; at-- {
				members[at] = members[at-1]
			}
			members[at] = x
		}
	}
	w.Text = append(w.Text, '{')
	for i := range members {
		if i > 0 {
			w.Text = append(w.Text, ',')
		}
		w.Text = append(AppendString(w.Text, members[i].name), ':')
		w.Value(members[i].value)
	}
	w.Text = append(w.Text, '}')
}

// Value writes an attribute value.
func (w *Writer) Value(v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		w.Text = AppendString(append(w.Text, `{"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		w.Text = AppendString(append(w.Text, `{"N":`...), v.Value)
	case *types.AttributeValueMemberB:
		w.Text = appendBinary(append(w.Text, `{"B":`...), v.Value)
	case *types.AttributeValueMemberBOOL:
		w.Text = strconv.AppendBool(append(w.Text, `{"BOOL":`...), v.Value)
	case *types.AttributeValueMemberNULL:
		w.Text = strconv.AppendBool(append(w.Text, `{"NULL":`...), v.Value)
	case *types.AttributeValueMemberM:
		w.Text = append(w.Text, `{"M":`...)
		w.Item(v.Value)
	case *types.AttributeValueMemberL:
		w.Text = append(w.Text, `{"L":[`...)
		for i, e := range v.Value {
			if i > 0 {
				w.Text = append(w.Text, ',')
			}
			w.Value(e)
		}
		w.Text = append(w.Text, ']')
	case *types.AttributeValueMemberSS:
		list(w, `{"SS":[`, v.Value, AppendString)
	case *types.AttributeValueMemberNS:
		list(w, `{"NS":[`, v.Value, AppendString)
	case *types.AttributeValueMemberBS:
		list(w, `{"BS":[`, v.Value, appendBinary)
	default:
		w.unknown = true
		return
	}
	w.Text = append(w.Text, '}')
}

// list writes the elements of a set after its beginning.
func list[E any](w *Writer, begin string, elements []E, add func([]byte, E) []byte) {
	w.Text = append(w.Text, begin...)
	for i, e := range elements {
		if i > 0 {
			w.Text = append(w.Text, ',')
		}
		w.Text = add(w.Text, e)
	}
	w.Text = append(w.Text, ']')
}

// appendBinary appends p in base 64, or null.
func appendBinary(b, p []byte) []byte {
	if p == nil {
		return append(b, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), p), '"')
}

// escaped are the bytes that do not stand for themselves in a string, and those of characters beyond ASCII.
var escaped = func() (set [256]bool) {
	for c := range set {
		set[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return set
}()

// plainText returns how many bytes b begins with that stand for themselves in a string.
func plainText(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		if found := special(v) | v&highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(b) && !escaped[b[i]] {
		i++
	}
	return i
}

// AppendString appends s as a string of JSON. Bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := len(b)
	b = append(b, s...)
	plain := plainText(b[from:])
	if plain == len(s) { // as most texts are
		return append(b, '"')
	}
	b = b[:from]
	start := 0 // of what is not yet written
	for i := plain; i < len(s); i++ {
		c := s[i]
		if !escaped[c] {
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n - 1
				continue
			}
		}
		b = append(b, s[start:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\ufffd"...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		start = i + 1
	}
	return append(append(b, s[start:]...), '"')
}
