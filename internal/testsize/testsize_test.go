package testsize_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/testsize"
)

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
