package timeseries_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func TestHistory_ConditionOnAnotherFieldIsRefusedAndNamesFilter(t *testing.T) {
	t.Parallel()
	w, f := fiveTicks(t), entity.Fields[Telemetry]()
	for name, cond := range map[string]entity.Cond{
		"append":      entity.Eq(f.Alert, true),
		"pointer":     entity.Exists(&f.GPIO),
		"enrichment":  entity.Eq(&f.AccountID, "a"),
		"key":         entity.Eq(&f.Channel, "c-1"),
		"ne":          entity.Ne(&f.Timestamp, at(0)),
		"in":          entity.In(&f.Timestamp, at(0), at(5)),
		"or":          entity.Or(entity.Eq(&f.Timestamp, at(0)), entity.Eq(&f.Timestamp, at(5))),
		"not":         entity.Not(entity.Eq(&f.Timestamp, at(0))),
		"exists":      entity.Exists(&f.Timestamp),
		"path":        entity.Attr[int]("gpio").Eq(1),
		"conjunction": entity.And(entity.Ge(&f.Timestamp, at(0)), entity.Le(&f.Timestamp, at(5))),
	} {
		q := w.History(device, cond)
		_, err := q.Collect(w.Ctx)
		require.Equal(t, "EDD-9115", dbtest.InputCode(err), name)
		require.Contains(t, dbtest.As[*entity.InputError](t, err).Problem, "entity.Filter", "%s: the error says what to do", name)
		require.Equal(t, "EDD-9115", dbtest.InputCode(dbtest.ErrorOf(q.Count(w.Ctx))), name)
		require.Equal(t, "EDD-9115", dbtest.InputCode(dbtest.ErrorOf(q.Page(w.Ctx, ""))), name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestHistory_MistakesInArgumentsSendNothing(t *testing.T) {
	t.Parallel()
	w, f := fiveTicks(t), entity.Fields[Telemetry]()
	for name, c := range map[string]struct {
		key  Telemetry
		opts []entity.QueryOption
		code string
	}{
		"no key":          {Telemetry{}, nil, "EDD-9101"},
		"half a key":      {Telemetry{Channel: "c-1"}, nil, "EDD-9101"},
		"two ranges":      {device, []entity.QueryOption{entity.Ge(&f.Timestamp, at(0)), entity.Gt(&f.Timestamp, at(5))}, "EDD-9004"},
		"zero cond":       {device, []entity.QueryOption{entity.Filter(entity.Cond{})}, "EDD-9111"},
		"nil option":      {device, []entity.QueryOption{nil}, "EDD-9108"},
		"limit zero":      {device, []entity.QueryOption{entity.Limit(0)}, "EDD-9108"},
		"foreign pointer": {device, []entity.QueryOption{entity.Eq(new(time.Time), at(0))}, "EDD-9105"},
	} {
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(w.History(c.key, c.opts...).Collect(w.Ctx))), name)
	}
	channels := declare[Channel](t, w.DB)
	for field, half := range map[string]Channel{"Stream": {Channel: "c-1"}, "Channel": {Stream: "status"}} {
		dbtest.RequireInput(t, dbtest.ErrorOf(channels.History(half).Collect(w.Ctx)), "EDD-9101", field)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestHistory_FilterIsForOtherFields(t *testing.T) {
	t.Parallel()
	w, f := fiveTicks(t), entity.Fields[Telemetry]()
	got, _ := w.collect(device, entity.Filter(entity.Eq(f.Alert, false)))
	require.Equal(t, []int{5, 15}, minutes(got))
	got, _ = w.collect(device, entity.Ge(&f.Timestamp, at(6)), entity.Filter(entity.Eq(f.Alert, false)))
	require.Equal(t, []int{15}, minutes(got))
	got, _ = w.collect(device, entity.Filter(entity.Or(entity.Eq(f.GPIO, 0), entity.Eq(f.GPIO, 20)), entity.Exists(&f.Location)))
	require.Equal(t, []int{0, 20}, minutes(got), "several filters are joined, each in parentheses")
	got, _ = w.collect(device, entity.Filter(entity.Exists(&f.AccountID)))
	require.Empty(t, got)
	got, _ = w.collect(device, entity.Filter(entity.Ge(&f.Timestamp, at(6)), entity.Le(&f.Timestamp, at(14))))
	require.Equal(t, []int{10}, minutes(got), "orderBy is no key attribute of the table")
}

func TestAt_IsTheNewestEventAtThatTime(t *testing.T) {
	t.Parallel()
	w := fiveTicks(t)
	for minute, want := range map[int]int{0: 0, 4: 0, 5: 5, 9: 5, 19: 15, 20: 20, 999: 20} {
		w.Wire.Reset()
		ev := entity.Must(w.At(w.Ctx, device, at(minute)))
		require.Equal(t, tick(want, want), ev)
		require.Equal(t, []string{"Query"}, w.operations())
		require.Equal(t, true, body(t, w.Wire.Requests()[0].Body)["ConsistentRead"])
	}
	ev := entity.Must(w.At(w.Ctx, device, at(5).Add(-1)))
	require.Equal(t, at(0), ev.Timestamp)
	require.ErrorIs(t, dbtest.ErrorOf(w.At(w.Ctx, device, at(0).Add(-1))), entity.ErrNotFound)
	_, err := w.At(w.Ctx, Telemetry{Channel: "c-1"}, at(0))
	require.Equal(t, "EDD-9101", dbtest.InputCode(err))
	require.Equal(t, "At", dbtest.As[*entity.Error](t, err).Verb)
}

func TestAt_BeforeAnythingThatTheFormatCanHold(t *testing.T) {
	t.Parallel()
	w := open[unixClock](t)
	w.seed(unixClock{ID: "x", At: start, V: 1})
	require.ErrorIs(t, dbtest.ErrorOf(w.At(w.Ctx, unixClock{ID: "x"}, time.Unix(-5, 0))), entity.ErrNotFound)
	require.Empty(t, w.Wire.Requests())
	ev := entity.Must(w.At(w.Ctx, unixClock{ID: "x"}, start.Add(time.Second-1)))
	require.Equal(t, 1, ev.V, "a time finer than the format is rounded down")
	ev = entity.Must(w.At(w.Ctx, unixClock{ID: "x"}, time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, 1, ev.V)
}

func TestAt_PassesOverExpiredEvents(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	w.Clock.Move(-30 * 24 * time.Hour) // these were accepted by a machine whose clock was behind
	for i := 1; i <= 60; i++ {
		w.seed(tick(i, i))
	}
	w.Clock.Move(30 * 24 * time.Hour)
	require.Equal(t, []int{0}, minutes(w.history(device)))
	ev := entity.Must(w.At(w.Ctx, device, at(60)))
	require.Equal(t, at(0), ev.Timestamp)
	w.Clock.Move(8 * 24 * time.Hour)
	require.ErrorIs(t, dbtest.ErrorOf(w.At(w.Ctx, device, at(60))), entity.ErrNotFound, "all are expired")
}

func TestAt_NeedsAnOrderByThatIsATime(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1, 1))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(w.At(w.Ctx, reading(0, 0), at(0)))))
	require.Empty(t, w.Wire.Requests())
	newest := entity.Must(w.History(reading(0, 0), entity.Le(&entity.Fields[Meter]().Seq, 7), entity.Desc()).First(w.Ctx))
	require.Equal(t, reading(1, 1), newest)
}

func TestHistory_Ranges(t *testing.T) {
	t.Parallel()
	w, f := fiveTicks(t), &entity.Fields[Telemetry]().Timestamp
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
		require.Len(t, c.want, entity.Must(w.History(device, c.cond).Count(w.Ctx)), name)
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
		require.ErrorIs(t, dbtest.ErrorOf(q.First(w.Ctx)), entity.ErrNotFound, name)
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
		"up to below 0": {entity.Le(seq, -7), []Meter{}},
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
