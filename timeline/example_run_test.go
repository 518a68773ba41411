package timeline_test

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	db, name := localdb.Test(t)
	exampleClient, exampleTable = db, name
	t.Cleanup(func() { exampleClient, exampleTable = nil, "app" })
	empty := depot("empty")
	entity.Must(timeseries.New[Delivery](empty))
	require.NoError(t, empty.CreateTables(t.Context()))
	examples := map[string]func(){
		"ExampleView":         ExampleView,
		"ExampleView_CatchUp": ExampleView_CatchUp,
		"ExampleResume":       ExampleResume,
		"ExampleVersions":     ExampleVersions,
	}
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(source), saying), len(examples), "an example is not run")
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		require.Equal(t, said(t, name), printed(t, examples[name]), name)
	}
}

// file holds the examples, and saying stands before what each prints.
const (
	file   = "example_test.go"
	saying = "\t// prints\n"
)

// said is what an example says that it prints.
func said(t *testing.T, example string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	_, body, found := strings.Cut(string(source), "func "+example+"() {")
	require.True(t, found, example)
	body, _, _ = strings.Cut(body, "\n}\n")
	_, lines, found := strings.Cut(body, saying)
	require.True(t, found, "%s does not say what it prints", example)
	return strings.ReplaceAll(lines, "\t// ", "") + "\n"
}

// printed is what f writes to the standard output.
func printed(t *testing.T, f func()) string {
	t.Helper()
	stdout := os.Stdout
	read, write, err := os.Pipe()
	require.NoError(t, err)
	os.Stdout = write
	defer func() { os.Stdout = stdout }()
	f() // prints less than a pipe holds
	require.NoError(t, write.Close())
	text, err := io.ReadAll(read)
	require.NoError(t, err)
	return string(text)
}
