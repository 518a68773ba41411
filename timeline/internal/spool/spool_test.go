package spool_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/timeline/internal/spool"
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

func TestAdd_ReportsWriteErrors(t *testing.T) {
	t.Parallel()
	s := spool.New(1, "/nonexistent")
	assert.ErrorIs(t, s.Add([]byte("k"), nil), os.ErrNotExist)
}

func TestAdd_MergesRunsSoThatFewFilesAreOpen(t *testing.T) {
	t.Parallel()
	const n, keys = 64*64 + 130, 7
	s := spool.New(1, t.TempDir()) // one run per entry
	most := 0
	for i := range n {
		require.NoError(t, s.Add(fmt.Appendf(nil, "%d", i%keys), fmt.Appendf(nil, "%d %08d", i%keys, i)))
		most = max(most, s.Spilled())
	}
	assert.LessOrEqual(t, most, 2*64+1)
	assert.Equal(t, 1+2+2, s.Spilled(), "one of 64 times 64, two of 64, and two")
	got, last := 0, ""
	for e, err := range s.Sorted() {
		require.NoError(t, err)
		require.Less(t, last, string(e.Value), "by key, then as they were added")
		got, last = got+1, string(e.Value)
	}
	assert.Equal(t, n, got)
	require.NoError(t, s.Close())
}

func TestAdd_LeavesNothingBehindWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := spool.New(1, dir)
	for range 3 {
		require.NoError(t, s.Add([]byte("k"), []byte("payload")))
	}
	assert.Equal(t, 3, s.Spilled())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	if runtime.GOOS == "windows" { // an open file cannot be removed there
		assert.Len(t, left, 3)
	} else {
		assert.Empty(t, left)
	}
	require.NoError(t, s.Close())
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
