package item_test

import (
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
)

type stamp time.Time

type clocks struct {
	Nano   time.Time  `dynamodbav:"nano"`
	Sec    time.Time  `dynamodbav:"sec"`
	Unix   time.Time  `dynamodbav:"unix"`
	Millis *time.Time `dynamodbav:"millis,omitempty"`
	Null   *time.Time `dynamodbav:"null"`
	Empty  time.Time  `dynamodbav:"empty,omitempty"`
	Named  stamp      `dynamodbav:"named"`
	Inner  struct {
		At   time.Time `dynamodbav:"at"`
		None time.Time `dynamodbav:"none,omitempty"`
	} `dynamodbav:"inner"`
}

var codec = item.Codec{Default: key.Micro, Special: &item.Special{Times: []item.TimeField{
	{Index: []int{0}, Attr: "nano", Format: key.Nano},
	{Index: []int{1}, Attr: "sec", Format: key.Second},
	{Index: []int{2}, Attr: "unix", Format: key.Unix},
	{Index: []int{3}, Attr: "millis", Format: key.UnixMilli, OmitEmpty: true},
	{Index: []int{4}, Attr: "null", Format: key.Nano},
	{Index: []int{5}, Attr: "empty", Format: key.Nano, OmitEmpty: true},
	{Index: []int{6}, Attr: "named", Format: key.Milli},
}}}

func TestCodec_TimesAreWrittenInTheirFormatAndReadBack(t *testing.T) {
	zone := time.FixedZone("x", 3600)
	at := time.Date(2026, 4, 22, 11, 0, 0, 120_000_000, zone)
	v := clocks{Nano: at, Sec: at, Unix: at, Millis: &at, Named: stamp(at)}
	v.Inner.At = at
	it := must(codec.Encode(reflect.ValueOf(v)))
	require.Equal(t, item.S("2026-04-22T10:00:00.120000000Z"), it["nano"], "UTC, nine digits, zeros kept: text order is time order")
	require.Equal(t, item.S("2026-04-22T10:00:00Z"), it["sec"])
	require.Equal(t, item.N("1776852000"), it["unix"])
	require.Equal(t, item.N("1776852000120"), it["millis"])
	require.Equal(t, &nl{Value: true}, it["null"])
	require.NotContains(t, it, "empty", "a zero time with omitempty is absent, not the year 1")
	require.Equal(t, item.S("2026-04-22T10:00:00.120Z"), it["named"])
	require.Equal(t, &m{Value: item.Item{"at": item.S("2026-04-22T10:00:00.120000Z")}}, it["inner"])

	var back clocks
	require.NoError(t, codec.Decode(it, reflect.ValueOf(&back)))
	require.True(t, back.Nano.Equal(at))
	require.True(t, back.Millis.Equal(at))
	require.True(t, back.Unix.Equal(at.Truncate(time.Second)))
	require.Nil(t, back.Null)
	require.True(t, time.Time(back.Named).Equal(at))
	require.Equal(t, time.UTC, back.Nano.Location())
}

func TestCodec_ReadsAnyRFC3339(t *testing.T) {
	for _, text := range []string{"2026-04-22T10:00:00Z", "2026-04-22T12:00:00+02:00", "2026-04-22T10:00:00.000Z"} {
		var back clocks
		require.NoError(t, codec.Decode(item.Item{"nano": item.S(text), "inner": &m{Value: item.Item{"at": item.S(text)}}}, reflect.ValueOf(&back)))
		want := time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)
		require.True(t, back.Nano.Equal(want))
		require.True(t, back.Inner.At.Equal(want))
	}
	var back clocks
	require.Error(t, codec.Decode(item.Item{"nano": item.S("yesterday")}, reflect.ValueOf(&back)))
	require.Error(t, codec.Decode(item.Item{"unix": item.S("2026-04-22T10:00:00Z")}, reflect.ValueOf(&back)), "text in a field of epoch seconds")
}

