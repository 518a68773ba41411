package docs_test

import (
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadme_ProgramCompiles(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(read(t, "../README.md"), fence+"go\n")
	require.True(t, found)
	program, _, found := strings.Cut(rest, "\n"+fence)
	require.True(t, found)
	program += "\n"
	formatted, err := format.Source([]byte(program))
	require.NoError(t, err)
	require.Equal(t, string(formatted), program, "the program is not formatted")

	build(t, "readme", program)
}

// build compiles a program as a package of this folder, through an overlay that puts it into the module for this build
// only, and returns the path of the executable.
func build(t *testing.T, name, program string) string {
	t.Helper()
	dir := t.TempDir()
	source, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	here, err := filepath.Abs(name)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "main.go"): source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "-overlay", overlay, "./"+name).CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// output builds a program, runs it on the database at endpoint, and returns what it prints.
func output(t *testing.T, name, program, endpoint string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), build(t, name, program))
	cmd.Env = append(os.Environ(), "DYNAMODB_ENDPOINT="+endpoint)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	require.Empty(t, complaints.String())
	return string(out)
}
