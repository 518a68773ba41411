package localdb

import (
	"os/exec"
	"syscall"
)

// newCommand prepares a child in its own process group, which the kernel kills when this process ends.
func newCommand(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}
