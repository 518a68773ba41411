package timeseries_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

func TestHistory_Ranges(t *testing.T) {
	t.Parallel()
	w := fiveTicks(t)
	f := &entity.Fields[Telemetry]().Timestamp
	for name, c := range map[string]struct {
		cond entity.Cond
		want []int
	}{
		"between":             {entity.Between(f, at(5), at(15)), []int{5, 10, 15}},
		"between, inside":     {entity.Between(f, at(6), at(14)), []int{10}},
		"between, one":        {entity.Between(f, at(10), at(10)), []int{10}},
		"between, none":       {entity.Between(f, at(11), at(14)), []int{}},
		"ge":                  {entity.Ge(f, at(10)), []int{10, 15, 20}},
		"gt":                  {entity.Gt(f, at(10)), []int{15, 20}},
		"gt a hair before":    {entity.Gt(f, at(10).Add(-1)), []int{10, 15, 20}},
		"le":                  {entity.Le(f, at(10)), []int{0, 5, 10}},
		"lt":                  {entity.Lt(f, at(10)), []int{0, 5}},
		"lt a hair after":     {entity.Lt(f, at(10).Add(1)), []int{0, 5, 10}},
		"eq":                  {entity.Eq(f, at(10)), []int{10}},
		"eq, none":            {entity.Eq(f, at(11)), []int{}},
		"another zone":        {entity.Eq(f, at(10).In(time.FixedZone("", 3600))), []int{10}},
		"before everything":   {entity.Lt(f, at(0)), []int{}},
		"after everything":    {entity.Gt(f, at(20)), []int{}},
		"from the zero time":  {entity.Ge(f, time.Time{}), []int{0, 5, 10, 15, 20}},
		"up to the last year": {entity.Le(f, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), []int{0, 5, 10, 15, 20}},
	} {
		got, requests := w.collect(device, c.cond)
		require.Equal(t, c.want, minutes(got), name)
		require.Equal(t, 1, requests, name)
		count := entity.Must(w.History(device, c.cond).Count(w.Ctx))
		require.Len(t, c.want, count, name)
		down, _ := w.collect(device, c.cond, entity.Desc())
		require.Len(t, down, len(got), name)
		for i := range down {
			require.Equal(t, got[len(got)-1-i], down[i], name)
		}
	}
}

func TestHistory_RangesThatNothingCanMatchSendNoRequest(t *testing.T) {
	t.Parallel()
	w := open[secondClock](t)
	w.seed(secondClock{ID: "x", At: start, V: 1})
	key, f := secondClock{ID: "x"}, &entity.Fields[secondClock]().At
	w.Wire.Reset()
	for name, cond := range map[string]entity.Cond{
		"upside down":                entity.Between(f, start.Add(time.Minute), start),
		"between two representable":  entity.Between(f, start.Add(1), start.Add(time.Second-1)),
		"before the first year":      entity.Lt(f, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)),
		"up to before the first":     entity.Le(f, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)),
		"after the last year":        entity.Gt(f, time.Date(10005, 1, 1, 0, 0, 0, 0, time.UTC)),
		"from after the last year":   entity.Ge(f, time.Date(10005, 1, 1, 0, 0, 0, 0, time.UTC)),
		"between, before the first":  entity.Between(f, time.Date(-6, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)),
		"between, behind the 9999th": entity.Between(f, time.Date(10005, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10006, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		q := w.History(key, cond)
		got, err := q.Collect(w.Ctx)
		require.NoError(t, err, name)
		require.Empty(t, got, name)
		count, err := q.Count(w.Ctx)
		require.NoError(t, err, name)
		require.Zero(t, count, name)
		page, err := q.Page(w.Ctx, "")
		require.NoError(t, err, name)
		require.Empty(t, page.Items, name)
		require.Empty(t, page.Next, name)
		_, err = q.First(w.Ctx)
		require.ErrorIs(t, err, entity.ErrNotFound, name)
	}
	_, err := w.History(key, entity.Eq(f, start.Add(1))).Collect(w.Ctx)
	require.Equal(t, "EDD-9102", dbtest.InputCode(err), "a time finer than the format is never truncated")
	require.Empty(t, w.Wire.Requests())
}

// internal/key proves that ranges are exact for every type; these are the bounds that no key can have.
func TestHistory_BoundsThatNoKeyCanHave(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.appendAll([]Meter{reading(2, 2), reading(10, 10), reading(100, 100)})
	seq := &entity.Fields[Meter]().Seq
	for name, c := range map[string]struct {
		cond entity.Cond
		want []Meter
	}{
		"lt 10":         {entity.Lt(seq, 10), []Meter{reading(2, 2)}},
		"from below 0":  {entity.Ge(seq, -7), []Meter{reading(2, 2), reading(10, 10), reading(100, 100)}},
		"up to below 0": {entity.Le(seq, -7), nil},
		"across 0":      {entity.Between(seq, -7, 10), []Meter{reading(2, 2), reading(10, 10)}},
	} {
		got, _ := w.collect(reading(0, 0), c.cond)
		require.Equal(t, c.want, got, name)
	}

	x := open[Journal](t)
	long := strings.Repeat("é", (1024-len("$app#v1#journal#e#"))/2)
	longer := long + "éé"
	x.seed(entry("a", "1"), entry("a#1", "2"), entry(long, "3"), entry("ê", "4"))
	mark := &entity.Fields[Journal]().Mark
	for name, c := range map[string]struct {
		cond entity.Cond
		want string
	}{
		"begins a": {entity.BeginsWith(mark, "a"), "12"}, "begins a#": {entity.BeginsWith(mark, "a#"), "2"}, "begins with all": {entity.BeginsWith(mark, ""), "1234"},
		"lt empty": {entity.Lt(mark, ""), ""}, "ge empty": {entity.Ge(mark, ""), "1234"}, "gt a": {entity.Gt(mark, "a"), "234"},
		"ge": {entity.Ge(mark, longer), "4"}, "gt": {entity.Gt(mark, longer), "4"}, "le": {entity.Le(mark, longer), "123"}, "lt": {entity.Lt(mark, longer), "123"},
		"eq": {entity.Eq(mark, longer), ""}, "begins": {entity.BeginsWith(mark, longer), ""}, "between": {entity.Between(mark, longer, longer+"x"), ""},
		"gt it": {entity.Gt(mark, long), "4"}, "ge it": {entity.Ge(mark, long), "34"},
	} {
		got, _ := x.collect(Journal{Book: "b"}, c.cond)
		texts := ""
		for _, ev := range got {
			texts += ev.Text
		}
		require.Equal(t, c.want, texts, name)
	}
}
