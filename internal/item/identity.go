package item

import (
	"encoding/binary"

	"github.com/dynastrata/dynastrata/internal/wire"
)

// Primary is a primary key without a map.
type Primary = wire.Key

// AppendKey appends a text of a key. It is equal for equal keys of the same names only; numbers are equal by value.
func AppendKey(dst []byte, k Primary) []byte {
	for i, name := range k.Names {
		if name != "" {
			dst = appendPart(dst, wire.ValueOf(k.Values[i]))
		}
	}
	return dst
}

// AppendKeyOf is AppendKey for the primary key of an item, which has the names of k.
func AppendKeyOf(dst []byte, it wire.Item, k Primary) []byte {
	for _, name := range k.Names {
		if name != "" {
			dst = appendPart(dst, it.Value(name))
		}
	}
	return dst
}

func appendPart(dst []byte, v wire.Value) []byte {
	dst = append(dst, byte(v.Kind()))
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch v.Kind() {
	case wire.S:
		var room [128]byte
		dst = append(dst, v.Bytes(room[:0])...)
	case wire.N:
		text := v.Text()
		if d, err := ParseDecimal(text); err == nil { // the same digits for every way to write the number
			text = d.String()
		}
		dst = append(dst, text...)
	case wire.B:
		dst = append(dst, v.Binary()...)
	default:
		dst = append(dst, ValueText(v.Attribute())...)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
