package lint_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// codeFiles declare the codes.
var codeFiles = []string{"internal/schema/codes.go", "internal/bind/errors.go"}

var code = regexp.MustCompile(`^EDD-9\d{3}$`)

// codes returns the declared codes: text → constant.
func codes(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, value := range spec.Values {
				lit, ok := value.(*ast.BasicLit)
				if !ok || !code.MatchString(strings.Trim(lit.Value, `"`)) {
					continue
				}
				text, name := strings.Trim(lit.Value, `"`), spec.Names[i].Name
				assert.Contains(t, codeFiles, s.name, "%s is declared outside the lists of codes", name)
				assert.NotContains(t, found, text, "%s is declared twice", text)
				found[text] = name
			}
			return true
		})
	}
	require.Greater(t, len(found), 40, "the constants were not found")
	return found
}

// codesPage lists the codes. A test of docs writes its lists from the comments of the constants.
const codesPage = root + "/docs/codes.md"

// codeRow is the line of a code: a link to the page of its feature, the cause and the remedy.
var codeRow = regexp.MustCompile(`^- \[(EDD-\d{4})\]\([a-z-]+\.md\) .+?: .+\n$`)

// rows returns the codes that have a line in the page. Those of one list are in order.
func rows(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(codesPage)
	require.NoError(t, err)
	var found []string
	last := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			last = ""
		}
		row := codeRow.FindStringSubmatch(line)
		if row == nil {
			assert.False(t, strings.HasPrefix(line, "- [EDD-"), "a row needs a link to the page of its feature, the cause and the remedy: %s", line)
			continue
		}
		name := row[1]
		assert.Regexp(t, code, name)
		assert.Greater(t, name, last, "people look codes up by number")
		found, last = append(found, name), name
	}
	return found
}

func TestCodes_EachHasARowInTheDocument(t *testing.T) {
	t.Parallel()
	var declared []string
	for text := range codes(t) {
		declared = append(declared, text)
	}
	require.ElementsMatch(t, declared, rows(t))
}

// declared are the verdicts in archives of declarations, which tests/declaretest checks.
func declared(t *testing.T) string {
	t.Helper()
	var verdicts strings.Builder
	for _, pattern := range []string{"/*/testdata/declarations/*.txt", "/internal/*/testdata/declarations/*.txt"} {
		paths, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "type ") || strings.HasPrefix(line, "} ") {
					_, verdict, _ := strings.Cut(line, " // ")
					verdicts.WriteString(verdict)
				}
			}
		}
	}
	return verdicts.String()
}

func TestCodes_EachIsMetByATest(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, s := range sources(t) {
		if s.test && s.pkg != "tests/lint" && s.pkg != "tests/across/mistakes" {
			tests.WriteString(s.text)
		}
	}
	verdicts := declared(t)
	for text, name := range codes(t) {
		named := strings.Contains(tests.String(), `"`+text+`"`) || strings.Contains(verdicts, text) || regexp.MustCompile(`\b`+name+`\b`).MatchString(tests.String())
		assert.True(t, named, "no test names %s (%s)", text, name)
	}
}

func TestCodes_EachIsUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec: // a declaration is not a use
				return false
			case *ast.Ident:
				used[n.Name] = true
			}
			return true
		})
	}
	for text, name := range codes(t) {
		assert.True(t, used[name], "%s (%s) can never be reported", text, name)
	}
}

func TestCodes_EveryNumberInTheDocumentIsDeclared(t *testing.T) {
	t.Parallel()
	declared := codes(t)
	text, err := os.ReadFile(codesPage)
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`EDD-\d{4}`).FindAllString(string(text), -1) {
		assert.Contains(t, declared, name)
	}
}
