package entity_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Ref encodes itself as a string, Serial as a number, Sum as a binary, Fickle as what it holds.
type (
	Ref    struct{ Kind, ID string }
	Serial struct{ n uint64 }
	Sum    struct{ of string }
	Fickle struct{ Text string }
)

func (r Ref) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(strings.Trim(r.Kind+":"+r.ID, ":")), nil
}

func (r *Ref) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return errors.New("no string")
	}
	r.Kind, r.ID, _ = strings.Cut(s.Value, ":")
	return nil
}

func (s Serial) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.N(strconv.FormatUint(s.n, 10)), nil
}

func (s *Serial) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) (err error) {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("no number")
	}
	s.n, err = strconv.ParseUint(n.Value, 10, 64)
	return err
}

func (s Sum) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberB{Value: []byte(s.of)}, nil
}

func (s *Sum) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok {
		return errors.New("no binary")
	}
	s.of = string(b.Value)
	return nil
}

func (f Fickle) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if f.Text == "1" {
		return dbtest.N("1"), nil
	}
	return dbtest.S(f.Text), nil
}

func (f *Fickle) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	return attributevalue.Unmarshal(av, &f.Text)
}

// Hollow has no zero value that is stored.
type Hollow struct{ of *Ref }

func (h Hollow) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(h.of.ID), nil
}

func (h *Hollow) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }

// Written encodes itself, and does not read that.
type Written struct{ Text string }

func (w Written) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(w.Text), nil
}

// keyedBy has a key of one part. No store of it is opened, which would cost as much to compile for each V.
type keyedBy[V any] struct {
	_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
	ID V          `dynamodbav:"id"`
}

func TestKeys_OfTypesWhoseFormIsNotKnownAreRefused(t *testing.T) {
	t.Parallel()
	type padded struct {
		_  entity.Key `name:"D" pk:"$#{id:04}" sk:"$"`
		ID Ref        `dynamodbav:"id"`
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[keyedBy[Hollow]](), reflect.TypeFor[keyedBy[Sum]](), reflect.TypeFor[keyedBy[Written]](), reflect.TypeFor[padded](),
	} {
		require.Equal(t, "EDD-9037", dbtest.SchemaCode(declare(typ)), typ)
	}
}

// Code encodes itself as a text also if it is zero.
type Code struct{ n int }

func (c Code) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S("c" + strconv.Itoa(c.n)), nil
}

func (c *Code) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) (err error) {
	var text string
	if err = attributevalue.Unmarshal(av, &text); err == nil {
		c.n, err = strconv.Atoi(text[1:])
	}
	return err
}

func TestKeys_TheZeroValueIsMissingHoweverItEncodesItself(t *testing.T) {
	type coded struct {
		_    entity.Key `name:"Coded" pk:"$#{id}" sk:"$#{zero}#{text}"`
		ID   Code       `dynamodbav:"id"`
		Zero Code       `dynamodbav:"zero" entity:"zero"`
		Text Fickle     `dynamodbav:"text"`
	}
	l, s := open[coded](t)
	for _, wrong := range []coded{{Text: Fickle{"a"}}, {ID: Code{3}, Text: Fickle{"1"}}} {
		require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(s.Create(l.Ctx, wrong))))
	}
	require.Empty(t, l.Operations())
	v := coded{ID: Code{3}, Text: Fickle{"a"}}
	require.Equal(t, v, entity.Must(s.Create(l.Ctx, v)))
	require.Contains(t, l.Item("$app#v1#coded#c3", "$app#v1#coded#c0#a"), "zero")
}

// Bundle has key parts that encode themselves.
type Bundle struct {
	_      entity.Key `name:"Bundle" pk:"$#{ref}" sk:"$#{serial}"`
	_      entity.GSI `name:"bySerial" index:"gsi1" pk:"$#{serial}" sk:"$#{ref}" project:"keys"`
	Ref    Ref        `dynamodbav:"ref"`
	Serial Serial     `dynamodbav:"serial"`
	Note   string     `dynamodbav:"note,omitempty"`
}

