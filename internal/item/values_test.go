package item_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/item/packed"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

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

// compiled returns a copy of c with a compiled decoder of a T.
func compiled[T any](c item.Codec) *item.Codec {
	c.Compile(reflect.TypeFor[T]())
	return &c
}

func TestDecode_NumbersThatDoNotFitAreRefusedCompiledToo(t *testing.T) {
	t.Parallel()
	type numbers struct {
		I8  int8
		I64 int64
		U8  uint8
		F32 float32
		T   int8 `dynamodbav:",string"`
	}
	c := compiled[numbers](item.Codec{})
	for _, bad := range []item.Item{
		{"I8": item.N("128")}, {"I8": item.N("1.5")}, {"I8": item.S("1")}, {"I64": item.N("9223372036854775808")}, {"U8": item.N("256")}, {"U8": item.N("-1")}, {"F32": item.N("3.5e38")},
		{"T": item.S("128")},
	} {
		var got numbers
		require.Error(t, c.Decode(bad, reflect.ValueOf(&got)), "%v became %+v", bad, got)
	}
	var got numbers
	require.NoError(t, c.Decode(item.Item{"I8": item.N("-128"), "U8": item.N("255"), "F32": item.N("1e38"), "T": item.S("7")}, reflect.ValueOf(&got)))
	require.Equal(t, numbers{I8: -128, U8: 255, F32: 1e38, T: 7}, got)
	require.Error(t, compiled[clocks](codec).Decode(item.Item{"unix": item.S("1776852000")}, reflect.ValueOf(new(clocks))), "text in a field of epoch seconds")
}

func TestDecode_ACompiledDecoderIsForOneTypeAndAnEmptyStruct(t *testing.T) {
	t.Parallel()
	type first struct {
		A string
		B *string
	}
	type second struct{ N int }
	c, old := compiled[first](item.Codec{}), "old"
	one, two := first{}, second{}
	require.NoError(t, c.Decode(item.Item{"A": item.S("a"), "B": item.S("b")}, reflect.ValueOf(&one)))
	require.NoError(t, c.Decode(item.Item{"N": item.N("7")}, reflect.ValueOf(&two)))
	require.Equal(t, 7, two.N)
	one = first{B: &old}
	require.NoError(t, c.Decode(item.Item{"B": &nl{Value: true}}, reflect.ValueOf(&one)))
	require.Nil(t, one.B, "NULL replaces what the struct had")
}

// A map of attribute values can be nil, as one that the caller made may be.
func TestDecode_ANilMapHasNoAttributes(t *testing.T) {
	t.Parallel()
	type inner struct{ A string }
	type outer struct {
		In  inner
		Ptr *inner
		M   map[string]string
		Any any
	}
	none := &types.AttributeValueMemberM{}
	for _, c := range []*item.Codec{{}, compiled[outer](item.Codec{})} {
		var got outer
		require.NoError(t, c.Decode(item.Item{"In": none, "Ptr": none, "M": none, "Any": none}, reflect.ValueOf(&got)))
		require.Equal(t, outer{Ptr: &inner{}, M: map[string]string{}, Any: map[string]any{}}, got)
		got = outer{}
		require.NoError(t, c.Decode(nil, reflect.ValueOf(&got)))
		require.Zero(t, got)
	}
}

type user struct {
	ID   string `dynamodbav:"id,omitempty"`
	Name string `dynamodbav:"name"`
}

func TestDecode_APartIsReadFromTheKeyAndTheItemStaysAsItWas(t *testing.T) {
	t.Parallel()
	c := item.Codec{Parts: []item.KeyPart{{Attr: "id", Keys: []item.KeyText{{
		Attr: "PK", Template: &key.Template{Segments: []key.Segment{{Literal: "U#", Field: &key.Field{Attr: "id"}}}},
	}}}}}
	for _, c := range []*item.Codec{&c, compiled[user](c)} {
		stored := item.Item{"PK": item.S("U#7"), "name": item.S("n")}
		var got user
		require.NoError(t, c.Decode(stored, reflect.ValueOf(&got)))
		require.Equal(t, user{"7", "n"}, got)
		require.NotContains(t, stored, "id")
		got = user{}
		require.NoError(t, c.Decode(item.Item{"PK": item.S("U#7"), "id": item.S("8")}, reflect.ValueOf(&got)))
		require.Equal(t, "8", got.ID, "the attribute comes before the key")
		require.Error(t, c.Decode(item.Item{"PK": item.S("X#7")}, reflect.ValueOf(new(user))))
	}
}

