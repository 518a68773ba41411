package schema_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]time.Duration{
		"90d":             90 * day,
		"1h30m":           90 * time.Minute,
		"1d2h3m4s":        day + 2*time.Hour + 3*time.Minute + 4*time.Second,
		"1d1s":            day + time.Second,
		"0d":              0,
		"0h0s":            0,
		"007d":            7 * day,
		"100h":            100 * time.Hour,
		"106751d":         106751 * day,
		"106751d23h47m":   106751*day + 23*time.Hour + 47*time.Minute,
		"9223372036s":     9223372036 * time.Second,
		"00000000000001s": time.Second,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := schema.Duration(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestDurationErrors(t *testing.T) {
	requireMistakes(t, schema.Duration, []badText{
		{"", 0, "empty duration"},
		{"90", 2, "expected a unit"},
		{"d", 0, "whole number"},
		{"-1d", 0, "whole number"},
		{"+1d", 0, "whole number"},
		{"1.5h", 1, "expected a unit"},
		{"1w", 1, "expected a unit"},
		{"1ms", 2, "whole number"},
		{"1D", 1, "expected a unit"},
		{"1 d", 1, "expected a unit"},
		{"1d ", 2, "whole number"},
		{"1d1d", 3, "order d h m s"},
		{"1m1h", 3, "order d h m s"},
		{"106752d", 0, "too long"},
		{"106751d24h", 7, "too long"},
		{"9223372037s", 0, "too long"},
		{"99999999999999999999d", 0, "too long"},
		{"9223372036854775808s", 0, "too long"},
		{"1d９h", 2, "whole number"},
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"", "90d", "1h30m", "0d", "1m1h", "106752d", "1.5h", "-1s", "1d2h3m4s", "9223372036s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := schema.Duration(text)
		if err != nil {
			requirePosition(t, err, text)
			return
		}
		if got < 0 {
			t.Fatalf("%q is negative: %d", text, got)
		}
		if strings.Contains(text, "d") {
			return
		}
		if want, err := time.ParseDuration(text); err != nil || want != got {
			t.Fatalf("%q: %d, but time.ParseDuration gives %d, %v", text, got, want, err)
		}
	})
}
