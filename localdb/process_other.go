//go:build !unix

package localdb

import "os/exec"

// newDetached is never called here: databases are not shared on this system.
func newDetached(program string, argv []string) *exec.Cmd {
	return &exec.Cmd{Path: program, Args: argv}
}

func ignoreHangup() {}

// newCommand prepares a child. If this process is killed, the child goes on.
func newCommand(argv []string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) }

// interrupt kills the process, since it cannot be asked to end. All data is in memory, so nothing is lost.
func interrupt(cmd *exec.Cmd) { kill(cmd) }

// kill ends the process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
