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

	// An overlay puts the program into the module for this build only.
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	here, err := filepath.Abs("readme")
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "main.go"): source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, "-overlay", overlay, "./readme").CombinedOutput()
	require.NoError(t, err, string(out))
}
