// Package declaretest checks declarations of structs that stand as text in archives, each with the mistakes that it must
// have. It is for tests: a struct in an archive costs no Go type, so a rule can be tried on as many structs as it needs.
//
// An archive is in the format of golang.org/x/tools/txtar: a section for each rule, headed by the rule in words. A section
// holds Go type declarations. A type with a comment behind it is a case; the comment says what declaring it must give:
//
//	-- two fields do not share an attribute --
//	type same struct { include keyed; A string `dynamodbav:"a"`; B string `dynamodbav:"a"` } // EDD-9007 B
//	type other struct { include keyed; A string `dynamodbav:"a"`; B string `dynamodbav:"A"` } // ok
//
// A mistake is a code, the field that it is about, if any, and in quotes a word that its problem must contain, if that
// counts. Several are separated by commas, in any order. "shared: EDD-9053 A" after a semicolon is what the declaration
// gives in a place which the test knows by the name "shared".
//
// The field "include keyed" stands for all fields of the type keyed. Types without a comment are there to be used by
// others; those before the first section, by all sections. Other names are the test's own [Types].
package declaretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Types are the types that archives use in addition to those of the language, by the names that they have there.
type Types map[string]reflect.Type

// Run checks every case of the archives in testdata/declarations. A case passes when declaring its type in the place that
// the archive names gives exactly the mistakes that the archive lists, each about the case's type. "" is a table of its own,
// "joining X" one that holds X already, "with ends" a database that expires items by that attribute, "shared" one that shares
// its tables; "after" with a duration and "never" are options of the store.
func Run(t *testing.T, types Types) {
	t.Helper()
	paths, err := filepath.Glob("testdata/declarations/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths, "no archives")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		archive := txtar.Parse(text)
		head, err := read(string(archive.Comment), &scope{types: types})
		require.NoError(t, err, path)
		require.Empty(t, head.cases, "%s has cases before its first section", path)
		require.NotEmpty(t, archive.Files, path)
		for _, section := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+section.Name, func(t *testing.T) {
				s, err := read(string(section.Data), head)
				require.NoError(t, err)
				require.NotEmpty(t, s.cases, "the rule has no case")
				for _, c := range s.cases {
					typ, err := s.named(c.name)
					require.NoError(t, err)
					for _, v := range c.verdicts {
						assert.Empty(t, v.differences(typ, declare(t, s, typ, v.where)), "%s %s", c.name, v.where)
					}
				}
				assert.Empty(t, s.unused(), "types without a verdict that nothing uses")
			})
		}
		assert.Empty(t, head.unused(), "types in %s that no section uses", path)
	}
}

// Options holds the options of a database with the default configuration.
var Options = schema.Options{Namespace: "app", NamespaceVersion: 1, PK: "pk", SK: "sk", TTL: "_ttl", Precision: key.Nano}

// declare declares typ in a place.
func declare(t *testing.T, s *scope, typ reflect.Type, where string) error {
	t.Helper()
	table, o := &schema.Table{Name: "t"}, Options
	o.FromContext = func(context.Context, string) (string, bool) { return "", false }
	if rest, ends := strings.CutPrefix(where, "with ends "); ends {
		o.TTL, where = "ends", rest
	}
	other, joining := strings.CutPrefix(where, "joining ")
	after, limited := strings.CutPrefix(where, "after ")
	switch {
	case joining:
		holds, err := s.named(other)
		require.NoError(t, err)
		require.NoError(t, Declare(table, holds, o))
	case limited:
		d, err := time.ParseDuration(after)
		require.NoError(t, err)
		o.After = &d
	case where == "shared":
		o.Profile, o.Precision = schema.NewProfile(true), key.Milli
	case where == "never":
		o.NoExpiry = true
	default:
		require.Empty(t, where, "an unknown place")
	}
	return Declare(table, typ, o)
}

// Declare builds typ and adds it to table, as entity.New does.
func Declare(table *schema.Table, typ reflect.Type, o schema.Options) error {
	s, err := schema.Build(typ, o)
	if err != nil {
		return err
	}
	return table.Add(s)
}

// differences say in what the mistakes of err are not those that v lists, about typ.
func (v verdict) differences(typ reflect.Type, err error) []string {
	found, err := Mistakes(err)
	if err != nil {
		return []string{err.Error()}
	}
	var want, got, problems, differ []string
	for _, m := range v.mistakes {
		want = append(want, strings.TrimSpace(m.code+" "+m.field))
		if m.word != "" && !says(found, m) {
			differ = append(differ, fmt.Sprintf("no %s speaks of %s", m.code, m.word))
		}
	}
	for _, m := range found {
		got, problems = append(got, strings.TrimSpace(m.Code+" "+m.Field)), append(problems, m.Problem)
		if m.Type != typ.String() {
			differ = append(differ, m.Code+" is about "+m.Type)
		}
		if m.Problem == "" {
			differ = append(differ, m.Code+" says nothing")
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		differ = append(differ, fmt.Sprintf("want %q, got %q", want, got))
	}
	if len(differ) > 0 {
		differ = append(differ, problems...)
	}
	return differ
}

func says(found []*schema.Error, m mistake) bool {
	for _, f := range found {
		if f.Code == m.code && f.Field == m.field && strings.Contains(f.Problem, m.word) {
			return true
		}
	}
	return false
}

// Mistakes returns every *schema.Error in err, and an error if there is anything else in it.
func Mistakes(err error) ([]*schema.Error, error) {
	if err == nil {
		return nil, nil
	}
	if one, ok := err.(*schema.Error); ok {
		return []*schema.Error{one}, nil
	}
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	}
	if len(inner) == 0 {
		return nil, fmt.Errorf("this is no mistake of a declaration: %w", err)
	}
	var all []*schema.Error
	for _, e := range inner {
		found, err := Mistakes(e)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// written is a case as it stands in a section.
type written struct {
	name     string
	verdicts []verdict
}

// A verdict says what a declaration gives in one place.
type verdict struct {
	where    string
	mistakes []mistake
}

type mistake struct{ code, field, word string }

var (
	placed = regexp.MustCompile(`^([a-z][^:"]*): (.*)$`)
	listed = regexp.MustCompile(`^(EDD-\d{4})(?: ((?:_ )?[\w.]+))?(?: "([^"]+)")?$`)
)

// parseVerdicts reads the comment behind a case.
func parseVerdicts(text string) ([]verdict, error) {
	var all []verdict
	for _, part := range strings.Split(strings.TrimSpace(text), "; ") {
		var v verdict
		if m := placed.FindStringSubmatch(part); m != nil {
			v.where, part = m[1], m[2]
		}
		if part != "ok" {
			for _, one := range strings.Split(part, ", ") {
				m := listed.FindStringSubmatch(one)
				if m == nil {
					return nil, errors.New("a verdict is ok or a list of mistakes, not " + one)
				}
				v.mistakes = append(v.mistakes, mistake{m[1], m[2], m[3]})
			}
		}
		all = append(all, v)
	}
	return all, nil
}
