package item_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

type (
	ss = types.AttributeValueMemberSS
	ns = types.AttributeValueMemberNS
	bs = types.AttributeValueMemberBS
	m  = types.AttributeValueMemberM
	l  = types.AttributeValueMemberL
	b  = types.AttributeValueMemberB
	tf = types.AttributeValueMemberBOOL
	nl = types.AttributeValueMemberNULL
	av = types.AttributeValue
)

func TestEqual(t *testing.T) {
	for name, c := range map[string]struct {
		a, b av
		want bool
	}{
		"strings":               {item.S("a"), item.S("a"), true},
		"string and number":     {item.S("1"), item.N("1"), false},
		"numbers by value":      {item.N("1.0"), item.N("1"), true},
		"large numbers":         {item.N("1e21"), item.N("1000000000000000000000"), true},
		"different numbers":     {item.N("1"), item.N("1.0000000000000000000000001"), false},
		"sets without order":    {&ss{Value: []string{"a", "b"}}, &ss{Value: []string{"b", "a"}}, true},
		"sets of other size":    {&ss{Value: []string{"a"}}, &ss{Value: []string{"b", "a"}}, false},
		"number sets by value":  {&ns{Value: []string{"1", "2.0"}}, &ns{Value: []string{"2", "1.00"}}, true},
		"binary sets":           {&bs{Value: [][]byte{{1}, {2}}}, &bs{Value: [][]byte{{2}, {1}}}, true},
		"lists with order":      {&l{Value: []av{item.S("a"), item.S("b")}}, &l{Value: []av{item.S("b"), item.S("a")}}, false},
		"nested":                {&m{Value: item.Item{"a": &l{Value: []av{item.N("1.0")}}}}, &m{Value: item.Item{"a": &l{Value: []av{item.N("1")}}}}, true},
		"map with another key":  {&m{Value: item.Item{"a": item.N("1")}}, &m{Value: item.Item{"b": item.N("1")}}, false},
		"binaries":              {&b{Value: []byte{1}}, &b{Value: []byte{1}}, true},
		"booleans":              {&tf{Value: true}, &tf{Value: false}, false},
		"null":                  {&nl{Value: true}, &nl{Value: true}, true},
		"nothing and nothing":   {nil, nil, true},
		"nothing and something": {nil, &nl{Value: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, item.Equal(c.a, c.b))
			require.Equal(t, c.want, item.Equal(c.b, c.a))
		})
	}
}

func TestAbsentAndEmpty(t *testing.T) {
	for _, v := range []av{nil, &nl{Value: true}, item.S("")} {
		require.True(t, item.Absent(v))
		require.True(t, item.Empty(v))
	}
	for _, v := range []av{&l{}, &m{}, &ss{}, &ns{}, &bs{}, &b{}} {
		require.False(t, item.Absent(v))
		require.True(t, item.Empty(v), "%T", v)
	}
	for _, v := range []av{item.N("0"), &tf{}, item.S("x")} {
		require.False(t, item.Empty(v), "%T", v)
	}
}

func TestSize_CountsNamesAndValues(t *testing.T) {
	require.Equal(t, 3+5, item.Size(item.Item{"abc": item.S("12345")}))
	require.Equal(t, 1+1, item.Size(item.Item{"a": &tf{}}))
	require.Equal(t, 1+3+1+1+2, item.Size(item.Item{"a": &m{Value: item.Item{"b": item.S("xy")}}}))
	require.Equal(t, 1+3+1+2, item.Size(item.Item{"a": &l{Value: []av{item.S("xy")}}}))
	require.LessOrEqual(t, item.Size(item.Item{"a": item.N("-123.456")}), 1+21)
	require.GreaterOrEqual(t, item.Size(item.Item{"a": item.N("12345678")}), 1+5)
}

func TestCheckStorable_FindsNumbersAnywhereAndNamesTheAttribute(t *testing.T) {
	bad := item.N("NaN")
	for _, v := range []av{bad, &l{Value: []av{bad}}, &m{Value: item.Item{"x": bad}}, &ns{Value: []string{"1", "NaN"}}} {
		err := item.CheckStorable(item.Item{"fine": item.N("1"), "zeta": v})
		var e *item.FieldError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "zeta", e.Attr)
	}
	require.NoError(t, item.CheckStorable(item.Item{"a": item.N("1"), "b": &l{Value: []av{item.N("2")}}}))
}
