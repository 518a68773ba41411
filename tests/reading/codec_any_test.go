package reading_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/tests/wiretest"
)

// anything has values of any type, where the library decodes them and where attributevalue does.
type anything struct {
	One   any            `dynamodbav:"one"`
	Named map[string]any `dynamodbav:"named"`
	Many  []any          `dynamodbav:"many"`
	Deep  struct {
		In *any2 `dynamodbav:"in"`
	} `dynamodbav:"deep"`
	Array   [1]any         `dynamodbav:"array"`
	Numbers map[int]any    `dynamodbav:"numbers"`
	Nested  map[int][]any2 `dynamodbav:"nested"`
}

// bag is an entity with them.
type bag struct {
	_  entity.Key `name:"Bag" pk:"pk={id}"`
	ID string     `dynamodbav:"id"`
	anything
}

type any2 struct {
	V any `dynamodbav:"v"`
}

func codecs() map[string]func(*entity.Config) {
	return map[string]func(*entity.Config){
		"own": func(*entity.Config) {}, "sdk": func(c *entity.Config) { c.Codec = entity.SDKCodec },
	}
}

// everyType are values of each type of DynamoDB, with numbers that no float64 is.
func everyType() []types.AttributeValue {
	n, s := dbtest.N, dbtest.S
	all := []types.AttributeValue{
		s(""), s("ä\x00"), &types.AttributeValueMemberB{Value: []byte{0, 255}}, &types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true},
		&types.AttributeValueMemberSS{Value: []string{"", "a"}}, &types.AttributeValueMemberNS{Value: []string{"1", "9007199254740993", "0.1"}},
		&types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, &types.AttributeValueMemberL{Value: []types.AttributeValue{}}, &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
	}
	for _, text := range []string{"0", "3", "-3", "0.1", "1.5", "123456789012345", "9007199254740992", "9007199254740993", "12345678901234567890123456789012345678", "0.12345678901234567890123456789", "-0.3333333333333333333333333",
		"1000000000000000000000", "100000000000000000000000000000000000001", "0.000000000000000000000000000001"} {
		if _, err := item.ParseDecimal(text); err == nil {
			all = append(all, n(text))
		}
	}
	return append(all, &types.AttributeValueMemberL{Value: append([]types.AttributeValue{}, all...)},
		&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: all}, "s": all[5], "n": n("9007199254740993")}})
}

func TestAny_TypesOfNumbersAndSets(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[bag](t)
	b.PutItem(dbtest.Item{"pk": dbtest.S("x"), "id": dbtest.S("x"), "many": &types.AttributeValueMemberL{Value: everyType()[5:8]}, "one": &types.AttributeValueMemberL{Value: []types.AttributeValue{
		dbtest.N("3"), dbtest.N("0.1"), dbtest.N("9007199254740992"), dbtest.N("9007199254740993"), dbtest.N("123456789.0123456789"),
	}}})
	read := entity.Must(store.Get(t.Context(), bag{ID: "x"}))
	require.Equal(t, []any{3.0, 0.1, float64(1 << 53), attributevalue.Number("9007199254740993"), attributevalue.Number("123456789.0123456789")}, read.One)
	require.IsType(t, entity.StringSet{}, read.Many[0])
	require.ElementsMatch(t, []attributevalue.Number{"1", "9007199254740993", "0.1"}, read.Many[1].(entity.NumberSet))
	require.IsType(t, [][]byte{}, read.Many[2])
	empty := entity.Must(entitytype.NumberSet{}.MarshalDynamoDBAttributeValue())
	require.Equal(t, &types.AttributeValueMemberNULL{Value: true}, empty)
}

// What is read into any is written as it was: every digit, and sets as sets.
func TestAny_RandomValuesAreEncodedAsTheyWereRead(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	values := everyType()
	for range testsize.Pick(2_000, 15_000) {
		values = append(values, wiretest.Value(r, 3))
	}
	var c item.Codec
	compiled := c
	compiled.Compile(reflect.TypeFor[anything]())
	kept := 0
	entry := func(name string, v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{name: v}}
	}
	list := func(v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{v}}
	}
	for _, v := range values {
		if item.CheckStorable(item.Item{"v": v}) != nil || !storable(v) {
			continue
		}
		was := item.Item{
			"one": v, "named": entry("a", v), "many": list(v), "array": list(v), "deep": entry("in", entry("v", v)), "numbers": entry("7", v), "nested": entry("7", list(entry("v", v))),
		}
		for _, c := range []*item.Codec{&c, &compiled} {
			var got anything
			require.NoError(t, decode(c, was, &got))
			for _, same := range []any{got.Named["a"], got.Many[0], got.Deep.In.V, got.Array[0], got.Numbers[7], got.Nested[7][0].V} {
				require.Equal(t, got.One, same, "one type wherever it stands")
			}
			back := entity.Must(encode(c, got))
			kept++
			for name := range was {
				require.True(t, item.Equal(was[name], back[name]), "%s: %#v is %#v", name, was[name], back[name])
			}
		}
	}
	require.Greater(t, kept, 1_000)
}

// storable reports whether v has neither an empty set nor an empty name.
func storable(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		return len(v.Value) > 0
	case *types.AttributeValueMemberNS:
		return len(v.Value) > 0
	case *types.AttributeValueMemberBS:
		return len(v.Value) > 0
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return !storable(e) })
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			if name == "" || !storable(e) {
				return false
			}
		}
	}
	return true
}

