//go:build unix

package localdb

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// newDetached prepares a process in a session of its own: neither the end of this one nor an interrupt from its terminal ends it.
func newDetached(program string, argv []string) *exec.Cmd {
	return &exec.Cmd{Path: program, Args: argv, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
}

// ignoreHangup lets this process live on when nobody reads what it says, or its terminal is closed.
func ignoreHangup() { signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) }

// interrupt asks the process to end. That it has ended already is no error: it is what is wanted.
func interrupt(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }

// kill ends the process and whatever it started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// watchdog puts a reader of standard input beside the program and then becomes the program. The input is a pipe whose other
// end this process holds; when it ends, the pipe is closed, and the reader kills the process group: the program and itself.
const watchdog = `exec 3<&0; { cat <&3; kill -9 0; } >/dev/null 2>&1 & exec 3<&-; exec "$@"`

// watched returns argv under a watchdog. It must be started in a process group of its own, with a pipe for its input.
func watched(argv []string) []string {
	return append([]string{"/bin/sh", "-c", watchdog, "localdb"}, argv...)
}