func TestEncode_EmptyIsLeftOut(t *testing.T) {
	t.Parallel()
	type sets struct {
		F float64  `dynamodbav:"f,omitempty"`
		S []string `dynamodbav:"s,stringset,omitempty"`
		N []int    `dynamodbav:"n,numberset"`
	}
	c := item.Codec{Special: &item.Special{Sets: []string{"s"}}}
	it := must(c.Encode(reflect.ValueOf(sets{F: math.Copysign(0, -1), S: []string{}, N: []int{}})))
	require.Equal(t, item.Item{"n": &nl{Value: true}}, it)
	it = must(c.Encode(reflect.ValueOf(sets{F: 1, S: []string{"a"}, N: []int{1}})))
	require.Len(t, it, 3)
}

func TestDecode_ANestedTimeBeyondTheYearsIsAnError(t *testing.T) {
	t.Parallel()
	for _, seconds := range []string{"253402300800", "-62167219201"} {
		var e *item.FieldError
		err := codec0.Decode(item.Item{"one": &m{Value: item.Item{"at": item.N(seconds)}}}, reflect.ValueOf(new(visits)))
		require.ErrorAs(t, err, &e)
		require.Equal(t, "one", e.Attr)
		require.NotContains(t, err.Error(), seconds)
	}
}

func TestAppendKey_IsEqualForEqualKeysOnly(t *testing.T) {
	t.Parallel()
	text := func(pk, sk av) string {
		return string(item.AppendKey(nil, wire.Key{Names: &[2]string{"PK", "SK"}, Values: [2]types.AttributeValue{pk, sk}}))
	}
	require.Equal(t, text(item.S("a"), item.N("1")), text(item.S("a"), item.N("1.0")))
	require.Equal(t, text(item.S("a"), item.N("1e3")), text(item.S("a"), item.N("1000")))
	require.NotEqual(t, text(item.S("1"), item.N("1")), text(item.N("1"), item.S("1")))
	inner := string([]byte{byte(wire.S), 0, 0, 0, 0})
	require.NotEqual(t, text(item.S("x"+inner+"y"), item.S("z")), text(item.S("x"), item.S("y"+inner+"z")))
}

func TestCheckStorable_Numbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1.2.3", "", "-", "1-", strings.Repeat("9", 39), "1e126"} {
		require.Error(t, item.CheckStorable(item.Item{"a": item.N(text)}), "%q", text)
	}
	for _, text := range []string{"0", "-1.5", "123456789012345678", strings.Repeat("9", 38), "1e125", "1e-130"} {
		require.NoError(t, item.CheckStorable(item.Item{"a": item.N(text)}), "%q", text)
	}
	_, err := codec0.Encode(reflect.ValueOf(struct {
		F float64 `dynamodbav:",string"`
	}{math.NaN()}))
	require.Error(t, err, "a number that is stored as text")
	for range 20 { // map order changes
		var e *item.FieldError
		require.ErrorAs(t, item.CheckStorable(item.Item{"b": item.N("x"), "a": item.N("x"), "c": item.N("x")}), &e)
		require.Equal(t, "a", e.Attr, "the first by name")
	}
}

func TestText_CannotDriveATerminal(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " a", "a\x1b[31m", "a\nb", "a\u202eb", "\xff", `"`} {
		assert.Equal(t, byte('"'), item.Text(s)[0], "%q", s)
	}
	assert.Equal(t, "straße 7", item.Text("straße 7"))
}

// degrees has the text "0s" for its zero value, and no text below −273.
type degrees int

func (d degrees) MarshalText() ([]byte, error) {
	if d < -273 {
		return []byte("\xff"), nil
	}
	return []byte(time.Duration(d).String()), nil
}

