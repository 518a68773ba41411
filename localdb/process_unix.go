//go:build unix

package localdb

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// newDetached prepares a process in its own session: it survives this process and an interrupt from its terminal.
func newDetached(program string, argv []string) *exec.Cmd {
	return &exec.Cmd{Path: program, Args: argv, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
}

// ignoreHangup lets this process survive when its terminal is closed or nothing reads its output.
func ignoreHangup() { signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) }

// interrupt asks the process to end. It is no error if it has ended already.
func interrupt(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }

// kill ends the process and whatever it started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// watchdog starts a reader of standard input and then becomes the program. The input is a pipe from this process. When this
// process ends, the pipe is closed, and the reader kills the process group: the program and itself.
const watchdog = `exec 3<&0; { cat <&3; kill -9 0; } >/dev/null 2>&1 & exec 3<&-; exec "$@"`

// watched returns argv under a watchdog. Start it in its own process group, with a pipe for its input.
func watched(argv []string) []string {
	return append([]string{"/bin/sh", "-c", watchdog, "localdb"}, argv...)
}
