package exampletest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/exampletest"
)

func right() {
	fmt.Println("one")
	fmt.Println("two")
	// prints
	// one
	// two
}

func wrong() {
	fmt.Println("three")
	// prints
	// four
}

func silent() {}

func TestRun_ComparesWhatExamplesPrintWithWhatTheySay(t *testing.T) {
	const file = "run_test.go"
	err := exampletest.Run(file, map[string]func(){"right": right, "wrong": wrong})
	require.EqualError(t, err, "wrong says that it prints\nfour\nand prints\nthree\n")
	err = exampletest.Run(file, map[string]func(){"right": right})
	require.EqualError(t, err, "run_test.go has 2 examples that say what they print, 1 are run")
	err = exampletest.Run(file, map[string]func(){"right": right, "silent": silent})
	require.EqualError(t, err, "silent does not say what it prints")
	err = exampletest.Run(file, map[string]func(){"right": right, "absent": silent})
	require.EqualError(t, err, "there is no function absent")
	require.Error(t, exampletest.Run("absent.go", nil))
}
