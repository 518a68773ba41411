//go:build unix

package localdb

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBoot_ErrorHasTheOutputOfAnEndedChild(t *testing.T) {
	t.Parallel()
	_, err := boot(t.Context(), settings{}, patience, recipe{"fake", t.TempDir(), func(int, string) []string {
		return []string{"/bin/sh", "-c", "yes filler | head -c 20000; echo; echo cannot find my head >&2; exit 3"}
	}})
	require.ErrorIs(t, err, errEnded)
	require.ErrorContains(t, err, "cannot find my head")
	assert.Less(t, len(err.Error()), tailSize+200)
}

func TestBoot_TriesAnotherPort(t *testing.T) {
	t.Parallel()
	ports := map[int]bool{}
	_, err := boot(t.Context(), settings{}, patience, recipe{"fake", t.TempDir(), func(port int, _ string) []string {
		ports[port] = true
		return []string{"/bin/sh", "-c", "echo java.net.BindException: Address already in use"}
	}})
	require.ErrorContains(t, err, "Address already in use")
	assert.Len(t, ports, 3)
}

func TestBoot_GivesUpOnASilentChild(t *testing.T) {
	t.Parallel()
	_, err := boot(t.Context(), settings{}, 100*time.Millisecond, recipe{"fake", t.TempDir(), func(int, string) []string {
		return []string{"/bin/sh", "-c", "echo starting; exec sleep 600"}
	}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "starting")
}

func TestStop_KillsAChildThatIgnoresInterrupts(t *testing.T) {
	t.Parallel()
	c := must(launch(t.TempDir(), "/bin/sh", "-c", "trap '' INT; sleep 600 & echo $!; while :; do sleep 1; done"))
	require.Eventually(t, func() bool { return c.output.String() != "" }, patience, time.Millisecond)
	grandchild := must(strconv.Atoi(c.output.String()))
	c.grace = 100 * time.Millisecond
	require.NoError(t, c.stop())
	assert.Eventually(t, func() bool { return gone(grandchild) }, patience, 5*time.Millisecond)
	require.NoError(t, c.stop(), "a second time is fine")
}

// TestParent is not a test: TestChildrenDieWithTheirParent runs it in another process.
func TestParent(t *testing.T) {
	mode := os.Getenv("LOCALDB_TEST_PARENT")
	if mode == "" {
		t.Skip("runs only as a child of another test")
	}
	argv := []string{"/bin/sh", "-c", "echo up; exec sleep 600"}
	if mode == "watchdog" {
		argv = watched(argv)
	}
	c := must(launch(t.TempDir(), argv...))
	for c.output.String() == "" {
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("child %d\n", c.cmd.Process.Pid)
	time.Sleep(time.Minute)
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"native", "watchdog"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			if mode == "watchdog" && runtime.GOOS != "linux" {
				t.Skip("it is the native way here")
			}
			parent := exec.Command(os.Args[0], "-test.run=^TestParent$", "-test.v")
			parent.Env = append(os.Environ(), "LOCALDB_TEST_PARENT="+mode, "TMPDIR="+t.TempDir()) // it is killed before it could remove its own
			stdout := must(parent.StdoutPipe())
			require.NoError(t, parent.Start())
			var pid int
			for lines := bufio.NewScanner(stdout); pid == 0 && lines.Scan(); {
				if _, number, ok := strings.Cut(lines.Text(), "child "); ok {
					pid = must(strconv.Atoi(number))
				}
			}
			require.NotZero(t, pid)
			require.NoError(t, syscall.Kill(pid, 0), "the child runs")

			require.NoError(t, parent.Process.Kill())
			_ = parent.Wait()
			assert.Eventually(t, func() bool { return gone(pid) }, patience, 5*time.Millisecond)
		})
	}
}

// gone reports whether a process has ended. In a container, an orphan may stay a zombie, since no process collects it.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// ends waits until a process has ended.
func ends(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return gone(pid) }, patience, 5*time.Millisecond, "process %d", pid)
}

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
