package spool_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/spool"
)

func TestSorted_GivesEveryEntryInOrderWhateverTheBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.StringMatching(`[a-c]{0,3}`)).Draw(t, "keys")
		s := spool.New(rapid.IntRange(1, 2000).Draw(t, "budget"), dir)
		want := make([]string, len(keys))
		for i, k := range keys {
			want[i] = fmt.Sprintf("%s %06d", k, i)
			require.NoError(t, s.Add([]byte(k), fmt.Appendf(nil, "%s %06d", k, i)))
		}
		slices.SortStableFunc(want, func(a, b string) int { return slices.Compare([]byte(a[:len(a)-7]), []byte(b[:len(b)-7])) })
		for range 2 { // it can be read twice
			var got []string
			for e, err := range s.Sorted() {
				require.NoError(t, err)
				got = append(got, string(e.Value))
			}
			assert.Equal(t, want, append([]string{}, got...))
		}
		assert.Equal(t, len(keys), s.Len())
		require.NoError(t, s.Reset())
		assert.Zero(t, s.Len())
		assert.Zero(t, s.Spilled())
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "no file is left behind")
}

func TestAdd_SpillsBeyondTheBudget(t *testing.T) {
	t.Parallel()
	s := spool.New(10_000, t.TempDir())
	for i := range 1000 {
		require.NoError(t, s.Add(fmt.Appendf(nil, "%d", i%7), make([]byte, 100)))
	}
	assert.Greater(t, s.Spilled(), 10)
	n := 0
	for range s.Sorted() {
		if n++; n == 5 {
			break // stopping early is fine
		}
	}
	require.NoError(t, s.Close())
}

func TestAdd_SaysWhenThereIsNoRoom(t *testing.T) {
	t.Parallel()
	s := spool.New(1, "/nonexistent")
	assert.ErrorIs(t, s.Add([]byte("k"), nil), os.ErrNotExist)
}
