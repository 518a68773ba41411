// Package packed reads items in the form that item.AppendBinary writes, for what keeps items in files and attributes.
package packed

import (
	"encoding/binary"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

var errNoItem = errors.New("the bytes are no item")

// Parse reads what item.AppendBinary wrote, and returns the bytes after it.
func Parse(b []byte) (it item.Item, rest []byte, err error) {
	r := reader{b: b}
	it = r.item()
	return it, r.b, r.err
}

// reader takes values from b. After an error it returns zero values.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.b, r.err = nil, errNoItem }

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

func (r *reader) item() item.Item {
	n := r.length()
	it := make(item.Item, n)
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
	case item.TagS:
		return &types.AttributeValueMemberS{Value: r.text()}
	case item.TagN:
		return &types.AttributeValueMemberN{Value: r.text()}
	case item.TagB:
		return &types.AttributeValueMemberB{Value: []byte(r.text())}
	case item.TagTrue, item.TagFalse:
		return &types.AttributeValueMemberBOOL{Value: tag == item.TagTrue}
	case item.TagNull:
		return &types.AttributeValueMemberNULL{Value: true}
	case item.TagL:
		list := make([]types.AttributeValue, r.length())
		for i := range list {
			if list[i] = r.value(); r.err != nil {
				return nil
			}
		}
		return &types.AttributeValueMemberL{Value: list}
	case item.TagM:
		return &types.AttributeValueMemberM{Value: r.item()}
	case item.TagSS:
		return &types.AttributeValueMemberSS{Value: r.texts()}
	case item.TagNS:
		return &types.AttributeValueMemberNS{Value: r.texts()}
	case item.TagBS:
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
