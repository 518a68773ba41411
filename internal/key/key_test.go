package key_test

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
)

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

	text := entity.Must(verbatim.ComposeValues([]key.Value{str("-x"), str("--")}))
	assert.Equal(t, "-x----", text)

	// The end of a key removes what follows the last part, whatever that is.
	trailed := &key.Template{Segments: segments(a, "!", nil)}
	text = entity.Must(trailed.ComposeValues([]key.Value{str("x!!y")}))
	assert.Equal(t, "x!!y!", text)
}

// Text order is tuple order, and equal texts come from equal tuples.
func TestEscapedKeysSortLikeTheirValues(t *testing.T) {
	for c := range byte(0xff) { // after a byte that is escaped
		require.Less(t, key.Escape("#"+string([]byte{c})), key.Escape("#"+string([]byte{c + 1})), "%#x", c)
	}
	rapid.Check(t, func(t *rapid.T) {
		tmpl := escapedTemplates().Draw(t, "template")
		a, b := tuple(tmpl).Draw(t, "a"), tuple(tmpl).Draw(t, "b")
		if rapid.Bool().Draw(t, "same beginning") {
			copy(b, a[:len(a)/2])
		}
		x := entity.Must(tmpl.ComposeValues(a))
		y := entity.Must(tmpl.ComposeValues(b))
		if got, want := cmp.Compare(x, y), compareTuples(tmpl.Fields(), a, b); got != want {
			t.Fatalf("%q and %q compare as %d, their values as %d", x, y, got, want)
		}
	})
}

func TestVerbatimKeysAreInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tmpl := verbatimTemplates().Draw(t, "template")
		a, b := tuple(tmpl).Draw(t, "a"), tuple(tmpl).Draw(t, "b")
		x := entity.Must(tmpl.ComposeValues(a))
		y := entity.Must(tmpl.ComposeValues(b))
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
				if err != nil || len(text) <= key.MaxSortKey && !contains(r, text) {
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

// words are short strings of the characters that are special in keys, and their neighbours, so that equal beginnings are
// common.
func words() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		runes := []rune("aab#$%&-|~AÄ\x00\x1f\x7f\u07ff\ue000\uffff\U0010ffff")
		return string(rapid.SliceOfN(rapid.SampledFrom(runes), 0, 4).Draw(t, "runes"))
	})
}

func times() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		base := rapid.SampledFrom([]time.Time{
			noon, noon, noon, time.Unix(0, 0), {}, time.Date(0, 1, 1, 0, 0, 5, 0, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 57, 0, time.UTC),
		}).Draw(t, "base")
		unit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Millisecond, time.Second}).Draw(t, "unit")
		return base.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "steps")) * unit).UTC()
	})
}

