package timeline_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// by is a fold of readings by keys of any type.
func by[K comparable, S any](l *lab, key func(reading) K, apply func(*S, timeline.Event[reading]) error) timeline.Projection[K, S] {
	return timeline.Projection[K, S]{
		Name: "by", Version: 1, Source: timeline.Series(l.readings),
		Handlers: []timeline.Handler[K, S]{timeline.On("reading.appended", key, apply)},
	}
}

// mistakes are the codes of a definition's mistakes.
func mistakes[K comparable, S any](l *lab, f timeline.Projection[K, S]) []string {
	_, err := timeline.New(l.db, f)
	return codes(err)
}

func TestANameIsUniqueAndShort(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for _, bad := range []string{"", "9", "by site", "a.b", strings.Repeat("n", 65)} {
		assert.Equal(t, []string{"EDD-9080"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = bad })), bad)
	}
	assert.Empty(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = strings.Repeat("n", 64) })))
	_, err := timeline.NewLog(l.db, timeline.Log{Name: "by site", Source: timeline.Series(l.readings)})
	assert.Equal(t, []string{"EDD-9080"}, codes(err))
}

func TestEventsAreThoseOfTheSourceAndComeOnce(t *testing.T) {
	t.Parallel()
	l := offline(t)
	when := func(events ...string) timeline.Projection[string, totals] {
		return l.sites(func(f *timeline.Projection[string, totals]) {
			f.Handlers = nil
			for _, e := range events {
				f.Handlers = append(f.Handlers, timeline.On(e, bySite, sum))
			}
		})
	}
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, when()))
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, when("reading.appended", "reading.appended")))
	_, err := timeline.New(l.db, when("reading.append"))
	assert.Equal(t, []string{"EDD-9083"}, codes(err))
	assert.ErrorContains(t, err, "did you mean reading.appended?")
	_, err = timeline.NewLog(l.db, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Events: []string{"reading.append"}})
	assert.Equal(t, []string{"EDD-9083"}, codes(err))
	other := timeline.On("reading.appended", func(m message) string { return m.User }, func(*totals, timeline.Event[message]) error { return nil })
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Handlers[0] = other })), "another payload")
}

func TestAGroupKeyIsOfPlainValues(t *testing.T) {
	t.Parallel()
	type pair struct {
		Site   string
		Number int
	}
	l := offline(t)
	assert.Empty(t, mistakes(l, by(l, func(r reading) pair { return pair{r.Site, r.Value} }, sum)))
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, by(l, func(reading) [2]string { return [2]string{} }, sum)))
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, by(l, func(reading) *string { return nil }, sum)))
	type secret struct{ site string }
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, by(l, func(r reading) secret { return secret{r.Site} }, sum)))
	type lossy struct {
		Site   string
		Number int `dynamodbav:"-"`
	}
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, by(l, func(r reading) lossy { return lossy{r.Site, r.Value} }, sum)),
		"a part that does not come back from the row")
	type twins struct {
		A string `dynamodbav:"k"`
		B string `dynamodbav:"k"`
	}
	assert.Equal(t, []string{"EDD-9031"}, mistakes(l, by(l, func(r reading) twins { return twins{r.Site, r.Device} }, sum)))
}

