package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFold_LosesNothingAndKeepsToTheScreen(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "  short", "  " + strings.Repeat("word, ", 60) + "end", "  " + strings.Repeat("x", 300) + " y", strings.Repeat("x", 300)} {
		folded := fold(line)
		require.Equal(t, strings.ReplaceAll(line, " ", ""), strings.NewReplacer(" ", "", "\n", "").Replace(folded))
		for _, part := range strings.Split(folded, "\n") {
			require.True(t, len(part) <= screen || strings.Contains(part, strings.Repeat("x", 300)), part)
		}
	}
}
