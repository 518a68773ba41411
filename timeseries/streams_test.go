package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

func state(stream string, minutes int, state string) Channel {
	return Channel{Channel: "c-1", Stream: stream, Timestamp: at(minutes), State: state}
}

func TestStreams_OfOnePartitionHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := open[Channel](t)
	w.seed(state("status", 0, "on"), state("diagnostics", 0, "ok"), state("status", 1, "off"))
	var keys []string
	for sk := range w.partition("$app#v1#channel#c-1") {
		keys = append(keys, sk)
	}
	require.ElementsMatch(t, []string{
		"$app#v1#channel#diagnostics",
		"$app#v1#channel#diagnostics#e#2026-04-22T10:00:00.000000000Z",
		"$app#v1#channel#status",
		"$app#v1#channel#status#e#2026-04-22T10:00:00.000000000Z",
		"$app#v1#channel#status#e#2026-04-22T10:01:00.000000000Z",
	}, keys)
	require.Equal(t, []Channel{state("status", 0, "on"), state("status", 1, "off")}, w.history(Channel{Channel: "c-1", Stream: "status"}))
	require.Equal(t, []Channel{state("diagnostics", 0, "ok")}, w.history(Channel{Channel: "c-1", Stream: "diagnostics"}))
	require.Equal(t, timeseries.Older, w.append(state("status", -1, "x")).Reason)
	require.True(t, w.append(state("diagnostics", 1, "x")).Applied, "each stream has its own clock")
}

// Names that would meet if a stream's range were a careless prefix.
var neighbours = []string{"s", "s#e", "s#e#2026", "s$", "s!", "e", "s0", "S", "s ", "%23", "#"}

func TestStreams_HistoryNeverShowsAnotherStreamOrTheCurrentItem(t *testing.T) {
	t.Parallel()
	w := open[Channel](t)
	for i, stream := range neighbours {
		w.seed(state(stream, i, stream), state(stream, i+1, stream))
	}
	f := entity.Fields[Channel]()
	for i, stream := range neighbours {
		key := Channel{Channel: "c-1", Stream: stream}
		first, second := state(stream, i, stream), state(stream, i+1, stream)
		for name, c := range map[string]struct {
			opts []entity.QueryOption
			want []Channel
		}{
			"all":     {nil, []Channel{first, second}},
			"reverse": {[]entity.QueryOption{entity.Desc()}, []Channel{second, first}},
			"ge":      {[]entity.QueryOption{entity.Ge(&f.Timestamp, time.Time{})}, []Channel{first, second}},
			"gt":      {[]entity.QueryOption{entity.Gt(&f.Timestamp, at(i))}, []Channel{second}},
			"le":      {[]entity.QueryOption{entity.Le(&f.Timestamp, at(1000))}, []Channel{first, second}},
			"lt":      {[]entity.QueryOption{entity.Lt(&f.Timestamp, at(i+1))}, []Channel{first}},
		} {
			require.Equal(t, c.want, w.history(key, c.opts...), "%q %s", stream, name)
			n, err := w.History(key, c.opts...).Count(w.ctx)
			require.NoError(t, err)
			require.Len(t, c.want, n, "%q %s", stream, name)
		}
		require.Equal(t, second, w.current(key))
	}
}

func TestStreams_QueryShowsCurrentItemsOnly(t *testing.T) {
	t.Parallel()
	w := open[Channel](t)
	want := map[string]Channel{}
	for i, stream := range neighbours {
		w.seed(state(stream, i, stream), state(stream, i+1, stream))
		want[stream] = state(stream, i+1, stream)
	}
	got, err := w.Query(Channel{Channel: "c-1"}, entity.Consistent()).Collect(w.ctx)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for _, c := range got {
		require.Equal(t, want[c.Stream], c)
	}
	n, err := w.Query(Channel{Channel: "c-1"}, entity.Consistent()).Count(w.ctx)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
}

func TestKeys_TuplesWithSeparatorsDoNotCollide(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	pairs := [][2]string{{"a#b", "c"}, {"a", "b#c"}, {"a%23b", "c"}, {"a", "b%23c"}, {"A", "b#c"}, {"a", "b"}, {"a#", "b"}, {"a", "#b"}}
	for i, p := range pairs {
		require.True(t, w.append(Telemetry{Channel: p[0], DeviceID: p[1], Timestamp: at(0), GPIO: ptr(i)}).Applied, "%v", p)
	}
	for i, p := range pairs {
		key := Telemetry{Channel: p[0], DeviceID: p[1]}
		require.Equal(t, i, *w.current(key).GPIO)
		events := w.history(key)
		require.Len(t, events, 1)
		require.Equal(t, i, *events[0].GPIO)
	}
}

// Shelf has key parts of every type.
type Shelf struct {
	_ entity.Key        `name:"Shelf" pk:"$#{day}#{row}" sk:"$#bin_{bin}#{cold}#{place}"`
	_ timeseries.Events `orderBy:"n"`

	Day   time.Time `dynamodbav:"day" entity:"time=s"`
	Row   int       `dynamodbav:"row" entity:"zero"`
	Bin   uint8     `dynamodbav:"bin"`
	Cold  bool      `dynamodbav:"cold" entity:"zero"`
	Place place     `dynamodbav:"place"`
	N     int       `dynamodbav:"n"`
	Load  float64   `dynamodbav:"load" entity:"append"`
}

type place string

func TestKeys_PartsOfEveryTypeAreFoundAgain(t *testing.T) {
	t.Parallel()
	w := open[Shelf](t)
	ev := Shelf{Day: start.In(time.FixedZone("", 7200)), Row: 0, Bin: 7, Cold: false, Place: "l#1", N: 1, Load: 1.25}
	require.True(t, w.append(ev).Applied)
	key := Shelf{Day: start, Bin: 7, Place: "l#1"}
	want := ev
	want.Day = start
	require.Equal(t, want, w.current(key))
	require.Equal(t, []Shelf{want}, w.history(key))
	require.NotNil(t, w.item("$app#v1#shelf#2026-04-22T10:00:00Z#0000000000000000000", "$app#v1#shelf#bin_00000000000000000007#false#l%231#e#0000000000000000001"))

	for name, bad := range map[string]Shelf{
		"time":   {Bin: 7, Place: "l", N: 1},
		"number": {Day: start, Place: "l", N: 1},
		"string": {Day: start, Bin: 7, N: 1},
	} {
		_, err := w.Append(w.ctx, bad)
		require.Equal(t, "EDD-9101", inputCode(t, err), name)
		_, err = w.History(bad).Collect(w.ctx)
		require.Equal(t, "EDD-9101", inputCode(t, err), name)
		_, err = w.Get(w.ctx, bad)
		require.Equal(t, "EDD-9101", inputCode(t, err), name)
	}
	_, err := w.Append(w.ctx, Shelf{Day: start.Add(1), Bin: 7, Place: "l", N: 1})
	require.Equal(t, "EDD-9102", inputCode(t, err), "a key part finer than its format")
}
