package item

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The tags of the binary form, one for each type of attribute value.
const (
	tagS byte = iota + 1
	tagN
	tagB
	tagTrue
	tagFalse
	tagNull
	tagL
	tagM
	tagSS
	tagNS
	tagBS
)

var errBinary = errors.New("the bytes are no item")

// AppendBinary appends a compact form of it to b: the same bytes for equal items, whatever the map order.
func AppendBinary(b []byte, it Item) []byte {
	b = binary.AppendUvarint(b, uint64(len(it)))
	for _, name := range slices.Sorted(maps.Keys(it)) {
		b = appendValue(appendText(b, name), it[name])
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTexts[S ~string | ~[]byte](b []byte, tag byte, list []S) []byte {
	b = binary.AppendUvarint(append(b, tag), uint64(len(list)))
	for _, s := range list {
		b = appendText(b, string(s))
	}
	return b
}

func appendValue(b []byte, av types.AttributeValue) []byte {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return appendText(append(b, tagS), v.Value)
	case *types.AttributeValueMemberN:
		return appendText(append(b, tagN), v.Value)
	case *types.AttributeValueMemberB:
		return appendText(append(b, tagB), string(v.Value))
	case *types.AttributeValueMemberBOOL:
		if v.Value {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case *types.AttributeValueMemberL:
		b = binary.AppendUvarint(append(b, tagL), uint64(len(v.Value)))
		for _, e := range v.Value {
			b = appendValue(b, e)
		}
		return b
	case *types.AttributeValueMemberM:
		return AppendBinary(append(b, tagM), v.Value)
	case *types.AttributeValueMemberSS:
		return appendTexts(b, tagSS, v.Value)
	case *types.AttributeValueMemberNS:
		return appendTexts(b, tagNS, v.Value)
	case *types.AttributeValueMemberBS:
		return appendTexts(b, tagBS, v.Value)
	}
	return append(b, tagNull)
}

// ParseBinary reads what AppendBinary wrote, and returns the bytes after it.
func ParseBinary(b []byte) (it Item, rest []byte, err error) {
	r := reader{b: b}
	it = r.item()
	return it, r.b, r.err
}

// reader takes values from b. After an error it returns zero values.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.b, r.err = nil, errBinary }

// length reads the number of elements, each of which has at least one byte.
func (r *reader) length() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(len(r.b)-size) {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *reader) text() string {
	n := r.length()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) texts() []string {
	list := make([]string, r.length())
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) item() Item {
	n := r.length()
	it := make(Item, n)
	for range n {
		name := r.text()
		it[name] = r.value()
		if r.err != nil {
			return nil
		}
	}
	return it
}

func (r *reader) value() types.AttributeValue {
	if len(r.b) == 0 {
		r.fail()
		return nil
	}
	tag := r.b[0]
	r.b = r.b[1:]
	switch tag {
	case tagS:
		return &types.AttributeValueMemberS{Value: r.text()}
	case tagN:
		return &types.AttributeValueMemberN{Value: r.text()}
	case tagB:
		return &types.AttributeValueMemberB{Value: []byte(r.text())}
	case tagTrue, tagFalse:
		return &types.AttributeValueMemberBOOL{Value: tag == tagTrue}
	case tagNull:
		return &types.AttributeValueMemberNULL{Value: true}
	case tagL:
		list := make([]types.AttributeValue, r.length())
		for i := range list {
			if list[i] = r.value(); r.err != nil {
				return nil
			}
		}
		return &types.AttributeValueMemberL{Value: list}
	case tagM:
		return &types.AttributeValueMemberM{Value: r.item()}
	case tagSS:
		return &types.AttributeValueMemberSS{Value: r.texts()}
	case tagNS:
		return &types.AttributeValueMemberNS{Value: r.texts()}
	case tagBS:
		texts := r.texts()
		list := make([][]byte, len(texts))
		for i := range texts {
			list[i] = []byte(texts[i])
		}
		return &types.AttributeValueMemberBS{Value: list}
	}
	r.fail()
	return nil
}
