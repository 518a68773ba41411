package schema_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// requireProblem checks that err is a *SyntaxError at pos whose problem contains part.
func requireProblem(t *testing.T, err error, pos int, part string) {
	t.Helper()
	problem := dbtest.As[*item.SyntaxError](t, err)
	assert.Equal(t, pos, problem.Pos, problem.Problem)
	assert.Contains(t, problem.Problem, part)
}

// badText is a text that is refused, with the position and a part of the problem.
type badText struct {
	text string
	pos  int
	part string
}

// requireMistakes requires that parse refuses texts and returns nothing for them.
func requireMistakes[T any](t *testing.T, parse func(string) (T, error), mistakes []badText) {
	t.Helper()
	for _, m := range mistakes {
		t.Run(m.text, func(t *testing.T) {
			got, err := parse(m.text)
			requireProblem(t, err, m.pos, m.part)
			assert.Zero(t, got)
		})
	}
}

// requireParsed requires that parse reads each text as its value.
func requireParsed[T any](t *testing.T, parse func(string) (T, error), values map[string]T) {
	t.Helper()
	for text, want := range values {
		t.Run(text, func(t *testing.T) {
			got, err := parse(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestErrorText(t *testing.T) {
	err := &item.SyntaxError{Pos: 3, Problem: "empty segment"}
	assert.Equal(t, "empty segment (at byte 3)", err.Error())
}

func TestPairsErrors(t *testing.T) {
	requireMistakes(t, item.Pairs, []badText{
		{`append`, 6, "after \"append\""},
		{`a :"1"`, 1, "expected a colon"},
		{`a: "1"`, 2, "double quotes"},
		{`a:'1'`, 2, "double quotes"},
		{`a:`, 2, "double quotes"},
		{`:"1"`, 0, "expected key"},
		{`a:"1`, 2, "closing quote of a"},
		{`a:"1\"`, 2, "closing quote of a"},
		{`a:"1\`, 2, "closing quote of a"},
		{`a:"\q"`, 2, "not a Go string"},
		{"a:\"1\n2\"", 2, "not a Go string"},
		{"a:\"1\"\nb:\"2\"", 5, "a space must follow"},
		{`a:"1",b:"2"`, 5, "a space must follow"},
		{`a:"1"b:"2"`, 5, "a space must follow"},
		{`a:"1" b:"2" a:"1"`, 12, "a is given twice"},
		{`a:"1" rest`, 10, "after \"rest\""},
		{"\ta:\"1\"", 0, "expected key"},
		{"\x7f:\"1\"", 0, "expected key"},
	})
}

func FuzzPairs(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `a:"1"`, `name:"T" pk:"$#{a}" sk:"$"`, `a:"1"b:"2"`, `a:"1" a:"2"`, `a:"\"" b:"\\"`, `a:'1'`,
		` a:"1"   b:"2" `, `a:""`, `a:"\"x\" \\ \t"`, `a:"1" A:"2"`,
		`a:"1" rest`, "a:\"\n\"", `a`, `:`, `a:"\x80"`, "é:\"\xff\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := item.Pairs(text)
		if err != nil {
			requirePosition(t, err, text)
			return
		}
		for _, p := range pairs {
			value, ok := reflect.StructTag(text).Lookup(p.Key)
			if !ok || value != p.Value {
				t.Fatalf("reflect reads %s as %q, %v; Pairs as %q", p.Key, value, ok, p.Value)
			}
			if got := text[p.Pos : p.Pos+len(p.Key)]; got != p.Key {
				t.Fatalf("%q stands at the position of %q", got, p.Key)
			}
		}
	})
}

// requirePosition checks that a fuzzed error points into the text.
func requirePosition(t *testing.T, err error, text string) {
	t.Helper()
	problem := dbtest.As[*item.SyntaxError](t, err)
	if problem.Pos < 0 || problem.Pos > len(text) || problem.Problem == "" {
		t.Fatalf("bad error for %q: %+v", text, problem)
	}
}

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	requireParsed(t, schema.Duration, map[string]time.Duration{
		"90d":             90 * day,
		"1h30m":           90 * time.Minute,
		"1d2h3m4s":        day + 2*time.Hour + 3*time.Minute + 4*time.Second,
		"1d1s":            day + time.Second,
		"0d":              0,
		"0h0s":            0,
		"007d":            7 * day,
		"100h":            100 * time.Hour,
		"106751d":         106751 * day,
		"106751d23h47m":   106751*day + 23*time.Hour + 47*time.Minute,
		"9223372036s":     9223372036 * time.Second,
		"00000000000001s": time.Second,
	})
}

func TestDurationErrors(t *testing.T) {
	requireMistakes(t, schema.Duration, []badText{
		{"", 0, "empty duration"},
		{"90", 2, "expected a unit"},
		{"d", 0, "whole number"},
		{"-1d", 0, "whole number"},
		{"+1d", 0, "whole number"},
		{"1.5h", 1, "expected a unit"},
		{"1w", 1, "expected a unit"},
		{"1ms", 2, "whole number"},
		{"1D", 1, "expected a unit"},
		{"1 d", 1, "expected a unit"},
		{"1d ", 2, "whole number"},
		{"1d1d", 3, "order d h m s"},
		{"1m1h", 3, "order d h m s"},
		{"106752d", 0, "too long"},
		{"106751d24h", 7, "too long"},
		{"9223372037s", 0, "too long"},
		{"99999999999999999999d", 0, "too long"},
		{"9223372036854775808s", 0, "too long"},
		{"1d９h", 2, "whole number"},
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"", "90d", "1h30m", "0d", "1m1h", "106752d", "1.5h", "-1s", "1d2h3m4s", "9223372036s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := schema.Duration(text)
		if err != nil {
			requirePosition(t, err, text)
			return
		}
		if got < 0 {
			t.Fatalf("%q is negative: %d", text, got)
		}
		if strings.Contains(text, "d") {
			return
		}
		if want, err := time.ParseDuration(text); err != nil || want != got {
			t.Fatalf("%q: %d, but time.ParseDuration gives %d, %v", text, got, want, err)
		}
	})
}

func TestName(t *testing.T) {
	for _, text := range []string{"a", "Z", "Telemetry", "by_account-2", "a9"} {
		t.Run(text, func(t *testing.T) { require.NoError(t, schema.Name(text)) })
	}
	requireMistakes(t, func(text string) (any, error) { return nil, schema.Name(text) }, []badText{
		{"", 0, "empty"},
		{"_a", 0, "begins with a letter"},
		{"9a", 0, "begins with a letter"},
		{"-a", 0, "begins with a letter"},
		{"a.b", 1, "only letters"},
		{"ab#", 2, "only letters"},
		{"a b", 1, "only letters"},
		{"née", 1, "only letters"},
	})
}

func TestNearest(t *testing.T) {
	known := []string{"name", "index", "orderBy", "ttl", "s", "deviceId"}
	tests := map[string]string{
		"name":                    "name",
		"nmae":                    "name", // neighbours swapped
		"nam":                     "name",
		"names":                   "name",
		"indx":                    "index",
		"orderby":                 "orderBy",
		"order_by":                "orderBy",
		"TTL":                     "ttl",
		"tll":                     "ttl",
		"device_id":               "deviceId",
		"":                        "",
		"x":                       "", // one letter is not a misspelling of another
		"banana":                  "",
		"dvcd":                    "",
		strings.Repeat("x", 5000): "",
	}
	for word, want := range tests {
		assert.Equal(t, want, schema.Nearest(word, known), word)
	}
	assert.Empty(t, schema.Nearest("a", nil))
	assert.Equal(t, "aab", schema.Nearest("aax", []string{"aab", "aac"}), "the first of two")
	assert.Equal(t, "aax", schema.Nearest("aax", []string{"aab", "aax"}), "the nearer of two")
	assert.Equal(t, "größe", schema.Nearest("grösse", []string{"größe"}))
}

func TestParseAttribute(t *testing.T) {
	requireParsed(t, item.ParseAttribute, map[string]schema.Attribute{
		"":                                    {},
		"-":                                   {Skip: true},
		"a":                                   {Name: "a"},
		"any name.at:all":                     {Name: "any name.at:all"},
		",omitempty":                          {OmitEmpty: true},
		"a,omitempty":                         {Name: "a", OmitEmpty: true},
		"a,omitemptyelem":                     {Name: "a", OmitEmptyElem: true},
		"a,nullempty":                         {Name: "a", NullEmpty: true},
		"a,nullemptyelem":                     {Name: "a", NullEmptyElem: true},
		"a,string":                            {Name: "a", String: true},
		"a,unixtime":                          {Name: "a", UnixTime: true},
		"a,stringset":                         {Name: "a", Set: "string"},
		"a,numberset":                         {Name: "a", Set: "number"},
		"a,binaryset":                         {Name: "a", Set: "binary"},
		"a,omitempty,stringset,nullemptyelem": {Name: "a", OmitEmpty: true, Set: "string", NullEmptyElem: true},
	})
}

func TestParseAttributeErrors(t *testing.T) {
	requireMistakes(t, item.ParseAttribute, []badText{
		{"-,omitempty", 1, "takes no options"},
		{"-,", 1, "takes no options"},
		{"a,", 2, "empty option"},
		{"a,,omitempty", 2, "empty option"},
		{"a,omitempty,", 12, "empty option"},
		{"a,omitempty,omitempty", 12, "omitempty is given twice"},
		{"a,stringset,numberset", 12, "a stringset already"},
		{"a,omitzero", 2, "omitempty covers zero times"},
		{"a,omitemtpy", 2, `unknown option "omitemtpy"`},
		{"a, omitempty", 2, `unknown option " omitempty"`},
		{"a,unixtime,Omitempty", 11, `unknown option "Omitempty"`},
		{"a,banana", 2, `unknown option "banana"`},
	})
}

func TestParseField(t *testing.T) {
	fields := map[string]schema.Field{
		"immutable,time=ms,required": {Roles: []schema.Role{schema.Immutable, schema.Required}, Time: "ms"},
		"id=uuidv7":                  {ID: "uuidv7"},
		"id=ulid":                    {ID: "ulid"},
	}
	for _, role := range []schema.Role{
		"created_at", "updated_at", "deleted_at", "version", "append", "immutable", "required", "set_once", "zero", "secret", "notnull",
	} {
		field := schema.Field{Roles: []schema.Role{role}}
		fields[string(role)] = field
		assert.True(t, field.Has(role))
		assert.False(t, field.Has("other"))
	}
	for _, format := range []string{"ns", "us", "ms", "s", "unix", "unixms"} {
		fields["time="+format] = schema.Field{Time: format}
	}
	for _, constant := range []string{"active", "in progress", " ", "a=b", "-1", "2026-01-02T15:04:05Z"} {
		fields["default="+constant+",required"] = schema.Field{Default: constant, Roles: []schema.Role{schema.Required}}
	}
	requireParsed(t, schema.ParseField, fields)
}

func TestParseFieldErrors(t *testing.T) {
	requireMistakes(t, schema.ParseField, []badText{
		{"", 0, "empty role"},
		{"append,", 7, "empty role"},
		{",append", 0, "empty role"},
		{"append,,zero", 7, "empty role"},
		{"append,append", 7, "append is given twice"},
		{"createdAt", 0, `unknown role "createdAt", did you mean "created_at"?`},
		{"append, required", 7, `did you mean "required"?`},
		{"time", 0, `unknown role "time"`},
		{"defualt=open", 0, `did you mean "default"?`},
		{"tiem=ms", 0, `did you mean "time=ms"?`},
		{"time=", 5, "there are: ns, us, ms, s, unix, unixms"},
		{"time=n", 5, `did you mean "ns"?`},
		{"time=rfc3339", 5, `unknown time format "rfc3339"`},
		{"time=ms,time=ms", 8, "time is given twice"},
		{"time=ms,append,time=s", 15, "time is given twice"},
		{"version=1", 0, `did you mean "version"?`},
		{"default", 0, `unknown role "default"`},
		{"default=", 8, "default needs a constant"},
		{"default=a,default=b", 10, "default is given twice"},
		{"default=a,b", 10, "cannot contain a comma"},
		{"id", 0, `unknown role "id"`},
		{"id=", 3, `unknown kind of id ""; there are: uuidv7, ulid`},
		{"id=uuidv", 3, `did you mean "uuidv7"?`},
		{"id=ULID", 3, `did you mean "ulid"?`},
		{"id=ulid,id=uuidv7", 8, "id is given twice"},
	})
	t.Run("nothing near", func(t *testing.T) {
		_, err := schema.ParseField("banana")
		requireProblem(t, err, 0, `unknown role "banana"; there are: created_at, updated_at, deleted_at, version, append, immutable, required, set_once, zero, secret, notnull, text, `+
			"time=ns, time=us, time=ms, time=s, time=unix, time=unixms, id=uuidv7, id=ulid, text=ordered, default=…, context=…")
		assert.NotContains(t, err.Error(), "did you mean")
	})
}

func FuzzParseField(f *testing.F) {
	for _, seed := range []string{
		"", "append", "created_at,time=ms", "append,append", "time=", "time=ns,time=s", "creatd_at", ",", "required, zero",
		"default=x,id=ulid", "default=,id=", "id=uuidv7,default=a=b,zero",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field, err := schema.ParseField(text)
		if err != nil {
			requirePosition(t, err, text)
			return
		}
		var words []string
		for _, r := range field.Roles {
			words = append(words, string(r))
		}
		for key, value := range map[string]string{"default=": field.Default, "id=": field.ID} {
			if value != "" {
				words = append(words, key+value)
			}
		}
		if field.Time == "" && field.Default == "" && field.ID == "" {
			if strings.Join(words, ",") != text {
				t.Fatalf("%q is read as %v", text, words)
			}
			return
		}
		if field.Time != "" {
			words = append(words, "time="+field.Time)
		}
		given := strings.Split(text, ",")
		slices.Sort(words)
		slices.Sort(given)
		if !slices.Equal(words, given) {
			t.Fatalf("%q is read as %v", text, words)
		}
	})
}

func literal(text string) schema.Segment { return schema.Segment{Literal: text} }

func part(text, attr string) schema.Segment {
	return schema.Segment{Literal: text, Field: &schema.Placeholder{Attr: attr}}
}

func TestParseKey(t *testing.T) {
	keys := map[string]schema.Key{
		// prefixed
		"$":                      {Form: schema.Prefixed},
		"$#{a}":                  {Form: schema.Prefixed, Segments: []schema.Segment{part("", "a")}},
		"$#lit":                  {Form: schema.Prefixed, Segments: []schema.Segment{literal("lit")}},
		"$#{a}#lit_{b}#end":      {Form: schema.Prefixed, Segments: []schema.Segment{part("", "a"), part("lit_", "b"), literal("end")}},
		"$#{channel}#{deviceId}": {Form: schema.Prefixed, Segments: []schema.Segment{part("", "channel"), part("", "deviceId")}},
		"$#{a:01}#{b:020}#{c|lower}": {Form: schema.Prefixed, Segments: []schema.Segment{
			{Field: &schema.Placeholder{Attr: "a", Width: 1}},
			{Field: &schema.Placeholder{Attr: "b", Width: 20}},
			{Field: &schema.Placeholder{Attr: "c", Lower: true}}}},
		"$#&é=+": {Form: schema.Prefixed, Segments: []schema.Segment{literal("&é=+")}},
		// verbatim
		"gsi1pk=devices":        {Form: schema.Verbatim, Attr: "gsi1pk", Segments: []schema.Segment{literal("devices")}},
		"gsi1sk={last_seen_at}": {Form: schema.Verbatim, Attr: "gsi1sk", Segments: []schema.Segment{part("", "last_seen_at")}},
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
	requireParsed(t, schema.ParseKey, keys)
	for text, want := range keys {
		assert.Equal(t, text, keyText(want))
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

// keyText returns the canonical text of a key, which ParseKey reads.
func keyText(k schema.Key) string {
	if k.Form == schema.Native {
		return strings.Join(k.Attrs, "+")
	}
	text, before := k.Attr+"=", ""
	if k.Form == schema.Prefixed {
		text, before = "$", "#"
	}
	for _, s := range k.Segments {
		text += before + s.Literal
		switch p := s.Field; {
		case p == nil:
		case p.Width > 0:
			text += "{" + p.Attr + ":0" + strconv.Itoa(p.Width) + "}"
		case p.Lower:
			text += "{" + p.Attr + "|lower}"
		default:
			text += "{" + p.Attr + "}"
		}
	}
	return text
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
		if keyText(key) != text {
			t.Fatalf("%q is printed as %q", text, keyText(key))
		}
		again, err := schema.ParseKey(keyText(key))
		if err != nil || !reflect.DeepEqual(key, again) {
			t.Fatalf("%q is read again as %+v, %v", text, again, err)
		}
	})
}
