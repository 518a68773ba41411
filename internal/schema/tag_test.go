package schema_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// requireProblem checks that err is a *SyntaxError at pos whose problem contains part.
func requireProblem(t *testing.T, err error, pos int, part string) {
	t.Helper()
	var problem *schema.SyntaxError
	require.ErrorAs(t, err, &problem)
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

func TestErrorText(t *testing.T) {
	err := &schema.SyntaxError{Pos: 3, Problem: "empty segment"}
	assert.Equal(t, "empty segment (at byte 3)", err.Error())
}

func TestPairs(t *testing.T) {
	tests := map[string]struct {
		text string
		want []schema.Pair
	}{
		"empty":      {``, nil},
		"spaces":     {`   `, nil},
		"one":        {`name:"Telemetry"`, []schema.Pair{{"name", "Telemetry", 0}}},
		"in order":   {`pk:"$#{a}" sk:"$"`, []schema.Pair{{"pk", "$#{a}", 0}, {"sk", "$", 11}}},
		"aligned":    {` a:"1"   b:"2" `, []schema.Pair{{"a", "1", 1}, {"b", "2", 9}}},
		"no value":   {`a:""`, []schema.Pair{{"a", "", 0}}},
		"escapes":    {`a:"\"x\" \\ \t"`, []schema.Pair{{"a", "\"x\" \\ \t", 0}}},
		"key's case": {`a:"1" A:"2"`, []schema.Pair{{"a", "1", 0}, {"A", "2", 6}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := schema.Pairs(test.text)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestPairsErrors(t *testing.T) {
	requireMistakes(t, schema.Pairs, []badText{
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
		`a:"1" rest`, "a:\"\n\"", `a`, `:`, `a:"\x80"`, "é:\"\xff\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := schema.Pairs(text)
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
	var problem *schema.SyntaxError
	require.ErrorAs(t, err, &problem)
	if problem.Pos < 0 || problem.Pos > len(text) || problem.Problem == "" {
		t.Fatalf("bad error for %q: %+v", text, problem)
	}
}