func TestTimeField_ExactRefusesWhatItWouldTruncate(t *testing.T) {
	f := item.TimeField{Attr: "t", Format: key.Second, Exact: true}
	_, err := f.Encode(reflect.ValueOf(time.Unix(1, 1)), nil)
	var e *item.FieldError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "t", e.Attr)
	_, err = f.Encode(reflect.ValueOf(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	require.ErrorAs(t, err, &e)
}

func TestEncodeValue_KeepsTheFieldsCodecOptions(t *testing.T) {
	got := must(codec.EncodeValue(nil, reflect.ValueOf([]string{"a"}), ",stringset"))
	require.Equal(t, &ss{Value: []string{"a"}}, got)
	got = must(codec.EncodeValue(nil, reflect.ValueOf(""), ",omitempty"))
	require.Nil(t, got)
	got = must(codec.EncodeValue(nil, reflect.ValueOf([]byte{1}), ""))
	require.Equal(t, &b{Value: []byte{1}}, got, "bytes are a binary, not a list of numbers")
}

func TestCodec_AMisfitNamesTheAttributeAndHidesTheValue(t *testing.T) {
	var v struct {
		Small int8   `dynamodbav:"small"`
		Name  string `dynamodbav:"name"`
	}
	err := (&item.Codec{}).Decode(item.Item{"name": item.S("x"), "small": item.N("30017")}, reflect.ValueOf(&v))
	var e *item.FieldError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "small", e.Attr)
	require.NotContains(t, err.Error(), "30017")
	require.Contains(t, err.Error(), "(N)")
}

// inked encodes itself when it has an address.
type inked struct{ text string }

func (i *inked) MarshalDynamoDBAttributeValue() (av, error) { return item.S("ink:" + i.text), nil }
func (i *inked) UnmarshalDynamoDBAttributeValue(v av) error {
	i.text = reflect.ValueOf(v).Elem().FieldByName("Value").String()
	return nil
}

type loop struct{ Next *loop }

type guarded struct {
	sync.Mutex
	A any
}

// mark is a byte of its own type, and so is inkedByte, which encodes itself.
type (
	mark      byte
	inkedByte byte
)

func (inkedByte) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return item.S("ink"), nil
}

// attributevalue leaves out, or writes as an empty map, what it cannot encode. No value may be lost without an error.
func TestEncode_ValuesThatWouldBeLostAreRefused(t *testing.T) {
	round := &loop{}
	round.Next = round
	ring := map[string]any{}
	ring["ring"] = ring
	for name, v := range map[string]any{
		"function": func() {}, "nil function": (func())(nil), "channel": make(chan int), "complex": complex(1, 2), "pointer": uintptr(1),
		"in a map": map[string]any{"a": 1, "f": func() {}}, "deep": map[string]any{"a": []any{1, map[string]any{"c": make(chan int)}}},
		"in a struct": struct{ F func() }{}, "in a struct's list": []any{struct{ L []any }{[]any{complex64(1)}}},
		"hidden content": big.NewInt(1), "hidden content, by value": netip.MustParseAddr("10.0.0.1"),
		"encodes itself by address": map[string]any{"a": inked{"x"}}, "nil that encodes itself": []any{(*inked)(nil)}, "without end": round, "within itself": ring,
		"not a number": math.NaN(), "no text": "\xff", "no text as a key": map[string]any{"\xff": 1}, "a map of arrays": map[[1]int]int{{1}: 1},
		"one attribute twice": struct {
			A string `dynamodbav:"x"`
			B string `dynamodbav:"x"`
		}{}, "an embedded time": []any{struct{ time.Time }{}},
		"other bytes": []mark{}, "an array of other bytes": map[string]any{"a": [1]mark{}}, "bytes that encode themselves": []any{[]inkedByte{1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec0.Encode(reflect.ValueOf(guarded{A: v}))
			require.Error(t, err)
			_, err = codec0.EncodeValue(nil, reflect.ValueOf(v), "")
			require.Error(t, err)
			var f *item.FieldError
			if name != "a map of arrays" { // attributevalue's own error
				require.ErrorAs(t, err, &f)
				require.NotContains(t, f.Problem, "10.0.0.1")
			}
		})
	}
	for _, v := range []any{nil, 1, "", []any{}, map[string]any{"a": nil}, struct{}{}, &inked{"x"}, (*loop)(nil), &loop{&loop{}}, &guarded{}, map[string]struct{}{"a": {}}} {
		_, err := codec0.Encode(reflect.ValueOf(guarded{A: v}))
		require.NoError(t, err, "%T", v)
	}
}

