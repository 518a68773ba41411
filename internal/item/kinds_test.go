package item

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
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

func TestDecode_NumbersAreReadAsStrconvReadsThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "-", "0", "-0", "-1", "+1", "007", "1.5", "1e3", "1:", "1/", "--1", "999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"18446744073709551615", "18446744073709551616", "18446744073709551617", "100000000000000000000000000000000",
	} {
		v, decode := wire.ValueOf(N(text)), numberDecoder(false)
		var n int64
		want, err := strconv.ParseInt(text, 10, 64)
		require.Equal(t, err == nil, decode(v, reflect.ValueOf(&n).Elem()), "%q", text)
		require.True(t, err != nil || n == want, "%q became %d", text, n)
		var u uint64
		unsigned, err := strconv.ParseUint(text, 10, 64)
		require.Equal(t, err == nil, decode(v, reflect.ValueOf(&u).Elem()), "%q", text)
		require.True(t, err != nil || u == unsigned, "%q became %d", text, u)
	}
}
