package wire

import (
	"encoding/base64"
	"errors"
	"maps"
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
	Err  error  // why a value was not written: it is nil or of a type that is not DynamoDB's

	names []string // of the last item, in order: most items of a program have the names of the one before
}

var errUnknown error = &smithy.SerializationError{Err: errors.New("a value is nil or of a type that is not DynamoDB's")}

// Part writes a part of the request as it is, such as {"Put":{ or }}, after a comma if it begins what follows a member or an element.
func (w *Writer) Part(text string) {
	if n := len(w.Text); n > 0 && strings.IndexByte("{[:", w.Text[n-1]) < 0 && text[0] != '}' && text[0] != ']' {
		w.Text = append(w.Text, ',')
	}
	w.Text = append(w.Text, text...)
}

// Name writes the name of a member, which may follow another one.
func (w *Writer) Name(name string) {
	if w.Text[len(w.Text)-1] != '{' {
		w.Text = append(w.Text, ',')
	}
	w.String(name)
	w.Text = append(w.Text, ':')
}

func (w *Writer) Key(k Key) {
	w.Part("{")
	for i, v := range k.Values {
		if k.Names[i] != "" {
			w.Name(k.Names[i])
			w.Value(v)
		}
	}
	w.Text = append(w.Text, '}')
}

func (w *Writer) Item(m map[string]types.AttributeValue) {
	same := len(w.names) == len(m)
	for i := 0; same && i < len(w.names); i++ {
		_, same = m[w.names[i]]
	}
	if !same {
		w.names = slices.AppendSeq(w.names[:0], maps.Keys(m))
		slices.Sort(w.names)
	}
	w.Part("{")
	for _, name := range w.names {
		w.Name(name)
		w.Value(m[name])
	}
	w.Text = append(w.Text, '}')
}

// entries writes a map inside an item.
func (w *Writer) entries(m map[string]types.AttributeValue) {
	var room [16]string // on the stack
	names := slices.AppendSeq(room[:0], maps.Keys(m))
	slices.Sort(names)
	w.Part("{")
	for _, name := range names {
		w.Name(name)
		w.Value(m[name])
	}
	w.Text = append(w.Text, '}')
}

func (w *Writer) Value(v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		w.Text = append(w.Text, `{"S":`...)
		w.String(v.Value)
	case *types.AttributeValueMemberN:
		w.Text = append(w.Text, `{"N":`...)
		w.String(v.Value)
	case *types.AttributeValueMemberB:
		w.Text = append(w.Text, `{"B":`...)
		w.binary(v.Value)
	case *types.AttributeValueMemberBOOL:
		w.Text = strconv.AppendBool(append(w.Text, `{"BOOL":`...), v.Value)
	case *types.AttributeValueMemberNULL:
		w.Text = strconv.AppendBool(append(w.Text, `{"NULL":`...), v.Value)
	case *types.AttributeValueMemberM:
		w.Text = append(w.Text, `{"M":`...)
		w.entries(v.Value)
	case *types.AttributeValueMemberL:
		list(w, `{"L":[`, v.Value, (*Writer).Value)
	case *types.AttributeValueMemberSS:
		list(w, `{"SS":[`, v.Value, (*Writer).String)
	case *types.AttributeValueMemberNS:
		list(w, `{"NS":[`, v.Value, (*Writer).String)
	case *types.AttributeValueMemberBS:
		list(w, `{"BS":[`, v.Value, (*Writer).binary)
	default:
		w.Err = errUnknown
		return
	}
	w.Text = append(w.Text, '}')
}

// list writes the elements of a list or set after its beginning.
func list[E any](w *Writer, begin string, elements []E, write func(*Writer, E)) {
	w.Text = append(w.Text, begin...)
	for i, e := range elements {
		if i > 0 {
			w.Text = append(w.Text, ',')
		}
		write(w, e)
	}
	w.Text = append(w.Text, ']')
}

// binary writes b in base 64, or null.
func (w *Writer) binary(b []byte) {
	if b == nil {
		w.Text = append(w.Text, "null"...)
		return
	}
	w.Text = append(base64.StdEncoding.AppendEncode(append(w.Text, '"'), b), '"')
}

// escaped are the bytes that do not stand for themselves in a string, and those of characters beyond ASCII.
var escaped = func() (set [256]bool) {
	for c := range set {
		set[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return set
}()

// String writes s as a string of JSON. Bytes that are not UTF-8 become U+FFFD.
func (w *Writer) String(s string) {
	const hex = "0123456789abcdef"
	b := append(w.Text, '"')
	start := 0 // of what is not yet written
	for i := 0; i < len(s); i++ {
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
	w.Text = append(append(b, s[start:]...), '"')
}
