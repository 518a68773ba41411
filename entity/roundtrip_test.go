package entity_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

type colour string

// Everything has a field of every kind of type that can be stored.
type Everything struct {
	_ entity.Key `name:"Everything" pk:"$#{id}" sk:"$"`
	Common

	ID         string                `dynamodbav:"id"`
	Int        int                   `dynamodbav:"int"`
	Int8       int8                  `dynamodbav:"int8"`
	Int16      int16                 `dynamodbav:"int16"`
	Int32      int32                 `dynamodbav:"int32"`
	Int64      int64                 `dynamodbav:"int64"`
	Uint       uint                  `dynamodbav:"uint"`
	Uint8      uint8                 `dynamodbav:"uint8"`
	Uint16     uint16                `dynamodbav:"uint16"`
	Uint32     uint32                `dynamodbav:"uint32"`
	Uint64     uint64                `dynamodbav:"uint64"`
	Float32    float32               `dynamodbav:"float32"`
	Float64    float64               `dynamodbav:"float64"`
	Digits     int64                 `dynamodbav:"digits,string"`
	Ratio      float64               `dynamodbav:"ratio,string"`
	Flag       bool                  `dynamodbav:"flag"`
	Text       string                `dynamodbav:"text"`
	Opt        string                `dynamodbav:"opt,omitempty"`
	Bytes      []byte                `dynamodbav:"bytes"`
	OptBytes   []byte                `dynamodbav:"optBytes,omitempty"`
	Array      [4]byte               `dynamodbav:"array"`
	Pair       [2]int                `dynamodbav:"pair"`
	Colour     colour                `dynamodbav:"colour"`
	Level      level                 `dynamodbav:"level"`
	Raw        json.RawMessage       `dynamodbav:"raw"`
	Number     attributevalue.Number `dynamodbav:"number"`
	JSON       json.Number           `dynamodbav:"jSON"`
	IntPtr     *int                  `dynamodbav:"intPtr"`
	OptPtr     *string               `dynamodbav:"optPtr,omitempty"`
	Null       *bool                 `dynamodbav:"null,nullempty"`
	Inner      inner                 `dynamodbav:"inner"`
	InnerPtr   *inner                `dynamodbav:"innerPtr,omitempty"`
	Inners     []inner               `dynamodbav:"inners"`
	Texts      []string              `dynamodbav:"texts"`
	Ptrs       []*int                `dynamodbav:"ptrs,omitempty"`
	Map        map[string]int        `dynamodbav:"map"`
	IntKeys    map[int8]string       `dynamodbav:"intKeys,omitempty"`
	UintKeys   map[uint64]bool       `dynamodbav:"uintKeys"`
	TextKeys   map[slug]inner        `dynamodbav:"textKeys"`
	BoolKeys   map[bool][]int        `dynamodbav:"boolKeys"`
	StringSet  []string              `dynamodbav:"stringSet,stringset"`
	NumberSet  []int64               `dynamodbav:"numberSet,numberset"`
	FloatSet   []float64             `dynamodbav:"floatSet,numberset,omitempty"`
	BinarySet  [][]byte              `dynamodbav:"binarySet,binaryset"`
	HashSet    [][2]byte             `dynamodbav:"hashSet,binaryset,omitempty"`
	Nano       time.Time             `dynamodbav:"nano"`
	Micro      time.Time             `dynamodbav:"micro" entity:"time=us"`
	Milli      time.Time             `dynamodbav:"milli" entity:"time=ms"`
	Second     time.Time             `dynamodbav:"second" entity:"time=s"`
	Unix       time.Time             `dynamodbav:"unix" entity:"time=unix"`
	UnixMilli  time.Time             `dynamodbav:"unixMilli" entity:"time=unixms"`
	UnixTag    time.Time             `dynamodbav:"unixTag,unixtime"`
	OptTime    time.Time             `dynamodbav:"optTime,omitempty"`
	TimePtr    *time.Time            `dynamodbav:"timePtr"`
	OptTimePtr *time.Time            `dynamodbav:"optTimePtr,omitempty" entity:"time=ms"`
	Moment     moment                `dynamodbav:"moment"`
	Coins      coins                 `dynamodbav:"coins"`
	Purse      []coins               `dynamodbav:"purse"`
	Any        any                   `dynamodbav:"any"`
	Anys       map[string]any        `dynamodbav:"anys,omitempty"`
}

