package docs_test

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// publicPackages are the packages whose errors a caller can get.
var publicPackages = []string{"entity", "timeseries", "versioned", "lifecycle", "unique", "lease", "stream", "timeline", "migrate", "tables/schemalock", "localdb", "localdb/faults"}

func TestErrors_EveryExportedErrorIsExplained(t *testing.T) {
	t.Parallel()
	text := read(t, "errors.md")
	for _, name := range exportedErrors(t) {
		require.Regexp(t, "`\\*?"+regexp.QuoteMeta(name)+"`", text, "errors.md does not explain %s", name)
	}
}

func TestErrors_EveryErrorThatADocumentNamesExists(t *testing.T) {
	t.Parallel()
	known := exportedErrors(t)
	named := regexp.MustCompile(`\b(?:entity|timeseries|versioned|lifecycle|unique|lease|stream|timeline|migrate|schemalock|localdb|faults)\.(?:Err[A-Z]\w*|[A-Z]\w*Error)\b`)
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
