package item

import (
	"encoding"
	"fmt"
	"math/big"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TextField is a top-level attribute whose Go type, or a pointer to it, implements encoding.TextMarshaler and
// encoding.TextUnmarshaler, and which is stored as that text.
type TextField struct {
	Index     []int
	Attr      string
	OmitEmpty bool
	Zero      string // text of the zero value; it counts as empty, as "" does
}

// IsText reports whether values of type t, or pointers to them, can be stored as their own text. Times cannot, since they
// have formats of their own, nor can types that implement attributevalue's interfaces.
func IsText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface, isTime(t):
		return false
	case p.Implements(marshalerType), p.Implements(unmarshalerType):
		return false
	}
	return p.Implements(textMarshalerType) && p.Implements(textUnmarshalerType)
}

// MapKey returns the text that attributevalue stores a map key as, or "", which it refuses.
func MapKey(key any) string {
	m, ok := key.(encoding.TextMarshaler)
	switch {
	case !ok:
		return fmt.Sprint(key)
	case reflect.TypeOf(key).Kind() == reflect.Pointer: // no key of a declaration; a nil one has no text
		return ""
	}
	text, err := m.MarshalText()
	if err != nil {
		return ""
	}
	return string(text)
}

// ZeroText returns the text of the zero value of t, or "" if it has none.
func ZeroText(t reflect.Type) (text string) {
	defer func() { // the method may panic on the zero value
		if recover() != nil {
			text = ""
		}
	}()
	b, err := reflect.New(t).Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return ""
	}
	return string(b)
}

// Encode returns the field's value fv as an attribute value, or nil if it is to be absent.
func (f *TextField) Encode(fv reflect.Value) (types.AttributeValue, error) {
	for {
		if k := fv.Kind(); (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map) && fv.IsNil() {
			if f.OmitEmpty {
				return nil, nil
			}
			return &types.AttributeValueMemberNULL{Value: true}, nil
		}
		if fv.Kind() != reflect.Pointer {
			break
		}
		fv = fv.Elem()
	}
	p := reflect.New(fv.Type()) // its methods may have pointer receivers
	p.Elem().Set(fv)
	text, err := p.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil { // the error may contain the value
		return nil, &FieldError{f.Attr, "the value does not marshal itself as text"}
	}
	if f.OmitEmpty && f.Empty(string(text)) {
		return nil, nil
	}
	if n, is := p.Interface().(*big.Float); is { // whose text does not say its precision, and is read with 64 bits
		if read, _, err := big.ParseFloat(string(text), 10, 64, big.ToNearestEven); err != nil || read.SetPrec(n.Prec()).Cmp(n) != 0 {
			return nil, &FieldError{f.Attr, "the number has more than the 64 bits that a big.Float is read with; use a big.Rat"}
		}
	}
	if len(text) == 0 && f.decode("", p.Elem()) != nil {
		return nil, &FieldError{f.Attr, "the value marshals itself as an empty text, which it does not read"}
	}
	av := S(string(text))
	if problem := unstorable(av); problem != "" {
		return nil, &FieldError{f.Attr, problem}
	}
	return av, nil
}

// Empty reports whether text stands for no value.
func (f *TextField) Empty(text string) bool { return text == "" || text == f.Zero }

// decode sets fv from a stored text.
func (f *TextField) decode(text string, fv reflect.Value) error {
	for fv.Kind() == reflect.Pointer {
		if fv.IsNil() {
			fv.Set(reflect.New(fv.Type().Elem()))
		}
		fv = fv.Elem()
	}
	fresh := reflect.New(fv.Type())
	if fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) != nil {
		return &FieldError{f.Attr, "the stored text does not fit the field"}
	}
	fv.Set(fresh.Elem())
	return nil
}

// timeField returns the field that encodes an attribute as a time, or nil. s may be nil.
func (s *Special) timeField(attr string) *TimeField {
	if s != nil {
		for i := range s.Times {
			if s.Times[i].Attr == attr {
				return &s.Times[i]
			}
		}
	}
	return nil
}

// textField returns the field that encodes an attribute as a text, or nil. s may be nil.
func (s *Special) textField(attr string) *TextField {
	if s != nil {
		for i := range s.Texts {
			if s.Texts[i].Attr == attr {
				return &s.Texts[i]
			}
		}
	}
	return nil
}