// Common is embedded.
type Common struct {
	Shared string `dynamodbav:"shared"`
	Hidden string `dynamodbav:"-"`
}

type inner struct {
	Text string     `dynamodbav:"text"`
	At   time.Time  `dynamodbav:"at,omitempty"`
	Unix *time.Time `dynamodbav:"unix,unixtime,omitempty"`
	Set  []string   `dynamodbav:"set,stringset,omitempty"`
	Self *inner     `dynamodbav:"self,omitempty"`
}

// coins encodes itself, by its address only.
type coins struct{ cents int }

func (c *coins) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return str(strconv.Itoa(c.cents) + "¢"), nil
}

func (c *coins) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) (err error) {
	text := v.(*types.AttributeValueMemberS).Value
	c.cents, err = strconv.Atoi(text[:len(text)-len("¢")])
	return err
}

// everything draws a value of each field. What does not come back as it was is not drawn: an empty set, which DynamoDB
// does not have (it is stored as NULL), minus zero, floats beyond what DynamoDB's numbers hold (refused), and numbers in
// an any that are not float64.
func everything() *rapid.Generator[Everything] {
	return rapid.Custom(func(t *rapid.T) Everything {
		v := Everything{ID: strconv.FormatUint(rapid.Uint64().Draw(t, "id"), 10) + "x", Common: Common{Shared: rapid.String().Draw(t, "shared")}}
		v.Int = limits(math.MinInt, math.MaxInt, rapid.Int()).Draw(t, "Int")
		v.Int8 = limits(math.MinInt8, math.MaxInt8, rapid.Int8()).Draw(t, "Int8")
		v.Int16 = limits(math.MinInt16, math.MaxInt16, rapid.Int16()).Draw(t, "Int16")
		v.Int32 = limits(math.MinInt32, math.MaxInt32, rapid.Int32()).Draw(t, "Int32")
		v.Int64 = limits(math.MinInt64, math.MaxInt64, rapid.Int64()).Draw(t, "Int64")
		v.Uint = limits(0, math.MaxUint, rapid.Uint()).Draw(t, "Uint")
		v.Uint8 = limits(0, math.MaxUint8, rapid.Uint8()).Draw(t, "Uint8")
		v.Uint16 = limits(0, math.MaxUint16, rapid.Uint16()).Draw(t, "Uint16")
		v.Uint32 = limits(0, math.MaxUint32, rapid.Uint32()).Draw(t, "Uint32")
		v.Uint64 = limits(0, math.MaxUint64, rapid.Uint64()).Draw(t, "Uint64")
		v.Float32 = fraction[float32]().Draw(t, "Float32")
		v.Float64 = fraction[float64]().Draw(t, "Float64")
		v.Digits = rapid.Int64().Draw(t, "Digits")
		v.Ratio = fraction[float64]().Draw(t, "Ratio")
		v.Flag = rapid.Bool().Draw(t, "Flag")
		v.Text = rapid.String().Draw(t, "Text")
		v.Opt = rapid.String().Draw(t, "Opt")
		v.Bytes = optional(rapid.SliceOf(rapid.Byte())).Draw(t, "Bytes")
		v.OptBytes = optional(rapid.SliceOf(rapid.Byte())).Draw(t, "OptBytes")
		v.Array = rapid.Custom(func(t *rapid.T) (a [4]byte) {
			copy(a[:], rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes"))
			return a
		}).Draw(t, "Array")
		v.Pair = rapid.Custom(func(t *rapid.T) [2]int { return [2]int{rapid.Int().Draw(t, "a"), rapid.Int().Draw(t, "b")} }).Draw(t, "Pair")
		v.Colour = rapid.Map(rapid.String(), func(s string) colour { return colour(s) }).Draw(t, "Colour")
		v.Level = rapid.Map(rapid.Int8(), func(n int8) level { return level(n) }).Draw(t, "Level")
		v.Raw = optional(rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) json.RawMessage { return b })).Draw(t, "Raw")
		v.Number = rapid.Map(decimals(), func(s string) attributevalue.Number { return attributevalue.Number(s) }).Draw(t, "Number")
		v.JSON = rapid.Map(decimals(), func(s string) json.Number { return json.Number(s) }).Draw(t, "JSON")
		v.IntPtr = rapid.Ptr(rapid.Int(), true).Draw(t, "IntPtr")
		v.OptPtr = rapid.Ptr(rapid.String(), true).Draw(t, "OptPtr")
		v.Null = rapid.Ptr(rapid.Bool(), true).Draw(t, "Null")
		v.Inner = inners().Draw(t, "Inner")
		v.InnerPtr = rapid.Ptr(inners(), true).Draw(t, "InnerPtr")
		v.Inners = optional(rapid.SliceOfN(inners(), 0, 2)).Draw(t, "Inners")
		v.Texts = optional(rapid.SliceOfN(rapid.String(), 0, 3)).Draw(t, "Texts")
		v.Ptrs = optional(rapid.SliceOfN(rapid.Ptr(rapid.Int(), true), 0, 3)).Draw(t, "Ptrs")
		v.Map = optional(rapid.MapOfN(words(), rapid.Int(), 0, 3)).Draw(t, "Map")
		v.IntKeys = optional(rapid.MapOfN(rapid.Int8(), rapid.String(), 0, 3)).Draw(t, "IntKeys")
		v.UintKeys = optional(rapid.MapOfN(rapid.Uint64(), rapid.Bool(), 0, 3)).Draw(t, "UintKeys")
		v.TextKeys = optional(rapid.MapOfN(rapid.Map(rapid.String(), func(s string) slug { return slug(s) }), inners(), 0, 2)).Draw(t, "TextKeys")
		v.BoolKeys = optional(rapid.MapOfN(rapid.Bool(), rapid.SliceOfN(rapid.Int(), 0, 2), 0, 2)).Draw(t, "BoolKeys")
		v.StringSet = distinct(rapid.String(), rapid.ID[string]).Draw(t, "StringSet")
		v.NumberSet = distinct(rapid.Int64(), rapid.ID[int64]).Draw(t, "NumberSet")
		v.FloatSet = distinct(fraction[float64](), rapid.ID[float64]).Draw(t, "FloatSet")
		v.BinarySet = distinct(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }).Draw(t, "BinarySet")
		v.HashSet = distinct(rapid.Custom(func(t *rapid.T) [2]byte { return [2]byte{rapid.Byte().Draw(t, "a"), rapid.Byte().Draw(t, "b")} }), rapid.ID[[2]byte]).Draw(t, "HashSet")
		v.Nano = moments(time.Nanosecond).Draw(t, "Nano")
		v.Micro = moments(time.Microsecond).Draw(t, "Micro")
		v.Milli = moments(time.Millisecond).Draw(t, "Milli")
		v.Second = moments(time.Second).Draw(t, "Second")
		v.Unix = moments(time.Second).Draw(t, "Unix")
		v.UnixMilli = moments(time.Millisecond).Draw(t, "UnixMilli")
		v.UnixTag = moments(time.Second).Draw(t, "UnixTag")
		v.OptTime = rapid.OneOf(moments(time.Nanosecond), rapid.Just(time.Time{})).Draw(t, "OptTime")
		v.TimePtr = rapid.Ptr(moments(time.Nanosecond), true).Draw(t, "TimePtr")
		v.OptTimePtr = rapid.Ptr(moments(time.Millisecond), true).Draw(t, "OptTimePtr")
		v.Moment = rapid.Map(moments(time.Nanosecond), func(t time.Time) moment { return moment(t) }).Draw(t, "Moment")
		v.Coins = rapid.Map(rapid.Int(), func(n int) coins { return coins{n} }).Draw(t, "Coins")
		v.Purse = optional(rapid.SliceOfN(rapid.Map(rapid.Int(), func(n int) coins { return coins{n} }), 0, 2)).Draw(t, "Purse")
		v.Any = anything(2).Draw(t, "Any")
		v.Anys = optional(rapid.MapOfN(words(), anything(1), 0, 3)).Draw(t, "Anys")
		return v
	})
}