func TestAStateIsWhatCanBeStored(t *testing.T) {
	t.Parallel()
	l := offline(t)
	state := func(name string, got []string) { t.Helper(); assert.Equal(t, []string{"EDD-9085"}, got, name) }
	state("any", mistakes(l, by(l, bySite, func(*struct{ V any }, timeline.Event[reading]) error { return nil })))
	state("in a map", mistakes(l, by(l, bySite, func(*struct{ V map[string]any }, timeline.Event[reading]) error { return nil })))
	state("left out", mistakes(l, by(l, bySite, func(*struct {
		V int `dynamodbav:"-"`
	}, timeline.Event[reading]) error {
		return nil
	})))
	state("func", mistakes(l, by(l, bySite, func(*struct{ V func() }, timeline.Event[reading]) error { return nil })))
	state("chan", mistakes(l, by(l, bySite, func(*struct{ V chan int }, timeline.Event[reading]) error { return nil })))
	state("complex", mistakes(l, by(l, bySite, func(*struct{ V complex128 }, timeline.Event[reading]) error { return nil })))
	state("a set", mistakes(l, by(l, bySite, func(*struct {
		V []string `dynamodbav:"v,omitempty,stringset"`
	}, timeline.Event[reading]) error {
		return nil
	})))
	state("a set without an option", mistakes(l, by(l, bySite, func(*struct{ V map[string][][]byte }, timeline.Event[reading]) error { return nil })))
	state("a set inside", mistakes(l, by(l, bySite, func(*struct {
		V map[string]struct {
			N []int `dynamodbav:",numberset"`
		}
	}, timeline.Event[reading]) error {
		return nil
	})))
	zoned := by(l, bySite, func(*struct{ V time.Time }, timeline.Event[reading]) error { return nil })
	zoned.Start = func() struct{ V time.Time } { return struct{ V time.Time }{noon.In(time.FixedZone("", 3600))} }
	state("a start that comes back as another", mistakes(l, zoned))
	type nested struct {
		Many map[string][]*time.Time
		Next *nested
	}
	assert.Empty(t, mistakes(l, by(l, bySite, func(*nested, timeline.Event[reading]) error { return nil })))
}

func TestAHandlerNeedsItsFunctions(t *testing.T) {
	t.Parallel()
	l := offline(t)
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, by[string, totals](l, nil, sum)))
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, by[string, totals](l, bySite, nil)))
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) {
		f.Handlers = []timeline.Handler[string, totals]{{}}
	})))
}

// short is a series whose events are kept for a day.
type short struct {
	_  entity.Key        `name:"Short" pk:"$#{id}" sk:"$"`
	_  timeseries.Events `orderBy:"at" late:"record" ttl:"1d"`
	ID string            `dynamodbav:"id"`
	At time.Time         `dynamodbav:"at"`
	N  *int              `dynamodbav:"n,omitempty" entity:"append"`
}

func TestRowsDoNotOutliveTheirHistory(t *testing.T) {
	t.Parallel()
	l := offline(t)
	series, err := timeseries.New[short](l.db)
	require.NoError(t, err)
	fold := func(d time.Duration) timeline.Projection[string, totals] {
		return timeline.Projection[string, totals]{
			Name: "short", Version: 1, Source: timeline.Series(series), Retention: d,
			Handlers: []timeline.Handler[string, totals]{timeline.Ensure[short, string, totals]("short.appended", func(s short) string { return s.ID })},
		}
	}
	for _, bad := range []time.Duration{0, -time.Second, 1500 * time.Millisecond, 24*time.Hour + time.Second} {
		assert.Equal(t, []string{"EDD-9086"}, mistakes(l, fold(bad)), bad)
	}
	assert.Empty(t, mistakes(l, fold(24*time.Hour)))
	assert.Empty(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Retention = 365 * 24 * time.Hour })), "history for ever")
}

func TestPageSizesFitEachOther(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for _, bad := range [][2]int{{101, 100}, {-1, 100}, {20, -1}, {1, 1001}} {
		assert.Contains(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.PageSize, f.MaxPageSize = bad[0], bad[1] })), "EDD-9087", bad)
	}
	assert.Empty(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.MaxPageSize = 5 })), "the default size gives way")
	_, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: timeline.Series(l.readings), PageSize: 101})
	assert.Equal(t, []string{"EDD-9087"}, codes(err))
}

func TestAllMistakesComeTogetherAndBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l := offline(t) // without a client
	got := mistakes(l, timeline.Projection[float64, hidden]{Name: "9", Retention: -1, PageSize: -1, Memory: -1})
	assert.Equal(t, []string{"EDD-9080", "EDD-9081", "EDD-9081", "EDD-9082", "EDD-9083", "EDD-9084", "EDD-9087", "EDD-9086", "EDD-9085"}, got)
}

// nothing is a feed without events.
func nothing(context.Context) iter.Seq2[timeline.Event[reading], error] {
	return func(func(timeline.Event[reading], error) bool) {}
}

