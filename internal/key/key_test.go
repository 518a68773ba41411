package key_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/key"
)

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"":             "",
		"plain-é_~":    "plain-é_~",
		"a#b":          "a%23b",
		"$ %":          "%24%20%25",
		"\x00\x1f":     "%00%1F",
		"\n&'":         "%0A&'",
		"#":            "%23",
		"!\"":          "%21%22",
		"already%23":   "already%2523",
		"\U0010ffff #": "\U0010ffff%20%23",
	} {
		assert.Equal(t, want, key.Escape(s))
	}
}

func FuzzEscapeOrder(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"a", "a#"}, {"a#", "a$"}, {"%", "&"}, {"a%23", "a#"}, {"\x00", "%00"}, {"a", "a\x00"}, {"\x24", "\x25"},
		{"é", "e"}, {"\xff", "\xfe"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y, want := key.Escape(a), key.Escape(b), cmp.Compare(a, b)
		if cmp.Compare(x, y) != want {
			t.Fatalf("%q and %q do not sort like %q and %q", x, y, a, b)
		}
		if want != 0 && cmp.Compare(x+"#y", y+"#x") != want {
			t.Fatalf("%q and %q do not sort like %q and %q when more follows", x, y, a, b)
		}
		if strings.HasPrefix(x, y) != strings.HasPrefix(a, b) {
			t.Fatalf("%q and %q share other beginnings than %q and %q", x, y, a, b)
		}
		if strings.ContainsAny(x, "#$") {
			t.Fatalf("%q contains a separator", x)
		}
	})
}

func segments(parts ...any) []key.Segment {
	var out []key.Segment
	literal := ""
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			literal = p
			continue
		case *key.Field:
			out = append(out, key.Segment{Literal: literal, Field: p})
		case nil:
			out = append(out, key.Segment{Literal: literal})
		}
		literal = ""
	}
	return out
}

func TestCompose(t *testing.T) {
	channel, device := &key.Field{Attr: "channel"}, &key.Field{Attr: "deviceId"}
	ts := &key.Field{Attr: "ts", Kind: key.Int, Width: 13}
	item := map[string]types.AttributeValue{
		"channel":  &types.AttributeValueMemberS{Value: "c#1"},
		"deviceId": &types.AttributeValueMemberS{Value: "d-7"},
		"ts":       &types.AttributeValueMemberN{Value: "1776852000"},
		"at":       &types.AttributeValueMemberS{Value: "2026-04-22T12:00:00+02:00"},
		"null":     &types.AttributeValueMemberNULL{Value: true},
	}
	tests := map[string]struct {
		tmpl key.Template
		want string
	}{
		"prefix alone": {key.Template{Prefix: "$app#v1#telemetry", Escaped: true}, "$app#v1#telemetry"},
		"parts":        {key.Template{Prefix: "$app#v1#telemetry", Escaped: true, Segments: segments(channel, device)}, "$app#v1#telemetry#c%231#d-7"},
		"literals": {key.Template{Prefix: "$app#v1#telemetry", Escaped: true, Segments: segments("ch_", channel, "all", nil, device)},
			"$app#v1#telemetry#ch_c%231#all#d-7"},
		"event": {key.Template{Prefix: "$app#v1#telemetry#e", Escaped: true, Segments: segments(&key.Field{Attr: "at", Kind: key.Time})},
			"$app#v1#telemetry#e#2026-04-22T10:00:00.000000000Z"},
		"verbatim":                       {key.Template{Segments: segments(ts, "#", device)}, "0001776852000#d-7"},
		"constant":                       {key.Template{Segments: segments("devices", nil)}, "devices"},
		"verbatim values are unchanged":  {key.Template{Segments: segments("A$", channel, "|", nil)}, "A$c#1|"},
		"last part may hold the literal": {key.Template{Segments: segments(device, "#", channel)}, "d-7#c#1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text, missing, err := test.tmpl.Compose(item)
			require.NoError(t, err)
			assert.Empty(t, missing)
			assert.Equal(t, test.want, text)
		})
	}

	t.Run("missing", func(t *testing.T) {
		tmpl := key.Template{Segments: segments(&key.Field{Attr: "b"}, "#", channel, "#", &key.Field{Attr: "null"}, "#", &key.Field{Attr: "a"})}
		text, missing, err := tmpl.Compose(item)
		require.NoError(t, err)
		assert.Equal(t, []string{"b", "null", "a"}, missing)
		assert.Empty(t, text)
	})
	t.Run("error", func(t *testing.T) {
		tmpl := key.Template{Segments: segments(&key.Field{Attr: "b"}, "#", &key.Field{Attr: "ts"})}
		text, missing, err := tmpl.Compose(item)
		requirePart(t, err, "ts", "not stored as a string")
		assert.Empty(t, text)
		assert.Empty(t, missing)
	})
}

