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
	"golang.org/x/tools/txtar"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// requireMistakes requires that parse refuses the texts of a section of testdata/mistakes.txt and returns nothing for them.
func requireMistakes[T any](t *testing.T, parse func(string) (T, error), section string) {
	t.Helper()
	archive := entity.Must(txtar.ParseFile("testdata/mistakes.txt"))
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == section })
	for line := range strings.Lines(string(archive.Files[at].Data)) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			continue // between the rows
		}
		text := entity.Must(strconv.Unquote(quoted))
		pos, part, _ := strings.Cut(strings.TrimSpace(line[len(quoted):]), " ")
		t.Run(section+"/"+text, func(t *testing.T) {
			got, err := parse(text)
			problem := dbtest.As[*item.SyntaxError](t, err)
			assert.Equal(t, pos, strconv.Itoa(problem.Pos), problem.Problem)
			assert.Contains(t, problem.Problem, part)
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

func TestMistakes(t *testing.T) {
	requireMistakes(t, item.Pairs, "tag")
	requireMistakes(t, schema.Duration, "duration")
	requireMistakes(t, item.ParseAttribute, "attribute")
	requireMistakes(t, schema.ParseField, "field")
	requireMistakes(t, schema.ParseKey, "key")
	assert.EqualError(t, &item.SyntaxError{Pos: 3, Problem: "empty segment"}, "empty segment (at byte 3)")
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
		"90d":           90 * day,
		"1d2h3m4s":      day + 2*time.Hour + 3*time.Minute + 4*time.Second,
		"1d1s":          day + time.Second,
		"0d":            0,
		"007d":          7 * day,
		"106751d":       106751 * day,
		"9223372036s":   9223372036 * time.Second,
		"106751d23h47m": 106751*day + 23*time.Hour + 47*time.Minute,
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"", "90d", "1h30m", "0d", "1m1h", "106752d", "1.5h", "-1s", "1d2h3m4s", "9223372036s", "0h0s", "100h", "00000000000001s"} {
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
	requireMistakes(t, func(text string) (any, error) { return nil, schema.Name(text) }, "name")
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

func TestParseField(t *testing.T) {
	fields := map[string]schema.Field{
		"immutable,time=ms,required": {Roles: []schema.Role{schema.Immutable, schema.Required}, Time: "ms"},
		"id=uuidv7":                  {ID: "uuidv7"},
		"id=ulid":                    {ID: "ulid"},
	}
	for _, role := range []schema.Role{
		"created_at", "updated_at", "deleted_at", "version", "append", "immutable", "required", "set_once", "zero", "secret", "notnull", "subject",
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
