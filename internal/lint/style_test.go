package lint_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// vague are names that say nothing about what a package or file holds.
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

// A file is as large as its subject. One over this many lines is about more than one.
const longestFile = 600

func TestFiles_HaveOneSubject(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test {
			assert.LessOrEqual(t, strings.Count(s.text, "\n"), longestFile, "%s is about more than one thing", s.name)
		}
	}
}

// unfinished marks work that was put off. It is put together here so that this file passes.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)

func TestFiles_LeaveNothingUnfinished(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		assert.NotRegexp(t, unfinished, s.text, s.name)
	}
}

// A test that is left out proves nothing. localdb skips for want of a database, and only where that is allowed.
func TestTests_AreNotSkipped(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.pkg == "localdb" {
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
