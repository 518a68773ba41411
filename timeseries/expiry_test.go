package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// aging has events of which the first two expire three days before the others.
func aging(t *testing.T) *world[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 0), tick(5, 5))
	w.clock.advance(3 * 24 * time.Hour)
	w.seed(tick(10, 10), tick(15, 15))
	return w
}

func TestExpiry_HistoryHidesExpiredEventsThatAreStillStored(t *testing.T) {
	t.Parallel()
	w := aging(t)
	require.Len(t, w.history(device), 4)
	w.clock.advance(5 * 24 * time.Hour)
	require.Equal(t, []int{10, 15}, minutes(w.history(device)))
	n, err := w.History(device).Count(w.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	first, err := w.History(device).First(w.ctx)
	require.NoError(t, err)
	require.Equal(t, at(10), first.Timestamp)
	page, err := w.History(device, entity.Limit(1)).Page(w.ctx, "")
	require.NoError(t, err)
	require.Equal(t, []int{10}, minutes(page.Items))

	require.Equal(t, []int{0, 5, 10, 15}, minutes(w.history(device, entity.IncludeExpired())))
	n, err = w.History(device, entity.IncludeExpired()).Count(w.ctx)
	require.NoError(t, err)
	require.Equal(t, 4, n)
}

func TestExpiry_AnEventIsGoneFromTheSecondInItsTTL(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	w.clock.advance(7*24*time.Hour - time.Second)
	require.Len(t, w.history(device), 1)
	w.clock.advance(time.Second)
	require.Empty(t, w.history(device))
}

func TestExpiry_TheCurrentItemNeverExpires(t *testing.T) {
	t.Parallel()
	w := aging(t)
	w.clock.advance(1000 * 24 * time.Hour)
	require.Equal(t, at(15), w.current(device).Timestamp)
	r := w.append(tick(14, 1))
	require.False(t, r.Applied, "it still decides who is late")
	found, err := w.Query(device).Collect(w.ctx)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestExpiry_CountsFromTheClockAndNotFromOrderBy(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	ancient := bare(0)
	ancient.Timestamp = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	w.seed(ancient)
	require.Len(t, w.history(device), 1)
}

func TestAt_IsTheNewestEventAtThatTime(t *testing.T) {
	t.Parallel()
	w := fiveTicks(t)
	for minute, want := range map[int]int{0: 0, 4: 0, 5: 5, 9: 5, 19: 15, 20: 20, 999: 20} {
		w.sent.Reset()
		ev, err := w.At(w.ctx, device, at(minute))
		require.NoError(t, err)
		require.Equal(t, tick(want, want), ev)
		require.Equal(t, []string{"Query"}, w.operations())
		require.Equal(t, true, body(t, w.sent.Requests()[0].Body)["ConsistentRead"])
	}
	ev, err := w.At(w.ctx, device, at(5).Add(-1))
	require.NoError(t, err)
	require.Equal(t, at(0), ev.Timestamp)
	_, err = w.At(w.ctx, device, at(0).Add(-1))
	require.ErrorIs(t, err, entity.ErrNotFound)
	_, err = w.At(w.ctx, Telemetry{Channel: "c-1"}, at(0))
	require.Equal(t, "EDD-9101", inputCode(t, err))
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "At", e.Verb)
}

func TestAt_BeforeAnythingThatTheFormatCanHold(t *testing.T) {
	t.Parallel()
	w := open[unixClock](t)
	w.seed(unixClock{ID: "x", At: start, V: 1})
	_, err := w.At(w.ctx, unixClock{ID: "x"}, time.Unix(-5, 0))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Empty(t, w.sent.Requests())
	ev, err := w.At(w.ctx, unixClock{ID: "x"}, start.Add(time.Second-1))
	require.NoError(t, err)
	require.Equal(t, 1, ev.V, "a time finer than the format is rounded down")
	ev, err = w.At(w.ctx, unixClock{ID: "x"}, time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Equal(t, 1, ev.V)
}

func TestAt_PassesOverExpiredEvents(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	w.clock.advance(-30 * 24 * time.Hour) // these were accepted by a machine whose clock was behind
	for i := 1; i <= 60; i++ {
		w.seed(tick(i, i))
	}
	w.clock.advance(30 * 24 * time.Hour)
	require.Equal(t, []int{0}, minutes(w.history(device)))
	ev, err := w.At(w.ctx, device, at(60))
	require.NoError(t, err)
	require.Equal(t, at(0), ev.Timestamp)
	w.clock.advance(8 * 24 * time.Hour)
	_, err = w.At(w.ctx, device, at(60))
	require.ErrorIs(t, err, entity.ErrNotFound, "all are expired")
}

func TestAt_NeedsAnOrderByThatIsATime(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(1, 1))
	_, err := w.At(w.ctx, reading(0, 0), at(0))
	require.Equal(t, "EDD-9108", inputCode(t, err))
	require.Empty(t, w.sent.Requests())
	newest, err := w.History(reading(0, 0), entity.Le(&entity.Fields[Meter]().Seq, 7), entity.Desc()).First(w.ctx)
	require.NoError(t, err)
	require.Equal(t, reading(1, 1), newest)
}

func TestAt_OfAnotherStreamOfThePartitionIsNeverFound(t *testing.T) {
	t.Parallel()
	w := open[Channel](t)
	w.seed(state("a", 0, "x"))
	_, err := w.At(w.ctx, Channel{Channel: "c-1", Stream: "b"}, at(5))
	require.ErrorIs(t, err, entity.ErrNotFound)
}

// Dotted has a clock whose name would be a path inside an item if it were not taken as it is.
type Dotted struct {
	_ entity.Key        `name:"Dotted" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"device.time[0]"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"device.time[0]"`
	V  int       `dynamodbav:"v" entity:"append"`
}

func TestAt_OrderByMayHaveAnyName(t *testing.T) {
	t.Parallel()
	w := open[Dotted](t)
	w.seed(Dotted{ID: "d", At: at(0), V: 1}, Dotted{ID: "d", At: at(5), V: 2})
	require.Len(t, w.history(Dotted{ID: "d"}, entity.Lt(&entity.Fields[Dotted]().At, at(5))), 1)
	ev, err := w.At(w.ctx, Dotted{ID: "d"}, at(3))
	require.NoError(t, err)
	require.Equal(t, 1, ev.V)
}
