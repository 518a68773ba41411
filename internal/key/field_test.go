package key_test

import (
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/key"
)

// must returns v of a call that succeeds.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func str(s string) key.Value      { return key.Value{Kind: key.String, S: s} }
func integer(n int64) key.Value   { return key.Value{Kind: key.Int, I: n} }
func unsigned(n uint64) key.Value { return key.Value{Kind: key.Uint, U: n} }
func boolean(b bool) key.Value    { return key.Value{Kind: key.Bool, B: b} }
func at(t time.Time) key.Value    { return key.Value{Kind: key.Time, T: t} }

// requirePart checks that err is about the part attr and contains problem.
func requirePart(t *testing.T, err error, attr, problem string) {
	t.Helper()
	var part *key.PartError
	require.ErrorAs(t, err, &part)
	assert.Equal(t, attr, part.Attr)
	assert.Contains(t, part.Problem, problem)
	assert.Equal(t, "key part "+attr+" "+part.Problem, err.Error())
}

var noon = time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)

func TestFieldText(t *testing.T) {
	tests := map[string]struct {
		field key.Field
		value key.Value
		want  string
	}{
		"string":              {key.Field{}, str("A #1"), "A #1"},
		"empty string":        {key.Field{}, str(""), ""},
		"lower":               {key.Field{Lower: true}, str("ÄbC"), "äbc"},
		"int":                 {key.Field{Kind: key.Int}, integer(42), "0000000000000000042"},
		"greatest int":        {key.Field{Kind: key.Int}, integer(math.MaxInt64), "9223372036854775807"},
		"width":               {key.Field{Kind: key.Int, Width: 13}, integer(1776852000000), "1776852000000"},
		"padded width":        {key.Field{Kind: key.Int, Width: 13}, integer(7), "0000000000007"},
		"wide int":            {key.Field{Kind: key.Int, Width: 20}, integer(7), "00000000000000000007"},
		"uint":                {key.Field{Kind: key.Uint}, unsigned(42), "00000000000000000042"},
		"greatest uint":       {key.Field{Kind: key.Uint}, unsigned(math.MaxUint64), "18446744073709551615"},
		"narrow uint":         {key.Field{Kind: key.Uint, Width: 2}, unsigned(99), "99"},
		"true":                {key.Field{Kind: key.Bool}, boolean(true), "true"},
		"false":               {key.Field{Kind: key.Bool}, boolean(false), "false"},
		"time":                {key.Field{Kind: key.Time}, at(noon), "2026-04-22T12:00:00.000000000Z"},
		"time of seconds":     {key.Field{Kind: key.Time, Time: key.Second}, at(noon), "2026-04-22T12:00:00Z"},
		"unix time":           {key.Field{Kind: key.Time, Time: key.Unix}, at(noon), "0000000001776859200"},
		"unix time of width":  {key.Field{Kind: key.Time, Time: key.UnixMilli, Width: 13}, at(noon), "1776859200000"},
		"time in other zones": {key.Field{Kind: key.Time, Time: key.Second}, at(noon.In(time.FixedZone("", 3600))), "2026-04-22T12:00:00Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := must(test.field.Text(test.value))
			assert.Equal(t, test.want, got)
		})
	}
}

func TestFieldTextErrors(t *testing.T) {
	tests := map[string]struct {
		field   key.Field
		value   key.Value
		problem string
	}{
		"negative":        {key.Field{Kind: key.Int}, integer(-1), "is negative"},
		"too wide":        {key.Field{Kind: key.Int, Width: 2}, integer(100), "does not fit in 2 digits"},
		"uint too wide":   {key.Field{Kind: key.Uint, Width: 19}, unsigned(math.MaxUint64), "does not fit in 19 digits"},
		"time too fine":   {key.Field{Kind: key.Time, Time: key.Milli}, at(noon.Add(1)), "is finer than its format ms; give it as t.Truncate(time.Millisecond)"},
		"unix too fine":   {key.Field{Kind: key.Time, Time: key.Unix}, at(noon.Add(1)), "is finer than its format unix; give it as t.Truncate(time.Second)"},
		"before 1970":     {key.Field{Kind: key.Time, Time: key.Unix}, at(time.Unix(-1, 0)), "is negative"},
		"millis < 1970":   {key.Field{Kind: key.Time, Time: key.UnixMilli}, at(time.UnixMilli(-1)), "is negative"},
		"unix too wide":   {key.Field{Kind: key.Time, Time: key.UnixMilli, Width: 12}, at(noon), "does not fit in 12 digits"},
		"year 10000":      {key.Field{Kind: key.Time}, at(noon.AddDate(8000, 0, 0)), "years 0000 to 9999"},
		"unix year 10000": {key.Field{Kind: key.Time, Time: key.Unix}, at(noon.AddDate(8000, 0, 0)), "years 0000 to 9999"},
		"wrong kind":      {key.Field{Kind: key.Int}, str("1"), "takes a value of type integer, not string"},
		"wrong kind 2":    {key.Field{Kind: key.Uint}, boolean(true), "unsigned integer, not bool"},
		"wrong kind 3":    {key.Field{}, at(noon), "string, not time"},
		"unknown kind":    {key.Field{Kind: 9}, key.Value{Kind: 9}, "has an unknown kind"},
		"not UTF-8":       {key.Field{Lower: true}, str("a\xff"), "is not valid UTF-8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.field.Attr = "part"
			got, err := test.field.Text(test.value)
			requirePart(t, err, "part", test.problem)
			assert.Empty(t, got)
		})
	}
}

