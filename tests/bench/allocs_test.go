package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// No call allocates more than it did in the run that is kept in before.json.
func TestRows_AllocateNoMoreThanBefore(t *testing.T) { // not parallel: other tests would allocate meanwhile
	before, err := readBefore()
	require.NoError(t, err)
	c := &canned{}
	for _, r := range rows(c.client(), tables{"plain", "prefixed"}) {
		t.Run(r.name, func(t *testing.T) {
			const calls = 20
			var allocs [3]float64
			for _, lib := range []library{withRaw, withOurs} {
				require.NoError(t, repeat(t.Context(), c, r, r.run[lib], calls))
				s, err := take(t.Context(), c, r, r.run[lib], calls)
				require.NoError(t, err)
				allocs[lib] = s.allocs
			}
			require.Contains(t, before.Operations, r.name)
			require.LessOrEqual(t, allocs[withOurs]/allocs[withRaw], before.Operations[r.name].Allocs*1.05)
		})
	}
}