func TestEncode_MethodsOfPointersAreUsed(t *testing.T) {
	it := must(codec0.Encode(reflect.ValueOf(struct {
		One  inked
		Many []inked
		Map  map[string]*inked
	}{inked{"a"}, []inked{{"b"}}, map[string]*inked{"k": {"c"}}})))
	require.Equal(t, item.Item{"One": item.S("ink:a"), "Many": &l{Value: []av{item.S("ink:b")}}, "Map": &m{Value: item.Item{"k": item.S("ink:c")}}}, it)
	got := must(codec0.EncodeValue(nil, reflect.ValueOf(inked{"a"}), ""))
	require.Equal(t, item.S("ink:a"), got)
}

func TestCheckStorable_FindsBadTextsAndSets(t *testing.T) {
	for _, v := range []av{
		item.S("a\xff"), &m{Value: item.Item{"\xff": item.S("")}}, &l{Value: []av{item.S("\xc3")}}, &ss{Value: []string{"\xff"}},
		&ss{Value: []string{"a", "b", "a"}}, &ns{Value: []string{"1", "1.0"}}, &ns{Value: []string{"100", "1e2"}}, &bs{Value: [][]byte{{1}, {1}}}, &ns{Value: []string{"x"}},
	} {
		var e *item.FieldError
		require.ErrorAs(t, item.CheckStorable(item.Item{"zeta": v, "fine": item.S("ä\x00")}), &e)
		require.Equal(t, "zeta", e.Attr)
	}
	require.NoError(t, item.CheckStorable(item.Item{"a": &ss{Value: []string{"", "a", "A"}}, "b": &ns{Value: []string{"1", "-1"}}, "c": &bs{Value: [][]byte{{}, {1}}}}))
}

// word reads itself from one element of a set.
type word struct{ text string }

func (w *word) UnmarshalDynamoDBAttributeValue(v av) error {
	w.text = reflect.ValueOf(v).Elem().FieldByName("Value").String()
	return nil
}

func TestDecode_EachElementOfASetIsReadByItself(t *testing.T) {
	var v struct{ A []word }
	require.NoError(t, codec0.Decode(item.Item{"A": &ss{Value: []string{"x", "y"}}}, reflect.ValueOf(&v)))
	require.Equal(t, []word{{"x"}, {"y"}}, v.A)
}

var codec0 item.Codec

// arrays has an array of each kind that the codec fills.
type arrays struct {
	Bytes [2]byte
	Ints  [2]int
	Sets  [2]string
	Deep  map[string][]struct{ B [1]byte }
	Many  [][2]byte
	Ptr   *[2]byte
}

func TestDecode_WhatAnArrayCannotHoldIsAnError(t *testing.T) {
	bin := func(n int) av { return &b{Value: make([]byte, n)} }
	for name, c := range map[string]struct {
		attr string
		v    av
	}{
		"binary too long": {"Bytes", bin(3)}, "binary too short": {"Bytes", bin(1)}, "empty binary": {"Bytes", bin(0)}, "by pointer": {"Ptr", bin(3)},
		"list": {"Ints", &l{Value: []av{item.N("1"), item.N("2"), item.N("3")}}}, "number set": {"Ints", &ns{Value: []string{"1", "2", "3"}}},
		"string set": {"Sets", &ss{Value: []string{"1", "2", "3"}}}, "list of binaries": {"Many", &l{Value: []av{bin(2), bin(3)}}}, "binary set": {"Many", &bs{Value: [][]byte{{1}}}},
		"deep inside": {"Deep", &m{Value: item.Item{"k": &l{Value: []av{&m{Value: item.Item{"B": bin(2)}}}}}}},
	} {
		var v arrays
		var e *item.FieldError
		require.ErrorAs(t, codec0.Decode(item.Item{c.attr: c.v}, reflect.ValueOf(&v)), &e, name)
		require.Equal(t, c.attr, e.Attr, name)
	}
	var v arrays
	require.NoError(t, codec0.Decode(item.Item{"Bytes": &b{Value: []byte{1, 2}}, "Ints": &l{Value: []av{item.N("7")}}, "Many": &bs{Value: [][]byte{{1, 2}}}, "Ptr": &nl{Value: true}}, reflect.ValueOf(&v)))
	require.Equal(t, arrays{Bytes: [2]byte{1, 2}, Ints: [2]int{7}, Many: [][2]byte{{1, 2}}}, v)
}

