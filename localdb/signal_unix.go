//go:build unix

package localdb

import (
	"os"
	"os/exec"
	"syscall"
)

// interrupt asks the process to end. That it has ended already is no error: it is what is wanted.
func interrupt(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }

// kill ends the process and whatever it started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
