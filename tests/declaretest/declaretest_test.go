package declaretest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

func mistaken(code, field, problem string) error {
	return &schema.Error{Code: code, Type: "int", Field: field, Problem: problem}
}

func TestVerdict_PassesForExactlyTheListedMistakes(t *testing.T) {
	t.Parallel()
	a, b := mistaken("EDD-9007", "A", "the problem"), mistaken("EDD-9030", "", "another")
	for _, c := range []struct {
		verdict string
		err     error
		pass    bool
	}{
		{"ok", nil, true},
		{"ok", a, false},
		{"EDD-9007 A", nil, false},
		{"EDD-9007 A", a, true},
		{"EDD-9007 A", fmt.Errorf("wrapped: %w", a), true},
		{"EDD-9007 B", a, false},
		{"EDD-9007", a, false},
		{"EDD-9002 A", a, false},
		{"EDD-9007 A", errors.Join(a, b), false},
		{"EDD-9007 A", errors.Join(a, a), false},
		{"EDD-9030, EDD-9007 A", errors.Join(a, b), true},
		{"EDD-9007 A, EDD-9007 A", a, false},
		{`EDD-9007 A "prob"`, a, true},
		{`EDD-9007 A "else"`, a, false},
		{"EDD-9007 A", mistaken("EDD-9007", "A", ""), false},
		{"EDD-9007 A", &schema.Error{Code: "EDD-9007", Type: "string", Field: "A", Problem: "of another type"}, false},
		{"ok", errors.New("something else"), false},
		{"EDD-9007 A", errors.Join(a, errors.New("something else")), false},
	} {
		verdicts, err := parseVerdicts(c.verdict)
		require.NoError(t, err)
		require.Len(t, verdicts, 1)
		assert.Equal(t, c.pass, len(verdicts[0].differences(reflect.TypeFor[int](), c.err)) == 0, "%s: %v", c.verdict, c.err)
	}
}

func TestVerdict_NamesPlaces(t *testing.T) {
	t.Parallel()
	got, err := parseVerdicts(`ok; joining device: EDD-9031; after 1m: EDD-9036 _ lifecycle.TTL "whole: seconds"`)
	require.NoError(t, err)
	require.Equal(t, []verdict{
		{}, {"joining device", []mistake{{"EDD-9031", "", ""}}}, {"after 1m", []mistake{{"EDD-9036", "_ lifecycle.TTL", "whole: seconds"}}},
	}, got)
	for _, bad := range []string{"", "fine", "EDD-90 A", "EDD-9007 A EDD-9030 B,", "9007", "ok, EDD-9030"} {
		_, err := parseVerdicts(bad)
		require.Error(t, err, bad)
	}
}

func TestRead_BuildsTheTypesThatAreWritten(t *testing.T) {
	t.Parallel()
	head, err := read("type keyed struct { _ bool `a:\"b\"`; ID string }", &scope{types: Types{"schema.Error": reflect.TypeFor[schema.Error]()}})
	require.NoError(t, err)
	s, err := read("type Base struct { N int }\ntype Other struct { M int }\ntype all struct { include keyed; Base `x:\"y\"`; *Other; L []map[string]*schema.Error; F func(); C [2]chan any; s, S byte } // ok", head)
	require.NoError(t, err)
	typ, err := s.named("all")
	require.NoError(t, err)
	var fields []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		fields = append(fields, fmt.Sprintf("%s %s %v %q", f.Name, f.Type, f.Anonymous, f.Tag))
	}
	require.Equal(t, []string{
		`_ bool false "a:\"b\""`, `ID string false ""`, `Base struct { N int } true "x:\"y\""`, `Other *struct { M int } true ""`,
		`L []map[string]*entitytype.SchemaError false ""`, `F func() false ""`, `C [2]chan interface {} false ""`, `s uint8 false ""`, `S uint8 false ""`,
	}, fields)
	require.Empty(t, s.unused())
	for text, name := range map[string]string{
		"type a struct { B a }": "a", "type a struct { B missing }": "a", "type a struct { B int; B int }": "a", "type a interface { F() }": "a",
	} {
		s, err := read(text, head)
		require.NoError(t, err)
		_, err = s.named(name)
		require.Error(t, err, text)
	}
	for _, text := range []string{"var x int", "type a int\ntype a int", "type a struct {", "type a int // fine"} {
		_, err := read(text, head)
		require.Error(t, err, text)
	}
}
