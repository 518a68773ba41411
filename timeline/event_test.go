package timeline_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Three shapes of one series: a text, then degrees, then degrees with a unit.
type (
	temp1 struct {
		_  entity.Key        `name:"Temp" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" late:"record"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		V  string            `dynamodbav:"v" entity:"append"`
	}
	temp2 struct {
		_       entity.Key        `name:"Temp" pk:"$#{id}" sk:"$" payload:"2"`
		_       timeseries.Events `orderBy:"at" late:"record"`
		ID      string            `dynamodbav:"id"`
		At      time.Time         `dynamodbav:"at"`
		Degrees float64           `dynamodbav:"degrees" entity:"append"`
	}
	temp3 struct {
		_       entity.Key        `name:"Temp" pk:"$#{id}" sk:"$" payload:"3"`
		_       timeseries.Events `orderBy:"at" late:"record"`
		ID      string            `dynamodbav:"id"`
		At      time.Time         `dynamodbav:"at"`
		Room    string            `dynamodbav:"room" entity:"append"`
		Celsius float64           `dynamodbav:"celsius" entity:"append"`
	}
	temp4 struct {
		_  entity.Key        `name:"Temp" pk:"$#{id}" sk:"$" payload:"4"`
		_  timeseries.Events `orderBy:"at" late:"record"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		X  string            `dynamodbav:"x" entity:"append"`
	}
)

func firstStep(old temp1) (temp2, error) {
	d, err := strconv.ParseFloat(old.V, 64)
	return temp2{ID: old.ID, At: old.At, Degrees: d}, err
}

func secondStep(old temp2) (temp3, error) {
	return temp3{ID: old.ID, At: old.At, Room: "hall", Celsius: (old.Degrees - 32) / 1.8}, nil
}

func put[T any](l *lab, ev T) {
	l.T.Helper()
	series := entity.Must(timeseries.New[T](l.connect().DB))
	entity.Must(series.Append(l.Ctx, ev))
}

// temps is a projection of the current version by a field that earlier ones lacked.
func temps(l *lab, opts ...timeline.SourceOption) (timeline.Projection[string, journal], *timeline.LogView) {
	l.T.Helper()
	series := entity.Must(timeseries.New[temp3](l.connect().DB))
	source := timeline.Series(series, opts...)
	line := func(e timeline.Event[temp3]) string { return fmt.Sprint(e.PayloadVersion, " ", e.Payload.Celsius) }
	return journals("temps", source, "temp", func(v temp3) string { return v.Room }, line, "appended"), listing(l, timeline.Log{Name: "temps", Source: source, Oldest: true})
}

func TestUpgrade_EveryReplayGetsCurrentPayloads(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	put(l, temp1{ID: "t", At: at(1), V: "50"})
	put(l, temp2{ID: "t", At: at(2), Degrees: 68})
	put(l, temp3{ID: "t", At: at(3), Room: "hall", Celsius: 30})
	before := l.Items()
	projection, log := temps(l, timeline.Upgrade(2, secondStep), timeline.Upgrade(1, firstStep)) // in any order
	v := view(l, projection)
	want := []string{"1 10", "2 20", "3 30"}
	assert.Equal(t, want, rows(l, v, timeline.AsOf(at(9)))["hall"].State.Lines, "as of a moment")
	p := entity.Must(log.Page(l.Ctx, 1, 10))
	require.Len(t, p.Rows, 3)
	assert.Equal(t, temp3{ID: "t", At: at(1), Room: "hall", Celsius: 10}, p.Rows[0].Payload, "a log too")
	assert.Equal(t, 1, p.Rows[0].PayloadVersion, "the stored version")
	p = entity.Must(log.Page(l.Ctx, 1, 10, timeline.ForKey(temp3{ID: "t"})))
	assert.Len(t, p.Rows, 3)
	assert.ElementsMatch(t, before, l.Items(), "stored items do not change")
	meta := rebuild(l, v)
	assert.Equal(t, want, rows(l, v)["hall"].State.Lines, "a build, and its grouping")
	assert.EqualValues(t, 2, meta.Counters.Upgraded)
	own := *l
	l.Clock.Move(time.Hour)
	put(l, temp1{ID: "u", At: at(4), V: "104"})
	*l = own
	catchUp(l, v)
	assert.Equal(t, append(want, "1 40"), rows(l, v)["hall"].State.Lines, "a catch-up")
}

func TestUpgrade_RejectsGapsBetweenSteps(t *testing.T) {
	t.Parallel()
	l := offline(t)
	series := entity.Must(timeseries.New[temp3](l.DB))
	first, second := timeline.Upgrade(1, firstStep), timeline.Upgrade(2, secondStep)
	for want, opts := range map[string][]timeline.SourceOption{
		"from payload version 2 is missing": {first},
		"two upgrades":                      {second, second, first},
		"start at 1":                        {timeline.Upgrade(0, func(v temp1) (temp1, error) { return v, nil }), first, second},
		"current version is 3":              {first, second, timeline.Upgrade(3, func(v temp3) (temp3, error) { return v, nil })},
		"gives a timeline_test.temp2":       {timeline.Upgrade(2, func(temp2) (temp2, error) { return temp2{}, nil })},
	} {
		_, err := timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(series, opts...)})
		assert.Contains(t, codes(err), "EDD-9088", want)
		assert.ErrorContains(t, err, want)
	}
	_, err := timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(series, timeline.Upgrade[temp2, temp3](2, nil))})
	assert.Equal(t, []string{"EDD-9082"}, codes(err))
	_, err = timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(series, second)})
	assert.NoError(t, err, "no upgrade from version 1 is required")
}

func TestUpgrade_UnknownPayloadVersionStopsTheReplay(t *testing.T) {
	t.Parallel()
	for what, store := range map[string]func(*lab){
		"older": func(l *lab) { put(l, temp1{ID: "t", At: at(1), V: "50"}) },
		"newer": func(l *lab) { put(l, temp4{ID: "t", At: at(1), X: "x"}) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			store(l)
			projection, log := temps(l, timeline.Upgrade(2, secondStep))
			_, err := view(l, projection).Rebuild(l.Ctx)
			failedAt(t, err, timeline.Decoding, timeline.ErrPayloadVersion)
			_, err = log.Page(l.Ctx, 1, 1)
			require.ErrorIs(t, err, timeline.ErrPayloadVersion)
		})
	}
	l := newLab(t)
	put(l, temp1{ID: "t", At: at(1), V: "warm"})
	projection, _ := temps(l, timeline.Upgrade(1, firstStep), timeline.Upgrade(2, secondStep))
	_, err := view(l, projection).Rebuild(l.Ctx)
	wrong := failedAt(t, err, timeline.Upgrading, err)
	assert.Equal(t, 1, wrong.Payload)
	assert.ErrorIs(t, err, strconv.ErrSyntax)
	assert.False(t, errors.Is(err, timeline.ErrPayloadVersion))
}
