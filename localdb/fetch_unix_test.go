//go:build unix

package localdb

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeNPM puts a shell script in place of npm, and empties the rest of PATH.
func fakeNPM(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if script != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
}

func TestNPMPack_ErrorHasTheOutputOfNPM(t *testing.T) {
	fakeNPM(t, `echo "npm error 404 no such thing" >&2; exit 1`)
	err := npmPack(t.Context(), "thing@1.0.0", t.TempDir())
	require.ErrorContains(t, err, "npm pack thing@1.0.0: exit status 1")
	require.ErrorContains(t, err, "npm error 404 no such thing")
}

func TestNPMPack_CancelKillsTheProcessesOfNPM(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	require.NoError(t, syscall.Mkfifo(ready, 0o600))
	fakeNPM(t, `/bin/sh -c "echo \$\$ > ready; exec /bin/sleep 600" & wait`)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- npmPack(ctx, "thing@1.0.0", dir) }()
	said, err := os.ReadFile(ready) // returns when the grandchild has written
	require.NoError(t, err)
	grandchild := must(strconv.Atoi(strings.TrimSpace(string(said))))

	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	ends(t, grandchild)
}
