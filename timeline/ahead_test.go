package timeline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeline/internal/spool"
)

// Entries come as they were, each after its group has been loaded, once.
func TestGroupsAhead_LoadsEachGroupBeforeItsEntries(t *testing.T) {
	t.Parallel()
	var entries []spool.Entry
	add := func(group string, n, size int) {
		for i := range n {
			entries = append(entries, spool.Entry{Key: sortKey(group, fmt.Sprintf("%04d", i), false), Value: make([]byte, size)})
		}
	}
	for g := range 250 {
		add(fmt.Sprintf("g-%03d", g), 1+g%3, 10)
	}
	add("large", 5, aheadBytes/2)
	add("last", 1, 1)
	sorted := func(yield func(spool.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	loaded, loads := map[string]int{}, 0
	var got []spool.Entry
	for e, err := range groupsAhead(sorted, func(groups []string) error {
		loads++
		require.LessOrEqual(t, len(groups), aheadGroups)
		for _, g := range groups {
			loaded[g]++
		}
		return nil
	}) {
		require.NoError(t, err)
		require.Equal(t, 1, loaded[groupOfSortKey(e.Key)])
		got = append(got, e)
	}
	require.Equal(t, entries, got)
	require.Len(t, loaded, 252)
	require.Equal(t, 4, loads, "three for small groups and the start of the large one, one for the last")

	failed := errors.New("no")
	for _, err := range groupsAhead(sorted, func([]string) error { return failed }) {
		require.ErrorIs(t, err, failed)
	}
	for range groupsAhead(sorted, func([]string) error { return nil }) {
		break
	}
}
