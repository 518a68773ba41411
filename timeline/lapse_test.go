package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

const day = 24 * time.Hour

// pulse is a series whose events are kept for ten days.
type pulse struct {
	_  entity.Key        `name:"Pulse" pk:"$#{id}" sk:"$"`
	_  timeseries.Events `orderBy:"at" late:"record" ttl:"10d"`
	ID string            `dynamodbav:"id"`
	At time.Time         `dynamodbav:"at"`
	N  *int              `dynamodbav:"n,omitempty" entity:"append"`
}

// pulses is a view of pulses, and what appends one of them now.
func pulses(t *testing.T, l *lab, version int) (*timeline.View[string, totals], func(id string)) {
	t.Helper()
	series, err := timeseries.New[pulse](l.db)
	require.NoError(t, err)
	v := view(l, timeline.Fold[string, totals]{
		Name: "pulses", Version: version, Source: timeline.Series(series), Retention: 10 * day,
		When: []timeline.Handler[string, totals]{timeline.Form[pulse, string, totals]("pulse.appended", func(p pulse) string { return p.ID })},
	})
	return v, func(id string) {
		t.Helper()
		_, err := series.Append(l.ctx, pulse{ID: id, At: l.clock.Now(), N: new(int)})
		require.NoError(t, err)
	}
}

func TestHistoryComplete_NotOnceEventsMayHaveExpiredUnseen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	start := l.clock.Now()
	beat("quiet")
	for range 12 {
		beat("busy")
		l.clock.forward(day)
	}
	meta := rebuild(l, v)
	require.Less(t, meta.Counters.Folded, int64(13), "what has expired is not there")
	assert.False(t, meta.HistoryComplete)
	_, err := v.Page(l.ctx, 1, 10, timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	past := timeline.AsOf(start.Add(5 * day))
	row, meta, err := v.Get(l.ctx, "busy", past)
	require.NoError(t, err)
	require.Less(t, row.Events, int64(5))
	assert.False(t, meta.HistoryComplete, "events before the floor had happened by then")
	_, meta, err = v.Get(l.ctx, "quiet", past)
	require.ErrorIs(t, err, entity.ErrNotFound)
	assert.False(t, meta.HistoryComplete)
	for _, opt := range []timeline.RowsOption{past, timeline.AsKnownAt(start.Add(5 * day))} {
		_, _, err = v.Get(l.ctx, "busy", opt, timeline.RequireComplete())
		require.ErrorIs(t, err, timeline.ErrIncomplete)
		p, err := v.Page(l.ctx, 1, 10, opt)
		require.NoError(t, err)
		assert.False(t, p.Authoritative())
	}
}

func TestHistoryComplete_FromTheBeginningUntilTheFirstEventExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	assert.True(t, rebuild(l, v).HistoryComplete, "there was nothing yet")
	start := l.clock.Now()
	for i := range 12 {
		l.clock.forward(day / 2)
		beat("busy")
		l.clock.forward(day / 2)
		build := v.CatchUp
		if i%2 == 0 {
			build = v.Rebuild
		}
		meta, err := build(l.ctx)
		require.NoError(t, err)
		assert.Equal(t, i < 9, meta.HistoryComplete, "after %d days", i+1)
		_, meta, err = v.Get(l.ctx, "busy", timeline.AsOf(l.clock.Now()))
		require.NoError(t, err)
		assert.Equal(t, i < 9, meta.HistoryComplete, "as of now, after %d days", i+1)
	}
	row, _, err := v.Get(l.ctx, "busy")
	require.NoError(t, err)
	assert.False(t, row.First.Before(start))
	l.clock.forward(11 * day)
	assert.True(t, rebuild(l, v).HistoryComplete, "nothing is left: the history begins anew")
}

func TestHistoryComplete_NotWhenBuildsAreTooFarApart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	rebuild(l, v)
	l.clock.forward(11 * day) // an event could have come and gone
	beat("busy")
	_, meta, err := v.Get(l.ctx, "busy", timeline.AsOf(l.clock.Now()))
	require.NoError(t, err)
	assert.False(t, meta.HistoryComplete)
}

func TestHistoryComplete_NotForAnotherDefinitionOfWhatExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	rebuild(l, v)
	beat("busy")
	l.clock.forward(6 * day)
	assert.True(t, rebuild(l, v).HistoryComplete)
	l.connect()
	v, _ = pulses(t, l, 2)
	assert.False(t, rebuild(l, v).HistoryComplete, "its sources need not be the same")
}
