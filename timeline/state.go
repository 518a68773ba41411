package timeline

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// box holds a state, or key, of any type as one attribute, so that the codec of items applies to it.
type box[V any] struct {
	V V `dynamodbav:"v"`
}

// kept is how values of a type are stored. Times keep their nanoseconds.
type valueCodec struct {
	box   reflect.Type
	codec item.Codec
}

// keep compiles how what a box holds is stored.
func newValueCodec(box reflect.Type) (valueCodec, error) {
	codec, err := schema.CodecOf(box, schema.Options{Precision: key.Nano})
	return valueCodec{box, codec}, err
}

// settle returns v as it is once it was stored and read: what a replay returns is then what rows hold. The result can be addressed.
func (k valueCodec) roundTrip(v reflect.Value) (reflect.Value, error) {
	it, err := k.encode(v)
	if err != nil {
		return v, err
	}
	back := reflect.New(k.box)
	err = k.codec.Decode(it, back)
	return back.Elem().Field(0), err
}

func (k valueCodec) encode(v reflect.Value) (item.Item, error) {
	boxed := reflect.New(k.box).Elem()
	boxed.Field(0).Set(v)
	return k.codec.Encode(boxed)
}

// bytes is v as bytes, the same for the same value.
func (k valueCodec) bytes(v reflect.Value) ([]byte, error) {
	it, err := k.encode(v)
	return item.AppendBinary(nil, it), err
}

// isSet reports that a dynamodbav tag makes a set of a slice.
func isSet(tag string) bool {
	_, options, _ := strings.Cut(tag, ",")
	return slices.ContainsFunc(strings.Split(options, ","), func(o string) bool {
		return o == "stringset" || o == "numberset" || o == "binaryset"
	})
}

// lost says which field of a type would not survive being stored, "" when all do. In a payload that is decoded for every
// replay, and never changed, sets survive.
func unstorableField(t reflect.Type, sets bool, seen map[reflect.Type]bool) string {
	if t == reflect.TypeFor[time.Time]() || seen[t] {
		return ""
	}
	seen[t] = true
	if !sets && t == reflect.TypeFor[[][]byte]() {
		return fmt.Sprintf("a %s is stored as a set, which keeps neither order nor an element twice", t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unstorableField(t.Elem(), sets, seen)
	case reflect.Map:
		return unstorableField(t.Elem(), sets, seen)
	case reflect.Interface:
		return fmt.Sprintf("a %s comes back as another type", t)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			tagged := f.Tag.Get("dynamodbav")
			switch {
			case f.Name == "_":
			case !f.IsExported() && !f.Anonymous:
				return fmt.Sprintf("field %s of %s is not exported", f.Name, t)
			case tagged == "-":
				return fmt.Sprintf("field %s of %s is not stored", f.Name, t)
			case !sets && isSet(tagged):
				return fmt.Sprintf("field %s of %s is stored as a set, which keeps neither order nor an element twice; use a list, or a map with entries of bool", f.Name, t)
			default:
				if problem := unstorableField(f.Type, sets, seen); problem != "" {
					return problem
				}
			}
		}
	}
	return ""
}