// setEverything is v as the changes of an update.
func setEverything(v Everything) []entity.UpdateOption {
	f := entity.Fields[Everything]()
	return []entity.UpdateOption{
		entity.Set(&f.Shared, v.Shared),
		entity.Set(&f.Int, v.Int),
		entity.Set(&f.Int8, v.Int8),
		entity.Set(&f.Int16, v.Int16),
		entity.Set(&f.Int32, v.Int32),
		entity.Set(&f.Int64, v.Int64),
		entity.Set(&f.Uint, v.Uint),
		entity.Set(&f.Uint8, v.Uint8),
		entity.Set(&f.Uint16, v.Uint16),
		entity.Set(&f.Uint32, v.Uint32),
		entity.Set(&f.Uint64, v.Uint64),
		entity.Set(&f.Float32, v.Float32),
		entity.Set(&f.Float64, v.Float64),
		entity.Set(&f.Digits, v.Digits),
		entity.Set(&f.Ratio, v.Ratio),
		entity.Set(&f.Flag, v.Flag),
		entity.Set(&f.Text, v.Text),
		entity.Set(&f.Opt, v.Opt),
		entity.Set(&f.Bytes, v.Bytes),
		entity.Set(&f.OptBytes, v.OptBytes),
		entity.Set(&f.Array, v.Array),
		entity.Set(&f.Pair, v.Pair),
		entity.Set(&f.Colour, v.Colour),
		entity.Set(&f.Level, v.Level),
		entity.Set(&f.Raw, v.Raw),
		entity.Set(&f.Number, v.Number),
		entity.Set(&f.JSON, v.JSON),
		entity.Set(&f.IntPtr, v.IntPtr),
		entity.Set(&f.OptPtr, v.OptPtr),
		entity.Set(&f.Null, v.Null),
		entity.Set(&f.Inner, v.Inner),
		entity.Set(&f.InnerPtr, v.InnerPtr),
		entity.Set(&f.Inners, v.Inners),
		entity.Set(&f.Texts, v.Texts),
		entity.Set(&f.Ptrs, v.Ptrs),
		entity.Set(&f.Map, v.Map),
		entity.Set(&f.IntKeys, v.IntKeys),
		entity.Set(&f.UintKeys, v.UintKeys),
		entity.Set(&f.TextKeys, v.TextKeys),
		entity.Set(&f.BoolKeys, v.BoolKeys),
		entity.Set(&f.StringSet, v.StringSet),
		entity.Set(&f.NumberSet, v.NumberSet),
		entity.Set(&f.FloatSet, v.FloatSet),
		entity.Set(&f.BinarySet, v.BinarySet),
		entity.Set(&f.HashSet, v.HashSet),
		entity.Set(&f.Nano, v.Nano),
		entity.Set(&f.Micro, v.Micro),
		entity.Set(&f.Milli, v.Milli),
		entity.Set(&f.Second, v.Second),
		entity.Set(&f.Unix, v.Unix),
		entity.Set(&f.UnixMilli, v.UnixMilli),
		entity.Set(&f.UnixTag, v.UnixTag),
		entity.Set(&f.OptTime, v.OptTime),
		entity.Set(&f.TimePtr, v.TimePtr),
		entity.Set(&f.OptTimePtr, v.OptTimePtr),
		entity.Set(&f.Moment, v.Moment),
		entity.Set(&f.Coins, v.Coins),
		entity.Set(&f.Purse, v.Purse),
		entity.Set(&f.Any, v.Any),
		entity.Set(&f.Anys, v.Anys),
	}
}

