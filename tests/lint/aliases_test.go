package lint_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unnamed are methods that the first sentence of an alias need not name: those of errors, texts and codecs.
var unnamed = []string{"Error", "Unwrap", "Is", "String", "MarshalDynamoDBAttributeValue", "MarshalJSON"}

// go doc of an alias shows no fields and methods, so the first sentence of its comment has them.
func TestAliases_NameFieldsAndMethodsInTheirFirstSentence(t *testing.T) {
	types, methods := map[string]ast.Expr{}, map[string][]string{} // by package and name
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, decl := range s.tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if of := methodOf(d); of != "" && d.Name.IsExported() {
					methods[s.pkg+"."+of] = append(methods[s.pkg+"."+of], d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if x, ok := spec.(*ast.TypeSpec); ok && !x.Assign.IsValid() {
						types[s.pkg+"."+x.Name.Name] = x.Type
					}
				}
			}
		}
	}
	checked := 0
	for _, s := range sources(t) {
		if s.test || regexp.MustCompile(`(^|/)(internal|tests|examples|docs)(/|$)`).MatchString(s.pkg) {
			continue
		}
		for _, decl := range s.tree.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				x, ok := spec.(*ast.TypeSpec)
				if !ok || !x.Assign.IsValid() || !x.Name.IsExported() {
					continue
				}
				of := aliased(s, x.Type)
				require.Contains(t, types, of, "%s: the type that %s stands for", s.name, x.Name.Name)
				doc := x.Doc
				if doc == nil {
					doc = d.Doc
				}
				sentence := firstSentence(doc.Text())
				for _, name := range append(exportedMembers(types[of]), methods[of]...) {
					assert.Regexp(t, `\b`+name+`\b`, sentence, "%s: the first sentence of the comment of %s does not name %s of %s", s.name, x.Name.Name, name, of)
				}
				checked++
			}
		}
	}
	require.Greater(t, checked, 20)
}

// methodOf is the name of the type that a method belongs to, or "".
func methodOf(f *ast.FuncDecl) string {
	if f.Recv == nil || slices.Contains(unnamed, f.Name.Name) {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// aliased is the type that an alias stands for, by package and name.
func aliased(s source, of ast.Expr) string {
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	switch x := of.(type) {
	case *ast.Ident:
		return s.pkg + "." + x.Name
	case *ast.SelectorExpr:
		for _, i := range s.tree.Imports {
			if from, err := strconv.Unquote(i.Path.Value); err == nil && path.Base(from) == x.X.(*ast.Ident).Name {
				return strings.TrimPrefix(from, module+"/") + "." + x.Sel.Name
			}
		}
	}
	return ""
}

// exportedMembers are the exported fields of a struct or methods of an interface.
func exportedMembers(of ast.Expr) (names []string) {
	var list *ast.FieldList
	switch x := of.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() && !slices.Contains(unnamed, name.Name) {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// firstSentence is what go doc shows of a comment in a list.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if end := regexp.MustCompile(`\. [A-Z]`).FindStringIndex(text); end != nil {
		return text[:end[0]+1]
	}
	return text
}
