package spool_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/spool"
)

func TestAdd_MergesRunsSoThatFewFilesAreOpen(t *testing.T) {
	t.Parallel()
	const n, keys = 64*64 + 130, 7
	s := spool.New(1, t.TempDir()) // a run for every entry
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
	if runtime.GOOS == "windows" { // which removes no file that is open
		assert.Len(t, left, 3)
	} else {
		assert.Empty(t, left)
	}
	require.NoError(t, s.Close())
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