func TestComposeValuesErrors(t *testing.T) {
	a, b := &key.Field{Attr: "a"}, &key.Field{Attr: "b"}
	escaped := &key.Template{Prefix: "$", Escaped: true, Segments: segments(a)}
	verbatim := &key.Template{Segments: segments(a, "--", b)}

	_, err := escaped.ComposeValues(nil)
	require.EqualError(t, err, "key: 0 values for 1 parts")
	_, err = escaped.ComposeValues([]key.Value{str("x"), str("y")})
	require.EqualError(t, err, "key: 2 values for 1 parts")
	_, err = escaped.ComposeValues([]key.Value{str("")})
	requirePart(t, err, "a", "is empty")
	_, err = escaped.ComposeValues([]key.Value{integer(1)})
	requirePart(t, err, "a", "takes a value of type string")
	_, err = verbatim.ComposeValues([]key.Value{str("x--y"), str("z")})
	requirePart(t, err, "a", `contains "--", which follows it`)
	_, err = verbatim.ComposeValues([]key.Value{str("x-"), str("z")})
	requirePart(t, err, "a", `contains "--", which follows it`)

	text := must(verbatim.ComposeValues([]key.Value{str("-x"), str("--")}))
	assert.Equal(t, "-x----", text)

	// The end of a key removes what follows the last part, whatever that is.
	trailed := &key.Template{Segments: segments(a, "!", nil)}
	text = must(trailed.ComposeValues([]key.Value{str("x!!y")}))
	assert.Equal(t, "x!!y!", text)
}

// Text order is tuple order, and equal texts come from equal tuples.
func TestEscapedKeysSortLikeTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tmpl := escapedTemplates().Draw(t, "template")
		a, b := tuple(tmpl).Draw(t, "a"), tuple(tmpl).Draw(t, "b")
		if rapid.Bool().Draw(t, "same beginning") {
			copy(b, a[:len(a)/2])
		}
		x := must(tmpl.ComposeValues(a))
		y := must(tmpl.ComposeValues(b))
		if got, want := cmp.Compare(x, y), compareTuples(tmpl.Fields(), a, b); got != want {
			t.Fatalf("%q and %q compare as %d, their values as %d", x, y, got, want)
		}
	})
}

func TestVerbatimKeysAreInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tmpl := verbatimTemplates().Draw(t, "template")
		a, b := tuple(tmpl).Draw(t, "a"), tuple(tmpl).Draw(t, "b")
		x := must(tmpl.ComposeValues(a))
		y := must(tmpl.ComposeValues(b))
		if (x == y) != (compareTuples(tmpl.Fields(), a, b) == 0) {
			t.Fatalf("%q and %q come from %v and %v", x, y, a, b)
		}
	})
}

func FuzzCompose(f *testing.F) {
	f.Add("a", "b", int64(1), int64(0))
	f.Add("a#", "$b", int64(-1), int64(-1))
	f.Add("", "\xff", int64(1776852000), int64(999))
	f.Add("x-", "--", int64(0), int64(1))
	f.Fuzz(func(t *testing.T, a, b string, n, nanos int64) {
		parts := segments("l", &key.Field{Attr: "a"}, "--", &key.Field{Attr: "b", Lower: true},
			"|", &key.Field{Attr: "n", Kind: key.Int, Width: 13}, "#", &key.Field{Attr: "t", Kind: key.Time, Time: key.Milli})
		when := time.Unix(n, nanos)
		item := map[string]types.AttributeValue{
			"a": &types.AttributeValueMemberS{Value: a}, "b": &types.AttributeValueMemberS{Value: b},
			"n": &types.AttributeValueMemberN{Value: b}, "t": &types.AttributeValueMemberS{Value: a},
		}
		for _, tmpl := range []*key.Template{{Segments: parts}, {Prefix: "$app", Escaped: true, Segments: parts}} {
			if text, missing, err := tmpl.Compose(item); text != "" && (err != nil || missing != nil) {
				t.Fatalf("%q with %v and %v", text, missing, err)
			}
			vs := []key.Value{str(a), str(b), integer(n), at(when)}
			text, err := tmpl.ComposeValues(vs)
			if err != nil {
				var part *key.PartError
				require.ErrorAs(t, err, &part)
				continue
			}
			for i := range vs {
				r, err := tmpl.Range(vs[:i], &key.Bound{Op: key.Eq, Lo: vs[i]})
				if err != nil || len(text) <= key.MaxSortKey && !r.Contains(text) {
					t.Fatalf("%q is not in the range %+v of its own parts: %v", text, r, err)
				}
			}
		}
	})
}

