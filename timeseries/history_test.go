package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

func TestHistory_ConditionOnAnotherFieldIsRefusedAndNamesFilter(t *testing.T) {
	t.Parallel()
	w := fiveTicks(t)
	f := entity.Fields[Telemetry]()
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
		var e *entity.InputError
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Problem, "entity.Filter", "%s: the error says what to do", name)
		_, err = q.Count(w.Ctx)
		require.Equal(t, "EDD-9115", dbtest.InputCode(err), name)
		_, err = q.Page(w.Ctx, "")
		require.Equal(t, "EDD-9115", dbtest.InputCode(err), name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestHistory_MistakesInArgumentsSendNothing(t *testing.T) {
	t.Parallel()
	w := fiveTicks(t)
	f := entity.Fields[Telemetry]()
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
		_, err := w.History(c.key, c.opts...).Collect(w.Ctx)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
	}
	channels := declare[Channel](t, w.DB)
	for field, half := range map[string]Channel{"Stream": {Channel: "c-1"}, "Channel": {Stream: "status"}} {
		_, err := channels.History(half).Collect(w.Ctx)
		dbtest.RequireInput(t, err, "EDD-9101", field)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestHistory_FilterIsForOtherFields(t *testing.T) {
	t.Parallel()
	w := fiveTicks(t)
	f := entity.Fields[Telemetry]()
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

// aging has events of which the first two expire three days before the others.
func aging(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 0), tick(5, 5))
	w.Clock.Move(3 * 24 * time.Hour)
	w.seed(tick(10, 10), tick(15, 15))
	return w
}

func TestExpiry_HistoryHidesExpiredEventsThatAreStillStored(t *testing.T) {
	t.Parallel()
	w := aging(t)
	require.Len(t, w.history(device), 4)
	w.Clock.Move(5 * 24 * time.Hour)
	require.Equal(t, []int{10, 15}, minutes(w.history(device)))
	n := entity.Must(w.History(device).Count(w.Ctx))
	require.Equal(t, 2, n)
	first := entity.Must(w.History(device).First(w.Ctx))
	require.Equal(t, at(10), first.Timestamp)
	page := entity.Must(w.History(device, entity.Limit(1)).Page(w.Ctx, ""))
	require.Equal(t, []int{10}, minutes(page.Items))

	require.Equal(t, []int{0, 5, 10, 15}, minutes(w.history(device, entity.IncludeExpired())))
	n = entity.Must(w.History(device, entity.IncludeExpired()).Count(w.Ctx))
	require.Equal(t, 4, n)
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
	_, err := w.At(w.Ctx, device, at(0).Add(-1))
	require.ErrorIs(t, err, entity.ErrNotFound)
	_, err = w.At(w.Ctx, Telemetry{Channel: "c-1"}, at(0))
	require.Equal(t, "EDD-9101", dbtest.InputCode(err))
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "At", e.Verb)
}

func TestAt_BeforeAnythingThatTheFormatCanHold(t *testing.T) {
	t.Parallel()
	w := open[unixClock](t)
	w.seed(unixClock{ID: "x", At: start, V: 1})
	_, err := w.At(w.Ctx, unixClock{ID: "x"}, time.Unix(-5, 0))
	require.ErrorIs(t, err, entity.ErrNotFound)
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
	_, err := w.At(w.Ctx, device, at(60))
	require.ErrorIs(t, err, entity.ErrNotFound, "all are expired")
}

func TestAt_NeedsAnOrderByThatIsATime(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1, 1))
	_, err := w.At(w.Ctx, reading(0, 0), at(0))
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
	require.Empty(t, w.Wire.Requests())
	newest := entity.Must(w.History(reading(0, 0), entity.Le(&entity.Fields[Meter]().Seq, 7), entity.Desc()).First(w.Ctx))
	require.Equal(t, reading(1, 1), newest)
}
