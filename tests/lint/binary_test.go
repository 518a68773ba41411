package lint_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// keepsEveryMethod reports whether a call makes the linker keep every exported method of every type: a look-up of a method by
// reflection, unless its name is a literal.
func keepsEveryMethod(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch sel.Sel.Name {
	case "Method", "Methods":
		return true
	case "MethodByName":
		name, ok := call.Args[0].(*ast.BasicLit)
		return !ok || name.Kind != token.STRING
	}
	return false
}

// A look-up of a method by another name adds megabytes of the SDK to every program, and so do templates, which look up methods too.
func TestBinaries_LeaveOutUnusedMethods(t *testing.T) {
	t.Parallel()
	named := 0
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "examples/") || strings.HasPrefix(s.pkg, "tests/") {
			continue
		}
		for _, path := range s.imports() {
			assert.False(t, slices.Contains([]string{"text/template", "html/template"}, path), "%s may not import %s", s.name, path)
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				assert.False(t, keepsEveryMethod(call), "%s: look up methods by literal names only", s.place(call))
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "MethodByName" {
					named++
				}
			}
			return true
		})
	}
	assert.NotZero(t, named, "the look-ups by literal names are seen")
}
