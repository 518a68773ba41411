//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// passedOn are the signals that are passed on to the command.
var passedOn = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// signalNumber returns the signal that ended a command.
func signalNumber(failed *exec.ExitError) int {
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}
