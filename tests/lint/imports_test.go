package lint_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// features are the packages that add to entities; folds use them.
var (
	features = []string{"timeseries", "versioned", "lifecycle", "unique", "lease"}
	folds    = []string{"stream", "timeline", "migrate"}
)

// internals lists which packages of the module each package under internal/ may import: those below it, and of all others
// only entity/entitytype, which is below them too. A new package gets a line here.
var internals = map[string][]string{
	"internal/sentinel": nil,
	"entity/entitytype": {"internal/sentinel"},
	"internal/key":      nil,
	"internal/wire":     nil,
	"internal/item":     {"entity/entitytype", "internal/key", "internal/wire"},
	"internal/expr":     {"internal/item"},
	"internal/schema":   {"entity/entitytype", "internal/key", "internal/item", "internal/expr"},
	"internal/cursor":   {"entity/entitytype", "internal/sentinel", "internal/bind", "internal/item", "internal/schema"},
	"internal/layout":   {"entity/entitytype", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire"},
	"internal/bind":     {"entity/entitytype", "internal/sentinel", "internal/layout", "internal/schema", "internal/expr", "internal/item", "internal/key"},
	"internal/plan": {
		"entity/entitytype", "internal/sentinel", "internal/bind", "internal/layout", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire",
	},
	"internal/engine": {
		"entity/entitytype", "internal/sentinel", "internal/plan", "internal/bind", "internal/layout", "internal/cursor", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire",
	},
	"internal/query": {
		"entity/entitytype", "internal/sentinel", "internal/engine", "internal/plan", "internal/bind", "internal/layout", "internal/cursor", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire",
	},
	"internal/avjson":             {"internal/item"},
	"internal/streamed":           {"internal/engine", "internal/item"},
	"internal/layout/recorded":    {"internal/schema", "internal/item", "internal/key"},
	"internal/item/packed":        {"internal/item"},
	"internal/layout/generations": nil,
	"internal/layout/identify":    {"internal/layout", "internal/schema", "internal/expr", "internal/item"},
}

// allowed reports whether package from may import package to. Both are in this module.
func allowed(from, to string) bool {
	if below, ok := internals[from]; ok {
		return slices.Contains(below, to)
	}
	_, internal := internals[to]
	switch {
	case strings.HasPrefix(from, "localdb/cmd/"):
		return to == "localdb"
	case from == "localdb" || strings.HasPrefix(from, "localdb/"):
		return strings.HasPrefix(to, "localdb/")
	case from == "entity":
		return internal
	case slices.Contains(features, from):
		return internal || to == "entity"
	case from == "tables":
		return internal || to == "entity"
	case from == "tables/iac":
		return to == "entity" || to == "tables"
	case from == "tables/schemalock":
		return internal || to == "entity"
	case strings.HasPrefix(from, "timeline/internal/"):
		return false
	case from == "timeline" && strings.HasPrefix(to, "timeline/internal/"),
		(from == "migrate" || from == "timeline") && to == "stream": // whose changes a copy, or a view, follows
		return true
	case slices.Contains(folds, from):
		return internal || to == "entity" || slices.Contains(features, to)
	case from == "contrib/beam":
		return to == "entity" || slices.Contains(features, to) || slices.Contains(folds, to)
	case from == "contrib/subject": // reads and writes what all features store
		return internal || to == "entity" || to == "entity/entitytype"
	case from == "contrib/idempotent": // as a program can
		return to == "entity" || to == "lifecycle" || to == "lease"
	case strings.HasPrefix(from, "cmd/"): // shows and mends what all others store
		return internal || to == "entity" || to == "tables/schemalock" || to == "tables" || to == "localdb" || slices.Contains(features, to) || slices.Contains(folds, to) ||
			strings.HasPrefix(to, "cmd/") || to == "contrib/vet"
	case strings.HasPrefix(from, "contrib/vet"): // asks what New asks
		return internal || to == "entity" || slices.Contains(features, to) || to == "contrib/vet"
	case strings.HasPrefix(from, "contrib/"):
		return to == "entity" || to == "entity/entitytype"
	case (from == "examples/iotbackend" || from == "examples/lifecycle" || from == "examples/studio") && to == "cmd/dynastrata/console": // modules of their own
		return true
	case from == "tests/aws": // a program, as the examples are
		return !strings.HasPrefix(to, "internal/") && !strings.HasPrefix(to, "tests/")
	case strings.HasPrefix(from, "tests/"): // what tests share stands on top of the library
		return !strings.HasPrefix(to, "tests/")
	case strings.HasPrefix(from, "examples/"):
		return strings.HasPrefix(to, from+"/") || !strings.HasPrefix(to, "internal/") && !strings.HasPrefix(to, "cmd/") && !strings.HasPrefix(to, "tests/")
	}
	return false
}

// known reports whether the rules above mention a package.
func known(pkg string) bool {
	_, internal := internals[pkg]
	return internal || pkg == "entity" || pkg == "tables" || strings.HasPrefix(pkg, "tables/") || pkg == "localdb" || slices.Contains(features, pkg) || slices.Contains(folds, pkg) ||
		strings.HasPrefix(pkg, "tests/") || strings.HasPrefix(pkg, "timeline/internal/") || strings.HasPrefix(pkg, "contrib/") || strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "localdb/") || strings.HasPrefix(pkg, "examples/")
}

