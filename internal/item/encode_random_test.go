package item

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

type (
	colour   string
	level    int8
	ratio    float32
	hash     []byte
	flag     bool
	callable string
	upper    string
	part     struct {
		Name  string   `dynamodbav:"name,omitempty"`
		Count *int     `dynamodbav:"count"`
		Tags  []string `dynamodbav:"tags,stringset"`
	}
	EmbeddedPart struct {
		Deep  string  `dynamodbav:"deep,omitempty"`
		Price float64 `dynamodbav:"price"`
	}
	PointedPart struct {
		Far string `dynamodbav:"far,omitempty"`
	}
	around struct {
		EmbeddedPart
		*PointedPart
		part
		Own string `dynamodbav:"own"`
	}
)

func (callable) Call() string { return "" }

func (u upper) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if u == "bad" {
		return nil, fmt.Errorf("refused")
	}
	return S(strings.ToUpper(string(u))), nil
}

type byAddress int

func (b *byAddress) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return N(fmt.Sprint(int(*b) + 1)), nil
}

// encodable are the types of fields.
var encodable = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[colour](), reflect.TypeFor[callable](), reflect.TypeFor[upper](), reflect.TypeFor[byAddress](),
	reflect.TypeFor[bool](), reflect.TypeFor[flag](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](),
	reflect.TypeFor[level](), reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](),
	reflect.TypeFor[ratio](), reflect.TypeFor[float64](), reflect.TypeFor[[]byte](), reflect.TypeFor[hash](), reflect.TypeFor[*[]byte](),
	reflect.TypeFor[*string](), reflect.TypeFor[*colour](), reflect.TypeFor[*upper](), reflect.TypeFor[*byAddress](), reflect.TypeFor[**int](),
	reflect.TypeFor[*float64](), reflect.TypeFor[*bool](), reflect.TypeFor[[]string](), reflect.TypeFor[[]colour](), reflect.TypeFor[[]*string](),
	reflect.TypeFor[[]upper](), reflect.TypeFor[[]int](), reflect.TypeFor[[]level](), reflect.TypeFor[[]float64](), reflect.TypeFor[[]bool](),
	reflect.TypeFor[[][]byte](), reflect.TypeFor[[]hash](), reflect.TypeFor[[][]string](), reflect.TypeFor[[3]int](), reflect.TypeFor[[4]byte](),
	reflect.TypeFor[map[string]string](), reflect.TypeFor[map[string]int](), reflect.TypeFor[map[string]*string](), reflect.TypeFor[map[colour]int](),
	reflect.TypeFor[map[int]string](), reflect.TypeFor[map[string][]byte](), reflect.TypeFor[map[string]upper](), reflect.TypeFor[map[string]any](),
	reflect.TypeFor[time.Time](), reflect.TypeFor[*time.Time](), reflect.TypeFor[[]time.Time](), reflect.TypeFor[json.Number](),
	reflect.TypeFor[attributevalue.Number](), reflect.TypeFor[[]json.Number](), reflect.TypeFor[*json.Number](), reflect.TypeFor[any](),
	reflect.TypeFor[part](), reflect.TypeFor[*part](), reflect.TypeFor[[]part](), reflect.TypeFor[map[string]part](), reflect.TypeFor[around](),
}

var encodableOptions = []string{
	"", "", "", ",omitempty", ",omitempty", ",stringset", ",stringset,omitempty", ",numberset", ",numberset,omitempty", ",binaryset", ",string",
	",string,omitempty", ",nullempty", ",omitempty,nullempty", ",omitemptyelem", ",omitempty,omitemptyelem", ",nullemptyelem", ",unixtime",
}

func randomStruct(r *rand.Rand) reflect.Type {
	if r.IntN(20) == 0 {
		return reflect.TypeFor[around]()
	}
	var fields []reflect.StructField
	for i := range 1 + r.IntN(8) {
		name := fmt.Sprint("a", i)
		if r.IntN(10) == 0 {
			name = "" // that of the field
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", i), Type: encodable[r.IntN(len(encodable))],
			Tag: reflect.StructTag(`dynamodbav:"` + name + encodableOptions[r.IntN(len(encodableOptions))] + `"`),
		})
	}
	return reflect.StructOf(fields)
}

var randomTexts = []string{"", "a", "B c", "bad", "\xff", "ü", "17"}

// fill sets v to a random value, often the zero value.
func fill(r *rand.Rand, v reflect.Value) {
	if r.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(randomTexts[r.IntN(len(randomTexts))])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64() >> r.IntN(64))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1.5, -2, 1e20, 1e-9, 0.1, math.NaN(), math.Inf(1), math.MaxFloat64}[r.IntN(10)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 4))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k)
			fill(r, e)
			v.SetMapIndex(k, e)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{"x", 1, []string{"a"}, nil}[r.IntN(3)]))
	case reflect.Struct:
		if v.Type() == timeType {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9), r.Int64N(1e9))))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i))
			}
		}
	}
}

