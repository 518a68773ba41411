package timeline_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestMeta_StatusThroughTheLifeOfAView(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.devices())
	meta := metaOf(l, v)
	zero := 0.0
	assert.Equal(t, timeline.Meta{RebuildStatus: timeline.Pending, RebuildProgress: &zero}, meta)
	p := entity.Must(v.Page(l.Ctx, 1, 10))
	assert.Empty(t, p.Rows)
	assert.False(t, p.Authoritative())
	assert.EqualValues(t, 1, p.Pages)
	_, err := v.Page(l.Ctx, 1, 10, timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	_, _, err = v.Get(l.Ctx, "d", timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	_, _, err = v.Get(l.Ctx, "d")
	require.ErrorIs(t, err, entity.ErrNotFound)
	meta = rebuild(l, v)
	assert.Equal(t, timeline.Complete, meta.RebuildStatus, "a history without events is complete")
	assert.True(t, meta.HistoryComplete)
	assert.Zero(t, meta.Rows)
	assert.Equal(t, 1.0, *meta.RebuildProgress)
	p = entity.Must(v.Page(l.Ctx, 1, 10, timeline.RequireComplete()))
	assert.Equal(t, meta, p.Meta)
	assert.Empty(t, p.Rows)
	for range v.All(l.Ctx) {
		assert.Fail(t, "there are no rows")
	}

	l.fill(10, 1, 2)
	began := l.Clock.Now()
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
			p, err := v.Page(l.Ctx, 1, 10)
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
	assert.EqualValues(t, 10, meta.Rows)
	assert.Equal(t, timeline.Counters{Scanned: 20, Folded: 20}, meta.Counters)
	assert.True(t, meta.HistoryFloor.IsZero(), "nothing expires")
}

func TestMeta_JSONNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	names := func(m timeline.Meta) map[string]any {
		text := entity.Must(json.Marshal(m))
		var got map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		return got
	}
	meta := metaOf(l, v)
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
	p := entity.Must(v.Page(l.Ctx, 1, 1, timeline.AsOf(noon)))
	assert.Equal(t, "2101-04-22T12:00:00Z", names(p.Meta)["as_of_applied"])
	got = names(timeline.Meta{RebuildStatus: timeline.InProgress})
	assert.Equal(t, "in_progress", got["rebuild_status"])
	assert.Contains(t, got, "rebuild_progress")
	assert.Nil(t, got["rebuild_progress"], "null if unknown")
}

func TestReads_CostTheDocumentedRequests(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill(12, 1)
	v := view(l, l.devices())
	rebuild(l, v)
	requests := func(read func() error) int {
		t.Helper()
		l.Wire.Reset()
		require.NoError(t, read())
		return len(l.Wire.Requests())
	}
	assert.Equal(t, 1, requests(func() error { _, err := v.Meta(l.Ctx); return err }), "status")
	assert.Equal(t, 2, requests(func() error { _, _, err := v.Get(l.Ctx, "d-1"); return err }), "a row")
	assert.Equal(t, 3, requests(func() error { _, err := v.Page(l.Ctx, 2, 5); return err }), "a page by number")
	assert.Equal(t, 2, requests(func() error { _, err := v.After(l.Ctx, "", 5); return err }), "a page by cursor")
}

// pulse is a series with events that live for ten days.
type pulse struct {
	_  entity.Key        `name:"Pulse" pk:"$#{id}" sk:"$"`
	_  timeseries.Events `orderBy:"at" late:"record" ttl:"10d"`
	ID string            `dynamodbav:"id"`
	At time.Time         `dynamodbav:"at"`
	N  *int              `dynamodbav:"n,omitempty" entity:"append"`
}

// pulses returns a view of pulses, and a function that appends one now.
func pulses(t *testing.T, l *lab, version int) (*timeline.View[string, totals], func(id string)) {
	t.Helper()
	series := entity.Must(timeseries.New[pulse](l.DB))
	v := view(l, timeline.Projection[string, totals]{
		Name: "pulses", Version: version, Source: timeline.Series(series), Retention: 10 * day,
		Handlers: []timeline.Handler[string, totals]{timeline.Ensure[pulse, string, totals]("pulse.appended", func(p pulse) string { return p.ID })},
	})
	return v, func(id string) {
		t.Helper()
		entity.Must(series.Append(l.Ctx, pulse{ID: id, At: l.Clock.Now(), N: new(int)}))
	}
}

