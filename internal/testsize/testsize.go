// Package testsize says how much random tests try: a bounded sample in every run, so that all tests of the module take a minute
// or two, and much more with DYNASTRATA_LONG=1, which is what "make proof" sets. A test asserts the same of every case in both; that every kind of case was met only the long run can ask.
package testsize

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Variable is the environment variable that asks for the long run.
const Variable = "DYNASTRATA_LONG"

// Long reports whether this is the long run. A value that is neither yes nor no fails every test that asks.
func Long() bool {
	text := os.Getenv(Variable)
	if text == "" {
		return false
	}
	long, err := strconv.ParseBool(text)
	if err != nil {
		panic(fmt.Sprintf("%s=%q: want 1 or 0", Variable, text))
	}
	return long
}

// Pick returns usual, or long in the long run.
func Pick(usual, long int) int {
	if Long() {
		return long
	}
	return usual
}

// Number returns the number in an environment variable, or otherwise if it is not set.
func Number(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Check tries a property on that many random cases. rapid prints the seed of a failure.
func Check(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	for left := cases; left > 0 && !t.Failed(); {
		tried, failing := 0, false
		rapid.Check(t, func(rt *rapid.T) {
			// rapid has one number of cases for all properties of a program. What is over is passed; not so the cases by which it makes a
			// failure smaller.
			if tried == left && !failing {
				return
			}
			tried++
			failing = true
			property(rt)
			failing = false
		})
		if tried == 0 { // -rapid.checks=0
			return
		}
		left -= tried
	}
}
