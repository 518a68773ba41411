package item

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/key"
)

// What the short way to read a time takes, the full one takes too, and for the same time.
func TestUTCTime_TakesOnlyTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2026-04-22T10:00:00Z", "2024-02-29T23:59:59.5Z", "2026-12-31T00:00:00.000000001Z", "0000-02-29T00:00:00Z"} {
		got, ok := utcTime([]byte(text))
		require.True(t, ok, text)
		want, err := key.Nano.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{
		"", "2026-04-22T10:00:00.Z", "2026-04-22T10:00:00", "2026-04-22 10:00:00Z", "2026-13-22T10:00:00Z", "2026-00-22T10:00:00Z", "2026-04-00T10:00:00Z", "2026-04-31T10:00:00Z",
		"2025-02-29T10:00:00Z", "2026-04-22T24:00:00Z", "2026-04-22T10:60:00Z", "2026-04-22T10:00:60Z", "2026-04-22T10:00:00x5Z", "2026-04-22T10:00:0xZ", "2026-0:-22T10:00:00Z",
		"2026-04-22T10:00:00.0000000001Z", "2026-04-22T10:00:00+01:00", "2026/04/22T10:00:00Z",
	} {
		_, ok := utcTime([]byte(text))
		require.False(t, ok, text)
	}
}