func TestKeys_OfTypesThatEncodeThemselves(t *testing.T) {
	l, s := open[Bundle](t)
	f, first := entity.Fields[Bundle](), Bundle{Ref: Ref{"box", "a#1"}, Serial: Serial{9}, Note: "n"}
	for _, v := range []Bundle{first, {Ref: Ref{"box", "a#1"}, Serial: Serial{10}}, {Ref: Ref{"box", "b"}, Serial: Serial{9}}} {
		l.OK(s.Create(l.Ctx, v))
	}
	it := l.Item("$app#v1#bundle#box:a%231", "$app#v1#bundle#0000000000000000009")
	require.Equal(t, entity.Must(attributevalue.Marshal(first.Ref)), it["ref"])
	require.Equal(t, dbtest.N("9"), it["serial"])
	require.Equal(t, first, entity.Must(s.Get(l.Ctx, Bundle{Ref: first.Ref, Serial: first.Serial})))
	require.Len(t, entity.Must(s.Query(Bundle{Ref: first.Ref}).Collect(l.Ctx)), 2)
	later := entity.Must(s.Query(Bundle{Ref: first.Ref}, entity.Gt(&f.Serial, Serial{9})).Collect(l.Ctx))
	require.Equal(t, []Bundle{{Ref: first.Ref, Serial: Serial{10}}}, later)
	listed := entity.Must(entity.Must(s.Index("bySerial")).Query(Bundle{Serial: Serial{9}}).Collect(l.Ctx))
	require.Len(t, listed, 2)
	require.NoError(t, s.Delete(l.Ctx, Bundle{Ref: first.Ref, Serial: first.Serial}))

	for _, v := range []Bundle{{Serial: Serial{1}}, {Ref: Ref{"box", "a"}}} {
		require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(s.Create(l.Ctx, v))), "the zero value is a missing part")
	}
}

func TestKeys_ThatAreAttributesWhichEncodeThemselves(t *testing.T) {
	type file struct {
		_      entity.Key `name:"File" pk:"sum" sk:"serial"`
		Sum    Sum        `dynamodbav:"sum"`
		Serial Serial     `dynamodbav:"serial" entity:"zero"`
	}
	l, s := open[file](t)
	for _, n := range []uint64{0, 7} {
		v := file{Sum: Sum{"\x00\xff"}, Serial: Serial{n}}
		require.Equal(t, v, entity.Must(s.Create(l.Ctx, v)))
		require.Equal(t, v, entity.Must(s.Get(l.Ctx, v)))
	}
	require.Len(t, entity.Must(s.Query(file{Sum: Sum{"\x00\xff"}}).Collect(l.Ctx)), 2)
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(s.Create(l.Ctx, file{Serial: Serial{1}}))))
}

// Shade is a number whose key is its name.
type Shade int

func (s Shade) MarshalText() ([]byte, error) {
	if s < 0 {
		return nil, errors.New("no name")
	}
	return []byte{'s', byte('0' + s)}, nil
}

func (s *Shade) UnmarshalText(text []byte) error {
	*s = Shade(text[1] - '0')
	return nil
}

func TestMapEntry_FindsKeysAsTheyAreStored(t *testing.T) {
	home := netip.MustParseAddr("10.0.0.7")
	whole := Loose{
		ID: "a", Pk: "own", Int: map[int]int{-7: 1}, Small: map[uint8]int{255: 1}, Bool: map[bool]int{true: 1}, Float: map[float64]int{1.5e21: 1},
		Shades: map[Shade]int{3: 1}, Addrs: map[netip.Addr]int{home: 1},
	}
	l, s := opened(t, whole)
	f := entity.Fields[Loose]()
	bySDK := entity.Must(attributevalue.MarshalMap(whole))
	for name, av := range l.Item("$app#v1#loose#a", "$app#v1#loose") {
		if name == "id" || bySDK[name] == nil {
			continue
		}
		require.Equal(t, bySDK[name], av, name)
	}
	got := entity.Must(s.Update(l.Ctx, Loose{ID: "a"},
		entity.MapEntry(&f.Int, -7).Add(1), entity.MapEntry(&f.Int, 1<<40).Set(2), entity.MapEntry(&f.Small, 255).Set(2), entity.MapEntry(&f.Bool, true).Remove(),
		entity.MapEntry(&f.Float, 1.5e21).Set(2), entity.MapEntry(&f.Shades, 3).Set(2), entity.MapEntry(&f.Shades, 4).Set(5), entity.MapEntry(&f.Addrs, home).Set(2),
		entity.If(entity.MapEntry(&f.Addrs, home).Eq(1), entity.MapEntry(&f.Shades, 3).Lt(2), entity.MapEntry(&f.Bool, false).NotExists())))
	require.Equal(t, Loose{
		ID: "a", Pk: "own", Int: map[int]int{-7: 2, 1 << 40: 2}, Small: map[uint8]int{255: 2}, Bool: map[bool]int{}, Float: map[float64]int{1.5e21: 2},
		Shades: map[Shade]int{3: 2, 4: 5}, Addrs: map[netip.Addr]int{home: 2},
	}, got)
	require.Equal(t, got, entity.Must(s.Get(l.Ctx, Loose{ID: "a"}, entity.Consistent())))

	l.Sent()
	for _, change := range []entity.UpdateOption{entity.MapEntry(&f.Shades, -1).Set(1), entity.MapEntry(&f.Addrs, netip.Addr{}).Set(1)} {
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(s.Update(l.Ctx, Loose{ID: "a"}, change))))
	}
	other := map[*Shade]int{}
	l.requireRefused(t, dbtest.ErrorOf(s.Update(l.Ctx, Loose{ID: "a"}, entity.MapEntry(&other, nil).Set(1))), "EDD-9105", "")
}

