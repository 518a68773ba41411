//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// passedOn are the signals that ask a program to end.
var passedOn = []os.Signal{os.Interrupt}

// signalNumber is the signal that ended a command; only Unix reports it.
func signalNumber(*exec.ExitError) int { return 0 }
