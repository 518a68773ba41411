package item_test

import (
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

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

// attributevalue leaves out, or writes as an empty map, what it cannot encode; no value may be lost in silence.
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
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec0.Encode(reflect.ValueOf(guarded{A: v}))
			require.Error(t, err)
			_, err = codec0.EncodeValue(reflect.ValueOf(v), "")
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
	it, err := codec0.Encode(reflect.ValueOf(struct {
		One  inked
		Many []inked
		Map  map[string]*inked
	}{inked{"a"}, []inked{{"b"}}, map[string]*inked{"k": {"c"}}}))
	require.NoError(t, err)
	require.Equal(t, item.Item{"One": item.S("ink:a"), "Many": &l{Value: []av{item.S("ink:b")}}, "Map": &m{Value: item.Item{"k": item.S("ink:c")}}}, it)
	got, err := codec0.EncodeValue(reflect.ValueOf(inked{"a"}), "")
	require.NoError(t, err)
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

// DynamoDB tells attributes apart by case. attributevalue would take either, by the order of a map.
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
	for range 20 { // the order of a map differs from time to time
		var v outer
		require.NoError(t, codec0.Decode(item.Item{
			"PK": item.S("right"), "pk": item.S("wrong"), "Pk": item.N("1"), "in": place, "IN": item.S("x"),
			"many": &m{Value: item.Item{"a": place, "A": place}}, "list": &l{Value: []av{place}},
		}, reflect.ValueOf(&v)))
		in := inner{"right"}
		require.Equal(t, outer{Base{"right"}, in, map[string]inner{"a": in, "A": in}, []*inner{{"right"}}}, v)
	}
}

// The shortest text of the largest float32 is a little more than it.
func TestDecode_LargestFloat32ComesBack(t *testing.T) {
	type floats struct {
		A float32
		B []float32 `dynamodbav:",numberset"`
		C *float32  `dynamodbav:",string"`
	}
	largest, least := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	want := floats{largest, []float32{largest, least}, &least}
	it, err := codec0.Encode(reflect.ValueOf(want))
	require.NoError(t, err)
	var got floats
	require.NoError(t, codec0.Decode(it, reflect.ValueOf(&got)))
	require.Equal(t, want, got)
	for _, text := range []string{"3.5e38", "-1e39"} {
		require.Error(t, codec0.Decode(item.Item{"A": item.N(text)}, reflect.ValueOf(&got)))
	}
}
