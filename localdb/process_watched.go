//go:build unix && !linux

package localdb

import (
	"os/exec"
	"syscall"
)

// newCommand prepares a child in its own process group, which a watchdog kills when this process ends.
func newCommand(argv []string) *exec.Cmd {
	argv = watched(argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}
