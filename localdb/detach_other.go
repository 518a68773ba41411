//go:build !unix

package localdb

import "os/exec"

// newDetached is not called where databases are not shared.
func newDetached(program string, argv []string) *exec.Cmd {
	return &exec.Cmd{Path: program, Args: argv}
}

func ignoreHangup() {}
