package timeline_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// hidden is a state that cannot be stored: its field is not exported.
type hidden struct{ count int }

var _ = hidden{count: 1}

func TestNew_RejectsASecondDefinitionOfAName(t *testing.T) {
	t.Parallel()
	l := offline(t)
	_ = entity.Must(timeline.New(l.DB, l.sites()))
	_, err := timeline.New(l.DB, l.sites())
	require.NoError(t, err, "the same one twice is the same view")
	_, err = timeline.New(l.DB, l.sites(func(f *timeline.Projection[string, totals]) { f.Version = 2 }))
	assert.Equal(t, []string{"EDD-9080"}, codes(err))
}

// by returns a projection of readings by keys of any type.
func by[K comparable, S any](l *lab, key func(reading) K, apply func(*S, timeline.Event[reading]) error) timeline.Projection[K, S] {
	return timeline.Projection[K, S]{
		Name: "by", Version: 1, Source: timeline.Series(l.readings),
		Handlers: []timeline.Handler[K, S]{timeline.On("reading.appended", key, apply)},
	}
}

// mistakes returns the codes of a definition's mistakes.
func mistakes[K comparable, S any](l *lab, f timeline.Projection[K, S]) []string {
	_, err := timeline.New(l.DB, f)
	return codes(err)
}

func TestNew_ChecksNames(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for _, bad := range []string{"", "9", "by site", "a.b", strings.Repeat("n", 65)} {
		assert.Equal(t, []string{"EDD-9080"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = bad })), bad)
	}
	assert.Empty(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = strings.Repeat("n", 64) })))
	_, err := timeline.NewLog(l.DB, timeline.Log{Name: "by site", Source: timeline.Series(l.readings)})
	assert.Equal(t, []string{"EDD-9080"}, codes(err))
}

func TestNew_ChecksHandledEvents(t *testing.T) {
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
	_, err := timeline.New(l.DB, when("reading.append"))
	assert.Equal(t, []string{"EDD-9083"}, codes(err))
	assert.ErrorContains(t, err, "did you mean reading.appended?")
	_, err = timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Events: []string{"reading.append"}})
	assert.Equal(t, []string{"EDD-9083"}, codes(err))
	other := timeline.On("reading.appended", func(m message) string { return m.User }, func(*totals, timeline.Event[message]) error { return nil })
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Handlers[0] = other })), "another payload")
}

func TestNew_ChecksGroupKeyTypes(t *testing.T) {
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
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, by(l, func(r reading) twins { return twins{r.Site, r.Device} }, sum)))
}

func TestNew_ChecksStateTypes(t *testing.T) {
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

func TestNew_RejectsNilHandlerFunctions(t *testing.T) {
	t.Parallel()
	l := offline(t)
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, by[string, totals](l, nil, sum)))
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, by[string, totals](l, bySite, nil)))
	assert.Equal(t, []string{"EDD-9083"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) {
		f.Handlers = []timeline.Handler[string, totals]{{}}
	})))
}

// short is a series with events that live for a day.
type short struct {
	_  entity.Key        `name:"Short" pk:"$#{id}" sk:"$"`
	_  timeseries.Events `orderBy:"at" late:"record" ttl:"1d"`
	ID string            `dynamodbav:"id"`
	At time.Time         `dynamodbav:"at"`
	N  *int              `dynamodbav:"n,omitempty" entity:"append"`
}

func TestNew_ChecksRetention(t *testing.T) {
	t.Parallel()
	l := offline(t)
	series := entity.Must(timeseries.New[short](l.DB))
	projection := func(d time.Duration) timeline.Projection[string, totals] {
		return timeline.Projection[string, totals]{
			Name: "short", Version: 1, Source: timeline.Series(series), Retention: d,
			Handlers: []timeline.Handler[string, totals]{timeline.Ensure[short, string, totals]("short.appended", func(s short) string { return s.ID })},
		}
	}
	for _, bad := range []time.Duration{0, -time.Second, 1500 * time.Millisecond, 24*time.Hour + time.Second} {
		assert.Equal(t, []string{"EDD-9086"}, mistakes(l, projection(bad)), bad)
	}
	assert.Empty(t, mistakes(l, projection(24*time.Hour)))
	assert.Empty(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Retention = 365 * 24 * time.Hour })), "history for ever")
}

