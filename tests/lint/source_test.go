package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
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
