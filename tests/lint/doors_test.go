package lint_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// rawReads lists the files that may read stored items in another way than through layout.GetItem, layout.Pages and the decoding of
// package core, with what they do with such an item. Everybody else gets it from layout.Open.
var rawReads = map[string]string{
	"internal/layout/stored.go":    "opens it",
	"internal/engine/core.go":      "opens it, and decodes it",
	"internal/engine/operation.go": "decodes what a write has stored, in today's payload version",
	"internal/engine/run.go":       "opens it, or stores it upgraded, before a plan gets it",
	"internal/engine/send.go":      "looks for the write id of a write whose answer was lost",
	"internal/engine/token.go":     "looks for the write ids of a repeated transaction",
	"internal/query/run.go":        "passes it on to Core.ReadBy",
	"internal/plan/past.go":        "opens it, or looks at its key only",
	"internal/plan/moves.go":       "reads a sentinel, or the forms that an item had",
	"internal/engine/purge.go":     "guards by it, and opens it for its unique values",
	"migrate/check.go":             "opens it, or looks at its key only",
	"migrate/checkpoint.go":        "reads a checkpoint",
	"migrate/copypass.go":          "passes it on to examine.go or convert.go",
	"migrate/examine.go":           "opens it, and guards by it",
	"migrate/fence.go":             "reads a fence",
	"migrate/rewrite.go":           "reads a sentinel",
	"migrate/run.go":               "passes it on to examine.go, convert.go or copypass.go",
	"migrate/settle.go":            "passes it on to convert.go, and guards by it",
	"timeline/codec.go":            "decodes what it has encoded",
	"timeline/event.go":            "upgrades it by the steps of the timeline",
	"timeline/history.go":          "passes it on to event.go",
	"timeline/source.go":           "passes it on to event.go",
	"timeseries/append.go":         "passes it on to Core.Decode",
	"internal/engine/transact.go":  "computes the size of what DynamoDB refused",
	"unique/find.go":               "reads a sentinel, or opens it",
	"migrate/claims.go":            "reads a sentinel, or opens it",
}

var (
	readers = regexp.MustCompile(`^(r|reader|runner|Runner|write)$`)
	reads   = []string{"Get", "GetMany", "TransactGet", "ReadPage", "RawPages"}
	codecs  = regexp.MustCompile(`^[cC]odec$`)
	decodes = []string{"Decode", "Read"}
)

// lastName returns the last name of an expression such as c.Runner.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// readsRaw reports whether a call reads stored items as they stand in the table, or decodes one.
func readsRaw(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, verb := lastName(f.X), f.Sel.Name
	if of == "write" {
		return verb == "RawPages"
	}
	return readers.MatchString(of) && slices.Contains(reads, verb) || codecs.MatchString(of) && slices.Contains(decodes, verb)
}

// insideTheLibrary reports whether a package decodes stored items of entities for its callers.
func insideTheLibrary(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return !slices.Contains([]string{"examples", "contrib", "cmd", "localdb", "docs", "tests"}, top)
}

func TestDoors_StoredItemsEnterByOne(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !insideTheLibrary(s.pkg) {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && readsRaw(call) {
				used[s.name] = true
				assert.Contains(t, rawReads, s.name, "%s: get stored items from layout.GetItem, layout.Pages or layout.Open", s.place(call))
			}
			return true
		})
	}
	for path := range rawReads {
		assert.True(t, used[path], "%s reads no stored items any more; remove it from the list", path)
	}
}