func TestNew_ChecksPageSizes(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for _, bad := range [][2]int{{101, 100}, {-1, 100}, {20, -1}, {1, 1001}} {
		assert.Contains(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.PageSize, f.MaxPageSize = bad[0], bad[1] })), "EDD-9087", bad)
	}
	assert.Empty(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.MaxPageSize = 5 })), "the default size gives way")
	_, err := timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(l.readings), PageSize: 101})
	assert.Equal(t, []string{"EDD-9087"}, codes(err))
}

func TestNew_ReportsAllMistakesWithoutIO(t *testing.T) {
	t.Parallel()
	l := offline(t) // without a client
	got := mistakes(l, timeline.Projection[float64, hidden]{Name: "9", Retention: -1, PageSize: -1, Memory: -1})
	assert.Equal(t, []string{"EDD-9080", "EDD-9081", "EDD-9081", "EDD-9082", "EDD-9083", "EDD-9084", "EDD-9087", "EDD-9086", "EDD-9085"}, got)
}

// nothing is a feed without events.
func nothing(context.Context) iter.Seq2[timeline.Event[reading], error] {
	return func(func(timeline.Event[reading], error) bool) {}
}

func TestNew_NamesTheSourceOfAMistake(t *testing.T) {
	t.Parallel()
	l := offline(t)
	day := func(string) reading { return reading{} }
	classify := timeline.Classify([]string{"a"}, func(timeline.Event[reading]) string { return "a" })
	for want, s := range map[string]timeline.Source{
		"the series is nil":                        timeline.Series[reading](nil),
		"the history is nil":                       timeline.Versions[message](nil),
		"the store is nil":                         timeline.Items[message](nil, &entity.Fields[message]().Updated),
		"a source is nil":                          timeline.Merge(nil),
		"Merge has no source":                      timeline.Merge(),
		"is merged with itself":                    timeline.Merge(timeline.Series(l.readings), timeline.Series(l.readings, classify)),
		"an option is nil":                         timeline.Series(l.readings, nil),
		"PartitionKey is given twice":              timeline.Series(l.readings, timeline.PartitionKey(day), timeline.PartitionKey(day)),
		"PartitionKey needs a function":            timeline.Series(l.readings, timeline.PartitionKey[string, reading](nil)),
		"PartitionKey returns a timeline_test.mes": timeline.Series(l.readings, timeline.PartitionKey(func(string) message { return message{} })),
		"Classify is given twice":                  timeline.Series(l.readings, classify, classify),
		"Classify needs names":                     timeline.Series(l.readings, timeline.Classify[reading](nil, nil)),
		"Classify is for events of":                timeline.Series(l.readings, timeline.Classify([]string{"a"}, func(timeline.Event[message]) string { return "" })),
		"is empty or used twice":                   timeline.Series(l.readings, timeline.Classify([]string{"a", "a"}, func(timeline.Event[reading]) string { return "" })),
		"AcceptedAt is for Items":                  timeline.Series(l.readings, timeline.AcceptedAt(&entity.Fields[reading]().At)),
		"a field of the prototype":                 timeline.Items(l.messages, new(time.Time)),
		"must be a time, or an integer":            timeline.Items(l.messages, &entity.Fields[message]().Text),
		"a feed needs a name":                      timeline.Feed("", []string{"a"}, nothing),
		"a feed needs the names":                   timeline.Feed[reading]("f", nil, nil),
		"the payload cannot be stored":             timeline.Feed("f", []string{"a"}, func(context.Context) iter.Seq2[timeline.Event[hidden], error] { return nil }),
		"a feed cannot be upgraded":                timeline.Feed("f", []string{"a"}, nothing, timeline.Upgrade(1, func(r reading) (reading, error) { return r, nil })),
	} {
		_, err := timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: s})
		if assert.Equal(t, []string{"EDD-9082"}, codes(err), want) {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.Equal(t, []string{"EDD-9084"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) {
		f.Source = timeline.Series(l.readings, timeline.PartitionKey(func(int) reading { return reading{} }))
	})), "PartitionKey takes another key than groups have")
}

