package vet_test

import (
	"os"
	"os/exec"
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
	t.Parallel()
	analysistest.Run(t, module(t, "fleet"), vet.Analyzer, "./...")
}

func TestCheck_ReturnsWhatIsFoundInOrder(t *testing.T) {
	t.Parallel()
	dir := module(t, "fleet")
	found, err := vet.Check(t.Context(), dir, "./models")
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "EDD-9002", found[0].Code)
	require.Equal(t, "models.go", filepath.Base(found[0].Position.Filename))
	require.Contains(t, found[0].Message, `"idd"`)
	_, err = vet.Check(t.Context(), dir, "./nothing")
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "models", "wrong.go"), []byte("package models\n\nvar n int = \"\"\n"), 0o644))
	_, err = vet.Check(t.Context(), dir, "./models")
	require.ErrorContains(t, err, "wrong.go:3")
}

func TestCommand_IsAToolOfGoVet(t *testing.T) {
	t.Parallel()
	dir, tool := module(t, "fleet"), filepath.Join(t.TempDir(), "dynastratavet")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "./cmd/dynastratavet").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, line := range [][]string{{"go", "vet", "-vettool=" + tool, "./models"}, {tool, "./models"}} {
		cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "models.go:76:2: EDD-9002", line)
	}
}
