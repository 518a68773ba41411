package key_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

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

var formats = []key.TimeFormat{key.Nano, key.Micro, key.Milli, key.Second, key.Unix, key.UnixMilli}

func TestTimeFormatNames(t *testing.T) {
	for i, name := range []string{"ns", "us", "ms", "s", "unix", "unixms"} {
		f, ok := key.ParseTimeFormat(name)
		require.True(t, ok, name)
		assert.Equal(t, formats[i], f)
		assert.Equal(t, name, f.String())
	}
	for _, name := range []string{"", "NS", "iso"} {
		_, ok := key.ParseTimeFormat(name)
		assert.False(t, ok, name)
	}
	assert.Equal(t, "TimeFormat(-1)", key.TimeFormat(-1).String())
	assert.Equal(t, "TimeFormat(6)", key.TimeFormat(6).String())
}

func TestTimeFormatTruncatesTowardsThePast(t *testing.T) {
	before := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for f, want := range map[key.TimeFormat]string{
		key.Nano: "1969-12-31T23:59:59.999999999Z", key.Micro: "1969-12-31T23:59:59.999999Z",
		key.Milli: "1969-12-31T23:59:59.999Z", key.Second: "1969-12-31T23:59:59Z",
		key.Unix: "-1", key.UnixMilli: "-1",
	} {
		text := entity.Must(f.Format(before))
		assert.Equal(t, want, text)
	}
	// Truncation does not leave the second either in the era before year 1.
	old := time.Date(0, 3, 1, 0, 0, 0, 1, time.UTC)
	assert.Equal(t, time.Date(0, 3, 1, 0, 0, 0, 0, time.UTC), key.Second.Truncate(old))
}

func TestTimeFormatYears(t *testing.T) {
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, f := range formats {
		t.Run(f.String(), func(t *testing.T) {
			for _, at := range []time.Time{first, last, {}} {
				text := entity.Must(f.Format(at))
				back := entity.Must(f.Parse(text))
				assert.Equal(t, f.Truncate(at), back)
			}
			for _, at := range []time.Time{
				first.Add(-1), last.Add(1), time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0),
				first.In(time.FixedZone("", -3600)).Add(-time.Hour),
			} {
				_, err := f.Format(at)
				require.ErrorContains(t, err, "years 0000 to 9999")
				_, err = f.Value(at)
				require.ErrorContains(t, err, "years 0000 to 9999")
			}
		})
	}
}

func TestTimeFormatParse(t *testing.T) {
	want := time.Date(2026, 4, 22, 10, 0, 0, 500_000_000, time.UTC)
	for _, text := range []string{
		"2026-04-22T10:00:00.5Z", "2026-04-22T10:00:00.500000Z", "2026-04-22T12:00:00.50+02:00",
		"2026-04-22T09:30:00.500-00:30", "2026-04-22t10:00:00.5z",
	} {
		for _, f := range []key.TimeFormat{key.Nano, key.Micro, key.Milli, key.Second} {
			got, err := f.Parse(text)
			require.NoError(t, err, text)
			assert.Equal(t, want, got)
		}
	}
	for _, text := range []string{"", "2026-04-22", "2026-04-22T10:00:00", "1776852000", "secret"} {
		_, err := key.Nano.Parse(text)
		require.EqualError(t, err, "is not an RFC 3339 time")
	}
	for _, text := range []string{"", "1.5", "1e9", "x", "2026-04-22T10:00:00Z", "9223372036854775808"} {
		_, err := key.Unix.Parse(text)
		require.EqualError(t, err, "is not a whole number")
	}
	for _, text := range []string{"253402300800", "-62167219201", "9223372036854775807", "-9223372036854775808"} {
		_, err := key.Unix.Parse(text)
		require.EqualError(t, err, "is outside the years 0000 to 9999")
	}
	for _, text := range []string{"253402300800000", "-62167219200001"} {
		_, err := key.UnixMilli.Parse(text)
		require.EqualError(t, err, "is outside the years 0000 to 9999")
	}
	_, err := key.Nano.Parse("9999-12-31T23:59:59-01:00")
	require.EqualError(t, err, "is outside the years 0000 to 9999")
}