func sharedTemplate() *key.Template {
	field := func(name string, kind key.Kind) *key.Field {
		return &key.Field{Attr: name, Kind: kind, Width: 16, Lower: kind == key.String, Plain: true}
	}
	return &key.Template{Prefix: "$app#v1#e", Escaped: true, Segments: []key.Segment{
		{Literal: "s_", Field: field("s", key.String)}, {Literal: "fixed"}, {Literal: "n_", Field: field("n", key.Int)}, {Literal: "b_", Field: field("b", key.Bool)},
	}}
}

func attrs(s, n string, b bool) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"s": &types.AttributeValueMemberS{Value: s}, "n": &types.AttributeValueMemberN{Value: n}, "b": &types.AttributeValueMemberBOOL{Value: b},
	}
}

func TestRecomposes_ValuesThatAreRefusedWhenWritten(t *testing.T) {
	t.Parallel()
	for text, it := range map[string]map[string]types.AttributeValue{
		"$app#v1#e#s_dc 1#fixed#n_00000000000000-5#b_true":                                      attrs("DC 1", "-5", true),
		"$app#v1#e#s_o#1#fixed#n_00000000000001.5#b_false":                                      attrs("O#1", "1.5", false),
		"$app#v1#e#s_#fixed#n_0000000000000000#b_false":                                         attrs("", "0", false),
		"$app#v1#e#s_ü#fixed#n_100000000000000000000#b_true":                                    attrs("Ü", "100000000000000000000", true),
		"$app#v1#e#s_straße#fixed#n_0000000000000007#b_true":                                    attrs("STRAßE", "7", true),
		"$app#v1#e#s_ας#fixed#n_0000000000000007#b_true":                                        attrs("ΑΣ", "7", true), // JavaScript's final sigma
		"$app#v1#e#s_2026-01-02t12:04:05.678+09:00[asia/tokyo]#fixed#n_0000000000000001#b_true": attrs("2026-01-02T12:04:05.678+09:00[Asia/Tokyo]", "1", true),
	} {
		require.True(t, sharedTemplate().Recomposes(it, text), text)
		require.False(t, sharedTemplate().Recomposes(it, text+"#e#2026"), text)
	}
	missing := attrs("a", "1", true)
	delete(missing, "n")
	require.False(t, sharedTemplate().Recomposes(missing, "$app#v1#e#s_a#fixed#n_#b_true"))
	missing["n"] = &types.AttributeValueMemberNULL{Value: true}
	require.False(t, sharedTemplate().Recomposes(missing, "$app#v1#e#s_a#fixed#n_#b_true"))
}

func TestRecomposes_WhatIsComposedHere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		it := attrs(rapid.StringMatching(`[&-~]{1,20}`).Draw(t, "s"), rapid.StringMatching(`0|[1-9][0-9]{0,15}`).Draw(t, "n"), rapid.Bool().Draw(t, "b"))
		text, missing, err := sharedTemplate().Compose(it)
		require.NoError(t, err)
		require.Empty(t, missing)
		require.True(t, sharedTemplate().Recomposes(it, text), text)
	})
}

func TestPlain_RefusesWhatWouldBeEscapedOrIsBeyondASCII(t *testing.T) {
	t.Parallel()
	f := key.Field{Attr: "s", Plain: true}
	for c := rune(0); c < 0x250; c++ {
		text, err := f.Text(key.Value{S: "a" + string(c) + "z"})
		if c > '%' && c < 0x80 {
			require.NoError(t, err)
			require.Equal(t, text, key.Escape(text), "nothing is left to escape")
			continue
		}
		var part *key.PartError
		require.True(t, errors.As(err, &part), "%q", c)
		require.Equal(t, "s", part.Attr)
	}
}
