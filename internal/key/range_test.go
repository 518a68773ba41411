package key_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
)

// contains reports whether a query of r finds a sort key.
func contains(r key.Range, text string) bool {
	switch r.Op {
	case key.Whole:
		return true
	case key.Equal:
		return text == r.Lo
	case key.Prefix:
		return strings.HasPrefix(text, r.Lo)
	}
	return r.Op != key.Empty && (r.Op == key.AtMost || r.Lo <= text) && (r.Op == key.AtLeast || text <= r.Hi)
}

func bound(op key.Op, vs ...key.Value) *key.Bound {
	b := &key.Bound{Op: op, Lo: vs[0]}
	if len(vs) > 1 {
		b.Hi = vs[1]
	}
	return b
}

func vals(vs ...key.Value) []key.Value { return vs }

// ranged is the range of a bound on the part after lead.
type ranged struct {
	tmpl  *key.Template
	lead  []key.Value
	bound *key.Bound
	want  key.Range
}

func requireRanges(t *testing.T, tests map[string]ranged) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := entity.Must(test.tmpl.Range(test.lead, test.bound))
			assert.Equal(t, test.want, got)
		})
	}
}

func TestRangeVerbatim(t *testing.T) {
	name, ts := &key.Field{Attr: "name"}, &key.Field{Attr: "ts", Kind: key.Int, Width: 13}
	bare, batch := &key.Template{Segments: segments(name)}, &key.Template{Segments: segments(ts, "#", name)}
	pair := &key.Template{Segments: segments("P_", name, "--", name, "!", nil)}
	const t0 = "1776852000000"
	when := integer(1776852000000)

	requireRanges(t, map[string]ranged{
		"gt": {bare, nil, bound(key.Gt, str("a")), key.Range{Op: key.AtLeast, Lo: "a\x00"}},
		"lt": {bare, nil, bound(key.Lt, str("a")), key.Range{Op: key.AtMost, Hi: "a", Filter: true}},

		"first gt":  {batch, nil, bound(key.Gt, when), key.Range{Op: key.AtLeast, Lo: t0 + "$"}},
		"first le":  {batch, nil, bound(key.Le, when), key.Range{Op: key.AtMost, Hi: t0 + "$"}},
		"second ge": {batch, vals(when), bound(key.Ge, str("b")), key.Range{Op: key.Span, Lo: t0 + "#b", Hi: t0 + "$"}},

		"eq with the literal":    {pair, nil, bound(key.Eq, str("a--b")), key.Range{Op: key.Empty}},
		"begins, half a literal": {pair, nil, bound(key.BeginsWith, str("a-")), key.Range{Op: key.Prefix, Lo: "P_a-", Filter: true}},
		"begins with literal":    {pair, nil, bound(key.BeginsWith, str("a--")), key.Range{Op: key.Empty}},
		"last begins, literal":   {pair, vals(str("a")), bound(key.BeginsWith, str("b!")), key.Range{Op: key.Prefix, Lo: "P_a--b!", Filter: true}},
		"successor skips surrogates": {&key.Template{Segments: segments("\ud7ff", name)}, nil, bound(key.Ge, str("a")),
			key.Range{Op: key.Span, Lo: "\ud7ffa", Hi: "\ue000"}},
		"successor of two runes": {&key.Template{Segments: segments("a\U0010ffff", name)}, nil, bound(key.Ge, str("a")),
			key.Range{Op: key.Span, Lo: "a\U0010ffffa", Hi: "b"}},
	})
}

