package vet_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/dynastrata/dynastrata/contrib/vet"
)

// module returns a module with the files of testdata, in a workspace with the library of this repository.
func module(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))))
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for file, text := range map[string]string{
		"go.mod": "module example.com/" + name + "\n\ngo 1.26.0\n", "go.work": "go 1.26.0\n\nuse (\n\t.\n\t" + root + "\n)\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return dir
}

func TestAnalyzer_ReportsMistakesWhereTheyAre(t *testing.T) {
	analysistest.Run(t, module(t, "fleet"), vet.Analyzer, "./...")
}
