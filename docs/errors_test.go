package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// publicPackages are the packages whose errors a caller can get.
var publicPackages = []string{"entity", "timeseries", "versioned", "lifecycle", "unique", "lease", "stream", "timeline", "migrate", "tables", "tables/schemalock", "localdb", "localdb/faults"}

func TestErrors_EveryExportedErrorIsExplained(t *testing.T) {
	t.Parallel()
	text := read(t, "errors.md")
	for _, name := range exportedErrors(t) {
		require.Regexp(t, "`\\*?"+regexp.QuoteMeta(name)+"[`{]", text, "errors.md does not explain %s", name)
	}
}

func TestErrors_EveryErrorThatADocumentNamesExists(t *testing.T) {
	t.Parallel()
	known := exportedErrors(t)
	named := regexp.MustCompile(`\b(?:entity|timeseries|versioned|lifecycle|unique|lease|stream|timeline|migrate|tables|schemalock|localdb|faults)\.(?:Err[A-Z]\w*|[A-Z]\w*Error)\b`)
	for _, document := range documents(t) {
		for _, name := range named.FindAllString(read(t, document), -1) {
			require.Contains(t, known, name, "%s names an error that does not exist", document)
		}
	}
}

// exportedErrors are the exported names of errors and error types, as callers write them.
func exportedErrors(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, dir := range publicPackages {
		all := map[string]bool{}
		exported(t, dir, all, map[string]map[string]bool{})
		for name := range all {
			if ast.IsExported(name) && (strings.HasPrefix(name, "Err") || strings.HasSuffix(name, "Error")) {
				names = append(names, filepath.Base(dir)+"."+name)
			}
		}
	}
	require.NotEmpty(t, names)
	return names
}

// declared are the names of variables and types in a declaration.
func declared(decl ast.Decl) []string {
	group, ok := decl.(*ast.GenDecl)
	if !ok {
		return nil
	}
	var names []string
	for _, spec := range group.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// exportedError is an error that a package exports: a variable or a type.
type exportedError struct {
	name   string // as callers write it
	doc    string // its first sentence
	fields []string
}

var (
	inBrackets = regexp.MustCompile(`\[([A-Z][\w.]*)\]`)
	verbOfDoc  = regexp.MustCompile(`^(?:[A-Z]\w+) (?:is matched by the error of \S+ when|is matched by|is the error of|is the cause of an \*EventError:|is returned by|is|has the fields? [\w, ]+:|has|says that|says|reports that|reports) `)
	standsFor  = regexp.MustCompile(`; it is an? \*\w+$|^\w+ is an? \*\w+: `)
	namedType  = regexp.MustCompile(`(?i)\bis an? \*(\w+Error)\b`)
	endOfFirst = regexp.MustCompile(`\.(?:\s|$)`)
)

// errorsOf returns the errors that the files of a package declare, in their order, with the whole comment of each.
func errorsOf(t *testing.T, dir string) []exportedError {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	require.NoError(t, err)
	var found []exportedError
	text := func(groups ...*ast.CommentGroup) string {
		for _, g := range groups {
			if g.Text() != "" {
				return inBrackets.ReplaceAllString(strings.Join(strings.Fields(g.Text()), " "), "$1")
			}
		}
		return ""
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range f.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					if name := s.Names[0].Name; strings.HasPrefix(name, "Err") {
						found = append(found, exportedError{name: name, doc: text(s.Comment, s.Doc, group.Doc)})
					}
				case *ast.TypeSpec:
					if !ast.IsExported(s.Name.Name) || !strings.HasSuffix(s.Name.Name, "Error") { // Error itself included
						continue
					}
					e := exportedError{name: s.Name.Name, doc: text(s.Doc, group.Doc)}
					if fields, ok := s.Type.(*ast.StructType); ok {
						for _, f := range fields.Fields.List {
							for _, name := range f.Names {
								if name.IsExported() {
									e.fields = append(e.fields, name.Name)
								}
							}
						}
					}
					found = append(found, e)
				}
			}
		}
	}
	return found
}

const wraps entity.Class = "of what they wrap"

