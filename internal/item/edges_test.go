package item_test

import (
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
)

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
	c := item.Codec{Sets: []string{"s"}}
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
	c := item.Codec{Texts: []item.TextField{{Index: []int{0}, Attr: "ip"}}}
	type host struct {
		IP netip.Addr `dynamodbav:"ip"`
	}
	for _, v := range []av{&m{Value: item.Item{}}, item.N("1")} {
		require.ErrorAs(t, c.Decode(item.Item{"ip": v}, reflect.ValueOf(new(host))), &e)
		require.Equal(t, "ip", e.Attr)
	}
	require.NoError(t, c.Decode(item.Item{"ip": &nl{Value: true}}, reflect.ValueOf(new(host))))
}
