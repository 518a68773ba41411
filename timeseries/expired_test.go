package timeseries_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// month is longer than any event of these tests lives.
const month = 31 * 24 * time.Hour

// appends are the ways to append an event, with what each says of it.
func appends[T any](w *lab[T]) map[string]func(T) timeseries.Result[T] {
	return map[string]func(T) timeseries.Result[T]{
		"Append":    func(ev T) timeseries.Result[T] { return w.append(ev) },
		"AppendAll": func(ev T) timeseries.Result[T] { return w.appendAll([]T{ev})[0] },
		"Transact": func(ev T) timeseries.Result[T] {
			op := w.Op().Append(ev)
			err := w.DB.Transact(w.Ctx, op)
			var not *timeseries.NotAppliedError
			if errors.As(err, &not) {
				return timeseries.Result[T]{Reason: not.Reason}
			}
			require.NoError(w.T, err)
			return op.Result()
		},
	}
}

// An event that has expired is no event, whether or not DynamoDB has removed it: an append of its time, equal to it or not,
// gives what it gives after the removal, by the same requests.
func TestExpiredEvent_IsNoEvent(t *testing.T) {
	t.Parallel()
	t.Run("late dropped", func(t *testing.T) { t.Parallel(); expiredIsNoEvent(t, tick, timeseries.Older, timeseries.Older) })
	t.Run("late recorded", func(t *testing.T) {
		t.Parallel()
		expiredIsNoEvent(t, func(n, v int) Single { return singleOf("g", fact{at: n, a: v}) }, timeseries.LateRecorded, timeseries.Older)
	})
	t.Run("shards", func(t *testing.T) {
		t.Parallel()
		expiredIsNoEvent(t, func(n, v int) Sharded { return Sharded(singleOf("g", fact{at: n, a: v})) }, timeseries.LateRecorded, timeseries.Older)
	})
	t.Run("no current item", func(t *testing.T) {
		t.Parallel()
		expiredIsNoEvent(t, func(n, v int) Alone { return Alone(singleOf("g", fact{at: n, a: v})) }, "", "")
	})
}

// expiredIsNoEvent requires the reason of an append, and of one in a transaction.
func expiredIsNoEvent[T any](t *testing.T, event func(n, value int) T, reason, joined timeseries.Reason) {
	for _, name := range []string{"Append", "AppendAll", "Transact"} {
		for value := range 2 { // equal to what has expired, or not
			for at := range 2 { // before the time of the current item, or at it
				what := fmt.Sprintf("%s at %d of %d", name, at, value)
				var sent [2][]string
				for removed := range sent {
					w := open[T](t)
					w.seed(event(0, 0), event(1, 0))
					w.Clock.Move(month)
					if removed == 1 {
						for _, it := range w.Items() {
							if dbtest.Text(it["_k"]) == "e" {
								w.RemoveItem(it)
							}
						}
					}
					want := reason
					if name == "Transact" {
						want = joined
					}
					ev := event(at, value)
					got := appends(w)[name](ev)
					sent[removed] = w.operations()
					require.Equal(t, want, got.Reason, what)
					require.Equal(t, want == "", got.Applied, what)
					require.Nil(t, got.Existing, what)
					if want == timeseries.Older {
						require.Empty(t, w.history(ev), what)
						continue
					}
					require.Equal(t, []T{ev}, w.history(ev), "%s: it is an event from now on", what)
					want = timeseries.Duplicate
					require.Equal(t, want, appends(w)[name](ev).Reason, what)
					require.Equal(t, timeseries.Collision, appends(w)[name](event(at, 7)).Reason, what)
				}
				require.Equal(t, sent[1], sent[0], what)
			}
		}
	}
}

// The answer to an append over an expired event is lost, or the request arrives twice: it counts once.
func TestExpiredEvent_IsReplacedOnceWhateverBecomesOfTheAnswer(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Lost, faults.InternalApplied, faults.Twice, faults.Conflict, faults.Drop} {
		w, ev := open[Alone](t), Alone(singleOf("g", fact{at: 3, a: 1}))
		w.seed(ev)
		w.Clock.Move(month)
		w.Wire.Inject(faults.Nth(1, fault, "PutItem"))
		ev.Value = 2
		r, err := w.Append(w.Ctx, ev)
		if fault == faults.Drop { // nothing was applied, and nothing proves it
			require.True(t, entity.IsAmbiguous(err))
			r, err = w.Append(w.Ctx, ev)
		}
		require.NoError(t, err)
		require.True(t, r.Applied, fault)
		w.Wire.Inject(nil)
		require.Equal(t, []Alone{ev}, w.history(ev), fault)
		require.Equal(t, timeseries.Duplicate, w.append(ev).Reason, fault)
	}
}

// Two programs find an expired event, or one finds it and the other has replaced it already: one event is stored.
func TestExpiredEvent_IsReplacedByOneOfTwo(t *testing.T) {
	t.Parallel()
	w, ev := open[Alone](t), Alone(singleOf("g", fact{at: 3}))
	w.seed(ev)
	w.Clock.Move(month)
	mine, other := ev, ev
	mine.Value, other.Value = 1, 2
	require.NoError(t, w.Overtake(dbtest.Is("PutItem"), func() error {
		r, err := w.Append(w.Ctx, mine)
		require.Equal(t, timeseries.Collision, r.Reason)
		require.Equal(t, other, *r.Existing)
		return err
	}, func() { require.True(t, entity.Must(declare[Alone](t, w.Open(w.Raw)).Append(w.Ctx, other)).Applied) }))
	require.Equal(t, []Alone{other}, w.history(ev))
}