func TestTimeFormat_TextsAreThoseOfTimeFormat(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	layouts := map[key.TimeFormat]string{
		key.Nano: "2006-01-02T15:04:05.000000000Z", key.Micro: "2006-01-02T15:04:05.000000Z", key.Milli: "2006-01-02T15:04:05.000Z", key.Second: "2006-01-02T15:04:05Z",
	}
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	times := []time.Time{first, last, {}, time.Unix(0, -1), time.Unix(0, 0)}
	for range testsize.Pick(2000, 1_000_000) {
		at := time.Unix(first.Unix()+r.Int64N(last.Unix()-first.Unix()), r.Int64N(1e9))
		times = append(times, at.In(time.FixedZone("", r.IntN(86_400)-43_200)))
	}
	for _, at := range times {
		for f, layout := range layouts {
			text := entity.Must(f.Format(at))
			require.Equal(t, at.UTC().Format(layout), text)
		}
	}
}

func anyTemplate() *rapid.Generator[*key.Template] {
	return rapid.OneOf(escapedTemplates(), verbatimTemplates())
}

// readable returns the values that the text of a key determines: strings in lower case stay so.
func readable(fs []*key.Field, vs []key.Value) []key.Value {
	out := make([]key.Value, len(vs))
	for i, v := range vs {
		out[i] = key.Value{Kind: v.Kind, S: cased(fs[i], v.S), I: v.I, U: v.U, B: v.B, T: v.T}
		if v.Kind != key.String {
			out[i].S = ""
		}
	}
	return out
}

// normal returns v with the fields of its kind only, as Parse returns it.
func normal(vs []key.Value) []key.Value {
	out := make([]key.Value, len(vs))
	for i, v := range vs {
		out[i] = key.Value{Kind: v.Kind}
		switch v.Kind {
		case key.String:
			out[i].S = v.S
		case key.Int:
			out[i].I = v.I
		case key.Uint:
			out[i].U = v.U
		case key.Bool:
			out[i].B = v.B
		case key.Time:
			out[i].T = v.T.UTC()
		}
	}
	return out
}

func TestParse_IsTheInverseOfCompose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tmpl := anyTemplate().Draw(t, "template")
		vs := tuple(tmpl).Draw(t, "values")
		text, err := tmpl.ComposeValues(vs)
		if err != nil {
			return // no value fits
		}
		got, err := tmpl.Parse(text)
		require.NoError(t, err, "%q of %s", text, tmpl.Describe())
		require.Equal(t, normal(readable(tmpl.Fields(), vs)), normal(got), "%q of %s", text, tmpl.Describe())
		for i, f := range tmpl.Fields() {
			av := entity.Must(f.Attribute(got[i]))
			back, present, err := f.FromAttribute(av)
			require.NoError(t, err)
			require.True(t, present)
			require.Equal(t, normal(got[i:i+1]), normal([]key.Value{back}))
		}
	})
}

// The text of a spread key ends with the number of a partition, which follows from the primary key and says nothing of the parts.
func TestShards_EndTheTextOfAKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tmpl := anyTemplate().Draw(t, "template")
		vs := tuple(tmpl).Draw(t, "values")
		text, err := tmpl.ComposeValues(vs)
		if err != nil {
			return
		}
		it := map[string]types.AttributeValue{"primary": &types.AttributeValueMemberS{Value: words().Draw(t, "primary") + "p"}}
		for i, f := range tmpl.Fields() {
			if it[f.Attr], err = f.Attribute(vs[i]); err != nil {
				return // a part that is twice in the key
			}
		}
		whole, missing, err := tmpl.Compose(it)
		if err != nil || len(missing) > 0 || whole != text {
			return // likewise
		}
		spread := *tmpl
		spread.Shards = &key.Shards{N: rapid.IntRange(2, 100).Draw(t, "n"), By: []key.TableKey{{Attr: "primary"}}}
		got, _, err := spread.Compose(it)
		require.NoError(t, err)
		primary := it["primary"].(*types.AttributeValueMemberS).Value
		require.Equal(t, text+"#"+key.ShardText(key.Shard(primary, spread.Shards.N)), got)
		require.Equal(t, text, key.CutShard(got))
		parsed := entity.Must(spread.Parse(got))
		want := entity.Must(tmpl.Parse(text))
		require.Equal(t, want, parsed)
		for _, other := range []string{text + "#1", text + "#1a", text + "#123", text + "-12", text + "#12#"} {
			_, err := spread.Parse(other)
			require.Error(t, err, other)
		}
		delete(it, "primary")
		_, missing, _ = spread.Compose(it)
		require.Equal(t, []string{"primary"}, missing)
	})
}