func (d *degrees) UnmarshalText([]byte) error { return nil }

func TestTextField_EmptyAndUnstorableTexts(t *testing.T) {
	t.Parallel()
	f := item.TextField{Attr: "t", OmitEmpty: true, Zero: item.ZeroText(reflect.TypeFor[degrees]())}
	got := must(f.Encode(reflect.ValueOf(degrees(0))))
	require.Nil(t, got)
	got = must(f.Encode(reflect.ValueOf(degrees(5))))
	require.Equal(t, item.S("5ns"), got)
	_, err := f.Encode(reflect.ValueOf(degrees(-300)))
	var e *item.FieldError
	require.ErrorAs(t, err, &e, "text that is not UTF-8")
	f.OmitEmpty = false
	got = must(f.Encode(reflect.ValueOf(degrees(0))))
	require.Equal(t, item.S("0s"), got)

	// A map would leave a type without exported fields empty.
	c := item.Codec{Special: &item.Special{Texts: []item.TextField{{Index: []int{0}, Attr: "ip"}}}}
	type host struct {
		IP netip.Addr `dynamodbav:"ip"`
	}
	for _, v := range []av{&m{Value: item.Item{}}, item.N("1")} {
		require.ErrorAs(t, c.Decode(item.Item{"ip": v}, reflect.ValueOf(new(host))), &e)
		require.Equal(t, "ip", e.Attr)
	}
	require.NoError(t, c.Decode(item.Item{"ip": &nl{Value: true}}, reflect.ValueOf(new(host))))
}

// A set of the keys of a map is stored as that of a slice whose elements are in order.
func TestKeySet_IsStoredAsASortedSlice(t *testing.T) {
	type asMaps struct {
		Texts map[string]struct{}  `dynamodbav:"texts,stringset"`
		Nums  map[int8]struct{}    `dynamodbav:"nums,omitempty,numberset"`
		Bytes map[[2]byte]struct{} `dynamodbav:"bytes,omitempty,binaryset"`
	}
	type asSlices struct {
		Texts []string  `dynamodbav:"texts,stringset"`
		Bytes [][2]byte `dynamodbav:"bytes,omitempty,binaryset"`
	}
	for _, compiled := range []bool{true, false} {
		c := item.Codec{Special: &item.Special{Sets: []string{"nums", "bytes"}}}
		if compiled {
			require.True(t, c.Compile(reflect.TypeFor[asMaps]()))
		}
		rapid.Check(t, func(rt *rapid.T) {
			in := asMaps{
				Texts: rapid.MapOf(rapid.String(), rapid.Just(struct{}{})).Draw(rt, "texts"),
				Nums:  rapid.MapOf(rapid.Int8(), rapid.Just(struct{}{})).Draw(rt, "nums"),
			}
			var out asSlices
			for text := range in.Texts {
				out.Texts = append(out.Texts, text)
			}
			slices.Sort(out.Texts)
			for i := range rapid.IntRange(0, 3).Draw(rt, "bytes") {
				if in.Bytes == nil {
					in.Bytes = map[[2]byte]struct{}{}
				}
				in.Bytes[[2]byte{byte(9 - i), 1}] = struct{}{}
				out.Bytes = append(out.Bytes, [2]byte{byte(9 - i), 1})
			}
			slices.SortFunc(out.Bytes, func(a, b [2]byte) int { return bytes.Compare(a[:], b[:]) })
			it, err := c.Encode(reflect.ValueOf(in))
			require.NoError(rt, err)
			same, err := c.Encode(reflect.ValueOf(out))
			require.NoError(rt, err)
			require.Equal(rt, same["texts"], it["texts"])
			require.Equal(rt, same["bytes"], it["bytes"])
			var back asMaps
			require.NoError(rt, c.Decode(it, reflect.ValueOf(&back)))
			in.Texts, in.Nums = nilIfEmpty(in.Texts), nilIfEmpty(in.Nums) // an empty set has no other form than an absent one
			require.Equal(rt, in, back)
		})
	}
}

func nilIfEmpty[K comparable](m map[K]struct{}) map[K]struct{} {
	if len(m) == 0 {
		return nil
	}
	return m
}
