package timeseries_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

func TestHistory_EventsHoldWhatTheAppendCarriedAndNoMore(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	enriched := device
	enriched.AccountID = "acct-1"
	_, _, err := w.Upsert(w.Ctx, enriched)
	require.NoError(t, err)
	got, _ := w.collect(device)
	require.Empty(t, got)
	_, err = w.History(device).First(w.Ctx)
	require.ErrorIs(t, err, entity.ErrNotFound)
	w.seed(tick(0, 1), bare(1))
	got, requests := w.collect(device)
	require.Equal(t, []Telemetry{tick(0, 1), bare(1)}, got)
	require.Equal(t, 1, requests)
}

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

func TestHistory_BoundsFinerThanTheFormatAreRoundedInward(t *testing.T) {
	t.Parallel()
	w := open[secondClock](t)
	var all []secondClock
	for i := range 5 {
		all = append(all, secondClock{ID: "x", At: start.Add(time.Duration(i) * time.Second), V: i})
	}
	w.seed(all...)
	key, f := secondClock{ID: "x"}, &entity.Fields[secondClock]().At
	second := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	for name, c := range map[string]struct {
		cond entity.Cond
		want []secondClock
	}{
		"between": {entity.Between(f, second(0.5), second(2.5)), all[1:3]},
		"ge":      {entity.Ge(f, second(1.5)), all[2:]},
		"gt":      {entity.Gt(f, second(1.5)), all[2:]},
		"le":      {entity.Le(f, second(1.5)), all[:2]},
		"lt":      {entity.Lt(f, second(1.5)), all[:2]},
		"lt it":   {entity.Lt(f, second(2)), all[:2]},
	} {
		got, requests := w.collect(key, c.cond)
		require.Equal(t, c.want, got, name)
		require.Equal(t, 1, requests, name)
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

func TestHistory_NumericBounds(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.appendAll([]Meter{reading(2, 2), reading(10, 10), reading(100, 100)})
	f := &entity.Fields[Meter]().Seq
	for name, c := range map[string]struct {
		cond entity.Cond
		want []Meter
	}{
		"ge 2":          {entity.Ge(f, 2), []Meter{reading(2, 2), reading(10, 10), reading(100, 100)}},
		"gt 2":          {entity.Gt(f, 2), []Meter{reading(10, 10), reading(100, 100)}},
		"lt 10":         {entity.Lt(f, 10), []Meter{reading(2, 2)}},
		"le 10":         {entity.Le(f, 10), []Meter{reading(2, 2), reading(10, 10)}},
		"between":       {entity.Between(f, 3, 99), []Meter{reading(10, 10)}},
		"from below 0":  {entity.Ge(f, -7), []Meter{reading(2, 2), reading(10, 10), reading(100, 100)}},
		"up to below 0": {entity.Le(f, -7), nil},
		"across 0":      {entity.Between(f, -7, 10), []Meter{reading(2, 2), reading(10, 10)}},
	} {
		got, _ := w.collect(reading(0, 0), c.cond)
		require.Equal(t, c.want, got, name)
	}
}

func TestHistory_TextBounds(t *testing.T) {
	t.Parallel()
	w := open[Journal](t)
	for _, mark := range []string{"a", "a#1", "a#2", "ab", "b", "b$", "c"} {
		w.seed(entry(mark, mark))
	}
	key, f := Journal{Book: "b"}, &entity.Fields[Journal]().Mark
	for name, c := range map[string]struct {
		cond entity.Cond
		want []string
	}{
		"gt a":       {entity.Gt(f, "a"), []string{"a#1", "a#2", "ab", "b", "b$", "c"}},
		"ge a#2":     {entity.Ge(f, "a#2"), []string{"a#2", "ab", "b", "b$", "c"}},
		"le a":       {entity.Le(f, "a"), []string{"a"}},
		"lt a#2":     {entity.Lt(f, "a#2"), []string{"a", "a#1"}},
		"between":    {entity.Between(f, "a#2", "b"), []string{"a#2", "ab", "b"}},
		"begins a":   {entity.BeginsWith(f, "a"), []string{"a", "a#1", "a#2", "ab"}},
		"begins a#":  {entity.BeginsWith(f, "a#"), []string{"a#1", "a#2"}},
		"begins all": {entity.BeginsWith(f, ""), []string{"a", "a#1", "a#2", "ab", "b", "b$", "c"}},
		"eq a":       {entity.Eq(f, "a"), []string{"a"}},
		"lt empty":   {entity.Lt(f, ""), nil},
		"ge empty":   {entity.Ge(f, ""), []string{"a", "a#1", "a#2", "ab", "b", "b$", "c"}},
	} {
		got, _ := w.collect(key, c.cond)
		var marks []string
		for _, ev := range got {
			marks = append(marks, ev.Mark)
		}
		require.Equal(t, c.want, marks, name)
	}
}

func TestHistory_BoundsTooLongForAKey(t *testing.T) {
	t.Parallel()
	w := open[Journal](t)
	room := 1024 - len("$app#v1#journal#e#")
	long := strings.Repeat("é", room/2)
	w.seed(entry("a", "1"), entry(long, "2"), entry("ê", "3"))
	key, f := Journal{Book: "b"}, &entity.Fields[Journal]().Mark
	longer := long + "éé"
	for name, c := range map[string]struct {
		cond entity.Cond
		want int
	}{
		"ge": {entity.Ge(f, longer), 1}, "gt": {entity.Gt(f, longer), 1}, "le": {entity.Le(f, longer), 2}, "lt": {entity.Lt(f, longer), 2},
		"eq": {entity.Eq(f, longer), 0}, "begins": {entity.BeginsWith(f, longer), 0}, "between": {entity.Between(f, longer, longer+"x"), 0},
		"gt it": {entity.Gt(f, long), 1}, "ge it": {entity.Ge(f, long), 2},
	} {
		got, _ := w.collect(key, c.cond)
		require.Len(t, got, c.want, name)
	}
}