// Fields are encoded one by one as attributevalue encodes the whole struct, or neither can.
func TestEncode_FieldByFieldIsAsAttributevalueDoesIt(t *testing.T) {
	t.Parallel()
	r, c := rand.New(rand.NewPCG(testsize.Seed(t), 0)), &Codec{Default: key.Milli}
	encoded, refused := 0, 0
	for range testsize.Pick(2_000, 30_000) {
		typ := randomStruct(r)
		for range 3 {
			p := reflect.New(typ)
			fill(r, p.Elem())
			wantErr := checkValue(p.Elem(), 0)
			var want Item
			if wantErr == nil {
				want, wantErr = attributevalue.MarshalMapWithOptions(p.Interface(), c.encoder)
			}
			got, err := c.Encode(p.Elem())
			if wantErr != nil {
				require.Error(t, err, "%v", typ) // of several errors, which one is first does not matter
				refused++
				continue
			}
			wantErr = CheckStorable(want)
			if wantErr != nil {
				want = nil
			}
			require.Equal(t, want, got, "%v of %v", typ, p.Elem())
			require.Equal(t, wantErr, err, "%v of %v", typ, p.Elem())
			encoded++
		}
	}
	require.Greater(t, encoded, 1000)
	require.Greater(t, refused, 10)
}

// Whatever a codec encodes without attributevalue, it decodes, and to the same with the help of the value that it encoded.
func TestCodec_DecodesItsOwnItems(t *testing.T) {
	t.Parallel()
	r, decoded, others := rand.New(rand.NewPCG(testsize.Seed(t), 0)), 0, 0
	for range testsize.Pick(4_000, 60_000) {
		typ, c := randomStruct(r), &Codec{Default: key.Milli, Special: new(Special)}
		own := !factsOf(typ).needs().check
		for _, f := range factsOf(typ).fields {
			if f.time && f.form == byMarshal && f.options == "" {
				formats := []key.TimeFormat{key.Nano, key.Micro, key.Milli, key.Second, key.Unix, key.UnixMilli}
				c.Times = append(c.Times, TimeField{Index: f.index, Attr: f.attr, Format: formats[r.IntN(len(formats))]})
			} else if f.form == byMarshal {
				own = false
			}
		}
		if !c.Compile(typ) || !own {
			others++
			continue
		}
		for range testsize.Pick(5, 400) {
			p, back, same := reflect.New(typ), reflect.New(typ), reflect.New(typ)
			fill(r, p.Elem())
			it, err := c.Encode(p.Elem())
			if err != nil {
				continue
			}
			require.NoError(t, c.Decode(it, back), "%v of %v", typ, p.Elem())
			require.NoError(t, c.Read(wire.Of(it), p.Elem(), same))
			if !reflect.DeepEqual(back.Interface(), same.Interface()) { // require.Equal for each takes most of the time
				require.Equal(t, back.Interface(), same.Interface())
			}
			want, err := c.Encode(back.Elem())
			require.NoError(t, err)
			got, err := c.Encode(same.Elem())
			require.NoError(t, err)
			if !reflect.DeepEqual(want, got) {
				require.Equal(t, want, got, "minus zero is equal to zero for Go")
			}
			decoded++
		}
	}
	require.Greater(t, decoded, testsize.Pick(200, 1_000_000))
	require.Greater(t, others, 100)
}

// What the short way to read a time takes, the full one takes too, and for the same time.
func TestUTCTime_TakesOnlyTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2026-04-22T10:00:00Z", "2024-02-29T23:59:59.5Z", "2026-12-31T00:00:00.000000001Z", "0000-02-29T00:00:00Z"} {
		got, ok := utcTime([]byte(text))
		require.True(t, ok, text)
		want, err := key.Nano.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{
		"", "2026-04-22T10:00:00.Z", "2026-04-22T10:00:00", "2026-04-22 10:00:00Z", "2026-13-22T10:00:00Z", "2026-00-22T10:00:00Z", "2026-04-00T10:00:00Z", "2026-04-31T10:00:00Z",
		"2025-02-29T10:00:00Z", "2026-04-22T24:00:00Z", "2026-04-22T10:60:00Z", "2026-04-22T10:00:60Z", "2026-04-22T10:00:00x5Z", "2026-04-22T10:00:0xZ", "2026-0:-22T10:00:00Z",
		"2026-04-22T10:00:00.0000000001Z", "2026-04-22T10:00:00+01:00", "2026/04/22T10:00:00Z",
	} {
		_, ok := utcTime([]byte(text))
		require.False(t, ok, text)
	}
}

func TestDecode_NumbersAreReadAsStrconvReadsThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "-", "0", "-0", "-1", "+1", "007", "1.5", "1e3", "1:", "1/", "--1", "999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"18446744073709551615", "18446744073709551616", "18446744073709551617", "100000000000000000000000000000000",
	} {
		v, decode := wire.ValueOf(N(text)), numberDecoder(false)
		var n int64
		want, err := strconv.ParseInt(text, 10, 64)
		require.Equal(t, err == nil, decode(v, reflect.ValueOf(&n).Elem()), "%q", text)
		require.True(t, err != nil || n == want, "%q became %d", text, n)
		var u uint64
		unsigned, err := strconv.ParseUint(text, 10, 64)
		require.Equal(t, err == nil, decode(v, reflect.ValueOf(&u).Elem()), "%q", text)
		require.True(t, err != nil || u == unsigned, "%q became %d", text, u)
	}
}
