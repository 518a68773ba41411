package item_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

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

// The zone of the process is changed here, so this test is not parallel.
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
	it, err := c.Encode(reflect.ValueOf(want))
	require.NoError(t, err)
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
