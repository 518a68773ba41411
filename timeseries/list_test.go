package timeseries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestList_ReturnsEverySeriesOnce(t *testing.T) {
	t.Parallel()
	t.Run("current item", func(t *testing.T) { lists[Single](t, func() *int { return &entity.Fields[Single]().Value }) })
	t.Run("shards", func(t *testing.T) { lists[Sharded](t, func() *int { return &entity.Fields[Sharded]().Value }) })
	t.Run("no current item", func(t *testing.T) { lists[Alone](t, func() *int { return &entity.Fields[Alone]().Value }) })
	t.Run("both", func(t *testing.T) { lists[Log](t, func() *int { return &entity.Fields[Log]().Value }) })
}

// lists fills tables with random series among other items, and compares what every way to run List returns with what was appended.
func lists[T gauges](t *testing.T, value func() *int) {
	var none T
	_, alone := any(none).(Alone)
	_, both := any(none).(Log)
	testsize.Check(t, testsize.Pick(4, 20), func(rt *rapid.T) {
		w := open[T](t)
		others := declare[Telemetry](t, w.DB)
		for i := range rapid.IntRange(0, 30).Draw(rt, "other items") {
			entity.Must(others.AppendAll(w.Ctx, []Telemetry{{Channel: fmt.Sprint("c", i), DeviceID: "d", Timestamp: at(i)}, {Channel: fmt.Sprint("c", i), DeviceID: "d", Timestamp: at(i + 1)}}))
		}
		live, odd := map[string]bool{}, map[string]bool{}
		oldest := map[string]time.Time{}
		add := func(id, stream string, minutes, n int) {
			var evs []T
			for i := range n {
				evs = append(evs, T(Single{ID: id, Stream: stream, At: at(minutes + i), Value: i % 2}))
			}
			w.appendAll(evs)
			name := id + "/" + stream
			if live[name] = true; oldest[name].IsZero() {
				oldest[name] = at(minutes)
			}
			odd[name] = odd[name] || n > 1 || !(alone || both)
		}
		for i := range rapid.IntRange(0, 3).Draw(rt, "expired") {
			add(fmt.Sprint("x", i%2), fmt.Sprint("s", i), 0, rapid.IntRange(1, 40).Draw(rt, "events"))
		}
		if alone || both {
			clear(live)
			clear(oldest)
			clear(odd)
			w.Clock.Move(31 * 24 * time.Hour)
		}
		for i := range rapid.IntRange(0, 8).Draw(rt, "series") {
			add(fmt.Sprint("x", i%3), []string{"s", "s#1", "s0", "t"}[i%4], 100, rapid.SampledFrom([]int{1, 2, 26, 60}).Draw(rt, "events"))
		}
		check := func(how string, got []T, want map[string]bool) {
			names := map[string]bool{}
			for _, v := range got {
				s := Single(v)
				name := s.ID + "/" + s.Stream
				require.False(rt, names[name], "%s: %s comes twice", how, name)
				names[name] = true
				if alone {
					require.True(rt, oldest[name].Equal(s.At) || how == "filtered", "%s: %s at %s", how, name, s.At)
				}
			}
			for name := range want {
				require.Equal(rt, want[name], names[name], "%s: %s", how, name)
			}
			for name := range names {
				require.True(rt, want[name], "%s: %s is not expected", how, name)
			}
		}
		check("collected", entity.Must(w.List(entity.Consistent()).Collect(w.Ctx)), live)
		check("in segments", entity.Must(w.List(entity.Consistent(), entity.Segments(3)).Collect(w.Ctx)), live)
		require.Equal(rt, len(live), entity.Must(w.List(entity.Consistent()).Count(w.Ctx)))
		var paged []T
		for cursor, limit := "", rapid.IntRange(1, 4).Draw(rt, "limit"); ; {
			p := entity.Must(w.List(entity.Consistent(), entity.Limit(limit)).Page(w.Ctx, cursor))
			require.LessOrEqual(rt, len(p.Items), limit)
			paged = append(paged, p.Items...)
			if cursor = p.Next; cursor == "" {
				break
			}
		}
		check("in pages", paged, live)
		if alone || both {
			check("filtered", entity.Must(w.List(entity.Consistent(), entity.Filter(entity.Eq(value(), 1))).Collect(w.Ctx)), odd)
		}
	})
}

func TestList_LeavesOutTheEventsAfterTheFirst(t *testing.T) {
	w := open[Alone](t)
	for i := range 5 {
		w.appendAll(ticks[Alone](fmt.Sprint("g-", i), 200))
	}
	w.Wire.Reset()
	evaluated := 0
	got := entity.Must(w.List(entity.OnPage(func(p entity.ScanProgress) { evaluated = p.Evaluated })).Collect(w.Ctx))
	require.Len(t, got, 5)
	require.LessOrEqual(t, len(w.Wire.Requests()), 7)
	require.LessOrEqual(t, evaluated, 5*25+25)
	require.True(t, slices.ContainsFunc(got, func(v Alone) bool { return v.ID == "g-3" }))
	require.True(t, strings.HasPrefix(w.List().String(), "List Alone"), w.List().String())
}

func TestList_MistakesSendNothing(t *testing.T) {
	w := open[Log](t)
	require.ErrorContains(t, dbtest.ErrorOf(w.List(entity.Segments(2), entity.MaxRequests(3)).Collect(w.Ctx)), "List Log")
	require.ErrorContains(t, dbtest.ErrorOf((*timeseries.Series[Log])(nil).List().Collect(w.Ctx)), "EDD-9160")
	require.Empty(t, w.Wire.Requests())
}