// limits draws the ends of a type's range often.
func limits[N any](low, high N, between *rapid.Generator[N]) *rapid.Generator[N] {
	return rapid.OneOf(rapid.SampledFrom([]N{low, high}), between)
}

// fraction draws a number of a size that DynamoDB has.
func fraction[F float32 | float64]() *rapid.Generator[F] {
	return rapid.Map(rapid.OneOf(rapid.Float64Range(-1e30, 1e30), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 0.1, 1e37, -1e-37, math.MaxFloat32})), func(f float64) F {
		if math.Abs(f) < 1e-37 {
			return 0
		}
		return F(f)
	})
}

// decimals draws numbers as DynamoDB writes them.
func decimals() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"0", "1", "-1", "1.5", "12345678901234567890123456789012345678", "0.1234567890123456789", "-100"})
}

// optional draws nil too.
func optional[S any](values *rapid.Generator[S]) *rapid.Generator[S] {
	var none S
	return rapid.OneOf(rapid.Just(none), values)
}

// distinct draws a set, in the order of a slice, or nil.
func distinct[E any, K comparable](elements *rapid.Generator[E], id func(E) K) *rapid.Generator[[]E] {
	return optional(rapid.SliceOfNDistinct(elements, 1, 4, id))
}

func words() *rapid.Generator[string] { return rapid.StringN(1, 5, -1) }

