package timeseries_test

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeseries"
)

// check compares a series after the storm with what the senders were told.
func (s *storm[T]) check(series int, enrich func(*T, string), last string) {
	told := newModel(s.as.record)
	var applied []fact
	outcomes := map[timeseries.Reason]int{}
	for _, r := range s.reports {
		if r.series != series {
			continue
		}
		outcomes[r.reason]++
		switch {
		case r.reason == "" || r.reason == timeseries.LateRecorded, r.reason == timeseries.Duplicate && r.unsure:
			if _, twice := told.history[r.fact.at]; twice && !r.unsure {
				s.t.Errorf("series %d: two events were accepted at %d", series, r.fact.at)
			}
			told.history[r.fact.at] = r.fact
			if r.reason != timeseries.LateRecorded {
				applied = append(applied, r.fact)
			}
		}
	}
	s.t.Logf("series %d: %v", series, outcomes)

	id := fmt.Sprint(series)
	var stored []fact
	for _, ev := range s.history(s.as.event(id, fact{})) {
		stored = append(stored, s.as.fact(ev))
	}
	require.Equal(s.t, told.events(), stored, "series %d: the history is exactly what was accepted", series)

	for _, r := range s.reports {
		if r.series != series {
			continue
		}
		accepted, ok := told.history[r.fact.at]
		switch r.reason {
		case timeseries.Older:
			require.False(s.t, s.as.record, "late events are recorded")
			require.Less(s.t, r.fact.at, stormEvents()+1)
		case timeseries.Duplicate:
			require.True(s.t, ok)
			require.Equal(s.t, accepted, r.fact)
		case timeseries.Collision:
			require.True(s.t, ok)
			require.NotEqual(s.t, accepted, r.fact)
		}
	}

	// Events are applied in the order of their clock, so folding them in that order gives the current item.
	sorted := newModel(false)
	for _, f := range applied {
		sorted.history[f.at] = f
	}
	for _, f := range sorted.events() {
		sorted.fold(f)
	}
	require.Equal(s.t, stormEvents(), sorted.current.at, "the newest event is never older than anything")
	cur := s.current(s.as.event(id, fact{}))
	require.Equal(s.t, sorted.current, s.as.fact(cur), "series %d: the newest event with the fields folded", series)
	decorated := cur
	enrich(&decorated, last)
	require.Equal(s.t, decorated, cur, "series %d: enrichment survived", series)
}
