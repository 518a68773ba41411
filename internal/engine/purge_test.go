package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

// A transaction takes 100 items and 4 MB, but always one item.
func TestFitting_StaysWithinTheLimitsOfATransaction(t *testing.T) {
	small, large := item.Item{"a": item.S("b")}, item.Item{"a": item.S(strings.Repeat("x", 390_000))}
	fill := func(it item.Item, n int) []item.Item {
		var all []item.Item
		for range n {
			all = append(all, it)
		}
		return all
	}
	require.Equal(t, 1, fitting(fill(small, 1)))
	require.Equal(t, 100, fitting(fill(small, 100)))
	require.Equal(t, 100, fitting(fill(small, 250)))
	require.Equal(t, 10, fitting(fill(large, 250)))
	require.Equal(t, 1, fitting(fill(item.Item{"a": item.S(strings.Repeat("x", 5_000_000))}, 2)))
}
