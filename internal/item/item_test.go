package item_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/item/packed"
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
	got, rest, err := packed.Parse(append(b[len("before"):], "after"...))
	require.NoError(t, err)
	assert.Equal(t, everyType(), got)
	assert.Equal(t, "after", string(rest))
}

func TestBinary_RefusesWhatIsCutOff(t *testing.T) {
	t.Parallel()
	whole := item.AppendBinary(nil, everyType())
	for n := range whole {
		_, _, err := packed.Parse(whole[:n])
		assert.Error(t, err, "the first %d of %d bytes", n, len(whole))
	}
}

func number() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringMatching(`[0-9]{1,19}`).Draw(t, "whole")
		text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + digits
		if f := rapid.StringMatching(`[0-9]{0,18}`).Draw(t, "fraction"); f != "" {
			text += "." + f
		}
		return text
	})
}

func rat(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

func TestDecimal_SumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := number().Draw(t, "a"), number().Draw(t, "b")
		x := must(item.ParseDecimal(a))
		y := must(item.ParseDecimal(b))
		require.Zero(t, rat(x.String()).Cmp(rat(a)), "%s became %s", a, x)
		require.Equal(t, rat(a).Cmp(rat(b)), x.Cmp(y))
		sum, err := x.Add(y)
		want := new(big.Rat).Add(rat(a), rat(b))
		if err != nil {
			require.ErrorIs(t, err, item.ErrNumber) // more than 38 digits
			return
		}
		require.Zero(t, rat(sum.String()).Cmp(want), "%s + %s = %s", a, b, sum)
	})
}

func TestDecimal_WhatDynamoDBCannotKeepIsRefused(t *testing.T) {
	for _, text := range []string{"", "-", ".", "NaN", "+Inf", "Infinity", "0x10", "1_000", "1e", "--1", "1e126", "1e-131", strings.Repeat("9", 39), "1e99999999999", "1.2.3", " 1"} {
		_, err := item.ParseDecimal(text)
		require.ErrorIs(t, err, item.ErrNumber, "%q", text)
	}
	for text, want := range map[string]string{"0": "0", "-0": "0", "000": "0", "0.000": "0", "1e3": "1000", "1E-3": "0.001", "-1.50": "-1.5", "10": "10", strings.Repeat("9", 38): strings.Repeat("9", 38), "1e125": "1" + strings.Repeat("0", 125)} {
		d, err := item.ParseDecimal(text)
		require.NoError(t, err, text)
		require.Equal(t, want, d.String(), text)
	}
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"1", "-1.5e10", "NaN", "", "1e-130", strings.Repeat("1", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := item.ParseDecimal(s)
		if err != nil {
			return
		}
		again, err := item.ParseDecimal(d.String())
		require.NoError(t, err, fmt.Sprintf("%q → %q", s, d))
		require.Zero(t, again.Cmp(d))
	})
}