func TestSource_MistakesAreToldWithTheirSource(t *testing.T) {
	t.Parallel()
	l := offline(t)
	day := func(string) reading { return reading{} }
	classify := timeline.Classify([]string{"a"}, func(timeline.Event[reading]) string { return "a" })
	for want, s := range map[string]timeline.Source{
		"the series is nil":                      timeline.Series[reading](nil),
		"the history is nil":                     timeline.Versions[message](nil),
		"the store is nil":                       timeline.Items[message](nil, &entity.Fields[message]().Updated),
		"a source is nil":                        timeline.Merge(nil),
		"the merge has no source":                timeline.Merge(),
		"is merged with itself":                  timeline.Merge(timeline.Series(l.readings), timeline.Series(l.readings, classify)),
		"an option is nil":                       timeline.Series(l.readings, nil),
		"two options PartitionKey":               timeline.Series(l.readings, timeline.PartitionKey(day), timeline.PartitionKey(day)),
		"PartitionKey needs a function":          timeline.Series(l.readings, timeline.PartitionKey[string, reading](nil)),
		"PartitionKey gives a timeline_test.mes": timeline.Series(l.readings, timeline.PartitionKey(func(string) message { return message{} })),
		"it is classified twice":                 timeline.Series(l.readings, classify, classify),
		"Classify needs names":                   timeline.Series(l.readings, timeline.Classify[reading](nil, nil)),
		"Classify is for events of":              timeline.Series(l.readings, timeline.Classify([]string{"a"}, func(timeline.Event[message]) string { return "" })),
		"is empty or there twice":                timeline.Series(l.readings, timeline.Classify([]string{"a", "a"}, func(timeline.Event[reading]) string { return "" })),
		"AcceptedAt is for Items":                timeline.Series(l.readings, timeline.AcceptedAt(&entity.Fields[reading]().At)),
		"a field of the prototype":               timeline.Items(l.messages, new(time.Time)),
		"must be a time, or an integer":          timeline.Items(l.messages, &entity.Fields[message]().Text),
		"a feed needs a name":                    timeline.Feed("", []string{"a"}, nothing),
		"a feed needs the names":                 timeline.Feed[reading]("f", nil, nil),
		"the payload cannot be kept":             timeline.Feed("f", []string{"a"}, func(context.Context) iter.Seq2[timeline.Event[hidden], error] { return nil }),
		"a feed gives payloads in today's":       timeline.Feed("f", []string{"a"}, nothing, timeline.Upgrade(1, func(r reading) (reading, error) { return r, nil })),
	} {
		_, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: s})
		if assert.Equal(t, []string{"EDD-9082"}, codes(err), want) {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) {
		f.Source = timeline.Series(l.readings, timeline.PartitionKey(func(int) reading { return reading{} }))
	})), "Within takes another key than groups have")
}

func TestRead_MistakesInOptionsComeBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l := offline(t)
	v := view(l, l.sites())
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: timeline.Series(l.readings)})
	require.NoError(t, err)
	refused := func(what string, err error) {
		t.Helper()
		var input *entity.InputError
		require.ErrorAs(t, err, &input, what)
		assert.Equal(t, "EDD-9133", input.Code, what)
	}
	for what, opt := range map[string]timeline.RowsOption{"nil": nil, "Of": timeline.ForKey(reading{Device: "d"}), "Since": timeline.Since(noon)} {
		_, err = v.Page(l.ctx, 1, 1, opt)
		refused(what, err)
		_, err = v.After(l.ctx, "", 1, opt)
		refused(what, err)
		_, _, err = v.Get(l.ctx, "north", timeline.FullReplay(), opt)
		refused(what, err)
		for _, err = range v.All(l.ctx, opt) {
		}
		refused(what, err)
	}
	_, err = log.Page(l.ctx, 1, 1, nil)
	refused("nil", err)
	_, err = log.Page(l.ctx, 1, 1, timeline.ForKey(message{ID: "m"}))
	refused("Of another entity", err)
	_, err = v.Rebuild(l.ctx, timeline.Segments(0))
	refused("Segments", err)
	_, err = v.Rebuild(l.ctx, timeline.Segments(65))
	refused("Segments", err)
	_, err = v.Rebuild(l.ctx, timeline.CheckpointEvery(0))
	refused("NoteEvery", err)
	_, err = v.CatchUp(l.ctx, nil)
	refused("nil", err)
	_, _, err = v.Get(l.ctx, "")
	refused("no group", err)
	_, err = v.Rebuild(l.ctx)
	assert.ErrorIs(t, err, entity.ErrNoClient)
	assert.False(t, errors.As(err, new(*entity.InputError)))
}
