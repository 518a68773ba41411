package timeline_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

func TestFold_GroupKeysCanBeStructs(t *testing.T) {
	t.Parallel()
	type place struct {
		Site string
		High bool
	}
	l := newLab(t)
	l.append("d-1", "b", 1, 9)
	l.append("d-2", "a", 2)
	l.append("d-3", "a\x01b", 3)
	v := view(l, by(l, func(r reading) place { return place{r.Site, r.Value > 50} }, sum))
	rebuild(l, v)
	var keys []place
	for r, err := range v.All(l.Ctx) {
		require.NoError(t, err)
		keys = append(keys, r.Key)
	}
	assert.Equal(t, []place{{"a", false}, {"a\x01b", false}, {"b", false}, {"b", true}}, keys, "rows have their key, in its order")
	row, _, err := v.Get(l.Ctx, place{"b", true})
	require.NoError(t, err)
	assert.Equal(t, []int{90}, row.State.Order)
	all := view(l, timeline.Projection[struct{}, totals]{Name: "all", Version: 1, Source: timeline.Series(l.readings),
		Handlers: []timeline.Handler[struct{}, totals]{timeline.On("reading.appended", func(reading) struct{} { return struct{}{} }, sum)}})
	rebuild(l, all)
	one, _, err := all.Get(l.Ctx, struct{}{})
	require.NoError(t, err)
	assert.Equal(t, []int{10, 20, 30, 90}, one.State.Order, "one group for everything")
}

func TestFold_UngroupedEventStopsUnlessSkipped(t *testing.T) {
	t.Parallel()
	type half struct{ Site string }
	l := newLab(t)
	l.Clock.Move(10 * time.Minute)
	l.append("d-1", "north", 1)
	empty := func(r reading) half {
		if r.Value == 20 {
			return half{}
		}
		return half{r.Site}
	}
	l.append("d-1", "north", 2)
	v := view(l, by(l, empty, sum))
	_, err := v.Rebuild(l.Ctx)
	failedAt(t, err, timeline.Grouping, timeline.ErrGroupKeyMissing)
	assert.ErrorContains(t, err, "Site")
	skip := by(l, empty, sum)
	skip.Name, skip.SkipUngrouped = "skip", true
	passing := view(l, skip)
	meta := rebuild(l, passing)
	assert.EqualValues(t, 1, meta.Counters.Folded)
	for _, meta := range []timeline.Meta{meta, catchUp(l, passing), catchUp(l, passing)} {
		assert.EqualValues(t, 1, meta.Counters.Ungrouped)
		assert.False(t, meta.HistoryComplete)
	}
	_, err = passing.Page(l.Ctx, 1, 1, timeline.AsOf(at(10)), timeline.RequireComplete())
	assert.ErrorIs(t, err, timeline.ErrIncomplete)
	p, err := passing.Page(l.Ctx, 1, 1, timeline.AsOf(at(1)))
	require.NoError(t, err)
	assert.True(t, p.Authoritative(), "the event without a group had not happened")
}

func TestFold_GroupsDoNotShareTheirStart(t *testing.T) {
	t.Parallel()
	type state struct {
		Seen map[string]int `dynamodbav:"seen"`
		List []string       `dynamodbav:"list"`
	}
	l := newLab(t)
	f := by(l, bySite, func(s *state, e timeline.Event[reading]) error {
		s.Seen[e.Payload.Device]++
		s.List = append(s.List, e.Payload.Device)
		return nil
	})
	f.Start = func() state { return state{Seen: map[string]int{"start": 1}, List: make([]string, 0, 10)} }
	v := view(l, f)
	l.append("d-1", "a", 1)
	l.append("d-2", "b", 2)
	rebuild(l, v)
	got := rows(l, v)
	assert.Equal(t, state{map[string]int{"start": 1, "d-1": 1}, []string{"d-1"}}, got["a"].State)
	assert.Equal(t, state{map[string]int{"start": 1, "d-2": 1}, []string{"d-2"}}, got["b"].State)
	assert.Equal(t, got, rows(l, v, timeline.AsOf(at(5))))
}

func TestFold_HandlerErrorStopsTheBuildAndIsStored(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, projection timeline.Projection[string, totals]) {
		poison := errors.New("poison")
		projection.Handlers[0] = timeline.On("reading.appended", byDevice, func(s *totals, e timeline.Event[reading]) error {
			if e.Payload.Value == 30 {
				return poison
			}
			return sum(s, e)
		})
		v := view(l, projection)
		l.append("d-1", "north", 1, 2)
		rebuild(l, v)
		served := rows(l, v)
		l.append("d-2", "north", 3)
		for what, run := range map[string]func() error{
			"rebuild": func() error { _, err := v.Rebuild(l.Ctx); return err },
			"catchup": func() error { _, err := v.CatchUp(l.Ctx); return err },
		} {
			err := run()
			require.ErrorIs(t, err, poison, what)
			wrong := failedAt(t, err, timeline.Handling, err)
			meta := metaOf(l, v)
			assert.Equal(t, timeline.Failed, meta.RebuildStatus, what)
			require.NotNil(t, meta.Failure)
			assert.Equal(t, timeline.Handling, meta.Failure.Stage)
			assert.Equal(t, "reading.appended", meta.Failure.Event)
			assert.Equal(t, wrong.Source, meta.Failure.Source)
			assert.Contains(t, meta.Failure.Key, "d-2")
			assert.Equal(t, 1, meta.Failure.Payload)
			assert.Contains(t, meta.Failure.Message, "poison")
			assert.False(t, meta.Failure.At.IsZero())
			assert.Equal(t, served, rows(l, v), "%s: the rows of before are served", what)
		}
	})
}