// Amounts has decimals wherever a value can have one.
type Amounts struct {
	_       entity.Key             `name:"Amounts" pk:"$#{id}" sk:"$"`
	ID      string                 `dynamodbav:"id"`
	Number  json.Number            `dynamodbav:"number"`
	Pointer *json.Number           `dynamodbav:"pointer"`
	List    []json.Number          `dynamodbav:"list"`
	Set     []json.Number          `dynamodbav:"set,numberset"`
	Map     map[string]json.Number `dynamodbav:"map"`
	Any     any                    `dynamodbav:"any"`
	Absent  json.Number            `dynamodbav:"absent,omitempty"`
	Integer *big.Int               `dynamodbav:"integer,omitempty"`
	Ratio   *big.Rat               `dynamodbav:"ratio,omitempty"`
	Float   *big.Float             `dynamodbav:"float,omitempty"`
}

func TestNumbers_AreStoredWithoutLoss(t *testing.T) {
	l, s := open[Amounts](t)
	n := json.Number("-12345678901234567890.123456789012345678")
	v := Amounts{
		ID: "a", Number: n, Pointer: &n, List: []json.Number{n, "1E+100"}, Set: []json.Number{n}, Map: map[string]json.Number{"k": n}, Any: map[string]any{"x": attributevalue.Number(n)},
		Integer: new(big.Int).Lsh(big.NewInt(1), 300), Ratio: big.NewRat(1, 3), Float: big.NewFloat(0.1),
	}
	l.OK(s.Create(l.Ctx, v))
	it, bySDK := l.Item("$app#v1#amounts#a", "$app#v1#amounts"), entity.Must(attributevalue.MarshalMap(v))
	for _, name := range []string{"number", "pointer", "set", "map"} {
		require.Equal(t, bySDK[name], it[name], name)
	}
	require.Equal(t, dbtest.S("1/3"), it["ratio"])
	got := entity.Must(s.Get(l.Ctx, v, entity.Consistent()))
	require.Equal(t, []any{n, n, v.Set, v.Map, v.Any}, []any{got.Number, *got.Pointer, got.Set, got.Map, got.Any})
	require.Equal(t, []string{v.Integer.String(), "1/3", "0.1"}, []string{got.Integer.String(), got.Ratio.String(), got.Float.String()})

	f := entity.Fields[Amounts]()
	got = entity.Must(s.Update(l.Ctx, v, entity.Set(&f.Number, "2.5"), entity.MapEntry(&f.Map, "k").Add("0.000000000000000001"),
		entity.Attr[json.Number]("absent").Add("12345678901234567890.1"), entity.If(entity.Lt(&f.Number, "-1"))))
	require.Equal(t, []json.Number{"2.5", "-12345678901234567890.123456789012345677", "12345678901234567890.1"}, []json.Number{got.Number, got.Map["k"], got.Absent})

	l.Sent()
	for name, change := range map[string]func(*Amounts){
		"an empty number":            func(v *Amounts) { v.Number = "" },
		"no number":                  func(v *Amounts) { v.List[0] = "x" },
		"39 digits":                  func(v *Amounts) { v.Number = n + "9" },
		"a float that is more exact": func(v *Amounts) { v.Float = new(big.Float).SetPrec(100).Quo(big.NewFloat(1), big.NewFloat(3)) },
	} {
		wrong := v
		wrong.List = []json.Number{"1"}
		change(&wrong)
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(s.Put(l.Ctx, wrong))), name)
	}
	require.Empty(t, l.Operations())
	exact := v
	exact.Float = new(big.Float).SetPrec(100).SetInt64(7) // its text has the same value with less
	require.Zero(t, exact.Float.Cmp(entity.Must(s.Put(l.Ctx, exact)).Float))
}