func encode(c *item.Codec, v any) (item.Item, error) { return c.Encode(reflect.ValueOf(v)) }

func decode(c *item.Codec, it item.Item, into any) error { return c.Decode(it, reflect.ValueOf(into)) }

// A method that returns no value would leave its type to be stored as its fields. It is refused before any request.
type (
	mute      struct{ Content string }
	muteByPtr struct{ Content string }
	muteText  string
	lateText  string
	spoken    struct {
		_      entity.Key       `name:"Spoken" pk:"$#{id}"`
		ID     string           `dynamodbav:"id"`
		A      mute             `dynamodbav:"a"`
		B      *muteByPtr       `dynamodbav:"b,omitempty"`
		C      []mute           `dynamodbav:"c,omitempty"`
		D      map[string]*mute `dynamodbav:"d,omitempty"`
		E      any              `dynamodbav:"e,omitempty"`
		F      muteText         `dynamodbav:"f,omitempty"`
		G      struct{ M mute } `dynamodbav:"g"`
		H      lateText         `dynamodbav:"h"`
		Closed shut             `dynamodbav:"closed" entity:"text"`
	}
	shut string
)

func said(content string) (types.AttributeValue, error) {
	if content == "" {
		return nil, nil
	}
	if content == "null" {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	return dbtest.S("said " + content), nil
}

func (m mute) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return said(m.Content) }
func (m *muteByPtr) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return said(m.Content)
}
func (m muteText) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return said(string(m[1:]))
}
func (m lateText) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return said(string(m))
}
func (m *mute) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }
func (s shut) MarshalText() ([]byte, error) {
	if s == "nil" {
		return nil, nil
	}
	return append([]byte("s"), s...), nil
}

func (s *shut) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("no text")
	}
	*s = shut(text[1:])
	return nil
}

func TestMarshaler_ThatReturnsNoValueIsRefused(t *testing.T) {
	t.Parallel()
	for name, config := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, store := dbtest.OpenStore[spoken](t, config)
			fine := spoken{ID: "x", A: mute{"a"}, H: "h"}
			fine.G.M = mute{"g"}
			sent := len(b.Sent())
			for what, change := range map[string]func(*spoken){
				"a value":            func(v *spoken) { v.A = mute{} },
				"a pointer":          func(v *spoken) { v.B = &muteByPtr{} },
				"an element":         func(v *spoken) { v.C = []mute{{"c"}, {}} },
				"an entry":           func(v *spoken) { v.D = map[string]*mute{"d": {}} },
				"inside an any":      func(v *spoken) { v.E = []any{mute{}} },
				"a pointer in any":   func(v *spoken) { v.E = &muteByPtr{} },
				"a text":             func(v *spoken) { v.F = "-" },
				"a zero text":        func(v *spoken) { v.H = "" },
				"a field":            func(v *spoken) { v.G.M = mute{} },
				"text, not readable": func(v *spoken) { v.Closed = "nil" },
			} {
				v := fine
				change(&v)
				_, err := store.Put(t.Context(), v)
				require.Equal(t, "EDD-9102", dbtest.InputCode(err), "%s: %v", what, err)
			}
			_, err := store.Update(t.Context(), fine, entity.Set(&entity.Fields[spoken]().A, mute{}))
			require.Equal(t, "EDD-9102", dbtest.InputCode(err))
			require.Len(t, b.Sent(), sent, "no request")
			fine.B, fine.C, fine.D = &muteByPtr{"null"}, []mute{{"null"}}, map[string]*mute{"d": nil}
			b.OK(store.Put(t.Context(), fine))
			it := b.Items()[0]
			require.NotContains(t, it, "b", "NULL under omitempty is absent")
			require.NotContains(t, it, "f", "an empty value under omitempty is not asked")
			require.Equal(t, dbtest.S("said a"), it["a"])
		})
	}
}

// once counts how often it is asked.
type once struct{ asked *int }

func (o once) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	*o.asked++
	return dbtest.S("x"), nil
}

func TestMarshaler_OfAFieldIsAskedOnce(t *testing.T) {
	t.Parallel()
	n := 0
	require.NoError(t, dbtest.ErrorOf(encode(&item.Codec{}, struct{ A once }{once{&n}})))
	require.Equal(t, 1, n)
}

func TestCollect_OfNothingIsAnEmptyList(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[bag](t)
	ctx := context.Background()
	asJSON := func(v any, err error) {
		t.Helper()
		require.NoError(t, err)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, "[]", string(text))
	}
	asJSON(store.Query(bag{ID: "none"}).Collect(ctx))
	asJSON(store.Scan().Collect(ctx))
	asJSON(store.GetMany(ctx, nil))
	type part struct {
		One any `dynamodbav:"one"`
	}
	asJSON(entity.Project[part](store.Query(bag{ID: "none"})).Collect(ctx))
	all := []bag{{ID: "before"}}
	require.NoError(t, b.DB.GetCollection(ctx, store.Query(bag{ID: "none"}).Into(&all)))
	asJSON(all, nil)
	page, err := store.Query(bag{ID: "none"}).Page(ctx, "")
	asJSON(page.Items, err)
}
