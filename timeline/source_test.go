package timeline_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// sample is an item of a table of its own, written once.
type sample struct {
	_ entity.Key `name:"Sample" table:"samples" pk:"device" sk:"batch=batch#{number:03}"`

	Device string `dynamodbav:"device"`
	Number int    `dynamodbav:"number"`
	Taken  int64  `dynamodbav:"taken" entity:"time=unixms"`
	Stored int64  `dynamodbav:"stored" entity:"time=unixms"`
}

func (l *lab) samples() *entity.Store[sample] {
	l.T.Helper()
	s := entity.Must(entity.New[sample](l.DB))
	return s
}

func bySample(s sample) string { return s.Device }

func noteSample(e timeline.Event[sample]) string {
	return fmt.Sprintf("%d at %s", e.Payload.Number, e.At.Format("15:04"))
}

func TestItems_OfVerbatimEntities(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"samples": c.Table + "-samples"} })
	store := l.samples()
	f := entity.Fields[sample]()
	items := func(opts ...timeline.SourceOption) timeline.Source { return timeline.Items(store, &f.Taken, opts...) }
	projection := func(name string, s timeline.Source) timeline.Projection[string, journal] {
		return journals(name, s, "sample", bySample, noteSample, "stored")
	}
	plain := view(l, projection("plain", items()))
	accepted := view(l, projection("accepted", items(timeline.AcceptedAt(&f.Stored))))
	within := view(l, projection("within", items(timeline.AcceptedAt(&f.Stored), timeline.PartitionKey(func(d string) sample { return sample{Device: d} }))))
	require.NoError(t, tables.Create(l.Ctx, l.DB))
	put := func(device string, number int, minute float64) {
		t.Helper()
		entity.Must(store.Create(l.Ctx, sample{Device: device, Number: number, Taken: at(minute).UnixMilli(), Stored: l.Clock.Now().UnixMilli()}))
	}
	l.Clock.Move(time.Hour)
	put("d", 1, 30)
	put("d", 2, 10)
	put("dd", 10, 20)
	for _, v := range []*timeline.View[string, journal]{plain, accepted, within} {
		meta := rebuild(l, v)
		assert.True(t, meta.HistoryComplete)
		assert.EqualValues(t, 3, meta.Counters.Scanned)
		got := rows(l, v)
		assert.Equal(t, []string{"2 at 12:10", "1 at 12:30"}, got["d"].State.Lines)
		assert.Equal(t, []string{"10 at 12:20"}, got["dd"].State.Lines)
		assert.Equal(t, got, rows(l, v, timeline.AsOf(at(60))))
		row, _, err := v.Get(l.Ctx, "d", timeline.FullReplay(), timeline.AsOf(at(15)))
		require.NoError(t, err)
		assert.Equal(t, []string{"2 at 12:10"}, row.State.Lines)
	}
	before := l.Clock.Now()
	l.Clock.Move(time.Hour)
	put("d", 3, 20)
	_, err := plain.CatchUp(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrNoAcceptTime)
	_, err = plain.Page(l.Ctx, 1, 1, timeline.AsKnownAt(before))
	require.ErrorIs(t, err, timeline.ErrNoAcceptTime)
	for _, v := range []*timeline.View[string, journal]{accepted, within} {
		catchUp(l, v)
		assert.Equal(t, []string{"2 at 12:10", "3 at 12:20", "1 at 12:30"}, rows(l, v)["d"].State.Lines)
		assert.Len(t, rows(l, v, timeline.AsKnownAt(before))["d"].State.Lines, 2)
	}
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: items()}))
	p := entity.Must(log.Page(l.Ctx, 1, 10, timeline.ForKey(sample{Device: "d", Number: 1})))
	assert.Len(t, p.Rows, 1, "one item")
}

