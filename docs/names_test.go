package docs_test

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentedPackages are the packages that documents name things of.
var documentedPackages = append([]string{"tables", "tables/iac", "entity/entitytype", "internal/engine", "internal/layout", "internal/bind", "internal/plan", "internal/query", "internal/schema", "contrib/idempotent", "contrib/subject"}, publicPackages...)

// invented are the types of examples.
var invented = map[string]bool{"Address": true, "Base": true}

var (
	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`)
	selected  = regexp.MustCompile(`(?:^|[^\w.])([A-Z]\w*)\.([A-Z]\w*)`)
	inCode    = regexp.MustCompile("`[^`\n]+`")
)

// Documents name no function, type, field or method that does not exist. The change log may: it is about the past.
func TestDocuments_NameWhatExists(t *testing.T) {
	t.Parallel()
	names, members := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, dir := range documentedPackages {
		names[filepath.Base(dir)] = map[string]bool{}
		exported(t, dir, names[filepath.Base(dir)], members)
	}
	checked := 0
	for _, document := range documents(t) {
		if strings.Contains(document, "CHANGELOG") {
			continue
		}
		for _, span := range inCode.FindAllString(read(t, document), -1) {
			for _, m := range qualified.FindAllStringSubmatch(span, -1) {
				if known := names[m[1]]; known != nil {
					require.True(t, known[m[2]], "%s: %s in %s does not exist", document, m[0], span)
					checked++
				}
			}
			for _, m := range selected.FindAllStringSubmatch(span, -1) {
				require.True(t, members[m[1]][m[2]] || invented[m[1]], "%s: %s has no %s in %s", document, m[1], m[2], span)
				checked++
			}
		}
	}
	require.Greater(t, checked, 300, "the names were not found")
}

// exported adds the exported names of a package to names, and the fields and methods of its types to members, by type.
func exported(t *testing.T, dir string, names map[string]bool, members map[string]map[string]bool) {
	t.Helper()
	add := func(of, name string) {
		if members[of] == nil {
			members[of] = map[string]bool{}
		}
		members[of][name] = true
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, decl := range parsed(t, file).Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); of != "" {
					add(of, d.Name.Name)
				} else {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, name := range declared(d) {
					names[name] = true
				}
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						typeMembers(s, add)
					}
				}
			}
		}
	}
}

// typeMembers adds the fields of a struct, those of embedded types by their names, and the methods of an interface.
func typeMembers(s *ast.TypeSpec, add func(of, name string)) {
	var list *ast.FieldList
	switch of := s.Type.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list = of.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			add(s.Name.Name, name.Name)
		}
	}
}
