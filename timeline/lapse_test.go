package timeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
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
	v := view(l, timeline.Projection[string, totals]{
		Name: "pulses", Version: version, Source: timeline.Series(series), Retention: 10 * day,
		Handlers: []timeline.Handler[string, totals]{timeline.Ensure[pulse, string, totals]("pulse.appended", func(p pulse) string { return p.ID })},
	})
	return v, func(id string) {
		t.Helper()
		_, err := series.Append(l.ctx, pulse{ID: id, At: l.clock.Now(), N: new(int)})
		require.NoError(t, err)
	}
}

func TestNoGapSeen_NotOnceEventsMayHaveExpiredUnseen(t *testing.T) {
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
	assert.False(t, meta.NoGapSeen)
	_, err := v.Page(l.ctx, 1, 10, timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	past := timeline.AsOf(start.Add(5 * day))
	row, meta, err := v.Get(l.ctx, "busy", timeline.FullReplay(), past)
	require.NoError(t, err)
	require.Less(t, row.Events, int64(5))
	assert.False(t, meta.NoGapSeen, "events before the floor had happened by then")
	_, meta, err = v.Get(l.ctx, "quiet", timeline.FullReplay(), past)
	require.ErrorIs(t, err, entity.ErrNotFound)
	assert.False(t, meta.NoGapSeen)
	for _, opt := range []timeline.RowsOption{past, timeline.AsKnownAt(start.Add(5 * day))} {
		_, _, err = v.Get(l.ctx, "busy", timeline.FullReplay(), opt, timeline.RequireComplete())
		require.ErrorIs(t, err, timeline.ErrIncomplete)
		p, err := v.Page(l.ctx, 1, 10, opt)
		require.NoError(t, err)
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
		assert.Equal(t, i < 9, meta.NoGapSeen, "after %d days", i+1)
		_, meta, err = v.Get(l.ctx, "busy", timeline.FullReplay(), timeline.AsOf(l.clock.Now()))
		require.NoError(t, err)
		assert.Equal(t, i < 9, meta.NoGapSeen, "as of now, after %d days", i+1)
	}
	row, _, err := v.Get(l.ctx, "busy")
	require.NoError(t, err)
	assert.False(t, row.First.Before(start))
	l.clock.forward(11 * day)
	assert.True(t, rebuild(l, v).NoGapSeen, "nothing is left: the history begins again")
}

func TestNoGapSeen_NotWhenBuildsAreTooFarApart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	rebuild(l, v)
	l.clock.forward(11 * day) // an event could have come and gone
	beat("busy")
	_, meta, err := v.Get(l.ctx, "busy", timeline.FullReplay(), timeline.AsOf(l.clock.Now()))
	require.NoError(t, err)
	assert.False(t, meta.NoGapSeen)
}

func TestNoGapSeen_NotForAnotherDefinitionOfWhatExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v, beat := pulses(t, l, 1)
	rebuild(l, v)
	beat("busy")
	l.clock.forward(6 * day)
	assert.True(t, rebuild(l, v).NoGapSeen)
	l.connect()
	v, _ = pulses(t, l, 2)
	assert.False(t, rebuild(l, v).NoGapSeen, "its sources need not be the same")
}

// fleeting is a versioned entity whose past states are kept for a day.
type fleeting struct {
	_ entity.Key       `name:"Fleeting" pk:"$#{id}" sk:"$"`
	_ versioned.Retain `ttl:"1d"`

	ID      string    `dynamodbav:"id"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// TestHistoryComplete_IsFalseWhereStatesExpire has an item that was deleted for good, and of which nothing is left.
func TestHistoryComplete_IsFalseWhereStatesExpire(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, err := entity.New[fleeting](l.db)
	require.NoError(t, err)
	past, err := versioned.Of(store)
	require.NoError(t, err)
	f := timeline.Projection[string, int]{Name: "fleeting", Version: 1, Source: timeline.Versions(past), Retention: day}
	for _, what := range []string{"created", "deleted", "baseline"} {
		f.Handlers = append(f.Handlers, timeline.On("fleeting."+what, func(x fleeting) string { return x.ID }, func(n *int, _ timeline.Event[fleeting]) error { *n++; return nil }))
	}
	v := view(l, f)
	_, err = store.Create(l.ctx, fleeting{ID: "a"})
	require.NoError(t, err)
	require.NoError(t, store.Delete(l.ctx, fleeting{ID: "a"}))
	l.clock.forward(2 * day)
	meta := rebuild(l, v)
	require.Zero(t, meta.Counters.Baselines, "nothing shows that it was there")
	assert.False(t, meta.HistoryComplete)
	p, err := v.Page(l.ctx, 1, 1, timeline.AsOf(l.clock.Now()))
	require.NoError(t, err)
	assert.False(t, p.Authoritative())
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: f.Source})
	require.NoError(t, err)
	entries, err := log.Page(l.ctx, 1, 1)
	require.NoError(t, err)
	assert.False(t, entries.Authoritative())
	_, err = log.Page(l.ctx, 1, 1, timeline.RequireComplete())
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
			for _, it := range l.scan() {
				if strings.HasSuffix(text(it["sk"]), c.gone) {
					_, err := l.raw.DeleteItem(l.ctx, &dynamodb.DeleteItemInput{TableName: &l.table, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}})
					require.NoError(t, err)
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
				p, err := v.Page(l.ctx, 1, 1, timeline.AsOf(noon))
				require.NoError(t, err)
				assert.Equal(t, c.complete, p.Authoritative(), "%s, before the gap", name)
			}
		})
	}
}