func TestNoGapSeen_EndsWhenEventsMayHaveExpiredUnread(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	start := l.Clock.Now()
	beat("quiet")
	for range 12 {
		beat("busy")
		l.Clock.Move(day)
	}
	meta := rebuild(l, v)
	require.Less(t, meta.Counters.Folded, int64(13), "what has expired is not there")
	assert.False(t, meta.NoGapSeen)
	_, err := v.Page(l.Ctx, 1, 10, timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	past := timeline.AsOf(start.Add(5 * day))
	row, meta, err := v.Get(l.Ctx, "busy", timeline.FullReplay(), past)
	require.NoError(t, err)
	require.Less(t, row.Events, int64(5))
	assert.False(t, meta.NoGapSeen, "events before the floor had happened by then")
	_, meta, err = v.Get(l.Ctx, "quiet", timeline.FullReplay(), past)
	require.ErrorIs(t, err, entity.ErrNotFound)
	assert.False(t, meta.NoGapSeen)
	for _, opt := range []timeline.RowsOption{past, timeline.AsKnownAt(start.Add(5 * day))} {
		_, _, err = v.Get(l.Ctx, "busy", timeline.FullReplay(), opt, timeline.RequireComplete())
		require.ErrorIs(t, err, timeline.ErrIncomplete)
		p := entity.Must(v.Page(l.Ctx, 1, 10, opt))
		assert.False(t, p.Authoritative())
		assert.False(t, p.Meta.NoGapSeen)
	}
}

func TestNoGapSeen_FromTheBeginningUntilTheFirstEventExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	first := rebuild(l, v)
	assert.True(t, first.NoGapSeen, "there was nothing yet")
	assert.False(t, first.HistoryComplete, "that is no proof: what there was may have expired")
	start := l.Clock.Now()
	last := 0
	for i, days := range []int{1, 3, 5, 7, 9, 10, 12} {
		l.Clock.Move(time.Duration(days-last)*day - day/2)
		beat("busy")
		l.Clock.Move(day / 2)
		last = days
		build := v.CatchUp
		if i%2 == 0 {
			build = v.Rebuild
		}
		meta := entity.Must(build(l.Ctx))
		assert.Equal(t, days < 10, meta.NoGapSeen, "after %d days", days)
		_, meta, err := v.Get(l.Ctx, "busy", timeline.FullReplay(), timeline.AsOf(l.Clock.Now()))
		require.NoError(t, err)
		assert.Equal(t, days < 10, meta.NoGapSeen, "as of now, after %d days", days)
	}
	row, _, err := v.Get(l.Ctx, "busy")
	require.NoError(t, err)
	assert.False(t, row.First.Before(start))
	l.Clock.Move(11 * day)
	assert.True(t, rebuild(l, v).NoGapSeen, "nothing is left: the history begins again")
}

// TestHistoryComplete_IsFalseWhereStatesExpire has an item that was deleted for good, and of which nothing is left.
func TestHistoryComplete_IsFalseWhereStatesExpire(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := leaves(t, l)
	entity.Must(store.Create(l.Ctx, leaf{Tree: "oak", ID: "1"}))
	require.NoError(t, store.Delete(l.Ctx, leaf{Tree: "oak", ID: "1"}))
	l.Clock.Move(2 * day)
	meta := rebuild(l, v)
	require.Zero(t, meta.Counters.Baselines, "nothing shows that it was there")
	assert.False(t, meta.HistoryComplete)
	p := entity.Must(v.Page(l.Ctx, 1, 1, timeline.AsOf(l.Clock.Now())))
	assert.False(t, p.Authoritative())
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: pastOf(t, store)}))
	entries := entity.Must(log.Page(l.Ctx, 1, 1))
	assert.False(t, entries.Authoritative())
	_, err := log.Page(l.Ctx, 1, 1, timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
}

