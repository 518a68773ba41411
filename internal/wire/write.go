package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// writer writes JSON. Maps are written in the order of their names.
type writer struct {
	b       []byte
	unknown bool           // a value was not written, because it is nil or of a type that is not DynamoDB's
	of      []Placeholders // of the expressions that are not yet written; nil if the input has them
}

// mostKept is how much memory a writer keeps for its next use. More is left to the garbage collector.
const mostKept = 256 << 10

var writers = sync.Pool{New: func() any { return new(writer) }}

// next writes the comma before another member or element.
func (w *writer) next() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

// name writes the name of a member, which needs no escape.
func (w *writer) name(name string) {
	if last := w.b[len(w.b)-1]; last != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// open begins a member that is an object.
func (w *writer) open(name string) {
	w.name(name)
	w.b = append(w.b, '{')
}

func (w *writer) close() { w.b = append(w.b, '}') }

// begin begins a member that is an array.
func (w *writer) begin(name string) {
	w.name(name)
	w.b = append(w.b, '[')
}

// element begins an element that is an object.
func (w *writer) element() {
	w.next()
	w.b = append(w.b, '{')
}

func (w *writer) end() { w.b = append(w.b, ']') }

func (w *writer) text(name string, s *string) {
	if s != nil {
		w.name(name)
		w.b = appendText(w.b, *s)
	}
}

// choices writes what a request asks to be returned, what is not empty.
func (w *writer) choices(values types.ReturnValue, onFailure types.ReturnValuesOnConditionCheckFailure, capacity types.ReturnConsumedCapacity, collections types.ReturnItemCollectionMetrics) {
	for i, choice := range [...]string{string(values), string(onFailure), string(capacity), string(collections)} {
		if choice != "" {
			w.name(choiceNames[i])
			w.b = appendText(w.b, choice)
		}
	}
}

var choiceNames = [...]string{"ReturnValues", "ReturnValuesOnConditionCheckFailure", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}

func (w *writer) flag(name string, v *bool) {
	if v != nil {
		w.name(name)
		w.b = strconv.AppendBool(w.b, *v)
	}
}

func (w *writer) number(name string, n *int32) {
	if n != nil {
		w.name(name)
		w.b = strconv.AppendInt(w.b, int64(*n), 10)
	}
}

func (w *writer) texts(name string, m map[string]string) {
	if m != nil {
		w.name(name)
		object(w, m, func(w *writer, s string) { w.b = appendText(w.b, s) })
	}
}

func (w *writer) item(name string, m map[string]types.AttributeValue) {
	if m != nil {
		w.name(name)
		object(w, m, (*writer).value)
	}
}

// member is an entry of a map.
type member[V any] struct {
	name  string
	value V
}

// object writes a map.
func object[V any](w *writer, m map[string]V, value func(*writer, V)) {
	var room [16]member[V] // on the stack
	members := room[:0]
	for name, v := range m {
		members = append(members, member[V]{name, v})
	}
	if len(members) > len(room) {
		slices.SortFunc(members, func(x, y member[V]) int { return strings.Compare(x.name, y.name) })
	} else { // by insertion
		for i := 1; i < len(members); i++ {
			x, at := members[i], i
			for ; at > 0 && x.name < members[at-1].name; at-- {
				members[at] = members[at-1]
			}
			members[at] = x
		}
	}
	w.b = append(w.b, '{')
	for i := range members {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(appendText(w.b, members[i].name), ':')
		value(w, members[i].value)
	}
	w.b = append(w.b, '}')
}

// array writes a list.
func array[V any](w *writer, list []V, value func(*writer, V)) {
	w.b = append(w.b, '[')
	for _, v := range list {
		w.next()
		value(w, v)
	}
	w.b = append(w.b, ']')
}

func (w *writer) value(v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		w.b = appendText(append(w.b, `{"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		w.b = appendText(append(w.b, `{"N":`...), v.Value)
	case *types.AttributeValueMemberB:
		w.b = appendBinary(append(w.b, `{"B":`...), v.Value)
	case *types.AttributeValueMemberBOOL:
		w.b = strconv.AppendBool(append(w.b, `{"BOOL":`...), v.Value)
	case *types.AttributeValueMemberNULL:
		w.b = strconv.AppendBool(append(w.b, `{"NULL":`...), v.Value)
	case *types.AttributeValueMemberM:
		w.b = append(w.b, `{"M":`...)
		object(w, v.Value, (*writer).value)
	case *types.AttributeValueMemberL:
		w.b = append(w.b, `{"L":`...)
		array(w, v.Value, (*writer).value)
	case *types.AttributeValueMemberSS:
		w.b = append(w.b, `{"SS":`...)
		array(w, v.Value, func(w *writer, s string) { w.b = appendText(w.b, s) })
	case *types.AttributeValueMemberNS:
		w.b = append(w.b, `{"NS":`...)
		array(w, v.Value, func(w *writer, s string) { w.b = appendText(w.b, s) })
	case *types.AttributeValueMemberBS:
		w.b = append(w.b, `{"BS":`...)
		array(w, v.Value, func(w *writer, p []byte) { w.b = appendBinary(w.b, p) })
	default:
		w.unknown = true
		return
	}
	w.b = append(w.b, '}')
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

// appendText appends s as a string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
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
