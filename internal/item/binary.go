package item

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The tags of the binary form, one for each type of attribute value.
const (
	TagS byte = iota + 1
	TagN
	TagB
	TagTrue
	TagFalse
	TagNull
	TagL
	TagM
	TagSS
	TagNS
	TagBS
)

// AppendBinary appends a compact form of it to b: the same bytes for equal items, whatever the map order. Package packed reads it.
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
		return appendText(append(b, TagS), v.Value)
	case *types.AttributeValueMemberN:
		return appendText(append(b, TagN), v.Value)
	case *types.AttributeValueMemberB:
		return appendText(append(b, TagB), string(v.Value))
	case *types.AttributeValueMemberBOOL:
		if v.Value {
			return append(b, TagTrue)
		}
		return append(b, TagFalse)
	case *types.AttributeValueMemberL:
		b = binary.AppendUvarint(append(b, TagL), uint64(len(v.Value)))
		for _, e := range v.Value {
			b = appendValue(b, e)
		}
		return b
	case *types.AttributeValueMemberM:
		return AppendBinary(append(b, TagM), v.Value)
	case *types.AttributeValueMemberSS:
		return appendTexts(b, TagSS, v.Value)
	case *types.AttributeValueMemberNS:
		return appendTexts(b, TagNS, v.Value)
	case *types.AttributeValueMemberBS:
		return appendTexts(b, TagBS, v.Value)
	}
	return append(b, TagNull)
}