// Parse accepts exactly what Compose writes.
func TestParse_TakesCanonicalTextsOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tmpl := anyTemplate().Draw(t, "template")
		text, err := tmpl.ComposeValues(tuple(tmpl).Draw(t, "values"))
		if err != nil {
			return
		}
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		put := rapid.SampledFrom([]string{"", "#", "%", "%23", "%2b", "+", "0", "a", "A", "\x00", "$"}).Draw(t, "put")
		cut := min(at+rapid.IntRange(0, 2).Draw(t, "cut"), len(text))
		text = text[:at] + put + text[cut:]
		vs, err := tmpl.Parse(text)
		if err != nil {
			return
		}
		again := entity.Must(tmpl.ComposeValues(vs))
		require.Equal(t, text, again)
	})
}

func TestParse_Examples(t *testing.T) {
	t.Parallel()
	a, b, n := &key.Field{Attr: "a"}, &key.Field{Attr: "b"}, &key.Field{Attr: "n", Kind: key.Int, Width: 3}
	dollar := &key.Template{Prefix: "$app#v1#x", Escaped: true, Segments: segments("id_", a, "mid", nil, n)}
	vs := entity.Must(dollar.Parse("$app#v1#x#id_a%23%25%20#mid#042"))
	require.Equal(t, []key.Value{{Kind: key.String, S: "a#% "}, {Kind: key.Int, I: 42}}, vs)
	for _, text := range []string{
		"", "$app#v1#x", "$app#v1#y#id_a#mid#042", "$app#v1#x#id_#mid#042", "$app#v1#x#id_a#mid#42", "$app#v1#x#id_a#mid#0042", "$app#v1#x#id_a#mid#042#e#2026",
		"$app#v1#x#id_a%2F#mid#042", "$app#v1#x#id_a%2#mid#042", "$app#v1#x#id_a #mid#042", "$app#v1#x#id_a#mid#+42", "$app#v1#x#id_a#mid#-42",
	} {
		_, err := dollar.Parse(text)
		require.Error(t, err, "%q", text)
		require.NotContains(t, err.Error(), "042", "a text may be secret")
	}
	verbatim := &key.Template{Segments: segments("X-", a, "--", b, "-x", nil)}
	vs = entity.Must(verbatim.Parse("X-a-b--c--d-x-x"))
	require.Equal(t, []key.Value{{Kind: key.String, S: "a-b"}, {Kind: key.String, S: "c--d-x"}}, vs)
	wide := &key.Template{Segments: segments("", &key.Field{Attr: "n", Kind: key.Int, Width: 38})}
	vs = entity.Must(wide.Parse(strings.Repeat("0", 19) + "1776859200123456789"))
	require.Equal(t, int64(1776859200123456789), vs[0].I)
	_, err := wide.Parse(strings.Repeat("1", 38))
	require.Error(t, err, "38 digits that no int64 holds")

	low := &key.Field{Attr: "a", Lower: true}
	require.True(t, dollar.Determines("a") && dollar.Determines("n") && !dollar.Determines("b"))
	require.False(t, (&key.Template{Escaped: true, Segments: segments(low)}).Determines("a"))
	require.True(t, (&key.Template{Escaped: true, Segments: segments(low, a)}).Determines("a"), "it is there twice")
	require.True(t, (&key.Template{Escaped: true, Segments: segments(&key.Field{Attr: "t", Kind: key.Time, Lower: true})}).Determines("t"))
	require.False(t, (&key.Template{Segments: segments(a, n)}).Determines("n"), "the end of a is not known")
	require.True(t, (&key.Template{Segments: segments(n, a)}).Determines("a"))
}

// Any text is refused, or is what its values compose; nothing panics.
func FuzzParse(f *testing.F) {
	templates := []*key.Template{
		{Prefix: "$app#v1#x", Escaped: true, Segments: segments("id_", &key.Field{Attr: "a"}, &key.Field{Attr: "t", Kind: key.Time, Time: key.Milli})},
		{Segments: segments("X#", &key.Field{Attr: "a"}, "--", &key.Field{Attr: "b", Kind: key.Bool}, "~", &key.Field{Attr: "u", Kind: key.Uint})},
		{Segments: segments("", &key.Field{Attr: "t", Kind: key.Time, Time: key.UnixMilli, Width: 38})},
		{Segments: segments("", &key.Field{Attr: "a"}), Shards: &key.Shards{N: 4}},
	}
	for _, seed := range []string{"", "$app#v1#x#id_a%23#2026-04-22T12:00:00.000Z", "X#a--true~00000000000000000007", "X#--false~", "%", "%2", strings.Repeat("9", 38), "a#01#02"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tmpl := range templates {
			vs, err := tmpl.Parse(text)
			if err != nil {
				continue
			}
			again := entity.Must(tmpl.ComposeValues(vs))
			if tmpl.Shards != nil {
				again += text[len(key.CutShard(text)):]
			}
			require.Equal(t, text, again)
		}
	})
}