func TestRead_ChecksOptionsBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l := offline(t)
	v := view(l, l.sites())
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(l.readings)}))
	refused := func(what string, err error) {
		t.Helper()
		assert.Equal(t, "EDD-9133", dbtest.InputCode(err), what)
	}
	for what, opt := range map[string]timeline.RowsOption{"nil": nil, "Of": timeline.ForKey(reading{Device: "d"}), "Since": timeline.Since(noon)} {
		_, err := v.Page(l.Ctx, 1, 1, opt)
		refused(what, err)
		_, err = v.After(l.Ctx, "", 1, opt)
		refused(what, err)
		_, _, err = v.Get(l.Ctx, "north", timeline.FullReplay(), opt)
		refused(what, err)
		for _, err = range v.All(l.Ctx, opt) {
		}
		refused(what, err)
	}
	_, err := log.Page(l.Ctx, 1, 1, nil)
	refused("nil", err)
	_, err = log.Page(l.Ctx, 1, 1, timeline.ForKey(message{ID: "m"}))
	refused("Of another entity", err)
	_, err = v.Rebuild(l.Ctx, timeline.Segments(0))
	refused("Segments", err)
	_, err = v.Rebuild(l.Ctx, timeline.Segments(65))
	refused("Segments", err)
	_, err = v.Rebuild(l.Ctx, timeline.CheckpointEvery(0))
	refused("CheckpointEvery", err)
	_, err = v.CatchUp(l.Ctx, nil)
	refused("nil", err)
	_, _, err = v.Get(l.Ctx, "")
	refused("no group", err)
	_, err = v.Rebuild(l.Ctx)
	assert.ErrorContains(t, err, "client", "without a client")
	assert.False(t, errors.As(err, new(*entity.InputError)))
}

func TestNew_RejectsUnopenedHandles(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for kind, s := range map[string]timeline.Source{
		"series": timeline.Series(&timeseries.Series[reading]{}, timeline.PartitionKey(func(string) reading { return reading{} }),
			timeline.Upgrade(1, func(r reading) (reading, error) { return r, nil })),
		"versions": timeline.Versions(&versioned.History[message]{}),
		"items":    timeline.Items(&entity.Store[message]{}, &entity.Fields[message]().Updated, timeline.AcceptedAt(&entity.Fields[message]().Created)),
	} {
		_, err := timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Merge(s)})
		assert.Equal(t, []string{"EDD-9082"}, codes(err), kind)
		assert.ErrorContains(t, err, kind+": its handle is a zero value")
		assert.Contains(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Source = s })), "EDD-9082", kind)
	}
}

func TestNew_RequiresADatabase(t *testing.T) {
	t.Parallel()
	l := offline(t)
	_, projection := timeline.New(nil, l.sites())
	_, log := timeline.NewLog(nil, timeline.Log{Name: "log", Source: timeline.Series(l.readings)})
	_, feeds := timeline.NewLog(nil, timeline.Log{Name: "log", Source: timeline.Feed("f", []string{"a"}, nothing)})
	for what, err := range map[string]error{"New": projection, "NewLog": log, "NewLog of feeds": feeds} {
		assert.Equal(t, "EDD-9133", dbtest.InputCode(err), what)
		assert.ErrorContains(t, err, "the database is nil", what)
	}
}

