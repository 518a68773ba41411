package lint_test

import (
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

// internals lists which packages of the module each package under internal/ may import: those below it. A new package gets
// a line here. So does entity/entitytype, which is below them.
var internals = map[string][]string{
	"entity/entitytype": nil,
	"internal/key":      nil,
	"internal/wire":     nil,
	"internal/item":     {"internal/key", "internal/wire"},
	"internal/expr":     {"internal/item"},
	"internal/schema":   {"entity/entitytype", "internal/key", "internal/item", "internal/expr"},
	"internal/write": {
		"entity/entitytype", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire",
	},
	"internal/engine": {
		"entity/entitytype", "internal/write", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire",
	},
	"internal/query": {
		"entity/entitytype", "internal/engine", "internal/write", "internal/schema", "internal/expr", "internal/item", "internal/key", "internal/wire",
	},
	"internal/avjson":   {"internal/item"},
	"internal/recorded": {"internal/schema", "internal/item", "internal/key"},
	"internal/identify": {
		"internal/write", "internal/schema", "internal/expr", "internal/item",
	},
	"internal/wire/wiretest": nil,
	"internal/expr/exprtest": {"internal/expr", "internal/item"},
	"internal/declaretest":   {"internal/schema", "internal/key"},
	"internal/dbtest":        {"entity", "tables", "localdb", "localdb/faults"},
	"internal/exampletest":   nil,
	"internal/testsize":      nil,
	"internal/spool":         nil,
	"internal/lint":          nil,
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
	case from == "iac":
		return to == "entity" || to == "tables"
	case from == "schemalock":
		return internal || to == "entity"
	case (from == "migrate" || from == "timeline") && to == "stream": // whose changes a copy, or a view, follows
		return true
	case slices.Contains(folds, from):
		return internal || to == "entity" || slices.Contains(features, to)
	case from == "contrib/beam":
		return to == "entity" || slices.Contains(features, to) || slices.Contains(folds, to)
	case strings.HasPrefix(from, "cmd/"): // shows and mends what all others store
		return internal || to == "entity" || to == "schemalock" || to == "tables" || to == "localdb" || slices.Contains(features, to) || slices.Contains(folds, to) ||
			strings.HasPrefix(to, "cmd/") || to == "contrib/vet"
	case strings.HasPrefix(from, "contrib/vet"): // asks what New asks
		return internal || to == "entity" || slices.Contains(features, to) || to == "contrib/vet"
	case strings.HasPrefix(from, "contrib/"):
		return to == "entity" || to == "entity/entitytype"
	case (from == "examples/iotbackend" || from == "examples/lifecycle") && to == "cmd/dynastrata/console": // modules of their own
		return true
	case from == "tests/aws": // a program, as the examples are
		return !strings.HasPrefix(to, "internal/")
	case strings.HasPrefix(from, "examples/"):
		return strings.HasPrefix(to, from+"/") || !strings.HasPrefix(to, "internal/") && !strings.HasPrefix(to, "cmd/")
	}
	return false
}