func TestFieldFromAttribute(t *testing.T) {
	tests := map[string]struct {
		field key.Field
		av    types.AttributeValue
		want  key.Value
	}{
		"string":    {key.Field{Lower: true}, &types.AttributeValueMemberS{Value: "Ab"}, str("Ab")},
		"int":       {key.Field{Kind: key.Int}, &types.AttributeValueMemberN{Value: "-7"}, integer(-7)},
		"uint":      {key.Field{Kind: key.Uint}, &types.AttributeValueMemberN{Value: "18446744073709551615"}, unsigned(math.MaxUint64)},
		"bool":      {key.Field{Kind: key.Bool}, &types.AttributeValueMemberBOOL{Value: true}, boolean(true)},
		"time":      {key.Field{Kind: key.Time}, &types.AttributeValueMemberS{Value: "2026-04-22T14:00:00+02:00"}, at(noon)},
		"unix time": {key.Field{Kind: key.Time, Time: key.Unix}, &types.AttributeValueMemberN{Value: "1776859200"}, at(noon)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, present, err := test.field.FromAttribute(test.av)
			require.NoError(t, err)
			assert.True(t, present)
			assert.Equal(t, test.want, v)
		})
	}
	for kind := key.String; kind <= key.Time; kind++ {
		for _, av := range []types.AttributeValue{nil, &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberS{}} {
			v, present, err := (&key.Field{Kind: kind}).FromAttribute(av)
			require.NoError(t, err)
			assert.False(t, present)
			assert.Zero(t, v)
		}
	}
}

func TestFieldFromAttributeErrors(t *testing.T) {
	s, n := &types.AttributeValueMemberS{Value: "secret"}, &types.AttributeValueMemberN{Value: "1.5"}
	tests := map[string]struct {
		field   key.Field
		av      types.AttributeValue
		problem string
	}{
		"string":          {key.Field{}, n, "not stored as a string"},
		"nil string":      {key.Field{}, (*types.AttributeValueMemberS)(nil), "not stored as a string"},
		"int":             {key.Field{Kind: key.Int}, s, "not stored as a number"},
		"nil int":         {key.Field{Kind: key.Int}, (*types.AttributeValueMemberN)(nil), "not stored as a number"},
		"fraction":        {key.Field{Kind: key.Int}, n, "not stored as a 64-bit integer"},
		"uint fraction":   {key.Field{Kind: key.Uint}, n, "not stored as a 64-bit unsigned integer"},
		"negative uint":   {key.Field{Kind: key.Uint}, &types.AttributeValueMemberN{Value: "-1"}, "unsigned integer"},
		"bool":            {key.Field{Kind: key.Bool}, s, "not stored as a bool"},
		"nil bool":        {key.Field{Kind: key.Bool}, (*types.AttributeValueMemberBOOL)(nil), "not stored as a bool"},
		"time":            {key.Field{Kind: key.Time}, s, "not an RFC 3339 time"},
		"time as number":  {key.Field{Kind: key.Time}, n, "is not a string"},
		"unix as string":  {key.Field{Kind: key.Time, Time: key.Unix}, s, "is not a number"},
		"unix fraction":   {key.Field{Kind: key.Time, Time: key.Unix}, n, "not a whole number"},
		"unknown kind":    {key.Field{Kind: -1}, s, "unknown kind"},
		"string as a set": {key.Field{}, &types.AttributeValueMemberSS{Value: []string{"secret"}}, "not stored as a string"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.field.Attr = "part"
			v, present, err := test.field.FromAttribute(test.av)
			requirePart(t, err, "part", test.problem)
			assert.NotContains(t, err.Error(), "secret")
			assert.False(t, present)
			assert.Zero(t, v)
		})
	}
}
