package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

func TestParseAttribute(t *testing.T) {
	tests := map[string]schema.Attribute{
		"":                {},
		"-":               {Skip: true},
		"a":               {Name: "a"},
		"any name.at:all": {Name: "any name.at:all"},
		",omitempty":      {OmitEmpty: true},
		"a,omitempty":     {Name: "a", OmitEmpty: true},
		"a,omitemptyelem": {Name: "a", OmitEmptyElem: true},
		"a,nullempty":     {Name: "a", NullEmpty: true},
		"a,nullemptyelem": {Name: "a", NullEmptyElem: true},
		"a,string":        {Name: "a", String: true},
		"a,unixtime":      {Name: "a", UnixTime: true},
		"a,stringset":     {Name: "a", Set: "string"},
		"a,numberset":     {Name: "a", Set: "number"},
		"a,binaryset":     {Name: "a", Set: "binary"},
		"a,omitempty,stringset,nullemptyelem": {
			Name: "a", OmitEmpty: true, Set: "string", NullEmptyElem: true,
		},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := schema.ParseAttribute(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestParseAttributeErrors(t *testing.T) {
	requireMistakes(t, schema.ParseAttribute, []badText{
		{"-,omitempty", 1, "takes no options"},
		{"-,", 1, "takes no options"},
		{"a,", 2, "empty option"},
		{"a,,omitempty", 2, "empty option"},
		{"a,omitempty,", 12, "empty option"},
		{"a,omitempty,omitempty", 12, "omitempty is given twice"},
		{"a,stringset,numberset", 12, "a stringset already"},
		{"a,omitzero", 2, "omitempty covers zero times"},
		{"a,omitemtpy", 2, `did you mean "omitempty"?`},
		{"a, omitempty", 2, `did you mean "omitempty"?`},
		{"a,unixtime,Omitempty", 11, `did you mean "omitempty"?`},
		{"a,banana", 2, `unknown option "banana"`},
	})
}

func TestParseField(t *testing.T) {
	for _, role := range []schema.Role{
		"created_at", "updated_at", "deleted_at", "version", "append",
		"immutable", "required", "set_once", "zero", "secret", "notnull",
	} {
		t.Run(string(role), func(t *testing.T) {
			field, err := schema.ParseField(string(role))
			require.NoError(t, err)
			assert.Equal(t, schema.Field{Roles: []schema.Role{role}}, field)
			assert.True(t, field.Has(role))
			assert.False(t, field.Has("other"))
		})
	}
	for _, format := range []string{"ns", "us", "ms", "s", "unix", "unixms"} {
		t.Run("time="+format, func(t *testing.T) {
			field, err := schema.ParseField("time=" + format)
			require.NoError(t, err)
			assert.Equal(t, schema.Field{Time: format}, field)
		})
	}
	for _, kind := range []string{"uuidv7", "ulid"} {
		t.Run("id="+kind, func(t *testing.T) {
			field, err := schema.ParseField("id=" + kind)
			require.NoError(t, err)
			assert.Equal(t, schema.Field{ID: kind}, field)
		})
	}
	for _, constant := range []string{"active", "in progress", " ", "a=b", "-1", "2026-01-02T15:04:05Z"} {
		t.Run("default="+constant, func(t *testing.T) {
			field, err := schema.ParseField("default=" + constant + ",required")
			require.NoError(t, err)
			assert.Equal(t, schema.Field{Default: constant, Roles: []schema.Role{schema.Required}}, field)
		})
	}
	t.Run("several", func(t *testing.T) {
		field, err := schema.ParseField("immutable,time=ms,required")
		require.NoError(t, err)
		assert.Equal(t, schema.Field{Roles: []schema.Role{schema.Immutable, schema.Required}, Time: "ms"}, field)
	})
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
		{"time=", 5, "unknown time format"},
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
		{"id=", 3, "unknown kind of id"},
		{"id=uuidv", 3, `did you mean "uuidv7"?`},
		{"id=ULID", 3, `did you mean "ulid"?`},
		{"id=ulid,id=uuidv7", 8, "id is given twice"},
	})
	t.Run("nothing near", func(t *testing.T) {
		_, err := schema.ParseField("banana")
		requireProblem(t, err, 0, "unknown role")
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
