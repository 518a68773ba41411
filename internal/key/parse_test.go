package key_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/key"
)

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
			av := must(f.Attribute(got[i]))
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
		parsed := must(spread.Parse(got))
		want := must(tmpl.Parse(text))
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
		again := must(tmpl.ComposeValues(vs))
		require.Equal(t, text, again)
	})
}

func TestParse_Examples(t *testing.T) {
	t.Parallel()
	a, b, n := &key.Field{Attr: "a"}, &key.Field{Attr: "b"}, &key.Field{Attr: "n", Kind: key.Int, Width: 3}
	dollar := &key.Template{Prefix: "$app#v1#x", Escaped: true, Segments: segments("id_", a, "mid", nil, n)}
	vs := must(dollar.Parse("$app#v1#x#id_a%23%25%20#mid#042"))
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
	vs = must(verbatim.Parse("X-a-b--c--d-x-x"))
	require.Equal(t, []key.Value{{Kind: key.String, S: "a-b"}, {Kind: key.String, S: "c--d-x"}}, vs)
	wide := &key.Template{Segments: segments("", &key.Field{Attr: "n", Kind: key.Int, Width: 38})}
	vs = must(wide.Parse(strings.Repeat("0", 19) + "1776859200123456789"))
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
			again := must(tmpl.ComposeValues(vs))
			if tmpl.Shards != nil {
				again += text[len(key.CutShard(text)):]
			}
			require.Equal(t, text, again)
		}
	})
}
