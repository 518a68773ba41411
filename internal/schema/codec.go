package schema

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
)

// CodecOf returns the codec of a struct type that is not an entity, such as an earlier shape of one: its attributes and
// their options count, declarations are passed over. The error joins a *Error for every field that cannot be stored.
func CodecOf(t reflect.Type, o Options) (item.Codec, error) {
	b, err := newBuilder(t, o, "what is stored as an item")
	if err != nil {
		return item.Codec{}, err
	}
	b.walk(t, nil, "")
	if err := b.err(); err != nil {
		return item.Codec{}, err
	}
	b.codec()
	return b.s.Codec, nil
}