func TestFingerprint_ChangesWithEveryPartOfADefinition(t *testing.T) {
	t.Parallel()
	type projection = timeline.Projection[string, totals]
	l := offline(t)
	print := func(change ...func(*projection)) string {
		t.Helper()
		return view(offline(t), l.sites(change...)).Fingerprint()
	}
	one := print()
	assert.Len(t, one, 32)
	other := func(what, got string) { t.Helper(); assert.NotEqual(t, one, got, what) }
	same := func(what, got string) { t.Helper(); assert.Equal(t, one, got, what) }
	other("name", print(func(f *projection) { f.Name = "places" }))
	other("version", print(func(f *projection) { f.Version = 2 }))
	other("start", print(func(f *projection) { f.Start = func() totals { return totals{Sum: 1} } }))
	same("the zero start", print(func(f *projection) { f.Start = func() totals { return totals{} } }))
	other("descending", print(func(f *projection) { f.Descending = true }))
	other("skip", print(func(f *projection) { f.SkipUngrouped = true }))
	other("retention", print(func(f *projection) { f.Retention = time.Hour }))
	other("ensure", print(func(f *projection) {
		f.Handlers[0] = timeline.Ensure[reading, string, totals]("reading.appended", bySite)
	}))
	other("source", print(func(f *projection) { f.Source = timeline.Merge(f.Source, timeline.Versions(l.past)) }))
	named := func(names ...string) string {
		return print(func(f *projection) {
			f.Source = timeline.Series(l.readings, timeline.Classify(names, func(timeline.Event[reading]) string { return "" }))
			f.Handlers[0] = timeline.On("a", bySite, sum)
		})
	}
	other("names", named("a"))
	assert.NotEqual(t, named("a"), named("a", "b"))
	assert.Equal(t, named("a", "b"), named("b", "a"))
	same("pages, memory, files, table", print(func(f *projection) { f.PageSize, f.MaxPageSize, f.Memory, f.TempDir = 1, 2, 1<<20, "x" }))
	same("partition key", print(func(f *projection) {
		f.Source = timeline.Series(l.readings, timeline.PartitionKey(func(d string) reading { return reading{Device: d} }))
	}))
	type inArray[A any] struct {
		Last []A `dynamodbav:"last"` // with a length that the zero value does not show
	}
	four := view(offline(t), by(l, bySite, func(*inArray[[4]int], timeline.Event[reading]) error { return nil })).Fingerprint()
	eight := view(offline(t), by(l, bySite, func(*inArray[[8]int], timeline.Event[reading]) error { return nil })).Fingerprint()
	assert.NotEqual(t, four, eight, "the length of an array")
	type more struct {
		totals
		More int `dynamodbav:"more"`
	}
	type renamed struct {
		Count int        `dynamodbav:"n"`
		Sum   int        `dynamodbav:"sum"`
		Last  *time.Time `dynamodbav:"last"`
		Order []int      `dynamodbav:"order"`
	}
	site := func(name string) timeline.Projection[string, totals] {
		f := by(l, bySite, sum)
		f.Name = name
		return f
	}
	by1 := view(offline(t), site("by")).Fingerprint()
	assert.NotEqual(t, by1, view(offline(t), by(l, bySite, func(*more, timeline.Event[reading]) error { return nil })).Fingerprint(), "state")
	assert.NotEqual(t, by1, view(offline(t), by(l, bySite, func(*renamed, timeline.Event[reading]) error { return nil })).Fingerprint(), "tags of the state")
	assert.NotEqual(t, by1, view(offline(t), by(l, func(r reading) int { return r.Value }, sum)).Fingerprint(), "key")
	// The times of items.
	m := entity.Fields[message]()
	times := func(at *time.Time, opts ...timeline.SourceOption) string {
		return view(offline(t), timeline.Projection[string, totals]{Name: "by", Version: 1, Source: timeline.Items(l.messages, at, opts...),
			Handlers: []timeline.Handler[string, totals]{timeline.Ensure[message, string, totals]("message.stored", func(m message) string { return m.ID })}}).Fingerprint()
	}
	prints := []string{times(&m.Created), times(&m.Updated), times(&m.Created, timeline.AcceptedAt(&m.Created)), times(&m.Created, timeline.AcceptedAt(&m.Updated))}
	slices.Sort(prints)
	assert.Len(t, slices.Compact(prints), 4)
	// Steps, and the order of handlers and options.
	steps := func(opts ...timeline.SourceOption) string {
		t.Helper()
		series := entity.Must(timeseries.New[temp3](offline(t).DB))
		return view(offline(t), timeline.Projection[string, totals]{Name: "temps", Version: 1, Source: timeline.Series(series, opts...),
			Handlers: []timeline.Handler[string, totals]{timeline.Ensure[temp3, string, totals]("temp.appended", func(v temp3) string { return v.ID })}}).Fingerprint()
	}
	first, second := timeline.Upgrade(1, firstStep), timeline.Upgrade(2, secondStep)
	assert.NotEqual(t, steps(second), steps(first, second))
	assert.Equal(t, steps(second, first), steps(first, second))
	histories := l.histories()
	straight := view(offline(t), histories).Fingerprint()
	slices.Reverse(histories.Handlers)
	assert.Equal(t, straight, view(offline(t), histories).Fingerprint())
	assert.NotEqual(t, straight, view(offline(t), l.histories(func(f *timeline.Projection[string, journal]) { f.Handlers = f.Handlers[1:] })).Fingerprint(), "handlers")
}