func TestHistoryComplete_IsFalseWhereAStateIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gone     string
		complete bool
	}{{"none", true}, {"#v#0000001", false}, {"#v#0000002", false}} {
		t.Run(c.gone, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.create("a", "1")
			l.update("a", "2")
			l.update("a", "3")
			for _, it := range l.Items() {
				if strings.HasSuffix(dbtest.Text(it["sk"]), c.gone) {
					entity.Must(l.Raw.DeleteItem(l.Ctx, &dynamodb.DeleteItemInput{TableName: &l.Table, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}}))
				}
			}
			for name, change := range map[string]func(*timeline.Projection[string, journal]){
				"all":  func(*timeline.Projection[string, journal]) {},
				"some": func(f *timeline.Projection[string, journal]) { f.Handlers = f.Handlers[:1] }, // not the event of the state after the gap
			} {
				v := view(l, l.histories(func(f *timeline.Projection[string, journal]) { f.Name = name }, change))
				meta := rebuild(l, v)
				assert.Equal(t, c.complete, meta.HistoryComplete, name)
				assert.Equal(t, c.complete, meta.NoGapSeen, name)
				p := entity.Must(v.Page(l.Ctx, 1, 1, timeline.AsOf(noon)))
				assert.Equal(t, c.complete, p.Authoritative(), "%s, before the gap", name)
			}
		})
	}
}

func TestHistoryFloor_ExcludesTheCurrentSecond(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	series := entity.Must(timeseries.New[short](l.DB))
	v := view(l, timeline.Projection[string, totals]{
		Name: "short", Version: 1, Source: timeline.Series(series), Retention: 24 * time.Hour,
		Handlers: []timeline.Handler[string, totals]{timeline.Ensure[short, string, totals]("short.appended", func(s short) string { return s.ID })},
	})
	happened := noon.Add(800 * time.Millisecond)
	entity.Must(series.Append(l.Ctx, short{ID: "s", At: happened}))
	l.Clock.Move(24*time.Hour + 500*time.Millisecond) // the event was stored less than a day ago and has expired
	require.Empty(t, rows(l, v, timeline.AsOf(l.Clock.Now())))
	_, _, err := v.Get(l.Ctx, "s", timeline.FullReplay(), timeline.AsOf(happened))
	var gap *timeline.HistoryExpiredError
	require.ErrorAs(t, err, &gap)
	assert.Equal(t, noon.Add(time.Second), gap.Floor)
	_, _, err = v.Get(l.Ctx, "s", timeline.FullReplay(), timeline.AsOf(gap.Floor))
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestMeta_DistinguishesInterruptedFromRunningBuilds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	status := func() timeline.Status {
		t.Helper()
		m := metaOf(l, v)
		return m.RebuildStatus
	}
	rebuilding := func() error { _, err := v.Rebuild(l.Ctx); return err }
	_ = l.Overtake(dbtest.First(isRow), rebuilding, func() {
		assert.Equal(t, timeline.InProgress, status())
		l.Clock.Move(time.Minute)
		assert.Equal(t, timeline.Interrupted, status(), "its lease has ended")
	})

	ctx, cancel := context.WithCancel(l.Ctx)
	defer cancel()
	_, err := v.Rebuild(ctx, timeline.Segments(1), timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildProgress != nil && *m.RebuildProgress > 0 {
			cancel()
		}
	}))
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, timeline.Interrupted, status(), "it gave its lease up")
	if progress := metaOf(l, v).RebuildProgress; assert.NotNil(t, progress) {
		assert.Equal(t, 0.99, *progress)
	}
	var while []timeline.Status
	entity.Must(v.CatchUp(l.Ctx, timeline.OnProgress(func(m timeline.Meta) { while = append(while, m.RebuildStatus) })))
	require.NotEmpty(t, while)
	assert.NotContains(t, while, timeline.InProgress, "the lease is that of a catch-up")
	rebuild(l, v, timeline.Resume(), timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildStatus != timeline.Complete {
			assert.Equal(t, timeline.InProgress, m.RebuildStatus)
		}
	}))
	assert.Equal(t, timeline.Complete, status())
}
