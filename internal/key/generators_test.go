package key_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/key"
)

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