// DynamoDB distinguishes attributes by case. attributevalue would take either, in map order.
func TestDecode_NamesAreTakenByTheirCase(t *testing.T) {
	type Base struct {
		Key string `dynamodbav:"PK"`
	}
	type inner struct {
		City string `dynamodbav:"city"`
	}
	type outer struct {
		Base
		In   inner            `dynamodbav:"in"`
		Many map[string]inner `dynamodbav:"many"`
		List []*inner         `dynamodbav:"list"`
	}
	place := &m{Value: item.Item{"city": item.S("right"), "City": item.S("wrong"), "CITY": item.N("1")}}
	for range 20 { // map order changes
		var v outer
		require.NoError(t, codec0.Decode(item.Item{
			"PK": item.S("right"), "pk": item.S("wrong"), "Pk": item.N("1"), "in": place, "IN": item.S("x"),
			"many": &m{Value: item.Item{"a": place, "A": place}}, "list": &l{Value: []av{place}},
		}, reflect.ValueOf(&v)))
		in := inner{"right"}
		require.Equal(t, outer{Base{"right"}, in, map[string]inner{"a": in, "A": in}, []*inner{{"right"}}}, v)
	}
}

// The shortest text of the largest float32 is slightly above it.
func TestDecode_LargestFloat32ComesBack(t *testing.T) {
	type floats struct {
		A float32
		B []float32  `dynamodbav:",numberset"`
		C *float32   `dynamodbav:",string"`
		D []*float32 `dynamodbav:",numberset"`
	}
	largest, least := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	want := floats{largest, []float32{largest, least}, &least, []*float32{&largest, &least}}
	it := must(codec0.Encode(reflect.ValueOf(want)))
	var got floats
	require.NoError(t, codec0.Decode(it, reflect.ValueOf(&got)))
	require.Equal(t, want, got)
	for _, text := range []string{"3.5e38", "-1e39"} {
		require.Error(t, codec0.Decode(item.Item{"A": item.N(text)}, reflect.ValueOf(&got)))
	}
}

type instant time.Time

type visit struct {
	At    time.Time   `dynamodbav:"at,unixtime"`
	Until *time.Time  `dynamodbav:"until,unixtime"`
	Named instant     `dynamodbav:"named,unixtime,omitempty"`
	Text  time.Time   `dynamodbav:"text"`
	Next  *visit      `dynamodbav:"next"`
	Plain []time.Time `dynamodbav:"plain"`
}

type Embedded struct {
	Since time.Time `dynamodbav:"since,unixtime"`
}

type visits struct {
	One   visit              `dynamodbav:"one"`
	Ref   *visit             `dynamodbav:"ref"`
	List  []visit            `dynamodbav:"list"`
	Array [1]visit           `dynamodbav:"array"`
	Map   map[string]visit   `dynamodbav:"map"`
	Refs  map[string]*visit  `dynamodbav:"refs"`
	Deep  map[string][]visit `dynamodbav:"deep"`
	Outer struct{ Embedded } `dynamodbav:"outer"`
}

// This test changes the zone of the process, so it is not parallel.
func TestDecode_NestedUnixTimesAreInUTC(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("elsewhere", 7*3600)
	t.Cleanup(func() { time.Local = local })
	at := time.Unix(1_700_000_000, 0).UTC()
	one := visit{At: at, Until: &at, Named: instant(at), Text: at, Plain: []time.Time{at}}
	one.Next = &visit{At: at, Until: &at, Named: instant(at), Text: at}
	want := visits{
		One: one, Ref: &one, List: []visit{one, one}, Array: [1]visit{one}, Map: map[string]visit{"a": one},
		Refs: map[string]*visit{"a": &one, "b": nil}, Deep: map[string][]visit{"a": {one}}, Outer: struct{ Embedded }{Embedded{at}},
	}
	var c item.Codec
	it := must(c.Encode(reflect.ValueOf(want)))
	require.Equal(t, item.N("1700000000"), it["one"].(*types.AttributeValueMemberM).Value["at"])
	var got visits
	require.NoError(t, c.Decode(it, reflect.ValueOf(&got)))
	require.Equal(t, want, got)
}