func TestRangeErrors(t *testing.T) {
	name, n := &key.Field{Attr: "name"}, &key.Field{Attr: "n", Kind: key.Int}
	escaped := &key.Template{Prefix: "$", Escaped: true, Segments: segments(name, n)}
	verbatim := &key.Template{Segments: segments(name, "-", n)}
	tail := &key.Template{Segments: segments(name, "-", nil)}

	_, err := escaped.Range(vals(str("a"), integer(1), integer(2)), nil)
	require.EqualError(t, err, "key: more values than parts")
	_, err = escaped.Range(vals(str("a"), integer(1)), bound(key.Ge, integer(1)))
	require.EqualError(t, err, "key: no part is left for the bound")

	tests := map[string]struct {
		tmpl          *key.Template
		lead          []key.Value
		bound         *key.Bound
		attr, problem string
	}{
		"lead of another kind":    {escaped, vals(integer(1)), nil, "name", "takes a value of type string"},
		"empty lead":              {escaped, vals(str("")), nil, "name", "is empty"},
		"negative lead":           {escaped, vals(str("a"), integer(-1)), nil, "n", "is negative"},
		"lead with the literal":   {verbatim, vals(str("a-b")), nil, "name", "contains"},
		"eq of another kind":      {escaped, nil, bound(key.Eq, integer(1)), "name", "takes a value of type string"},
		"bound of another kind":   {escaped, vals(str("a")), bound(key.Lt, str("1")), "n", "takes a value of type integer"},
		"upper of another kind":   {escaped, vals(str("a")), bound(key.Between, integer(1), str("1")), "n", "takes a value of type integer"},
		"bound not UTF-8":         {escaped, nil, bound(key.BeginsWith, str("\xff")), "name", "not valid UTF-8"},
		"begins with a number":    {escaped, vals(str("a")), bound(key.BeginsWith, integer(1)), "n", "is not a string"},
		"unknown comparison":      {escaped, nil, bound(key.BeginsWith+1, str("a")), "name", "unknown comparison"},
		"negative comparison":     {escaped, nil, bound(-1, str("a")), "name", "unknown comparison"},
		"verbatim order":          {verbatim, nil, bound(key.Ge, str("a")), "name", `is followed by "-"`},
		"verbatim order, between": {verbatim, nil, bound(key.Between, str("a"), str("b")), "name", `is followed by "-"`},
		"verbatim order, tail":    {tail, nil, bound(key.Lt, str("a")), "name", `is followed by "-"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.tmpl.Range(test.lead, test.bound)
			requirePart(t, err, test.attr, test.problem)
			assert.Zero(t, got)
		})
	}
}

func TestRangeOfLongText(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	one := &key.Template{Prefix: "$", Escaped: true, Segments: segments(&key.Field{Attr: "a"})}                            // $#…
	two := &key.Template{Prefix: "$", Escaped: true, Segments: segments(&key.Field{Attr: "a"}, "", &key.Field{Attr: "b"})} // $#…#…
	requireRanges(t, map[string]ranged{
		"equal too long":   {one, vals(str(long(1023))), nil, key.Range{Op: key.Empty}},
		"begins too long":  {one, nil, bound(key.BeginsWith, str(long(1023))), key.Range{Op: key.Empty}},
		"no room for more": {two, vals(str(long(1021))), nil, key.Range{Op: key.Empty}},
		"no room to bound": {two, vals(str(long(1021))), bound(key.Ge, str("a")), key.Range{Op: key.Empty}},
		"lower fits":       {one, nil, bound(key.Ge, str(long(1022))), key.Range{Op: key.Span, Lo: "$#" + long(1022), Hi: "$$"}},
		"lower is cut":     {one, nil, bound(key.Ge, str(long(1023))), key.Range{Op: key.Span, Lo: "$#" + long(1022), Hi: "$$", Filter: true}},
		"gt is cut":        {one, nil, bound(key.Gt, str(long(1022))), key.Range{Op: key.Span, Lo: "$#" + long(1022), Hi: "$$", Filter: true}},
		"lower, character": {one, nil, bound(key.Ge, str(long(1021)+"é")), key.Range{Op: key.Span, Lo: "$#" + long(1021), Hi: "$$", Filter: true}},
		"upper, slack 1":   {one, nil, bound(key.Le, str(long(1021)+"é")), key.Range{Op: key.Span, Lo: "$#", Hi: "$#" + long(1021) + "\x7f"}},
		"upper, slack 2":   {one, nil, bound(key.Le, str(long(1020)+"€")), key.Range{Op: key.Span, Lo: "$#", Hi: "$#" + long(1020) + "\u07ff"}},
		"upper, slack 3":   {one, nil, bound(key.Le, str(long(1019)+"😀")), key.Range{Op: key.Span, Lo: "$#", Hi: "$#" + long(1019) + "\uffff"}},
		"both are cut": {one, nil, bound(key.Between, str(long(1022)+"a"), str(long(1022)+"b")),
			key.Range{Op: key.Span, Lo: "$#" + long(1022), Hi: "$#" + long(1022), Filter: true}},
		"reversed beyond the cut": {one, nil, bound(key.Between, str(long(1022)+"b"), str(long(1022)+"a")), key.Range{Op: key.Empty}},
	})
}

// A literal that is not UTF-8 cannot come from a tag, but must not panic.
func TestRangeOfBrokenLiteral(t *testing.T) {
	for _, literal := range []string{"\xff", "a\x80\x80\x80\x80", strings.Repeat("\x80", 2000)} {
		for _, tmpl := range []*key.Template{
			{Segments: segments(literal, &key.Field{}, literal, nil)},
			{Segments: segments(literal, &key.Field{Kind: key.Int}, literal, nil)},
			{Escaped: true, Segments: segments(literal, &key.Field{}, literal, nil)},
		} {
			for op := key.Eq; op <= key.BeginsWith; op++ {
				b := &key.Bound{Op: op, Lo: key.Value{Kind: tmpl.Segments[0].Field.Kind, S: strings.Repeat("x", 1500)}}
				b.Hi = b.Lo
				assert.NotPanics(t, func() { _, _ = tmpl.Range(nil, b) })
			}
		}
	}
}

// rangeCase is a query and items that it may find.
type rangeCase struct {
	tmpl  *key.Template
	lead  []key.Value
	bound *key.Bound
	items [][]key.Value
}

// refused reports whether the bound has no exact range, and so is an error.
func (c rangeCase) refused() bool {
	if c.bound == nil || c.tmpl.Escaped || c.bound.Op == key.Eq || c.bound.Op == key.BeginsWith {
		return false
	}
	last, fs := c.tmpl.Segments[len(c.tmpl.Segments)-1], c.tmpl.Fields()
	f := fs[len(c.lead)]
	return f.Kind == key.String && last.Field != f
}

// boundOfLastSegment reports whether the bound is on the last part.
func (c rangeCase) boundOfLastSegment() bool {
	fs := c.tmpl.Fields()
	return len(c.lead) == len(fs)-1 && c.tmpl.Segments[len(c.tmpl.Segments)-1].Field != nil
}

// check compares the range with the condition itself, item by item.
func (c rangeCase) check(t *rapid.T) {
	r, err := c.tmpl.Range(c.lead, c.bound)
	if c.refused() {
		var part *key.PartError
		require.ErrorAs(t, err, &part)
		return
	}
	require.NoError(t, err)
	for _, end := range []string{r.Lo, r.Hi} {
		require.LessOrEqual(t, len(end), key.MaxSortKey)
		require.True(t, utf8.ValidString(end))
	}
	if r.Op == key.Span {
		require.LessOrEqual(t, r.Lo, r.Hi) // DynamoDB refuses the request otherwise
	}
	fs := c.tmpl.Fields()
	for _, item := range c.items {
		text := entity.Must(c.tmpl.ComposeValues(item))
		if len(text) > key.MaxSortKey {
			continue // no such item exists
		}
		leads := compareTuples(fs, c.lead, item) == 0
		meets := c.bound == nil || holds(fs[len(c.lead)], c.bound, item[len(c.lead)])
		found := func(text string) bool { return contains(r, text) && (!r.Filter || meets) }
		if found(text) != (leads && meets) {
			t.Fatalf("%+v finds %q: %v, but its parts lead: %v, meet the bound: %v", r, text, found(text), leads, meets)
		}
		related := text + "#e#2026-04-22T10:00:00.000000000Z"
		if !c.tmpl.Escaped || len(related) > key.MaxSortKey || !found(related) || leads && meets {
			continue
		}
		if !(leads && c.bound != nil && (c.bound.Op == key.Gt || c.bound.Op == key.Between && c.bound.LoOpen) && c.boundOfLastSegment()) {
			t.Fatalf("%+v finds the related %q of an item that it does not find", r, related)
		}
	}
}

func cases(templates *rapid.Generator[*key.Template]) *rapid.Generator[rangeCase] {
	return rapid.Custom(func(t *rapid.T) rangeCase {
		c := rangeCase{tmpl: templates.Draw(t, "template")}
		base := tuple(c.tmpl).Draw(t, "base")
		c.items = append(c.items, base)
		for range rapid.IntRange(0, 5).Draw(t, "items") {
			item := tuple(c.tmpl).Draw(t, "item")
			copy(item, base[:rapid.IntRange(0, len(base)).Draw(t, "same")])
			c.items = append(c.items, composable(c.tmpl, item))
		}
		c.lead = base[:rapid.IntRange(0, len(base)).Draw(t, "lead")]
		if len(c.lead) == len(base) || rapid.IntRange(0, 9).Draw(t, "unbound") == 0 {
			return c
		}
		f := c.tmpl.Fields()[len(c.lead)]
		ops := []key.Op{key.Eq, key.Lt, key.Le, key.Gt, key.Ge, key.Between}
		if f.Kind == key.String {
			ops = append(ops, key.BeginsWith, key.BeginsWith)
		}
		value := func(label string) key.Value {
			if rapid.Bool().Draw(t, "of an item") {
				return rapid.SampledFrom(c.items).Draw(t, label)[len(c.lead)]
			}
			return anyValue(f).Draw(t, label)
		}
		c.bound = &key.Bound{Op: rapid.SampledFrom(ops).Draw(t, "op"), Lo: value("lo"), Hi: value("hi")}
		c.bound.LoOpen, c.bound.HiOpen = rapid.Bool().Draw(t, "lo open"), rapid.Bool().Draw(t, "hi open")
		return c
	})
}

func TestEscapedRangesAreExact(t *testing.T) { checkCases(t, escapedTemplates()) }

func TestVerbatimRangesAreExact(t *testing.T) { checkCases(t, verbatimTemplates()) }

// checkCases checks several cases at a time, since few are interesting.
func checkCases(t *testing.T, templates *rapid.Generator[*key.Template]) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			cases(templates).Draw(t, "case").check(t)
		}
	})
}

// Bounds near and beyond the size of a sort key still find exactly the items that can exist.
func TestCutRangesAreExact(t *testing.T) {
	first := &key.Field{Attr: "a"}
	templates := rapid.SampledFrom([]*key.Template{
		{Segments: segments(first)},
		{Segments: segments("é", first)},
		{Prefix: "$p", Escaped: true, Segments: segments(first)},
		{Prefix: "$p", Escaped: true, Segments: segments(first, "l", &key.Field{Attr: "b"})},
	})
	tails := rapid.Custom(func(t *rapid.T) string {
		runes := []rune("aab\x00\x7f%é\u07ffࠀ€\uffff😀\U0010ffff")
		return string(rapid.SliceOfN(rapid.SampledFrom(runes), 0, 5).Draw(t, "tail"))
	})
	rapid.Check(t, func(t *rapid.T) {
		c, room := rangeCase{tmpl: templates.Draw(t, "template")}, rapid.IntRange(1012, 1023).Draw(t, "size")
		text := func() key.Value { return str(strings.Repeat("a", room) + tails.Draw(t, "text")) }
		for range 8 {
			item := []key.Value{text()}
			if len(c.tmpl.Fields()) > 1 {
				item = append(item, str(rapid.SampledFrom([]string{"a", "\x7f", "é"}).Draw(t, "b")))
			}
			c.items = append(c.items, item)
		}
		op := rapid.IntRange(int(key.Eq), int(key.BeginsWith)).Draw(t, "op")
		c.bound = &key.Bound{Op: key.Op(op), Lo: text(), Hi: text()}
		c.bound.LoOpen, c.bound.HiOpen = rapid.Bool().Draw(t, "lo open"), rapid.Bool().Draw(t, "hi open")
		c.check(t)
	})
}
