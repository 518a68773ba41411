package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// spreadReading is a reading whose events are in four partitions.
type spreadReading struct {
	_ entity.Key        `name:"Spread" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record" shards:"4"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Site   string    `dynamodbav:"site" entity:"append"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

// loggedReading is a reading in a series without a current item.
type loggedReading struct {
	_ entity.Key        `name:"Logged" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" current:"none" shards:"3"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Site   string    `dynamodbav:"site" entity:"append"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

// numberedReading is a reading with an id, in four partitions.
type numberedReading struct {
	_ entity.Key        `name:"Numbered" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" id:"n" late:"record" shards:"4"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	N      int       `dynamodbav:"n"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

// Events of one time are folded in the order of their ids, over all partitions, by builds and from a stream.
func TestEventIDs_AreTheOrderOfEventsOfOneTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	series := entity.Must(timeseries.New[numberedReading](l.DB))
	type seen struct {
		Numbers []int `dynamodbav:"numbers"`
	}
	numbers := func(name string, opts ...timeline.SourceOption) *timeline.View[string, seen] {
		return entity.Must(timeline.New(l.DB, timeline.Projection[string, seen]{
			Name: name, Version: 1, Source: timeline.Series(series, opts...),
			Handlers: []timeline.Handler[string, seen]{timeline.On("numbered.appended", func(r numberedReading) string { return r.Device },
				func(s *seen, e timeline.Event[numberedReading]) error {
					s.Numbers = append(s.Numbers, e.Payload.N)
					return nil
				})},
		}))
	}
	within := numbers("within", timeline.PartitionKey(func(device string) numberedReading { return numberedReading{Device: device} }))
	over := numbers("over")
	add := func(ns ...int) (changes []timeline.Change) {
		for _, n := range ns {
			before := l.ItemsByKey()
			l.OK(series.Append(l.Ctx, numberedReading{Device: "d", At: at(1), N: n}))
			for key, it := range l.ItemsByKey() {
				if before[key] == nil && it["_k"] != nil {
					c, ok, err := stream.Of(series, l.record(it, n))
					require.True(t, ok && err == nil, "%v", err)
					changes = append(changes, c)
				}
			}
		}
		return changes
	}
	same := func(want ...int) {
		t.Helper()
		for _, v := range []*timeline.View[string, seen]{within, over} {
			row, _, err := v.Get(l.Ctx, "d")
			require.NoError(t, err)
			require.Equal(t, want, row.State.Numbers)
		}
	}
	add(3, 9, 1, 7, 5)
	for _, v := range []*timeline.View[string, seen]{within, over} {
		l.OK(v.Rebuild(l.Ctx))
	}
	same(1, 3, 5, 7, 9)
	changes := add(11, 4)
	require.Equal(t, timeline.ApplyResult{Applied: 1}, apply(l, within, changes[0]))
	require.Equal(t, timeline.ApplyResult{Refolded: 1, Groups: 1}, apply(l, within, changes[1]))
	l.OK(over.CatchUp(l.Ctx))
	same(1, 3, 4, 5, 7, 9, 11)
}

func TestShards_TimelinesReadEveryPartitionOfASeries(t *testing.T) {
	t.Parallel()
	t.Run("shards", func(t *testing.T) { t.Parallel(); readsEveryPartition[spreadReading](t, "spread", 4) })
	t.Run("no current item", func(t *testing.T) { t.Parallel(); readsEveryPartition[loggedReading](t, "logged", 3) })
}

// readsEveryPartition compares timelines of a series with those of the same events in one partition.
func readsEveryPartition[R interface {
	reading | spreadReading | loggedReading
}](t *testing.T, entityName string, partitions int) {
	l := newLab(t)
	series := entity.Must(timeseries.New[R](l.DB))
	add := func(device, site string, minutes ...float64) {
		l.append(device, site, minutes...)
		for _, m := range minutes {
			l.OK(series.Append(l.Ctx, R(reading{Device: device, Site: site, At: at(m), Value: int(m * 10)})))
		}
	}
	sumR := func(s *totals, e timeline.Event[R]) error {
		return sum(s, timeline.Event[reading]{At: e.At, Payload: reading(e.Payload)})
	}
	source := timeline.Series(series, timeline.PartitionKey(func(device string) R { return R(reading{Device: device}) }))
	within := view(l, timeline.Projection[string, totals]{
		Name: "within", Version: 1, Source: source,
		Handlers: []timeline.Handler[string, totals]{timeline.On(entityName+".appended", func(r R) string { return reading(r).Device }, sumR)},
	})
	over := view(l, timeline.Projection[string, totals]{
		Name: "over", Version: 1, Source: timeline.Series(series),
		Handlers: []timeline.Handler[string, totals]{timeline.On(entityName+".appended", func(r R) string { return reading(r).Site }, sumR)},
	})
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(series), Oldest: true}))
	devices, sites := view(l, l.devices()), view(l, l.sites())
	same := func(what string) {
		t.Helper()
		for _, v := range [][2]*timeline.View[string, totals]{{devices, within}, {sites, over}} {
			want, got := rows(l, v[0]), rows(l, v[1])
			require.Len(t, got, len(want), what)
			for k, row := range want {
				assert.Equal(t, row.State, got[k].State, "%s: %s", what, k)
				assert.Equal(t, row.Events, got[k].Events, "%s: %s", what, k)
			}
		}
	}
	for i := range 12 {
		add(fmt.Sprint("d-", i%2), fmt.Sprint("s-", i%3), float64(i))
	}
	for _, v := range []*timeline.View[string, totals]{devices, sites, within, over} {
		rebuild(l, v, timeline.Segments(3))
	}
	same("rebuilt")

	add("d-0", "s-1", 20, 2.5) // the second is late
	add("d-2", "s-2", 1)
	for _, v := range []*timeline.View[string, totals]{devices, sites, within, over} {
		catchUp(l, v)
	}
	same("caught up")

	want, _, err := devices.Get(l.Ctx, "d-0", timeline.AsOf(at(4)))
	require.NoError(t, err)
	l.Wire.Reset()
	row, _, err := within.Get(l.Ctx, "d-0", timeline.AsOf(at(4)))
	require.NoError(t, err)
	assert.Equal(t, want.State, row.State)
	assert.Equal(t, partitions, strings.Count(strings.Join(l.Operations(), " "), "Query"), "a query of each partition")
	var listed []int
	p := entity.Must(log.Page(l.Ctx, 1, 100, timeline.ForKey(R(reading{Device: "d-1"}))))
	for _, e := range p.Rows {
		listed = append(listed, reading(e.Payload.(R)).Value)
	}
	assert.Equal(t, []int{10, 30, 50, 70, 90, 110}, listed)

	e := entity.Must(within.Explain(l.Ctx))
	assert.Equal(t, "sorted", e.Route, "no partition has all events of a group")
	assert.Contains(t, e.OneRow, fmt.Sprintf("which costs %d queries", partitions))
}