// wrapping are errors that have the class of what they wrap.
var wrapping = map[string]bool{"entity.Error": true, "entity.OpError": true, "entity.TransactError": true, "timeline.ApplyError": true}

// TestErrors_AreListedByClass compares the lists of errors.md, one for each class, with the comments of the errors and with classes; -update
// rewrites them. A type that stands for one error shares its row.
func TestErrors_AreListedByClass(t *testing.T) {
	t.Parallel()
	types := map[string]exportedError{} // those that are declared elsewhere
	for _, e := range errorsOf(t, "entity/entitytype") {
		types[e.name] = e
	}
	rows := map[entity.Class][]string{}
	for _, dir := range publicPackages {
		pkg, own, shared := filepath.Base(dir), map[string]exportedError{}, map[string]bool{}
		all := errorsOf(t, dir)
		for _, e := range all {
			if types[e.name].name != "" && e.fields == nil {
				e.fields = types[e.name].fields
			}
			own[e.name] = e
			if m := namedType.FindStringSubmatch(e.doc); m != nil && strings.HasPrefix(e.name, "Err") {
				shared[m[1]] = true
			}
		}
		span := func(name string) string {
			if !strings.HasSuffix(name, "Error") {
				return "`" + pkg + "." + name + "`"
			}
			e := own[name]
			if name == "OpError" { // a value in a TransactError
				return fmt.Sprintf("`%s.%s{%s}`", pkg, name, strings.Join(e.fields, ","))
			}
			return fmt.Sprintf("`*%s.%s{%s}`", pkg, name, strings.Join(e.fields, ","))
		}
		for _, e := range all {
			if shared[e.name] {
				continue
			}
			named := span(e.name)
			if m := namedType.FindStringSubmatch(e.doc); m != nil && strings.HasPrefix(e.name, "Err") {
				named += " " + span(m[1])
			}
			doc := e.doc
			if at := endOfFirst.FindStringIndex(doc); at != nil {
				doc = doc[:at[0]]
			}
			doc = verbOfDoc.ReplaceAllString(standsFor.ReplaceAllString(doc, ""), "")
			c, ok := classes[pkg+"."+e.name]
			require.True(t, ok, "%s.%s has no class", pkg, e.name)
			if wrapping[pkg+"."+e.name] {
				c.class = wraps
			}
			rows[c.class] = append(rows[c.class], fmt.Sprintf("- %s: %s\n", named, doc))
		}
	}
	var text strings.Builder
	for _, c := range classLists {
		require.NotEmpty(t, rows[c.class], "no error is listed under %s", c.title)
		fmt.Fprintf(&text, "\n## %s\n\n", c.title)
		if c.also != "" {
			text.WriteString(c.also + "\n\n")
		}
		text.WriteString(strings.Join(rows[c.class], ""))
		delete(rows, c.class)
	}
	require.Empty(t, rows, "a class has no list")
	generated(t, "errors.md", "errors", text.String())
}

// classLists are the lists of errors.md.
var classLists = []struct {
	class       entity.Class
	title, also string
}{
	{entity.ClassNotFound, "Not found", ""},
	{entity.ClassExists, "Exists", "Also `*timeseries.NotAppliedError` with `Duplicate` or `Collision`."},
	{entity.ClassConflict, "Conflict", ""},
	{entity.ClassRefused, "Refused", ""},
	{entity.ClassInvalid, "Invalid input", "`Reason` is `CursorMalformed`, `CursorForeign` (of another query), `CursorAltered` (or under another key) or `CursorGone` (a timeline's rows were replaced)."},
	{entity.ClassUnavailable, "Unavailable", "Also throttling, lost connections, contexts that ended, and `entity.ErrNoIndex` while the index is built."},
	{entity.ClassUnknown, "Outcome unknown", "Also any error with `entity.IsAmbiguous`."},
	{entity.ClassBug, "Bug", "Also other errors of DynamoDB, such as no permission, and of your functions. `ErrUndecodable` wraps the first 20 errors, with keys."},
	{wraps, "Class of what they wrap", ""},
}