func TestEnsure_CreatesTheGroup(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	f := l.sites(func(f *timeline.Projection[string, totals]) {
		f.Start = func() totals { return totals{Sum: 100} }
		f.Handlers[0] = timeline.Ensure[reading, string, totals]("reading.appended", bySite)
	})
	v := view(l, f)
	l.append("d-1", "north", 1, 2)
	rebuild(l, v)
	got := rows(l, v)["north"]
	assert.Equal(t, totals{Sum: 100}, got.State)
	assert.EqualValues(t, 2, got.Events)
	assert.Equal(t, at(2), got.Last)
}

func TestRows_OfAnotherDefinitionAreNotServed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	old := view(l, l.sites())
	rebuild(l, old)
	v := view(l.connect(), l.sites(func(f *timeline.Projection[string, totals]) { f.Version = 2 }))
	_, err := v.Page(l.Ctx, 1, 10)
	var stale *timeline.StaleError
	require.ErrorAs(t, err, &stale)
	require.ErrorIs(t, err, timeline.ErrRebuildRequired)
	assert.Equal(t, timeline.StaleError{View: "sites", Have: old.Fingerprint(), Want: v.Fingerprint()}, *stale)
	_, _, err = v.Get(l.Ctx, "north")
	require.ErrorIs(t, err, timeline.ErrRebuildRequired)
	_, err = v.CatchUp(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrRebuildRequired)
	for _, err := range v.All(l.Ctx) {
		require.ErrorIs(t, err, timeline.ErrRebuildRequired)
	}
	p, err := v.Page(l.Ctx, 1, 10, timeline.AllowStale())
	require.NoError(t, err)
	assert.Len(t, p.Rows, 1)
	assert.Equal(t, timeline.Stale, p.Meta.RebuildStatus)
	assert.False(t, p.Authoritative())
	_, err = v.Page(l.Ctx, 1, 10, timeline.AllowStale(), timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	assert.Equal(t, 2, rows(l, v, timeline.AsOf(at(10)))["north"].State.Count, "as of a moment it works while stale")
	rebuild(l, v)
	assert.Equal(t, 2, rows(l, v)["north"].State.Count)
	_, err = old.Page(l.Ctx, 1, 10)
	require.ErrorIs(t, err, timeline.ErrRebuildRequired, "the program of before is the stale one now")
}

func TestRebuild_ReadsEveryPageOfTheHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	site := string(slices.Repeat([]byte{'s'}, 500))
	var evs []reading
	for i := range 1300 { // more than a megabyte
		evs = append(evs, reading{Device: fmt.Sprint(site[:400], i%3), Site: site, At: at(float64(i)), Value: 1})
	}
	l.load(evs)
	for _, v := range []*timeline.View[string, totals]{
		view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Memory = 1 << 16 })), // spilled to files
		view(l, l.devices()),
	} {
		want := 0
		for _, segments := range []int{1, 3} {
			l.Wire.Reset()
			meta := rebuild(l, v, timeline.Segments(segments))
			assert.EqualValues(t, 1300, meta.Counters.Folded)
			assert.Greater(t, l.Wire.Count("Scan"), segments)
			got := rows(l, v)
			if want == 0 {
				want = len(got)
			}
			assert.Len(t, got, want)
			all := 0
			for _, r := range got {
				all += r.State.Count
			}
			assert.Equal(t, 1300, all)
		}
		assert.Equal(t, rows(l, v, timeline.AsOf(at(3000))), rows(l, v))
	}
}

