package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// declaring are the packages whose types declare something in the tag of a blank field.
var declaring = []string{"entity", "timeseries", "versioned", "lifecycle", "unique"}

func TestTags_EveryDeclarationAndTagKeyIsListed(t *testing.T) {
	t.Parallel()
	listed := map[string][]string{}
	last := ""
	for _, cells := range table(t, section(t, read(t, "tags.md"), "Declarations")) {
		if names := quoted(cells[0]); len(names) > 0 {
			last = names[0]
		}
		listed[last] = append(listed[last], quoted(cells[1])...)
	}
	read := map[string][]string{}
	schema := methods(t, "internal/schema")
	for _, dir := range declaring {
		own, fieldTypes := methods(t, dir), byField(t, dir)
		for _, f := range own["Declare"] {
			if name := fieldTypes[receiver(f)]; name != "" {
				read[dir+"."+name] = tagKeys(f, own, schema)
			}
		}
	}
	require.Len(t, read, 9, "the declarations in the code")
	require.ElementsMatch(t, slices.Collect(maps.Keys(read)), slices.Collect(maps.Keys(listed)))
	for name, keys := range read {
		require.ElementsMatch(t, keys, listed[name], "tag keys of %s", name)
	}
}

func TestTags_EveryRoleTimeFormatAndOptionIsListed(t *testing.T) {
	t.Parallel()
	page, values := read(t, "tags.md"), read(t, "values.md")
	roles := append(stringValues(t, "internal/schema/field.go", "Role"), "text=ordered", "time=…", "default=…", "context=…")
	for _, k := range []string{schema.UUIDv7, schema.ULID} {
		roles = append(roles, "id="+k)
	}
	require.ElementsMatch(t, roles, firstColumn(t, section(t, page, "Roles")))
	var formats []string
	for _, f := range stringValues(t, "internal/schema/field.go", "timeFormats") {
		formats = append(formats, "time="+f)
	}
	_, times, found := strings.Cut(values, "| format of a time ")
	require.True(t, found)
	require.ElementsMatch(t, formats, firstColumn(t, times))
	options := append(stringValues(t, "internal/item/tag.go", "attributeOptions"), "-")
	require.ElementsMatch(t, options, firstColumn(t, section(t, values, "Declare")))
}

// section is the text below a heading, up to the next one.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n## "+heading+"\n")
	require.True(t, ok, "no heading %q", heading)
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// table is the first table of a text, without its head: its rows, each with its cells.
func table(t *testing.T, text string) (rows [][]string) {
	t.Helper()
	_, body, ok := strings.Cut(text, "| --- |")
	require.True(t, ok, "no table")
	_, body, _ = strings.Cut(body, "\n")
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | "))
	}
	return rows
}

func firstColumn(t *testing.T, text string) (found []string) {
	t.Helper()
	for _, cells := range table(t, text) {
		found = append(found, quoted(cells[0])...)
	}
	return found
}

var inQuotes = regexp.MustCompile("`([^`]+)`")

func quoted(cell string) (found []string) {
	for _, m := range inQuotes.FindAllStringSubmatch(cell, -1) {
		found = append(found, m[1])
	}
	return found
}

// methods are the functions and methods of the package in dir, by name.
func methods(t *testing.T, dir string) map[string][]*ast.FuncDecl {
	t.Helper()
	found := map[string][]*ast.FuncDecl{}
	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, decl := range parsed(t, file).Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				found[f.Name.Name] = append(found[f.Name.Name], f)
			}
		}
	}
	return found
}

// byField are the exported structs of a package with one blank field, by the type of that field.
func byField(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		ast.Inspect(parsed(t, file), func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if ok && len(s.Fields.List) == 1 && len(s.Fields.List[0].Names) == 1 && s.Fields.List[0].Names[0].Name == "_" {
				if of, ok := s.Fields.List[0].Type.(*ast.Ident); ok {
					found[of.Name] = spec.Name.Name
				}
			}
			return true
		})
	}
	return found
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return f
}

// receiver is the name of the type that f is a method of, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	at := f.Recv.List[0].Type
	if star, ok := at.(*ast.StarExpr); ok {
		at = star.X
	}
	switch generic := at.(type) {
	case *ast.IndexExpr:
		at = generic.X
	case *ast.IndexListExpr:
		at = generic.X
	}
	if name, ok := at.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// tagKeys are the keys that a Declare method asks its tag for, itself or through what it calls with the declaration. The
// three methods that ask are Decl's Tag, Need and Duration.
func tagKeys(declare *ast.FuncDecl, packages ...map[string][]*ast.FuncDecl) []string {
	keys, seen := map[string]bool{}, map[*ast.FuncDecl]bool{}
	var visit func(f *ast.FuncDecl)
	visit = func(f *ast.FuncDecl) {
		if seen[f] {
			return
		}
		seen[f] = true
		ast.Inspect(f.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			}
			if name == "Tag" || name == "Need" || name == "Duration" {
				if key, ok := call.Args[0].(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(key.Value)
					keys[text] = true
				}
				return true
			}
			for _, functions := range packages {
				for _, callee := range functions[name] {
					if takesDecl(callee) {
						visit(callee)
					}
				}
			}
			return true
		})
	}
	visit(declare)
	return slices.Sorted(maps.Keys(keys))
}

// takesDecl reports that f is a method of schema.Decl or has one as a parameter: only such a function can ask for a tag key.
func takesDecl(f *ast.FuncDecl) bool {
	if receiver(f) == "Decl" {
		return true
	}
	for _, p := range f.Type.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		switch of := star.X.(type) {
		case *ast.Ident:
			if of.Name == "Decl" {
				return true
			}
		case *ast.SelectorExpr:
			if of.Sel.Name == "Decl" {
				return true
			}
		}
	}
	return false
}

// stringValues are the string literals of the constants of a type, or of the list of a variable.
func stringValues(t *testing.T, file, name string) (values []string) {
	t.Helper()
	for _, decl := range parsed(t, filepath.Join("..", file)).Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST && group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			s := spec.(*ast.ValueSpec)
			of, typed := s.Type.(*ast.Ident)
			if (!typed || of.Name != name) && s.Names[0].Name != name {
				continue
			}
			ast.Inspect(s, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(lit.Value)
					require.NoError(t, err)
					values = append(values, text)
				}
				return true
			})
		}
	}
	require.NotEmpty(t, values, "%s has no %s", file, name)
	return values
}
