package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Station has an append field of every kind.
type Station struct {
	_ entity.Key        `name:"Station" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"n"`

	ID string `dynamodbav:"id"`
	N  uint64 `dynamodbav:"n"`

	Text  string             `dynamodbav:"text"  entity:"append"`
	Count int                `dynamodbav:"count" entity:"append"`
	Ratio float64            `dynamodbav:"ratio" entity:"append"`
	On    bool               `dynamodbav:"on"    entity:"append"`
	Seen  time.Time          `dynamodbav:"seen"  entity:"append,time=s"`
	List  []string           `dynamodbav:"list"  entity:"append"`
	Tags  []string           `dynamodbav:"tags,stringset,omitempty" entity:"append"`
	Map   map[string]int     `dynamodbav:"map,omitempty" entity:"append"`
	Blob  []byte             `dynamodbav:"blob"  entity:"append"`
	Pair  struct{ A, B int } `dynamodbav:"pair" entity:"append"`
	Load
	Note string `dynamodbav:"note,omitempty"`
}

// Load is embedded: its fields are the station's.
type Load struct {
	Volts *int `dynamodbav:"volts,omitempty" entity:"append"`
}

func TestFields_ZeroOfNonPointersIsAlwaysWritten(t *testing.T) {
	t.Parallel()
	w := open[Station](t)
	w.seed(Station{ID: "s", N: 1, Text: "x", Count: 1, Ratio: 1.5, On: true, Seen: start, Pair: struct{ A, B int }{1, 2}})
	r := w.append(Station{ID: "s", N: 2})
	require.True(t, r.Applied)
	items := w.partition("$app#v1#station#s")
	for _, sk := range []string{"$app#v1#station", "$app#v1#station#e#00000000000000000002"} {
		it := items[sk]
		require.Equal(t, "S ", it["text"], sk)
		require.Equal(t, "N 0", it["count"], sk)
		require.Equal(t, "N 0", it["ratio"], sk)
		require.Equal(t, "BOOL false", it["on"], sk)
		require.Equal(t, "S 0001-01-01T00:00:00Z", it["seen"], sk)
		require.Contains(t, it, "pair", sk)
		for _, name := range []string{"list", "tags", "map", "blob", "volts", "note"} {
			require.NotContains(t, it, name, sk)
		}
	}
	require.Zero(t, currentOf(t, r).Pair)
}

func TestFields_NilSliceMapAndEmbeddedPointerKeepTheirValues(t *testing.T) {
	t.Parallel()
	w := open[Station](t)
	full := Station{
		ID: "s", N: 1, List: []string{"a", "b"}, Tags: []string{"t"}, Map: map[string]int{"k": 1}, Blob: []byte("bin"), Load: Load{ptr(230)},
	}
	w.seed(full)
	require.Equal(t, full, w.history(Station{ID: "s"})[0])
	r := w.append(Station{ID: "s", N: 2})
	want := full
	want.N = 2
	require.Equal(t, want, currentOf(t, r))
	require.Equal(t, Station{ID: "s", N: 2}, w.history(Station{ID: "s"})[1])
}

func TestFields_EmptySliceOfAListIsAReport(t *testing.T) {
	t.Parallel()
	w := open[Station](t)
	w.seed(Station{ID: "s", N: 1, List: []string{"a"}})
	r := w.append(Station{ID: "s", N: 2, List: []string{}})
	require.Empty(t, currentOf(t, r).List)
	require.NotNil(t, currentOf(t, r).List)
}

func TestFields_DuplicateComparesContentsAndNotSpelling(t *testing.T) {
	t.Parallel()
	w := open[Station](t)
	ev := Station{ID: "s", N: 1, Ratio: 100, Tags: []string{"a", "b"}, Map: map[string]int{"x": 1, "y": 2}}
	w.seed(ev)
	w.ChangeItem("$app#v1#station#s", "$app#v1#station#e#00000000000000000001", item{"ratio": dbtest.N("1E2")})
	ev.Tags = []string{"b", "a"}
	require.Equal(t, timeseries.Duplicate, w.append(ev).Reason)
	ev.Tags = []string{"b", "c"}
	require.Equal(t, timeseries.Collision, w.append(ev).Reason)
}

// Vote is a series whose events must say for whom.
type Vote struct {
	_ entity.Key        `name:"Vote" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"n"`

	ID  string  `dynamodbav:"id"`
	N   int     `dynamodbav:"n"`
	For *string `dynamodbav:"for,omitempty" entity:"append,required"`
}

func TestFields_RequiredAppendFieldMustBeReportedInEveryEvent(t *testing.T) {
	t.Parallel()
	w := open[Vote](t)
	_, err := w.Append(w.Ctx, Vote{ID: "v", N: 1})
	require.Equal(t, "EDD-9103", dbtest.InputCode(err))
	_, err = w.Append(w.Ctx, Vote{ID: "v", N: 1, For: ptr("")})
	require.Equal(t, "EDD-9103", dbtest.InputCode(err))
	require.Empty(t, w.Wire.Requests())
	require.True(t, w.append(Vote{ID: "v", N: 1, For: ptr("me")}).Applied)
}

// Gauge is embedded by pointer: without it, none of its fields is reported.
type Gauge struct {
	Bar  float64 `dynamodbav:"bar" entity:"append"`
	Unit string  `dynamodbav:"unit,omitempty"`
}

// Boiler may have a gauge.
type Boiler struct {
	_ entity.Key        `name:"Boiler" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"n"`

	ID  string `dynamodbav:"id"`
	N   int    `dynamodbav:"n"`
	Hot bool   `dynamodbav:"hot" entity:"append"`
	*Gauge
}

func TestFields_NilEmbeddedPointerReportsNothing(t *testing.T) {
	t.Parallel()
	w := open[Boiler](t)
	w.seed(Boiler{ID: "b", N: 1, Gauge: &Gauge{Bar: 2.5, Unit: "never an append's"}})
	r := w.append(Boiler{ID: "b", N: 2, Hot: true})
	require.Equal(t, Boiler{ID: "b", N: 2, Hot: true, Gauge: &Gauge{Bar: 2.5}}, currentOf(t, r))
	require.Equal(t, []Boiler{{ID: "b", N: 1, Gauge: &Gauge{Bar: 2.5}}, {ID: "b", N: 2, Hot: true}}, w.history(Boiler{ID: "b"}))
	require.Equal(t, timeseries.Duplicate, w.append(Boiler{ID: "b", N: 1, Gauge: &Gauge{Bar: 2.5}}).Reason)
	require.Equal(t, timeseries.Collision, w.append(Boiler{ID: "b", N: 1}).Reason)
}
