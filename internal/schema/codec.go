package schema

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
)

// CodecOf returns the codec of a struct type that is not an entity, such as an earlier shape of one: its attributes and
// their options count, declarations are passed over. The error joins a *Error for every field that cannot be stored.
func CodecOf(t reflect.Type, o Options) (item.Codec, error) {
	b := &builder{problems: problems{typ: t}, inside: map[reflect.Type]bool{t: true}}
	b.s = &Schema{Type: t, Options: o, Payload: 1, byName: map[string]*Attr{}}
	if t.Kind() != reflect.Struct {
		b.add(CodeNotStruct, "", "what is stored as an item is a struct, not a %s", t.Kind())
		return item.Codec{}, b.err()
	}
	b.walk(t, nil, "")
	if err := b.err(); err != nil {
		return item.Codec{}, err
	}
	b.codec()
	return b.s.Codec, nil
}
