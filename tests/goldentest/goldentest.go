// Package goldentest compares what a test makes with files in the testdata of its package. go test . -update writes them again; look at the
// difference. It is for tests.
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files in testdata again")

// Check compares text with the file of that name, section by section; an empty line ends a section.
func Check(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	old, made := strings.Split(string(want), "\n\n"), strings.Split(text, "\n\n")
	for i := range min(len(old), len(made)) {
		require.Equal(t, old[i], made[i], "go test . -update writes %s again; look at the difference", path)
	}
	require.Len(t, made, len(old), path)
}