// moments draws times of the years that are stored as text and as numbers, in whole units.
func moments(unit time.Duration) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		second := rapid.Int64Range(0, 253402300799).Draw(t, "second")
		return time.Unix(second, rapid.Int64Range(0, 999999999).Draw(t, "nanosecond")).UTC().Truncate(unit)
	})
}

func inners() *rapid.Generator[inner] {
	return rapid.Custom(func(t *rapid.T) inner {
		v := inner{Text: rapid.String().Draw(t, "text"), At: moments(time.Nanosecond).Draw(t, "at"), Set: distinct(rapid.String(), rapid.ID[string]).Draw(t, "set")}
		v.Unix = rapid.Ptr(moments(time.Second), true).Draw(t, "unix")
		if rapid.IntRange(0, 3).Draw(t, "self") == 0 {
			v.Self = &inner{Text: "inside"}
		}
		return v
	})
}

// anything draws what comes out of an any as it went in.
func anything(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4+2*min(depth, 1)).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.String().Draw(t, "text")
		case 2:
			return fraction[float64]().Draw(t, "number")
		case 3:
			return rapid.Bool().Draw(t, "flag")
		case 4:
			return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		case 5:
			return rapid.SliceOfN(anything(depth-1), 0, 3).Draw(t, "list")
		}
		return rapid.MapOfN(words(), anything(depth-1), 0, 3).Draw(t, "map")
	})
}

// inOrder is v with its sets sorted, which have no order once they are stored, and nested epoch times in UTC, which the
// codec gives in the local zone.
func inOrder(v Everything) Everything {
	v.StringSet, v.NumberSet, v.FloatSet = slices.Sorted(slices.Values(v.StringSet)), slices.Sorted(slices.Values(v.NumberSet)), slices.Sorted(slices.Values(v.FloatSet))
	v.BinarySet = slices.SortedFunc(slices.Values(v.BinarySet), slices.Compare)
	v.HashSet = slices.SortedFunc(slices.Values(v.HashSet), func(a, b [2]byte) int { return slices.Compare(a[:], b[:]) })
	tidy := func(i inner) inner {
		i.Set = slices.Sorted(slices.Values(i.Set))
		if i.Unix != nil {
			i.Unix = pointer(i.Unix.UTC())
		}
		return i
	}
	v.Inner = tidy(v.Inner)
	if v.InnerPtr != nil {
		v.InnerPtr = pointer(tidy(*v.InnerPtr))
	}
	v.Inners = slices.Clone(v.Inners)
	for i := range v.Inners {
		v.Inners[i] = tidy(v.Inners[i])
	}
	keyed := map[slug]inner{}
	for name, i := range v.TextKeys {
		keyed[name] = tidy(i)
	}
	if v.TextKeys != nil {
		v.TextKeys = keyed
	}
	return v
}

