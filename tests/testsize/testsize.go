// Package testsize decides how many cases random tests try: a bounded sample in a usual run, so that all tests of the
// module take a minute or two, and many more with DYNASTRATA_LONG=1, which "make proof" sets. A test asserts the same about
// every case in both; only the long run can require that every kind of case was met.
package testsize

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Variable is the environment variable that selects the long run.
const Variable = "DYNASTRATA_LONG"

// Long reports whether this is the long run. It panics if the variable is not a boolean.
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

// A Round is the values of one pass of a test, which gives them to the requests in turn.
type Round[T fmt.Stringer] []T

// Rounds returns the rounds of a test that tries several values, such as faults, at each request of a call. The long run
// has a round for each value, so that every request meets every value. The usual run has a single round: every request
// meets one.
func Rounds[T fmt.Stringer](values ...T) []Round[T] {
	if !Long() {
		return []Round[T]{values}
	}
	var rounds []Round[T]
	for _, v := range values {
		rounds = append(rounds, Round[T]{v})
	}
	return rounds
}

// At returns the value for request n, counted from 1.
func (r Round[T]) At(n int) T { return r[(n-1)%len(r)] }

// String names the round after its values.
func (r Round[T]) String() string {
	names := make([]string, len(r))
	for i, v := range r {
		names[i] = v.String()
	}
	return strings.Join(names, "-")
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

// Seed returns the seed of a random test, from DYNASTRATA_TEST_SEED or random, and logs it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := Number(t, "DYNASTRATA_TEST_SEED", rand.Uint64N(1<<62))
	t.Logf("seed %d (DYNASTRATA_TEST_SEED)", seed)
	return seed
}

// Check tries a property on the given number of random cases. rapid prints the seed of a failure.
func Check(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	for left := cases; left > 0 && !t.Failed(); {
		tried, failing := 0, false
		rapid.Check(t, func(rt *rapid.T) {
			// rapid has one number of cases for all properties of a program. Cases beyond ours pass at once, except those
			// by which rapid shrinks a failure.
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
