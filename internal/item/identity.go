package item

import (
	"encoding/binary"

	"github.com/dynastrata/dynastrata/internal/wire"
)

// AppendKey appends a text of the attributes with the given names, a primary key. It is equal for equal keys only; numbers
// are equal by value.
func AppendKey(dst []byte, it wire.Item, names []string) []byte {
	for _, name := range names {
		v := it.Value(name)
		dst = append(dst, byte(v.Kind()))
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		switch v.Kind() {
		case wire.S:
			dst = v.AppendText(dst)
		case wire.N:
			dst = appendNumber(dst, v)
		case wire.B:
			dst = append(dst, v.Binary()...)
		default:
			dst = append(dst, ValueText(v.Attribute())...)
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

// appendNumber appends the digits of a number, the same for every way to write it.
func appendNumber(dst []byte, v wire.Value) []byte {
	text := v.Text()
	if d, err := ParseDecimal(text); err == nil {
		text = d.String()
	}
	return append(dst, text...)
}