func TestRows_ExpireWithTheirRetention(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	keep := func(f *timeline.Projection[string, totals]) { f.Retention = time.Hour }
	v := view(l, l.sites(keep))
	l.append("d-1", "old", 1)
	l.append("d-2", "ahead", 600) // its device's clock is hours ahead
	l.Clock.Move(30 * time.Minute)
	l.append("d-2", "ahead", 0)
	l.append("d-3", "new", 29)
	rebuild(l, v)
	got := rows(l, v)
	assert.Equal(t, at(60).Truncate(time.Minute), got["old"].ExpiresAt.Truncate(time.Minute), "counted from when it was accepted, which was earlier")
	assert.Equal(t, at(60).Truncate(time.Minute), got["ahead"].ExpiresAt.Truncate(time.Minute))
	assert.Equal(t, at(89), got["new"].ExpiresAt)
	l.Clock.Move(15 * time.Minute)
	l.append("d-2", "ahead", 44)
	catchUp(l, v)
	assert.Equal(t, at(104), rows(l, v)["ahead"].ExpiresAt, "a row lives on while events come in, whatever an earlier one said")
	l.Clock.Move(30 * time.Minute)
	assert.ElementsMatch(t, []string{"ahead", "new"}, slices.Collect(maps.Keys(rows(l, v))))
	assert.EqualValues(t, 2, entity.Must(v.Page(l.Ctx, 1, 10)).Total)
	_, _, err := v.Get(l.Ctx, "old")
	assert.ErrorIs(t, err, entity.ErrNotFound)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(700))), rows(l, v))
	_, ok := rows(l, v, timeline.AsOf(at(50)))["old"]
	assert.True(t, ok, "it was there then")
	var ends []string // when DynamoDB removes rows
	for _, it := range l.Items() {
		if it["state"] != nil {
			ends = append(ends, dbtest.Text(it["_ttl"]))
		}
	}
	for _, end := range []time.Time{at(60).Truncate(time.Minute), at(89), at(104)} {
		assert.Contains(t, ends, fmt.Sprint(end.Unix()))
	}
	l.append("d-1", "old", 2)
	catchUp(l, v)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(700))), rows(l, v), "an event for a row that has ended")
}

// Each case costs some hundred requests; -rapid.checks on the command line overrides this.
func init() {
	if err := flag.Set("rapid.checks", fmt.Sprint(testsize.Pick(4, 8))); err != nil {
		panic(err)
	}
}

// apart connects with a namespace of its own, so that cases can share a table.
func (l *lab) apart(n *int) {
	*n++
	l.Clock.Move(time.Hour)
	l.connect(func(c *entity.Config) { c.Namespace = entity.Namespace{Name: fmt.Sprint("case", *n), Version: 1} })
}

// modelled returns the rows of events, folded in memory.
func modelled(events []event, descending bool) map[string][]int {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key, b.Key)) })
	if descending {
		slices.Reverse(events)
	}
	want := map[string][]int{}
	for _, e := range events {
		want[e.Payload.Site] = append(want[e.Payload.Site], e.Payload.Value)
	}
	return want
}

// span returns when the first and the last event of a site happened.
func span(events []event, site string) (first, last time.Time) {
	for _, e := range events {
		if e.Payload.Site != site {
			continue
		}
		if first.IsZero() || e.At.Before(first) {
			first = e.At
		}
		if e.At.After(last) {
			last = e.At
		}
	}
	return first, last
}

// TestRows_DoNotDependOnDeliveryOrder builds rows of the first events, and catches up with the others bit by bit, each bit
// in any order and with events given more than once.
func TestRows_DoNotDependOnDeliveryOrder(t *testing.T) {
	t.Parallel()
	l, cases := newLab(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		l.apart(&cases)
		began := l.Clock.Now()
		var known, given []event
		projection := fromFeed("feed", fed(&given))
		projection.Descending = rapid.Bool().Draw(rt, "descending")
		projection.Memory = 1
		v := view(l, projection)
		deliver := func() {
			for range rapid.IntRange(0, 8).Draw(rt, "events") {
				key := fmt.Sprintf("%03d", len(known))
				minute := time.Duration(rapid.IntRange(-5, 5).Draw(rt, "minute")) * time.Minute // ties, and late ones
				known = append(known, event{
					Name: "taken", Key: key, At: began.Add(minute), AcceptedAt: l.Clock.Now(),
					Payload: reading{Site: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "site"), Value: len(known)},
				})
			}
			given = slices.Clone(known)
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, max(len(known)-1, 0)), 0, min(len(known), 3)).Draw(rt, "again") {
				given = append(given, known[i])
			}
			given = rapid.Permutation(given).Draw(rt, "order")
		}
		deliver()
		rebuild(l, v)
		for range rapid.IntRange(0, 3).Draw(rt, "bits") {
			l.Clock.Move(time.Duration(rapid.IntRange(0, 20).Draw(rt, "minutes")) * time.Minute)
			deliver()
			meta, err := v.CatchUp(l.Ctx)
			require.NoError(rt, err)
			got := rows(l, v)
			orders := map[string][]int{}
			for k, r := range got {
				orders[k] = r.State.Order
				first, last := span(known, k)
				require.Equal(rt, []time.Time{first, last}, []time.Time{r.First, r.Last}, "whatever the order")
			}
			require.Equal(rt, modelled(known, projection.Descending), orders)
			require.EqualValues(rt, len(got), meta.Rows)
			require.Equal(rt, rows(l, v, timeline.AsOf(began.Add(time.Hour))), got)
		}
		caughtUp := rows(l, v)
		rebuild(l, v)
		require.Equal(rt, caughtUp, rows(l, v))
	})
}
