//go:build !unix

package localdb

import "os/exec"

// newDetached is not called where databases are not shared.
func newDetached(program string, argv []string) *exec.Cmd {
	return &exec.Cmd{Path: program, Args: argv}
}

func ignoreHangup() {}

// newCommand prepares a child. Nothing ties its life to this process here: one that is killed leaves it running.
func newCommand(argv []string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) }

// interrupt kills the process, for there is no way to ask it. All data is in memory, so nothing is lost.
func interrupt(cmd *exec.Cmd) { kill(cmd) }

// kill ends the process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
