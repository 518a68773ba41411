package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestAsOf_IncludesEventsAtThatTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	l.Clock.Move(10 * time.Minute)
	l.append("d-1", "north", 1, 2, 3)
	past := func(t0 time.Time) []int { return rows(l, v, timeline.AsOf(t0))["north"].State.Order }
	assert.Equal(t, []int{10}, past(at(2).Add(-1)))
	assert.Equal(t, []int{10, 20}, past(at(2)))
	assert.Equal(t, []int{10, 20}, past(at(2).In(time.FixedZone("", 3600))), "whatever the zone")
	assert.Equal(t, []int{10, 20, 30}, past(at(1e6)), "the future is now")
	assert.Empty(t, past(at(0)), "before the first event")
	p := entity.Must(v.Page(l.Ctx, 1, 10, timeline.AsOf(at(0))))
	assert.Empty(t, p.Rows)
	assert.True(t, p.Authoritative())
	assert.Equal(t, timeline.Complete, p.Meta.RebuildStatus)
	assert.Equal(t, at(0), *p.Meta.AsOf)
	assert.Empty(t, p.Meta.Generation)
	p = entity.Must(v.Page(l.Ctx, 1, 10, timeline.AsOf(at(1e6))))
	assert.Equal(t, at(1e6), *p.Meta.AsOf)
	_, _, err := v.Get(l.Ctx, "north", timeline.FullReplay(), timeline.AsOf(at(0)))
	assert.ErrorIs(t, err, entity.ErrNotFound)
	p = entity.Must(v.Page(l.Ctx, 1, 10, timeline.AsOf(time.Time{}), timeline.AsKnownAt(time.Time{})))
	assert.Equal(t, timeline.Pending, p.Meta.RebuildStatus, "the zero time is not given")
	assert.Nil(t, p.Meta.AsOf)
}

func TestAsOf_DoesNotReadStoredRows(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.devices())
	l.append("d-1", "d-1", 1, 2)
	l.append("d-2", "d-2", 2)
	l.Wire.Reset()
	want := rows(l, v, timeline.AsOf(at(2)))
	assert.Len(t, want, 2, "without any build")
	assert.Equal(t, 0, l.Wire.Count("GetItem"))
	row, _, err := v.Get(l.Ctx, "d-1", timeline.AsOf(at(2)))
	require.NoError(t, err)
	assert.Equal(t, want["d-1"], row)
	assert.Equal(t, 1, l.Wire.Count("Query"), "one partition is read")
	assert.Equal(t, 1, l.Wire.Count("Scan"))
	seen := 0
	rebuild(l, v, timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildStatus == timeline.InProgress && seen == 0 {
			seen++
			assert.Equal(t, want, rows(l, v, timeline.AsOf(at(2))), "while building")
		}
	}))
	assert.Equal(t, 1, seen)
	assert.Equal(t, want, rows(l, v), "plain values")
}

func TestAsOf_BeforeTheFloorHasExpired(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	series := entity.Must(timeseries.New[short](l.DB))
	source := timeline.Series(series)
	f := journals("short", source, "short", func(s short) string { return s.ID }, func(e timeline.Event[short]) string { return e.At.Format("2 15:04") }, "appended")
	f.Retention = 24 * time.Hour
	v := view(l, f)
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "short", Source: source, Oldest: true}))
	one := 1
	put := func() {
		t.Helper()
		entity.Must(series.Append(l.Ctx, short{ID: "s", At: l.Clock.Now(), N: &one}))
	}
	put()
	began := l.Clock.Now()
	l.Clock.Move(20 * time.Hour)
	put()
	rebuild(l, v)
	assert.Len(t, rows(l, v)["s"].State.Lines, 2)
	l.Clock.Move(5 * time.Hour) // the first has expired; DynamoDB may still have it
	for _, opt := range []timeline.RowsOption{timeline.AsOf(began), timeline.AsKnownAt(began)} {
		_, err := v.Page(l.Ctx, 1, 10, opt)
		var gap *timeline.HistoryExpiredError
		require.ErrorAs(t, err, &gap)
		require.ErrorIs(t, err, timeline.ErrHistoryGap)
		assert.Equal(t, began, gap.At)
		assert.Equal(t, "short", gap.View)
		assert.Equal(t, at(60).Truncate(time.Minute), gap.Floor.Truncate(time.Minute))
		_, _, err = v.Get(l.Ctx, "s", timeline.FullReplay(), opt)
		require.ErrorIs(t, err, timeline.ErrHistoryGap)
		_, err = log.Page(l.Ctx, 1, 10, opt)
		require.ErrorIs(t, err, timeline.ErrHistoryGap)
		p := entity.Must(v.Page(l.Ctx, 1, 10, opt, timeline.Partial()))
		assert.False(t, p.Authoritative())
		assert.Empty(t, p.Rows)
		_, err = v.Page(l.Ctx, 1, 10, opt, timeline.Partial(), timeline.RequireComplete())
		require.ErrorIs(t, err, timeline.ErrIncomplete)
	}
	got := rows(l, v, timeline.AsOf(l.Clock.Now()))["s"].State.Lines
	assert.Equal(t, []string{"23 08:00"}, got, "D11: what has expired does not count, removed or not")
	rebuild(l, v)
	assert.Equal(t, got, rows(l, v)["s"].State.Lines)
}

func TestAsKnownAt_UsesAcceptTimes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	l.Clock.Move(10 * time.Minute)
	l.append("d-1", "north", 1, 5)
	known := l.Clock.Now()
	l.Clock.Move(time.Hour)
	l.append("d-1", "north", 3)
	order := func(opts ...timeline.RowsOption) []int { return rows(l, v, opts...)["north"].State.Order }
	assert.Equal(t, []int{10, 30}, order(timeline.AsOf(at(4))), "what had happened")
	assert.Equal(t, []int{10, 50}, order(timeline.AsKnownAt(known)), "what was known")
	assert.Equal(t, []int{10}, order(timeline.AsOf(at(4)), timeline.AsKnownAt(known)), "what was known to have happened")
	p := entity.Must(v.Page(l.Ctx, 1, 1, timeline.AsKnownAt(known)))
	assert.Equal(t, known, *p.Meta.KnownAt)
	assert.Equal(t, known, p.Meta.Through)
	p = entity.Must(v.Page(l.Ctx, 1, 1, timeline.AsKnownAt(at(1e6))))
	assert.True(t, p.Meta.Through.Before(at(1e5)), "not later than now")
}

func TestGet_AsOfScansWithoutPartitionKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	l.append("d-1", "north", 1)
	l.append("d-2", "north", 2)
	l.append("d-2", "south", 3)
	l.Wire.Reset()
	for _, opt := range []timeline.RowsOption{timeline.AsOf(at(9)), timeline.AsKnownAt(at(9))} {
		_, _, err := v.Get(l.Ctx, "north", opt)
		assert.Equal(t, "EDD-9150", dbtest.InputCode(err))
	}
	assert.Empty(t, l.Wire.Requests(), "it is refused before any request")
	row, meta, err := v.Get(l.Ctx, "north", timeline.AsOf(at(9)), timeline.FullReplay())
	require.NoError(t, err)
	assert.Equal(t, []int{10, 20}, row.State.Order)
	assert.EqualValues(t, 3, meta.Counters.Scanned)
	assert.EqualValues(t, 2, meta.Counters.Folded)
	assert.EqualValues(t, 1, meta.Rows)
	e := entity.Must(v.Explain(l.Ctx))
	assert.Contains(t, e.OneRow, "scan")
}