func TestImports_GoDownwards(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if !known(s.pkg) {
			assert.Fail(t, "unknown package", "%s: say in imports_test.go what %s may import", s.name, s.pkg)
			continue
		}
		for _, path := range s.imports() {
			if to, ours := strings.CutPrefix(path, module+"/"); ours {
				assert.True(t, allowed(s.pkg, to), "%s may not import %s", s.name, to)
			}
		}
	}
}

// The rules must refuse these imports, whatever the tree imports today.
func TestImports_RulesRefuseWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for _, bad := range [][2]string{
		{"entity", "timeseries"}, {"entity", "timeline"}, {"timeline", "migrate"}, {"entity", "localdb"},
		{"timeseries", "versioned"}, {"unique", "lifecycle"}, {"timeseries", "stream"}, {"lifecycle", "timeline"},
		{"timeseries", "localdb"}, {"internal/key", "internal/schema"}, {"internal/key", "internal/item"},
		{"internal/schema", "internal/layout"}, {"internal/layout", "internal/bind"}, {"internal/bind", "internal/plan"}, {"internal/plan", "internal/engine"}, {"internal/engine", "internal/query"},
		{"internal/engine", "entity"}, {"entity/entitytype", "entity"}, {"entity/entitytype", "internal/item"}, {"localdb", "entity/entitytype"}, {"tables/schemalock", "unique"}, {"entity", "tables/schemalock"}, {"localdb", "entity"}, {"localdb/faults", "internal/item"}, {"contrib/otel", "internal/engine"}, {"contrib/otel", "timeseries"}, {"contrib/idempotent", "internal/engine"}, {"contrib/idempotent", "unique"}, {"contrib/vet", "timeline"}, {"contrib/beam", "internal/engine"}, {"contrib/beam", "contrib/otel"}, {"examples/telemetry", "internal/plan"}, {"examples/telemetry", "tests/dbtest"}, {"internal/plan", "tests/dbtest"}, {"unique", "tests/dbtest"}, {"tests/exprtest", "tests/dbtest"}, {"examples/telemetry", "cmd/dynastrata/console"}, {"entity", "cmd/dynastrata/console"},
	} {
		assert.False(t, allowed(bad[0], bad[1]), "%s may import %s", bad[0], bad[1])
	}
	for _, good := range [][2]string{
		{"timeseries", "entity"}, {"timeline", "timeseries"}, {"stream", "versioned"}, {"entity", "internal/engine"},
		{"internal/schema", "internal/key"}, {"internal/plan", "internal/bind"}, {"internal/bind", "internal/layout"}, {"internal/plan", "entity/entitytype"}, {"entity", "entity/entitytype"}, {"versioned", "entity/entitytype"}, {"contrib/beam", "migrate"}, {"contrib/beam", "unique"}, {"examples/telemetry", "localdb"}, {"examples/telemetry", "timeseries"}, {"examples/lifecycle", "cmd/dynastrata/console"},
	} {
		assert.True(t, allowed(good[0], good[1]), "%s may not import %s", good[0], good[1])
	}
}

// The imports that internals allows lead neither up, except to entity/entitytype, nor in a circle.
func TestImports_InternalPackagesStandBelow(t *testing.T) {
	t.Parallel()
	for from, below := range internals {
		for _, to := range below {
			assert.True(t, to == "entity/entitytype" || strings.HasPrefix(to, "internal/"), "%s may import %s", from, to)
		}
		var visit func(pkg string, path []string)
		visit = func(pkg string, path []string) {
			for _, to := range internals[pkg] {
				if to == from {
					assert.Fail(t, "circle", "%v", append(path, to))
					return
				}
				visit(to, append(path[:len(path):len(path)], to))
			}
		}
		visit(from, []string{from})
	}
}

// testOnly may be imported only by tests.
var testOnly = []string{
	"testing", "github.com/stretchr/testify", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/anishathalye/porcupine",
	module + "/localdb", module + "/tests", "golang.org/x/tools",
}

func TestImports_TestPackagesStayInTests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.pkg == "localdb" || strings.HasPrefix(s.pkg, "tests/") {
			continue
		}
		tool := strings.HasPrefix(s.pkg, "examples/") || strings.HasPrefix(s.pkg, "localdb/cmd/") || strings.HasPrefix(s.pkg, "cmd/")
		for _, path := range s.imports() {
			for _, only := range testOnly {
				if path == only || strings.HasPrefix(path, only+"/") {
					analyzer := strings.HasPrefix(s.pkg, "contrib/vet") && only == "golang.org/x/tools"
					assert.True(t, analyzer || tool && strings.HasPrefix(path, module+"/"), "%s imports %s", s.name, path)
				}
			}
		}
	}
}

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
	const pages = "cmd/dynastrata/internal/studio" // in programs with a command line, whose help has templates anyway
	named := 0
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "examples/") || strings.HasPrefix(s.pkg, "tests/") {
			continue
		}
		for _, path := range s.imports() {
			template := slices.Contains([]string{"text/template", "html/template"}, path)
			assert.False(t, template && s.pkg != pages, "%s may not import %s", s.name, path)
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
