package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/tests/testsize"
)

// A row that Apply writes, while catch-ups move the time from which they read again, knows exactly which events it contains.
// If no catch-up came since the first write that reaches back, it says so; otherwise it may say that it does not know.
func TestTally_OfARowReachesBackToTheNextCatchUp(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
	testsize.Check(t, testsize.Pick(300, 1000), func(rt *rapid.T) {
		type accepted struct {
			minute int64
			mark   uint64
		}
		var events []accepted
		all := func(from int64) tally {
			sums := tally{}
			for _, e := range events {
				if e.minute >= from {
					sums[e.minute] += e.mark
				}
			}
			return sums
		}
		now := epoch
		known := now // newest event at the last catch-up
		row := &groupState{newest: now, tally: tally{minuteOf(now): 7}, stored: &storedVersion{exists: true}}
		events = append(events, accepted{minuteOf(now), 7})
		caughtUp := 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "minutes")) * time.Minute)
			if rapid.IntRange(0, 3).Draw(rt, "catch-up") == 0 {
				known = now
				caughtUp++
			}
			g := row.clone()
			g.rereads = minuteOf(rereadFrom(known))
			for range rapid.IntRange(1, 150).Draw(rt, "events") {
				at := now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(rt, "behind")) * time.Minute)
				if at.Before(known.Add(-overlap)) {
					at = known
				}
				mark := rapid.Uint64Min(1).Draw(rt, "mark")
				g.newest = later(g.newest, at)
				g.tally[minuteOf(at)] += mark
				events = append(events, accepted{minuteOf(at), mark})
			}
			row = &groupState{newest: g.newest, stored: g.stored}
			row.tally, row.from = g.keptTally()
			require.LessOrEqual(rt, len(row.tally), 17, "it stays small")

			from := minuteOf(rereadFrom(known))
			knows := row.containsExactly(all(from), from)
			if caughtUp == 0 {
				require.True(rt, knows)
			}
			for _, e := range events {
				if e.minute < from {
					continue
				}
				less := all(from)
				if less[e.minute] -= e.mark; less[e.minute] == 0 {
					delete(less, e.minute)
				}
				require.False(rt, row.containsExactly(less, from), "an event of minute %d is missing", e.minute)
				break
			}
		}
	})
}

func TestMarks_KeepTheLastOnes(t *testing.T) {
	t.Parallel()
	var m marks
	for i := range uint64(1000) {
		m = m.with(i)
		require.True(t, m.has(i))
	}
	kept := marks(m.last())
	require.Len(t, kept, maxMarks*markSize)
	require.True(t, kept.has(1000-maxMarks))
	require.False(t, kept.has(999-maxMarks))
}