// known reports whether the rules above mention a package.
func known(pkg string) bool {
	_, internal := internals[pkg]
	return internal || pkg == "." || pkg == "entity" || pkg == "iac" || pkg == "tables" || pkg == "schemalock" || pkg == "localdb" || slices.Contains(features, pkg) || slices.Contains(folds, pkg) ||
		pkg == "tests/aws" || strings.HasPrefix(pkg, "contrib/") || strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "localdb/") || strings.HasPrefix(pkg, "examples/")
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
		{"internal/schema", "internal/write"}, {"internal/write", "internal/engine"}, {"internal/engine", "internal/query"},
		{"internal/engine", "entity"}, {"entity/entitytype", "entity"}, {"entity/entitytype", "internal/item"}, {"localdb", "entity/entitytype"}, {"schemalock", "unique"}, {"entity", "schemalock"}, {"localdb", "entity"}, {"localdb/faults", "internal/item"}, {"contrib/otel", "internal/engine"}, {"contrib/otel", "timeseries"}, {"contrib/vet", "timeline"}, {"contrib/beam", "internal/engine"}, {"contrib/beam", "contrib/otel"}, {"examples/telemetry", "internal/write"}, {"examples/telemetry", "cmd/dynastrata/console"}, {"entity", "cmd/dynastrata/console"},
	} {
		assert.False(t, allowed(bad[0], bad[1]), "%s may import %s", bad[0], bad[1])
	}
	for _, good := range [][2]string{
		{"timeseries", "entity"}, {"timeline", "timeseries"}, {"stream", "versioned"}, {"entity", "internal/engine"},
		{"internal/schema", "internal/key"}, {"internal/write", "entity/entitytype"}, {"entity", "entity/entitytype"}, {"versioned", "entity/entitytype"}, {"contrib/beam", "migrate"}, {"contrib/beam", "unique"}, {"examples/telemetry", "localdb"}, {"examples/telemetry", "timeseries"}, {"examples/lifecycle", "cmd/dynastrata/console"},
	} {
		assert.True(t, allowed(good[0], good[1]), "%s may not import %s", good[0], good[1])
	}
}

// The imports that internals allows have no cycle.
func TestImports_InternalPackagesHaveNoCircle(t *testing.T) {
	t.Parallel()
	for from := range internals {
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
	module + "/localdb", module + "/internal/expr/exprtest", module + "/internal/exampletest", module + "/internal/testsize", module + "/internal/declaretest", module + "/internal/dbtest", "golang.org/x/tools",
}

func TestImports_TestPackagesStayInTests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.pkg == "localdb" || slices.Contains([]string{"internal/testsize", "internal/declaretest", "internal/dbtest"}, s.pkg) { // they are for the tests of others
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

// layers lists the files of large packages from the lowest layer to the highest. A file uses what is declared in its own layer
// and below.
var layers = map[string][]string{
	"internal/write": {
		"doc.go pace.go budget.go options.go",
		"generation.go presence.go events.go items.go storedkeys.go read.go related.go stored.go",
		"errors.go text.go ids.go values.go keys.go target.go validate.go expiry.go conditions.go indexkeys.go whole.go changes.go",
		"refusals.go hint.go feature.go op.go declare.go guard.go owned.go keycase.go payload.go changeguards.go compose.go expirychanges.go past.go " +
			"create.go update.go upsert.go modify.go graft.go touch.go delete.go rewrite.go print.go",
	},
	"internal/engine": {
		"doc.go cursor.go places.go seal.go",
		"runner.go clients.go body.go parallel.go classify.go trace.go retry.go reads.go batch.go requests.go send.go run.go transact.go token.go",
		"purge.go database.go core.go change.go operation.go",
	},
	"internal/query": {"build.go keycond.go plan.go run.go page.go merge.go collection.go hydrate.go", "reading.go"},
}

func TestLayers_FilesUseWhatIsBelow(t *testing.T) {
	t.Parallel()
	for pkg, of := range layers {
		layer, declared := map[string]int{}, map[string]int{}
		for n, files := range of {
			for _, name := range strings.Fields(files) {
				layer[pkg+"/"+name] = n
			}
		}
		for _, s := range sources(t) {
			if s.pkg != pkg || s.test {
				continue
			}
			n, ok := layer[s.name]
			assert.True(t, ok, "say in layers where %s belongs", s.name)
			for name := range s.tree.Scope.Objects {
				declared[name] = n
			}
		}
		for _, s := range sources(t) {
			if s.pkg != pkg || s.test {
				continue
			}
			for _, x := range s.tree.Unresolved {
				if n, ok := declared[x.Name]; ok {
					assert.LessOrEqual(t, n, layer[s.name], "%s uses %s of a layer above", s.name, x.Name)
				}
			}
		}
		assert.Len(t, layer, len(strings.Fields(strings.Join(of, " "))), "each file once")
	}
}
