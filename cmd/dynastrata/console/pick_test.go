package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An event is found by its whole orderBy, and by the beginning of a time if no other begins so.
func TestPick_TakesTheBeginningOfATimeAlone(t *testing.T) {
	t.Parallel()
	events := func(of ...string) (all []stored) {
		for _, o := range of {
			all = append(all, stored{Kind: KindEvent, Of: o})
		}
		return all
	}
	times := events("2026-04-23T10:00:00.5Z#b", "2026-04-22T12:02:00Z#a", "2026-04-22T12:01:00Z#a", "2026-04-21T00:00:00Z#a", "2026-04-20T00:00:00Z#a")
	numbers := events("150", "90", "12", "7")
	for _, c := range []struct {
		states     []stored
		name, want string // want is the event, or what the error ends with
	}{
		{times, "2026-04-23", times[0].Of},
		{times, "2026-04-23T10:00:00Z", times[0].Of},
		{times, "2026-04-22T12:01", times[2].Of},
		{times, "2026-04-22T12:01:00Z#a", times[2].Of},
		{times, "2026-04-22", "2 events begin with 2026-04-22; the newest are: 2026-04-22T12:02:00Z#a, 2026-04-22T12:01:00Z#a"},
		{times, "2026-04-22T12:03", "the nearest are: 2026-04-23T10:00:00.5Z#b, 2026-04-22T12:02:00Z#a, 2026-04-22T12:01:00Z#a"},
		{times, "", "the nearest are: 2026-04-22T12:01:00Z#a, 2026-04-21T00:00:00Z#a, 2026-04-20T00:00:00Z#a"},
		{numbers, "12", "12"},
		{numbers, "1", "the nearest are: 90, 12, 7"},
		{numbers, "15", "the nearest are: 90, 12, 7"},
		{numbers, "100", "the nearest are: 150, 90, 12"},
		{numbers[2:], "1", "there are: 12, 7"},
		{nil, "1", "there are: none"},
	} {
		x, err := pick(c.states, c.name)
		if err != nil {
			require.True(t, strings.HasSuffix(err.Error(), c.want), "%s: %s", c.name, err)
			continue
		}
		require.Equal(t, c.want, x.Of, c.name)
	}
}
