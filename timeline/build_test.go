package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeline"
)

func TestRebuild_FoldsEveryEventInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	for name, fold := range map[string]func(*lab) timeline.Projection[string, totals]{
		"sorted":    func(l *lab) timeline.Projection[string, totals] { return l.sites() },
		"partition": func(l *lab) timeline.Projection[string, totals] { return l.devices() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			v := view(l, fold(l))
			l.clock.forward(10 * time.Minute)
			l.append("d-1", "d-1", 5, 1, 3) // two come late
			l.append("d-2", "d-2", 2)
			meta := rebuild(l, v)
			assert.Equal(t, timeline.Complete, meta.RebuildStatus)
			assert.True(t, meta.HistoryComplete)
			assert.EqualValues(t, 2, meta.Rows)
			assert.EqualValues(t, 4, meta.Counters.Folded)
			got := rows(l, v)
			require.Len(t, got, 2)
			assert.Equal(t, []int{10, 30, 50}, got["d-1"].State.Order)
			assert.Equal(t, at(5), *got["d-1"].State.Last)
			assert.EqualValues(t, 3, got["d-1"].Events)
			assert.Equal(t, at(1), got["d-1"].First)
			assert.Equal(t, 20, got["d-2"].State.Sum)
			assert.Equal(t, got, rows(l, v, timeline.AsOf(at(10))), "a replay gives what rows hold")
			past := rows(l, v, timeline.AsOf(at(3)))
			assert.Equal(t, []int{10, 30}, past["d-1"].State.Order, "as of a moment, which counts")
			assert.Equal(t, 20, past["d-2"].State.Sum)
			row, meta, err := v.Get(l.ctx, "d-1", timeline.FullReplay(), timeline.AsOf(at(1)))
			require.NoError(t, err)
			assert.Equal(t, []int{10}, row.State.Order)
			assert.True(t, meta.HistoryComplete)
		})
	}
}

func TestCatchUp_AppliesWhatIsNewAndFoldsAnewWhatCameLate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	sites, devices := view(l, l.sites()), view(l, l.devices())
	l.append("d-1", "north", 5)
	rebuild(l, sites)
	rebuild(l, devices)
	l.append("d-1", "north", 6, 2)
	l.append("d-2", "south", 1)
	for _, v := range []*timeline.View[string, totals]{sites, devices} {
		meta, err := v.CatchUp(l.ctx)
		require.NoError(t, err)
		assert.EqualValues(t, 2, meta.Rows)
		assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
		again, err := v.CatchUp(l.ctx)
		require.NoError(t, err)
		assert.True(t, again.Through.After(meta.Through))
		assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
	}
	assert.Equal(t, []int{20, 50, 60}, rows(l, sites)["north"].State.Order)
}
