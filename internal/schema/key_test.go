package schema_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

func literal(text string) schema.Segment { return schema.Segment{Literal: text} }

func part(text, attr string) schema.Segment {
	return schema.Segment{Literal: text, Field: &schema.Placeholder{Attr: attr}}
}

func TestParseKey(t *testing.T) {
	tests := map[string]schema.Key{
		// prefixed
		"$":     {Form: schema.Prefixed},
		"$#{a}": {Form: schema.Prefixed, Segments: []schema.Segment{part("", "a")}},
		"$#lit": {Form: schema.Prefixed, Segments: []schema.Segment{literal("lit")}},
		"$#{a}#lit_{b}#end": {Form: schema.Prefixed, Segments: []schema.Segment{
			part("", "a"), part("lit_", "b"), literal("end")}},
		"$#{channel}#{deviceId}": {Form: schema.Prefixed, Segments: []schema.Segment{
			part("", "channel"), part("", "deviceId")}},
		"$#{a:01}#{b:020}#{c|lower}": {Form: schema.Prefixed, Segments: []schema.Segment{
			{Field: &schema.Placeholder{Attr: "a", Width: 1}},
			{Field: &schema.Placeholder{Attr: "b", Width: 20}},
			{Field: &schema.Placeholder{Attr: "c", Lower: true}}}},
		"$#&é=+": {Form: schema.Prefixed, Segments: []schema.Segment{literal("&é=+")}},
		// verbatim
		"gsi1pk=devices": {Form: schema.Verbatim, Attr: "gsi1pk", Segments: []schema.Segment{literal("devices")}},
		"gsi1sk={last_seen_at}": {Form: schema.Verbatim, Attr: "gsi1sk", Segments: []schema.Segment{
			part("", "last_seen_at")}},
		"ts_batch={timestamp_ms:013}#{batch_id}": {Form: schema.Verbatim, Attr: "ts_batch", Segments: []schema.Segment{
			{Field: &schema.Placeholder{Attr: "timestamp_ms", Width: 13}}, part("#", "batch_id")}},
		"_pk=A#{a}#B": {Form: schema.Verbatim, Attr: "_pk", Segments: []schema.Segment{part("A#", "a"), literal("#B")}},
		"a=$ b=%":     {Form: schema.Verbatim, Attr: "a", Segments: []schema.Segment{literal("$ b=%")}},
		// native
		"deviceId": {Form: schema.Native, Attrs: []string{"deviceId"}},
		"_a-9":     {Form: schema.Native, Attrs: []string{"_a-9"}},
		"a+b":      {Form: schema.Native, Attrs: []string{"a", "b"}},
		"a+b+c+d":  {Form: schema.Native, Attrs: []string{"a", "b", "c", "d"}},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := schema.ParseKey(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, text, got.String())
		})
	}
}

func TestParseKeyErrors(t *testing.T) {
	requireMistakes(t, schema.ParseKey, []badText{
		{"", 0, "empty key"},
		// prefixed
		{"$a", 1, `only "#" may follow "$"`},
		{"${a}", 1, `only "#" may follow "$"`},
		{"$#", 2, "empty segment"},
		{"$##{a}", 2, "empty segment"},
		{"$#{a}#", 6, "empty segment"},
		{"$#{a}x", 5, "may follow a placeholder"},
		{"$#{a}{b}", 5, "may follow a placeholder"},
		{"$#x y", 3, "may not contain ' '"},
		{"$#x$", 3, "may not contain '$'"},
		{"$#%{a}", 2, "may not contain '%'"},
		{"$#x\x00", 3, `may not contain '\x00'`},
		{"$#a}", 3, `"}" without "{"`},
		{"$#{a", 2, "never closed"},
		{"$#{a#b}", 2, "never closed"},
		{"$#é\xff", 2, "not valid UTF-8"},
		// verbatim
		{"=x", 0, "empty name"},
		{"a.b=x", 1, "only letters"},
		{"9=x", 0, "begins with a letter"},
		{"{a}=x", 0, "only letters"},
		{"a=", 2, "a template must follow"},
		{"a={b}{c}", 5, "a literal must separate"},
		{"a={b}#{c}{d}", 9, "a literal must separate"},
		{"a=x}y", 3, `"}" without "{"`},
		{"a={b}}", 5, `"}" without "{"`},
		{"a=x{b", 3, "never closed"},
		{"a=\xff", 2, "not valid UTF-8"},
		// placeholders
		{"$#{}", 3, "empty name"},
		{"a={}", 3, "empty name"},
		{"$#{a.b}", 4, "only letters"},
		{"$#{{a}}", 3, "only letters"},
		{"$#{-a}", 3, "begins with a letter"},
		{"$#{:013}", 3, "empty name"},
		{"$#{a:}", 5, "a width is written"},
		{"$#{a:13}", 5, "a width is written"},
		{"$#{a:0}", 5, "a width is written"},
		{"$#{a:00}", 5, "a width is written"},
		{"$#{a:001}", 5, "a width is written"},
		{"$#{a:0+1}", 5, "a width is written"},
		{"$#{a:0-1}", 5, "a width is written"},
		{"$#{a:021}", 5, "a width is written"},
		{"$#{a:0x1}", 5, "a width is written"},
		{"$#{a|upper}", 5, `"lower"`},
		{"$#{a|}", 5, `"lower"`},
		{"$#{a:013|lower}", 5, "not both"},
		{"$#{a|lower:013}", 5, "not both"},
		// native
		{"+", 0, "empty name"},
		{"a+", 2, "empty name"},
		{"a++b", 2, "empty name"},
		{"a b", 1, "only letters"},
		{"a+a", 2, "a is given twice"},
		{"a+b+c+d+e", 8, "at most 4"},
		{"#{a}", 1, `begins with "$"`},
	})
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		"", "$", "$#{a}", "$#{a}#lit_{b}", "$#{a:013}#{b|lower}", "$##", "$#{a", "a", "a+b", "a+b+c+d+e", "a=x",
		"a={b}", "a={b:013}#{c}", "a={b}{c}", "a=}", "a=\xff", "$#{a:00}", "$#{a:013|lower}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := schema.ParseKey(text)
		if err != nil {
			requirePosition(t, err, text)
			return
		}
		if key.String() != text {
			t.Fatalf("%q is printed as %q", text, key.String())
		}
		again, err := schema.ParseKey(key.String())
		if err != nil || !reflect.DeepEqual(key, again) {
			t.Fatalf("%q is read again as %+v, %v", text, again, err)
		}
	})
}
