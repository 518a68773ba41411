package lint_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// These are tests of what tests share, here since a test program of their own costs more than they do.

func TestRounds_TakeTurnsOrGoAlone(t *testing.T) {
	t.Setenv(testsize.Variable, "0")
	rounds := testsize.Rounds(time.January, time.May)
	require.Len(t, rounds, 1)
	require.Equal(t, "January-May", rounds[0].String())
	require.Equal(t, []time.Month{time.January, time.May, time.January}, []time.Month{rounds[0].At(1), rounds[0].At(2), rounds[0].At(3)})
	t.Setenv(testsize.Variable, "1")
	require.Equal(t, []testsize.Round[time.Month]{{time.January}, {time.May}}, testsize.Rounds(time.January, time.May))
}

func TestPick(t *testing.T) {
	for text, want := range map[string]int{"": 3, "0": 3, "1": 700, "true": 700} {
		t.Setenv(testsize.Variable, text)
		require.Equal(t, want, testsize.Pick(3, 700), text)
	}
	t.Setenv(testsize.Variable, "much")
	require.Panics(t, func() { testsize.Pick(3, 700) })
}

func TestCheck_TriesAsManyCasesAsAsked(t *testing.T) {
	t.Parallel()
	for _, cases := range []int{1, 99, 100, 101, 250} {
		tried := 0
		testsize.Check(t, cases, func(*rapid.T) { tried++ })
		require.Equal(t, cases, tried)
	}
}

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
	const file = "shared_test.go"
	for want, examples := range map[string][]func(){
		"wrong says that it prints\nfour\nand prints\nthree\n":              {wrong, right},
		"shared_test.go has 2 examples that say what they print, 1 are run": {right},
		"silent does not say what it prints":                                {right, silent},
		"there is no function GC":                                           {right, runtime.GC},
	} {
		require.EqualError(t, exampletest.Run(file, examples...), want)
	}
	require.Error(t, exampletest.Run("absent.go"))
}
