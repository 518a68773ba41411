package idempotent_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// Every row of the checklist names tests that exist, or says that there is nothing to test.
func TestChecklist_NamesTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	paths, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var tests []string
	for _, path := range paths {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			tests = append(tests, string(found[1]))
		}
	}
	_, checklist, found := strings.Cut(string(text), "## The checklist\n")
	require.True(t, found)
	without := 0
	for line := range strings.Lines(checklist) {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(line, -1)
		for _, name := range named {
			assert.Contains(t, tests, name[1])
		}
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && len(named) == 0 {
			without++
		}
	}
	assert.Equal(t, 4, without, "two headings, and two rows about what is not done here")
}

func TestChecklist_ExplainsEveryCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	code := regexp.MustCompile(`IDEM-\d\d`)
	declared := code.FindAllString(string(source), -1)
	require.Len(t, slices.Compact(slices.Clone(declared)), 7)
	assert.Equal(t, declared, code.FindAllString(string(text), -1))
}

// The examples need a database, so go test does not compare their output. This test does.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := entity.Must(entity.Open(client, entity.Config{Table: table}))
	entity.Must(entity.New[idempotent.Answer](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleDo, ExampleMiddleware))
}
