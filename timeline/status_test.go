package timeline_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
)

func TestTheStatusOfAViewFromItsBeginning(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.devices())
	meta, err := v.Meta(l.ctx)
	require.NoError(t, err)
	zero := 0.0
	assert.Equal(t, timeline.Meta{RebuildStatus: timeline.Pending, RebuildProgress: &zero}, meta)
	p, err := v.Page(l.ctx, 1, 10)
	require.NoError(t, err)
	assert.Empty(t, p.Rows)
	assert.False(t, p.Authoritative())
	assert.EqualValues(t, 1, p.Pages)
	_, err = v.Page(l.ctx, 1, 10, timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	_, _, err = v.Get(l.ctx, "d", timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	_, _, err = v.Get(l.ctx, "d")
	require.ErrorIs(t, err, entity.ErrNotFound)
	meta = rebuild(l, v)
	assert.Equal(t, timeline.Complete, meta.RebuildStatus, "a history without events is complete")
	assert.True(t, meta.HistoryComplete)
	assert.Zero(t, meta.Rows)
	assert.Equal(t, 1.0, *meta.RebuildProgress)
	p, err = v.Page(l.ctx, 1, 10, timeline.RequireComplete())
	require.NoError(t, err)
	assert.Equal(t, meta, p.Meta)
	assert.Empty(t, p.Rows)
	for range v.All(l.ctx) {
		assert.Fail(t, "there are no rows")
	}

	for i := range 30 {
		l.append(fmt.Sprint("d-", i), fmt.Sprint("d-", i), 1, 2)
	}
	began := l.clock.Now()
	last := 0.0
	var status []timeline.Status
	meta = rebuild(l, v, timeline.CheckpointEvery(1), timeline.Segments(2), timeline.OnProgress(func(m timeline.Meta) {
		status = append(status, m.RebuildStatus)
		if m.RebuildProgress != nil {
			assert.GreaterOrEqual(t, *m.RebuildProgress, last, "progress never falls")
			last = *m.RebuildProgress
		}
		if m.RebuildStatus == timeline.InProgress {
			assert.Less(t, last, 1.0, "it is 1 when the rows are there")
			p, err := v.Page(l.ctx, 1, 10)
			assert.NoError(t, err, "rows of before are served")
			assert.Equal(t, timeline.InProgress, p.Meta.RebuildStatus)
			assert.True(t, p.Authoritative(), "these are complete, as of their time")
			assert.Empty(t, p.Rows)
		}
	}))
	assert.Contains(t, status, timeline.InProgress)
	assert.Equal(t, timeline.Complete, status[len(status)-1])
	assert.Equal(t, 1.0, last)
	assert.True(t, meta.StartedAt.After(began) && meta.FinishedAt.After(meta.StartedAt) && !meta.Through.After(meta.StartedAt))
	assert.EqualValues(t, 30, meta.Rows)
	assert.Equal(t, timeline.Counters{Scanned: 60, Folded: 60}, meta.Counters)
	assert.True(t, meta.HistoryFloor.IsZero(), "nothing expires")
}

func TestMetaAsJSONHasTheNamesThatCallersCheck(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	names := func(m timeline.Meta) map[string]any {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		return got
	}
	meta, err := v.Meta(l.ctx)
	require.NoError(t, err)
	got := names(meta)
	assert.Equal(t, "pending", got["rebuild_status"])
	assert.Equal(t, 0.0, got["rebuild_progress"])
	assert.Equal(t, false, got["history_complete"])
	assert.NotContains(t, got, "as_of_applied")
	got = names(rebuild(l, v))
	assert.Equal(t, "complete", got["rebuild_status"])
	assert.Equal(t, 1.0, got["rebuild_progress"])
	assert.Equal(t, true, got["history_complete"])
	assert.Equal(t, true, got["no_gap_seen"])
	assert.Contains(t, got, "rebuild_started_at")
	p, err := v.Page(l.ctx, 1, 1, timeline.AsOf(noon))
	require.NoError(t, err)
	assert.Equal(t, "2101-04-22T12:00:00Z", names(p.Meta)["as_of_applied"])
	got = names(timeline.Meta{RebuildStatus: timeline.InProgress})
	assert.Equal(t, "in_progress", got["rebuild_status"])
	assert.Contains(t, got, "rebuild_progress")
	assert.Nil(t, got["rebuild_progress"], "null where it cannot be told")
}

func TestWhatReadsCost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 12 {
		l.append(fmt.Sprint("d-", i), fmt.Sprint("d-", i), 1)
	}
	v := view(l, l.devices())
	rebuild(l, v)
	requests := func(read func() error) int {
		t.Helper()
		l.sent.Reset()
		require.NoError(t, read())
		return len(l.sent.Requests())
	}
	assert.Equal(t, 1, requests(func() error { _, err := v.Meta(l.ctx); return err }), "status")
	assert.Equal(t, 2, requests(func() error { _, _, err := v.Get(l.ctx, "d-1"); return err }), "a row")
	assert.Equal(t, 3, requests(func() error { _, err := v.Page(l.ctx, 2, 5); return err }), "a page by number")
	assert.Equal(t, 2, requests(func() error { _, err := v.After(l.ctx, "", 5); return err }), "a page by cursor")
}

func TestProgressIsUnknownWhereNothingTellsHowMuchThereIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	events := []event{happened("a", -1, "s")}
	told := 0
	rebuild(l, view(l, fromFeed("feed", fed(&events))), timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildStatus == timeline.InProgress {
			told++
			assert.Nil(t, m.RebuildProgress)
		}
	}))
	assert.Positive(t, told)
}