// anyValue generates values of f's kind, whether or not they fit.
func anyValue(f *key.Field) *rapid.Generator[key.Value] {
	return rapid.Custom(func(t *rapid.T) key.Value {
		switch f.Kind {
		case key.Int:
			small := rapid.Int64Range(-3, 12)
			edges := rapid.SampledFrom([]int64{99, 100, 101, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64})
			return integer(rapid.OneOf(small, edges, rapid.Int64()).Draw(t, "int"))
		case key.Uint:
			edges := rapid.SampledFrom([]uint64{99, 100, 101, math.MaxUint64, math.MaxInt64})
			return unsigned(rapid.OneOf(rapid.Uint64Range(0, 12), edges, rapid.Uint64()).Draw(t, "uint"))
		case key.Bool:
			return boolean(rapid.Bool().Draw(t, "bool"))
		case key.Time:
			far := rapid.SampledFrom([]time.Time{
				time.Date(-1, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
			})
			return at(rapid.OneOf(times(), times(), far).Draw(t, "time"))
		default:
			return str(words().Draw(t, "string"))
		}
	})
}

// fitting generates values that f can have.
func fitting(f *key.Field) *rapid.Generator[key.Value] {
	return rapid.Custom(func(t *rapid.T) key.Value {
		v := anyValue(f).Draw(t, "value")
		switch f.Kind {
		case key.Time:
			v.T = f.Time.Truncate(v.T)
		case key.String:
			if v.S == "" {
				v.S = "a"
			}
		}
		if _, err := f.Text(v); err != nil {
			return key.Value{Kind: f.Kind, I: 7, U: 7, T: noon}
		}
		return v
	})
}

func fields() *rapid.Generator[*key.Field] {
	return rapid.Custom(func(t *rapid.T) *key.Field {
		return &key.Field{
			Attr:  "part",
			Kind:  rapid.SampledFrom([]key.Kind{key.String, key.String, key.Int, key.Uint, key.Bool, key.Time}).Draw(t, "kind"),
			Time:  rapid.SampledFrom(formats).Draw(t, "format"),
			Width: rapid.SampledFrom([]int{0, 0, 2, 13, 20}).Draw(t, "width"),
			Lower: rapid.Bool().Draw(t, "lower"),
		}
	}).Filter(func(f *key.Field) bool { return f.Kind != key.Time || f.Width != 2 })
}

func escapedTemplates() *rapid.Generator[*key.Template] {
	return rapid.Custom(func(t *rapid.T) *key.Template {
		tmpl := &key.Template{Prefix: "$app#v1#x", Escaped: true}
		for range rapid.IntRange(1, 4).Draw(t, "segments") {
			s := key.Segment{Literal: rapid.SampledFrom([]string{"", "", "lit_", "&", "\U0010ffff"}).Draw(t, "literal")}
			if s.Literal == "" || rapid.IntRange(0, 3).Draw(t, "part") > 0 {
				s.Field = fields().Draw(t, "field")
			}
			tmpl.Segments = append(tmpl.Segments, s)
		}
		return tmpl
	}).Filter(func(tmpl *key.Template) bool { return len(tmpl.Fields()) > 0 })
}

func verbatimTemplates() *rapid.Generator[*key.Template] {
	return rapid.Custom(func(t *rapid.T) *key.Template {
		tmpl := &key.Template{}
		literal := rapid.SampledFrom([]string{"", "", "X#", "a", "\ud7ff", "\U0010ffff"}).Draw(t, "first")
		between := rapid.SampledFrom([]string{"#", "--", "|", "ab", "\x00", "~", "\U0010ffff", "&a"})
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			tmpl.Segments = append(tmpl.Segments, key.Segment{Literal: literal, Field: fields().Draw(t, "field")})
			literal = between.Draw(t, "literal")
		}
		if rapid.IntRange(0, 3).Draw(t, "tail") == 0 {
			tmpl.Segments = append(tmpl.Segments, key.Segment{Literal: literal})
		}
		return tmpl
	})
}

// tuple generates a value for each part, from which a key can be composed: it replaces strings where necessary.
func tuple(tmpl *key.Template) *rapid.Generator[[]key.Value] {
	return rapid.Custom(func(t *rapid.T) []key.Value {
		var vs []key.Value
		for _, f := range tmpl.Fields() {
			vs = append(vs, fitting(f).Draw(t, "value"))
		}
		return composable(tmpl, vs)
	})
}

func composable(tmpl *key.Template, vs []key.Value) []key.Value {
	if _, err := tmpl.ComposeValues(vs); err == nil {
		return vs
	}
	vs = slices.Clone(vs)
	for i, v := range vs {
		if v.Kind == key.String {
			vs[i].S = "c" // in no literal
		}
	}
	return vs
}

// compare orders values as keys must.
func compare(f *key.Field, a, b key.Value) int {
	switch f.Kind {
	case key.Int:
		return cmp.Compare(a.I, b.I)
	case key.Uint:
		return cmp.Compare(a.U, b.U)
	case key.Bool:
		switch {
		case a.B == b.B:
			return 0
		case b.B:
			return -1
		}
		return 1
	case key.Time:
		return a.T.Compare(b.T)
	default:
		return cmp.Compare(cased(f, a.S), cased(f, b.S))
	}
}

func cased(f *key.Field, s string) string {
	if f.Lower {
		return strings.ToLower(s)
	}
	return s
}

func compareTuples(fs []*key.Field, a, b []key.Value) int {
	for i, f := range fs[:min(len(a), len(b))] {
		if c := compare(f, a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// holds evaluates the condition itself.
func holds(f *key.Field, b *key.Bound, v key.Value) bool {
	if b == nil {
		return true
	}
	lo := compare(f, v, b.Lo)
	switch b.Op {
	case key.Eq:
		return lo == 0
	case key.Lt:
		return lo < 0
	case key.Le:
		return lo <= 0
	case key.Gt:
		return lo > 0
	case key.Ge:
		return lo >= 0
	case key.Between:
		hi := compare(f, v, b.Hi)
		return lo >= 0 && hi <= 0 && !(b.LoOpen && lo == 0) && !(b.HiOpen && hi == 0)
	default:
		return strings.HasPrefix(cased(f, v.S), cased(f, b.Lo.S))
	}
}
