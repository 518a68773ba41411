//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunBeside_PassesTheEndpointAndTheExitCode(t *testing.T) {
	t.Parallel()
	var complaints bytes.Buffer
	around := func(script string) int {
		return runBeside("http://127.0.0.1:1", []string{"sh", "-c", script}, nil, &complaints)
	}
	assert.Equal(t, 0, around(`test "$DYNAMODB_ENDPOINT" = http://127.0.0.1:1`))
	assert.Equal(t, 7, around("exit 7"))
	assert.Equal(t, exitSignal+int(syscall.SIGTERM), around("kill -TERM $$"))
	assert.Empty(t, complaints.String(), "a failure of the command is the command's to explain")
}

func TestRunBeside_PassesSignalsOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	require.NoError(t, syscall.Mkfifo(ready, 0o600))
	signals := make(chan os.Signal, 1)
	go func() {
		_, _ = os.ReadFile(ready) // returns once the command has set its trap and opened the other end
		signals <- syscall.SIGTERM
	}()
	script := `trap "exit 9" TERM; echo > "$0"; while :; do sleep 0.01; done`
	require.Equal(t, 9, runBeside("http://127.0.0.1:1", []string{"sh", "-c", script, ready}, signals, &bytes.Buffer{}))
}

func TestRunBeside_SaysWhyACommandCannotRun(t *testing.T) {
	t.Parallel()
	var complaints bytes.Buffer
	missing := filepath.Join(t.TempDir(), "missing")
	require.Equal(t, exitNoRun, runBeside("http://127.0.0.1:1", []string{missing}, nil, &complaints))
	require.Contains(t, complaints.String(), missing)
}

func TestRun_KeepsTheDatabaseUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	database := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"TableNames":[]}`) }))
	defer database.Close()
	if os.Getenv("LOCALDB_RUN") == "keep" {
		os.Exit(run(nil, os.Stdout, os.Stderr))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRun_KeepsTheDatabaseUntilItIsInterrupted$")
	cmd.Env = append(os.Environ(), "LOCALDB_RUN=keep", "DYNAMODB_ENDPOINT="+database.URL)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "export DYNAMODB_ENDPOINT="+database.URL+"\n", line)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
}

// TestRun_WithoutADatabase runs this test's own binary, so that other tests keep their environment.
func TestRun_WithoutADatabase(t *testing.T) {
	t.Parallel()
	if os.Getenv("LOCALDB_RUN") != "" {
		os.Exit(run([]string{"sh", "-c", "echo it ran"}, os.Stdout, os.Stderr))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRun_WithoutADatabase$")
	cmd.Env = append(os.Environ(), "LOCALDB_RUN=1", "DYNAMODB_ENDPOINT=no address")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, exitNoDB, failed.ExitCode())
	require.False(t, strings.Contains(string(out), "it ran"), string(out))
}
