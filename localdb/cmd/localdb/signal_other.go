//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// passedOn are the signals that are passed on to the command.
var passedOn = []os.Signal{os.Interrupt}

// signalNumber returns the signal that ended a command; only Unix reports it.
func signalNumber(*exec.ExitError) int { return 0 }
