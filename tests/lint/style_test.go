package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/lint"
)

// root is the module's directory relative to this one; module is its path.
const (
	root   = "../.."
	module = "github.com/dynastrata/dynastrata"
)

// source is one Go file of the module.
type source struct {
	name string // path from the module's root, with slashes
	pkg  string // import path relative to the module; "." for the root
	test bool
	text string
	tree *ast.File
	fset *token.FileSet
}

// sources returns all Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

var parsed = sync.OnceValues(parse)

// others are modules that follow rules of their own.
var others = []string{"tests/bench", "tests/proof"}

// parse reads every Go file once, of all modules but others.
func parse() ([]source, error) {
	var found []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path == root {
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || slices.Contains(others, filepath.ToSlash(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		tree, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := "."
		if i := strings.LastIndex(name, "/"); i >= 0 {
			dir = name[:i]
		}
		found = append(found, source{name, dir, strings.HasSuffix(name, "_test.go"), string(text), tree, fset})
		return nil
	})
	return found, err
}

// imports returns the import paths of a file.
func (s source) imports() []string {
	var paths []string
	for _, i := range s.tree.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

// place returns the position of a node, for messages.
func (s source) place(n ast.Node) string { return s.fset.Position(n.Pos()).String() }

// vague are names that do not say what a package or file contains.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc"}

func TestNames_SayWhatIsInside(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		assert.NotContains(t, vague, s.tree.Name.Name, s.name)
		for _, word := range strings.FieldsFunc(strings.ToLower(s.name), func(r rune) bool { return strings.ContainsRune("/_-.", r) }) {
			assert.NotContains(t, vague, word, s.name)
		}
	}
}

// A file is as large as its subject. A longer one has more than one.
const longestFile = 600

func TestFiles_HaveOneSubject(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test {
			assert.LessOrEqual(t, strings.Count(s.text, "\n"), longestFile, "%s is about more than one thing", s.name)
		}
	}
}

// unfinished matches marks of postponed work. The words are split so that this file passes.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)

func TestFiles_LeaveNothingUnfinished(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		assert.NotRegexp(t, unfinished, s.text, s.name)
	}
}

func TestComments_UsePlainWords(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, group := range s.tree.Comments {
			if !strings.HasPrefix(group.Text(), "Package lint") {
				assert.Empty(t, lint.Avoided.FindAllString(group.Text(), -1), "%s: use plain words and the terms of docs/glossary.md", s.place(group))
			}
		}
	}
}

// A skipped test proves nothing. Only localdb and the tests in a browser skip, when there is no suitable database or browser and that is
// allowed.
func TestTests_AreNotSkipped(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.pkg == "localdb" || s.pkg == "tests/browser" {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				assert.NotContains(t, []string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name, s.place(call))
			}
			return true
		})
	}
}

// conventional methods need no comment: their interface explains them.
var conventional = []string{"Error", "String", "Unwrap"}

func public(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return !slices.Contains([]string{"internal", "examples", "tests"}, top)
}

// Every exported identifier of a public package has a comment that begins with its name.
func TestComments_EveryExportedIdentifierHasOne(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || !public(s.pkg) {
			continue
		}
		for _, decl := range s.tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				checkFunc(t, s, d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					checkSpec(t, s, d, spec)
				}
			}
		}
	}
}

func checkFunc(t *testing.T, s source, d *ast.FuncDecl) {
	t.Helper()
	if !d.Name.IsExported() || d.Recv != nil && (!ast.IsExported(receiver(d)) || slices.Contains(conventional, d.Name.Name)) {
		return
	}
	assert.True(t, strings.HasPrefix(d.Doc.Text(), d.Name.Name+" "), "%s: %s needs a comment that begins with its name", s.place(d), d.Name.Name)
}

// receiver returns the name of a method's type, without pointer and type parameters.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func checkSpec(t *testing.T, s source, d *ast.GenDecl, spec ast.Spec) {
	t.Helper()
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		doc := spec.Doc.Text()
		if len(d.Specs) == 1 && doc == "" {
			doc = d.Doc.Text()
		}
		doc = strings.TrimPrefix(strings.TrimPrefix(doc, "A "), "An ") // as in the standard library
		assert.True(t, strings.HasPrefix(doc, spec.Name.Name+" "), "%s: %s needs a comment that begins with its name", s.place(spec), spec.Name.Name)
		if contract, ok := spec.Type.(*ast.InterfaceType); ok {
			checkMethods(t, s, contract)
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				// A comment on a group explains its members, or each has a remark after it.
				assert.NotEmpty(t, spec.Doc.Text()+spec.Comment.Text()+d.Doc.Text(), "%s: %s needs a comment", s.place(spec), name.Name)
			}
		}
	}
}

// checkMethods requires a comment on every method of an interface, or on none if the comment above covers them.
func checkMethods(t *testing.T, s source, contract *ast.InterfaceType) {
	t.Helper()
	var with, without []string
	for _, m := range contract.Methods.List {
		for _, name := range m.Names {
			switch {
			case !name.IsExported():
			case m.Doc.Text()+m.Comment.Text() == "":
				without = append(without, name.Name)
			default:
				with = append(with, name.Name)
			}
		}
	}
	assert.False(t, len(with) > 0 && len(without) > 0, "%s: methods %v need comments, as %v have", s.place(contract), without, with)
}

func TestComments_EveryPublicPackageIntroducesItself(t *testing.T) {
	t.Parallel()
	introduced := map[string]int{}
	for _, s := range sources(t) {
		if s.test || !public(s.pkg) {
			continue
		}
		introduced[s.pkg] += 0
		begins := "Package " + s.tree.Name.Name + " "
		if s.tree.Name.Name == "main" {
			begins = "Command " + path.Base(s.pkg) + " "
		}
		if strings.HasPrefix(s.tree.Doc.Text(), begins) {
			introduced[s.pkg]++
		}
	}
	assert.NotEmpty(t, introduced)
	for pkg, n := range introduced {
		assert.Equal(t, 1, n, "package comments of %s", pkg)
	}
}