// roundTrip is the property without a database: a value comes out of the codec as it went in.
func roundTrip(t *rapid.T) {
	s := entity.Must(entity.New[Everything](entity.Must(entity.Open(nil, entity.Config{Table: "t"}))))
	c := engine.Of(s)
	v := everything().Draw(t, "v")
	it, err := c.Schema.Codec.Encode(reflect.ValueOf(v))
	require.NoError(t, err)
	got, err := engine.Decode[Everything](c, it)
	require.NoError(t, err)
	require.Equal(t, inOrder(v), inOrder(got))
}

func TestCodec_EveryTypeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, roundTrip)
}

func FuzzCodec(f *testing.F) { f.Fuzz(rapid.MakeFuzz(roundTrip)) }

// Whatever the path, what is read is what was written.
func TestWrites_EveryTypeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	_, s := open[Everything](t)
	testsize.Check(t, testsize.Pick(12, 1000), func(t *rapid.T) {
		ctx, v, w := context.Background(), everything().Draw(t, "v"), everything().Draw(t, "w")
		w.ID = v.ID
		same := func(want Everything, got Everything, err error) {
			require.NoError(t, err)
			require.Equal(t, inOrder(want), inOrder(got))
		}
		if err := s.Delete(ctx, v); err != nil {
			require.ErrorIs(t, err, entity.ErrNotFound)
		}
		got, err := s.Create(ctx, v)
		same(v, got, err)
		got, err = s.Get(ctx, v, entity.Consistent())
		same(v, got, err)
		got, err = s.Put(ctx, w)
		same(w, got, err)
		got, err = s.Get(ctx, v, entity.Consistent())
		same(w, got, err)
		got, err = s.Update(ctx, v, setEverything(v)...)
		same(v, got, err)
		got, err = s.Modify(ctx, v, func(e *Everything) error { *e = w; return nil })
		same(w, got, err)
		got, err = s.Query(Everything{ID: v.ID}).One(ctx)
		same(w, got, err)
	})
}

// What DynamoDB's numbers, or the field's format, do not hold is refused, on every path and in conditions.
func TestWrites_WhatCannotComeBackIsRefused(t *testing.T) {
	t.Parallel()
	fine := Everything{ID: "a", Number: "1", JSON: "1"}
	l, s := opened(t, fine)
	f := entity.Fields[Everything]()
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	whole := func(field string, spoil func(*Everything)) {
		t.Helper()
		bad := fine
		spoil(&bad)
		for _, err := range []error{dbtest.ErrorOf(s.Create(t.Context(), bad)), dbtest.ErrorOf(s.Put(t.Context(), bad)), dbtest.ErrorOf(s.Upsert(t.Context(), bad))} {
			l.requireRefused(t, err, "EDD-9102", field)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		whole("Float64", func(e *Everything) { e.Float64 = x })
		for field, change := range map[string]entity.UpdateOption{
			"Float64": entity.Set(&f.Float64, x), "FloatSet": entity.Set(&f.FloatSet, []float64{1, x}), "Any": entity.Set(&f.Any, any([]any{x})),
		} {
			l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), fine, change)), "EDD-9102", field)
		}
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), fine, entity.Set(&f.Int, 1), entity.If(entity.Gt(&f.Float64, x)))), "EDD-9102", "Float64")
		l.requireRefused(t, dbtest.ErrorOf(s.Query(Everything{ID: "a"}, entity.Filter(entity.Lt(&f.Float64, x))).Collect(t.Context())), "EDD-9102", "Float64")
	}
	whole("Nano", func(e *Everything) { e.Nano = late })
	whole("Inner", func(e *Everything) { e.Inner.At = late })
	for field, change := range map[string]entity.UpdateOption{
		"Number": entity.Set(&f.Number, ""), "JSON": entity.Set(&f.JSON, "1x"), "Nano": entity.Set(&f.Nano, late), "Inner": entity.Set(&f.Inner.At, late),
		"Map": entity.Set(&f.Map, map[string]int{"": 1}),
	} {
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), fine, change)), "EDD-9102", field)
	}
}
