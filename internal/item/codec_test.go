package item_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
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

var codec = item.Codec{Default: key.Micro, Times: []item.TimeField{
	{Index: []int{0}, Attr: "nano", Format: key.Nano},
	{Index: []int{1}, Attr: "sec", Format: key.Second},
	{Index: []int{2}, Attr: "unix", Format: key.Unix},
	{Index: []int{3}, Attr: "millis", Format: key.UnixMilli, OmitEmpty: true},
	{Index: []int{4}, Attr: "null", Format: key.Nano},
	{Index: []int{5}, Attr: "empty", Format: key.Nano, OmitEmpty: true},
	{Index: []int{6}, Attr: "named", Format: key.Milli},
}}

func TestCodec_TimesAreWrittenInTheirFormatAndReadBack(t *testing.T) {
	zone := time.FixedZone("x", 3600)
	at := time.Date(2026, 4, 22, 11, 0, 0, 120_000_000, zone)
	v := clocks{Nano: at, Sec: at, Unix: at, Millis: &at, Named: stamp(at)}
	v.Inner.At = at
	it, err := codec.Encode(reflect.ValueOf(v))
	require.NoError(t, err)
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
	_, err := f.Encode(reflect.ValueOf(time.Unix(1, 1)))
	var e *item.FieldError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "t", e.Attr)
	_, err = f.Encode(reflect.ValueOf(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.ErrorAs(t, err, &e)
}

func TestEncodeValue_KeepsTheFieldsCodecOptions(t *testing.T) {
	got, err := codec.EncodeValue(reflect.ValueOf([]string{"a"}), ",stringset")
	require.NoError(t, err)
	require.Equal(t, &ss{Value: []string{"a"}}, got)
	got, err = codec.EncodeValue(reflect.ValueOf(""), ",omitempty")
	require.NoError(t, err)
	require.Nil(t, got)
	got, err = codec.EncodeValue(reflect.ValueOf([]byte{1}), "")
	require.NoError(t, err)
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
