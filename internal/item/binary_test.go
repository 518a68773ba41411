package item_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

func everyType() item.Item {
	return item.Item{
		"s": item.S("text"), "empty": item.S(""), "n": item.N("-1.5e10"),
		"b":   &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"yes": &types.AttributeValueMemberBOOL{Value: true}, "no": &types.AttributeValueMemberBOOL{},
		"null": &types.AttributeValueMemberNULL{Value: true},
		"l":    &types.AttributeValueMemberL{Value: []types.AttributeValue{item.S("x"), &types.AttributeValueMemberL{Value: []types.AttributeValue{}}}},
		"m":    &types.AttributeValueMemberM{Value: item.Item{"inner": item.N("1")}},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1"}},
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}},
	}
}

func TestBinary_BringsEveryTypeBack(t *testing.T) {
	t.Parallel()
	b := item.AppendBinary([]byte("before"), everyType())
	assert.Equal(t, b, item.AppendBinary([]byte("before"), everyType()), "the bytes do not depend on map order")
	got, rest, err := item.ParseBinary(append(b[len("before"):], "after"...))
	require.NoError(t, err)
	assert.Equal(t, everyType(), got)
	assert.Equal(t, "after", string(rest))
}

func TestBinary_RefusesWhatIsCutOff(t *testing.T) {
	t.Parallel()
	whole := item.AppendBinary(nil, everyType())
	for n := range whole {
		_, _, err := item.ParseBinary(whole[:n])
		assert.Error(t, err, "the first %d of %d bytes", n, len(whole))
	}
}
