//go:build unix

package localdb

import (
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