func TestDecode_TwoStoredKeysThatAreOneAreAnError(t *testing.T) {
	t.Parallel()
	type ints struct {
		M map[int]string           `dynamodbav:"m"`
		L []map[float64]string     `dynamodbav:"l"`
		B map[string]map[bool]bool `dynamodbav:"b"`
		S map[string]string        `dynamodbav:"s"`
	}
	m := func(names ...string) types.AttributeValue {
		v := item.Item{}
		for _, name := range names {
			v[name] = item.S("x")
		}
		return &types.AttributeValueMemberM{Value: v}
	}
	var c item.Codec
	for name, bad := range map[string]types.AttributeValue{
		"m": m("1", "01", "2"), "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{m("1"), m("1", "1.0")}},
		"b": &types.AttributeValueMemberM{Value: item.Item{"k": m("true", "1")}},
	} {
		err := c.Decode(item.Item{name: bad}, reflect.ValueOf(new(ints)))
		var field *item.FieldError
		require.ErrorAs(t, err, &field, name)
		require.Equal(t, name, field.Attr)
		require.Contains(t, field.Problem, "two stored keys are one")
	}
	var got ints
	require.NoError(t, c.Decode(item.Item{"m": m("01", "-1"), "s": m("1", "01")}, reflect.ValueOf(&got)))
	require.Equal(t, map[int]string{1: "x", -1: "x"}, got.M)
	require.Len(t, got.S, 2, "texts are keys as they are")
	require.Error(t, c.Decode(item.Item{"m": m("1", "one")}, reflect.ValueOf(&got)))
}

type (
	outline []outline
	tree    map[string]tree
	pages   struct{ Chapters []*tree }
)

// Such types are left to attributevalue, which decodes as deep as the value goes.
func TestDecode_TypesThatContainThemselvesWithoutAStruct(t *testing.T) {
	t.Parallel()
	type book struct {
		Title   string
		Outline outline
		Tree    tree
		Pages   pages
	}
	want := book{Title: "a", Outline: outline{{}, {{}, {}}}, Tree: tree{"a": {"b": {}, "c": {"d": {}}}}, Pages: pages{[]*tree{{"a": {}}}}}
	c := &item.Codec{}
	c.Compile(reflect.TypeFor[book]())
	it := must(c.Encode(reflect.ValueOf(want)))
	var got book
	require.NoError(t, c.Decode(it, reflect.ValueOf(&got)))
	assert.Equal(t, want, got)
}

func TestRead_TakesFromTheGivenValueWhatTheItemHasAsWell(t *testing.T) {
	t.Parallel()
	type counter struct {
		Name    string  `dynamodbav:"name"`
		Rest    float64 `dynamodbav:"rest,omitempty"`
		Version int     `dynamodbav:"version"`
		Tags    []string
		At      time.Time
	}
	c := &item.Codec{Kept: []string{"version"}, Special: &item.Special{Times: []item.TimeField{{Index: []int{4}, Attr: "At", Format: key.Second}}}}
	require.True(t, c.Compile(reflect.TypeFor[counter]()))
	at := time.Date(2026, 4, 22, 12, 0, 0, 5e8, time.FixedZone("", 3600))
	given := counter{Name: "a", Rest: math.Copysign(0, -1), Version: 7, Tags: []string{"x"}, At: at}
	it, err := c.Encode(reflect.ValueOf(given))
	require.NoError(t, err)
	it["version"] = item.N("1") // by the library
	delete(it, "name")          // which is not asked
	var got counter
	require.NoError(t, c.Read(wire.Of(it), reflect.ValueOf(given), reflect.ValueOf(&got)))
	given.Tags[0] = "y" // the result has a list of its own
	require.Equal(t, counter{Name: "a", Version: 1, Tags: []string{"x"}, At: at.UTC().Truncate(time.Second)}, got)
	require.False(t, math.Signbit(got.Rest), "minus zero is left out, and zero comes back")
}
