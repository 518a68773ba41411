package item

import (
	"bytes"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// numberer is implemented by strings that attributevalue stores as numbers, such as json.Number.
type numberer interface {
	Float64() (float64, error)
	Int64() (int64, error)
	String() string
}

var numbererType = reflect.TypeFor[numberer]()

// isDirect reports whether direct encodes values of t: a bool, a number, a string, a byte slice, or a pointer to one, of a
// type that does not encode itself.
func isDirect(t reflect.Type) bool {
	pointer := t.Kind() == reflect.Pointer && t.Name() == ""
	if pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case t.Implements(marshalerType), reflect.PointerTo(t).Implements(marshalerType), t.Implements(numbererType), reflect.PointerTo(t).Implements(numbererType):
		return false
	case k == reflect.Slice:
		return !pointer && t.Elem() == reflect.TypeFor[byte]() // attributevalue stores a pointer to a nil slice as no bytes
	default:
		return k == reflect.Bool || k == reflect.String || k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
	}
}

// direct encodes v as attributevalue does, without its search for methods and tags. It returns nil for an empty value
// under omitempty.
func direct(v reflect.Value, omitEmpty bool) types.AttributeValue {
	k := v.Kind()
	if k == reflect.Pointer || k == reflect.Slice {
		switch {
		case v.IsNil() && omitEmpty:
			return nil
		case v.IsNil():
			return &types.AttributeValueMemberNULL{Value: true}
		case k == reflect.Slice:
			return &types.AttributeValueMemberB{Value: bytes.Clone(v.Bytes())}
		}
		return direct(v.Elem(), false) // a pointer to zero is a value
	}
	switch {
	case omitEmpty && (v.IsZero() || v.CanFloat() && v.Float() == 0): // also if it is minus zero
		return nil
	case k == reflect.String:
		return S(v.String())
	case k == reflect.Bool:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}
	case k == reflect.Float32:
		return N(strconv.FormatFloat(v.Float(), 'f', -1, 32))
	case k == reflect.Float64:
		return N(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	case v.CanInt():
		return N(strconv.FormatInt(v.Int(), 10))
	}
	return N(strconv.FormatUint(v.Uint(), 10))
}