// neighbour shares partitions with others, in the same table and namespace.
type neighbour struct {
	_ entity.Key        `name:"ReadingB" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Site   string    `dynamodbav:"site" entity:"append"`
}

func TestSource_ReadsOnlyItsEntity(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	l.append("d-1", "north", 1, 2)
	for _, change := range []func(*entity.Config){
		func(c *entity.Config) { c.Namespace = entity.Namespace{Name: "other", Version: 1} },
		func(c *entity.Config) { c.Namespace = entity.Namespace{Name: "app", Version: 10} },
	} {
		own := *l
		l.connect(change)
		l.append("d-1", "north", 3)
		*l = own
	}
	others := entity.Must(timeseries.New[neighbour](l.DB))
	entity.Must(others.Append(l.Ctx, neighbour{Device: "d-1", Site: "north", At: at(4)}))
	_, err := l.readings.Append(l.Ctx, reading{Device: "d-1", Site: "north", At: at(5), Value: 50}) // with a current item
	require.NoError(t, err)
	entity.Must(l.messages.Create(l.Ctx, message{ID: "d-1", User: "u"}))
	rebuild(l, v)
	meta := rebuild(l, v) // with rows of another generation
	assert.EqualValues(t, 3, meta.Counters.Scanned)
	assert.Equal(t, []int{10, 20, 50}, rows(l, v)["north"].State.Order)
	assert.Equal(t, rows(l, v), rows(l, v, timeline.AsOf(at(10))))
}

func TestMerge_OrdersEventsOfAllSources(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	both := timeline.Merge(timeline.Versions(l.past), timeline.Series(l.readings))
	projection := journals("both", both, "reading", bySite, func(e timeline.Event[reading]) string { return fmt.Sprint("reading ", e.Payload.Value) }, "appended")
	messages := journals("both", both, "message", func(m message) string { return m.User }, func(e timeline.Event[message]) string { return e.Payload.Text }, "created")
	projection.Handlers = append(projection.Handlers, messages.Handlers...)
	v := view(l, projection)
	l.append("d-1", "u-1", 10, 30)
	l.Clock.Move(20 * time.Minute)
	entity.Must(l.messages.Create(l.Ctx, message{ID: "m-1", User: "u-1", Text: "hello"}))
	rebuild(l, v)
	assert.Equal(t, []string{"reading 100", "hello", "reading 300"}, rows(l, v)["u-1"].State.Lines)
	turned := projection
	turned.Source = timeline.Merge(timeline.Series(l.readings), timeline.Versions(l.past))
	slices.Reverse(turned.Handlers)
	assert.Equal(t, v.Fingerprint(), view(l.connect(), turned).Fingerprint(), "the order of sources and handlers does not count")
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "both", Source: projection.Source, Oldest: true}))
	p := entity.Must(log.Page(l.Ctx, 1, 10))
	var names []string
	for _, e := range p.Rows {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"reading.appended", "message.created", "reading.appended"}, names)
	p = entity.Must(log.Page(l.Ctx, 1, 10, timeline.ForKey(message{ID: "m-1"})))
	assert.Len(t, p.Rows, 1, "the other source is left out")
}

// event is an event of a feed.
type event = timeline.Event[reading]

// fed returns a feed of the given events.
func fed(events *[]event) timeline.Source {
	return timeline.Feed("export", []string{"taken", "lost"}, func(context.Context) iter.Seq2[event, error] {
		return func(yield func(event, error) bool) {
			for _, e := range *events {
				if !yield(e, nil) {
					return
				}
			}
		}
	})
}

func happened(key string, minute float64, site string) event {
	return event{Name: "taken", Key: key, At: at(minute), AcceptedAt: at(minute), Payload: reading{Site: site, Value: int(minute)}}
}

func fromFeed(name string, s timeline.Source) timeline.Projection[string, totals] {
	return timeline.Projection[string, totals]{Name: name, Version: 1, Source: s,
		Handlers: []timeline.Handler[string, totals]{timeline.On("taken", bySite, sum)}}
}

func TestFeed_CountsRepeatedEventsOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	events := []event{happened("b", -2, "s"), happened("a", -2, "s"), happened("a", -3, "s"), happened("b", -2, "s")}
	v := view(l, fromFeed("feed", fed(&events)))
	notes := 0
	meta := rebuild(l, v, timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildStatus == timeline.InProgress {
			notes++
			assert.Nil(t, m.RebuildProgress, "nothing says how many events there are")
		}
	}))
	assert.Positive(t, notes)
	assert.EqualValues(t, 1, meta.Counters.Duplicates)
	assert.EqualValues(t, 3, meta.Counters.Folded)
	assert.Equal(t, []int{-3, -2, -2}, rows(l, v)["s"].State.Order)
	conflict := happened("a", -2, "s")
	conflict.Payload.Value = 7
	events = append(events, conflict)
	_, err := v.Rebuild(l.Ctx)
	wrong := failedAt(t, err, timeline.History, timeline.ErrDuplicate)
	assert.Equal(t, "a", wrong.Key)
	assert.Equal(t, "feed", wrong.View)
}

func TestFeed_RejectsEventsWithoutAnOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for what, spoil := range map[string]func(*event){
		"no key":        func(e *event) { e.Key = "" },
		"a key of NUL":  func(e *event) { e.Key = "a\x00" },
		"no time":       func(e *event) { e.At = time.Time{} },
		"a far time":    func(e *event) { e.At = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"another name":  func(e *event) { e.Name = "take" },
		"no group":      func(e *event) { e.Payload.Site = "" },
		"a bad payload": func(e *event) { e.Payload.At = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		e := happened("k", -1, "s")
		spoil(&e)
		events := []event{e}
		_, err := view(l, fromFeed("feed", fed(&events))).Page(l.Ctx, 1, 1, timeline.AsOf(at(1)))
		var wrong *timeline.EventError
		require.ErrorAs(t, err, &wrong, what)
		assert.Equal(t, "feed", wrong.View, what)
	}
	broken := timeline.Feed("export", []string{"taken"}, func(context.Context) iter.Seq2[event, error] {
		return func(yield func(event, error) bool) { yield(event{}, assert.AnError) }
	})
	_, err := view(l.connect(), fromFeed("feed", broken)).Rebuild(l.Ctx)
	assert.ErrorIs(t, err, assert.AnError)
}

func TestFeed_CatchesUpByAcceptTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	events := []event{happened("a", -20, "s"), happened("b", -10, "s")}
	v := view(l, fromFeed("feed", fed(&events)))
	rebuild(l, v)
	l.Clock.Move(time.Hour)
	late := happened("c", -15, "s")
	late.AcceptedAt = at(30)
	events = append(events, late, happened("d", 31, "s"), happened("e", 32, "other"))
	catchUp(l, v)
	assert.Equal(t, []int{-20, -15, -10, 31}, rows(l, v)["s"].State.Order)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
	assert.Equal(t, []int{-20, -10}, rows(l, v, timeline.AsKnownAt(at(0)))["s"].State.Order)
	timeless := happened("f", -1, "s")
	timeless.AcceptedAt = time.Time{}
	events = append(events, timeless)
	for range 2 {
		l.Wire.Reset()
		catchUp(l, v)
		assert.Equal(t, []int{-20, -15, -10, -1, 31}, rows(l, v)["s"].State.Order)
	}
	assert.Zero(t, l.rowWrites(), "the second time there was nothing new")
	assert.Equal(t, []int{-20, -10, -1}, rows(l, v, timeline.AsKnownAt(at(0)))["s"].State.Order, "it counts as known from the beginning")
}

func TestClassify_NamesEventsByTheirContent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d", "north", 1, 2, 3, 4)
	source := func(name func(timeline.Event[reading]) string) timeline.Source {
		return timeline.Series(l.readings, timeline.Classify([]string{"low", "high"}, name))
	}
	levels := source(func(e timeline.Event[reading]) string {
		switch {
		case e.Name != "reading.appended":
			return "unexpected"
		case e.Payload.Value == 20:
			return ""
		case e.Payload.Value < 30:
			return "low"
		}
		return "high"
	})
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) {
		f.Source, f.Handlers = levels, []timeline.Handler[string, totals]{timeline.On("high", bySite, sum)}
	}))
	meta := rebuild(l, v)
	assert.EqualValues(t, 2, meta.Counters.Unhandled)
	assert.Equal(t, []int{30, 40}, rows(l, v)["north"].State.Order)
	assert.True(t, v.DependsOn("high"))
	assert.False(t, v.DependsOn("low", "reading.appended"))
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "levels", Source: levels, Oldest: true}))
	var names []string
	for e, err := range log.All(l.Ctx) {
		require.NoError(t, err)
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"low", "high", "high"}, names, "an event without a name is left out of logs too")
	_, err := view(l.connect(), l.sites(func(f *timeline.Projection[string, totals]) {
		f.Source = source(func(timeline.Event[reading]) string { return "middle" })
		f.Handlers = []timeline.Handler[string, totals]{timeline.On("high", bySite, sum)}
	})).Rebuild(l.Ctx)
	failedAt(t, err, timeline.Naming, timeline.ErrUnknownEvent)
}

func TestPartitionKey_EventElsewhereStopsTheBuild(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "d-1", 1)
	l.append("d-2", "elsewhere", 2)
	v := view(l, l.devices(func(f *timeline.Projection[string, totals]) {
		f.Handlers[0] = timeline.On("reading.appended", bySite, sum) // PartitionKey says that the group is the device
	}))
	_, err := v.Rebuild(l.Ctx)
	failedAt(t, err, timeline.Grouping, err)
	assert.ErrorContains(t, err, "outside the partition")
	row, _, err := v.Get(l.Ctx, "d-1", timeline.FullReplay(), timeline.AsOf(at(10)))
	require.NoError(t, err, "its own partition has none")
	assert.Equal(t, 1, row.State.Count)
}

// visit is the payload of a feed.
type visit struct {
	Page string `dynamodbav:"page"`
}

// Groups are what key functions make of events; that a database writes keys in lower case is no reason to mix them up.
func TestRebuild_GroupsAreCaseSensitive(t *testing.T) {
	t.Parallel()
	pages := []string{"A", "a", "A#b", "a#B", "A b"}
	for name, change := range map[string]func(*entity.Config){
		"own": func(*entity.Config) {},
		"interop": func(c *entity.Config) {
			c.Interop, c.TimePrecision = true, time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lab{Bench: *dbtest.Open(t, change)}
			v := view(l, timeline.Projection[string, int]{
				Name: "Visits", Version: 1, PageSize: 2,
				Source: timeline.Feed("visits", []string{"visit"}, func(context.Context) iter.Seq2[timeline.Event[visit], error] {
					return func(yield func(timeline.Event[visit], error) bool) {
						for i, page := range pages {
							if !yield(timeline.Event[visit]{Name: "visit", Key: fmt.Sprint(i), At: at(float64(i)), Payload: visit{page}}, nil) {
								return
							}
						}
					}
				}),
				Handlers: []timeline.Handler[string, int]{
					timeline.On("visit", func(v visit) string { return v.Page }, func(n *int, _ timeline.Event[visit]) error { *n++; return nil }),
				},
			})
			l.CreateTables()
			meta := rebuild(l, v)
			assert.EqualValues(t, len(pages), meta.Rows)
			var order []string
			for number := range 3 {
				p := entity.Must(v.Page(l.Ctx, number+1, 0))
				for _, row := range p.Rows {
					assert.Equal(t, 1, row.State, row.Key)
					order = append(order, row.Key)
				}
			}
			assert.Equal(t, []string{"A", "A b", "A#b", "a", "a#B"}, order)
			for _, page := range pages {
				row, _, err := v.Get(l.Ctx, page)
				require.NoError(t, err)
				assert.Equal(t, page, row.Key)
			}
		})
	}
}
