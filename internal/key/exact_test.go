package key_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/key"
)

// rangeCase is a query and items that it could find.
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
	last := c.tmpl.Segments[len(c.tmpl.Segments)-1]
	fs := c.tmpl.Fields()
	f := fs[len(c.lead)]
	return f.Kind == key.String && last.Field != f
}

// boundOfLastSegment reports whether nothing follows the bounded part.
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
		text, err := c.tmpl.ComposeValues(item)
		require.NoError(t, err)
		if len(text) > key.MaxSortKey {
			continue // there is no such item
		}
		leads := compareTuples(fs, c.lead, item) == 0
		meets := c.bound == nil || holds(fs[len(c.lead)], c.bound, item[len(c.lead)])
		found := func(text string) bool { return r.Contains(text) && (!r.Filter || meets) }
		if found(text) != (leads && meets) {
			t.Fatalf("%+v finds %q: %v, but its parts lead: %v, meet the bound: %v", r, text, found(text), leads, meets)
		}
		satellite := text + "#e#2026-04-22T10:00:00.000000000Z"
		if !c.tmpl.Escaped || len(satellite) > key.MaxSortKey || !found(satellite) || leads && meets {
			continue
		}
		if !(leads && c.bound != nil && (c.bound.Op == key.Gt || c.bound.Op == key.Between && c.bound.LoOpen) && c.boundOfLastSegment()) {
			t.Fatalf("%+v finds the satellite %q of an item that it does not find", r, satellite)
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

func TestEscapedRangesAreExact(t *testing.T) {
	checkCases(t, escapedTemplates())
}

func TestVerbatimRangesAreExact(t *testing.T) {
	checkCases(t, verbatimTemplates())
}

// Bounds that no key can hold are rounded, here with all draws spent on them.
func TestRoundedRangesAreExact(t *testing.T) {
	checkCases(t, rapid.Custom(func(t *rapid.T) *key.Template {
		f := fields().Filter(func(f *key.Field) bool { return f.Kind == key.Time || f.Kind == key.Int }).Draw(t, "field")
		return &key.Template{Prefix: "$p", Escaped: true, Segments: segments(f)}
	}))
}

// Verbatim strings are where a beginning may run into a literal.
func TestVerbatimBeginningsAreExact(t *testing.T) {
	first, second := &key.Field{Attr: "first"}, &key.Field{Attr: "second"}
	checkCases(t, rapid.SampledFrom([]*key.Template{
		{Segments: segments(first, "--", second)},
		{Segments: segments(first, "|a", second, "-", nil)},
		{Segments: segments("a", first, "a", second, "aa", nil)},
	}))
}

// checkCases checks several cases at a time, as the interesting ones are few.
func checkCases(t *testing.T, templates *rapid.Generator[*key.Template]) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			cases(templates).Draw(t, "case").check(t)
		}
	})
}

// Bounds near and beyond the size of a sort key still find exactly the items
// that can exist.
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
		c := rangeCase{tmpl: templates.Draw(t, "template")}
		room := rapid.IntRange(1012, 1023).Draw(t, "size")
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
