package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
)

func TestParallel_RunsEachOnceAndNoMoreThanItsWidthTogether(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 4, 5, 100} {
		var running, most atomic.Int32
		var runs sync.Map
		engine.Parallel(n, 4, func(i int) {
			defer running.Add(-1)
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			_, twice := runs.LoadOrStore(i, true)
			require.False(t, twice)
		})
		done := 0
		runs.Range(func(any, any) bool { done++; return true })
		require.Equal(t, n, done)
		require.LessOrEqual(t, most.Load(), int32(4))
	}
}

// The caller can recover, when everything has ended, wherever the panic was.
func TestParallel_PanicsOnTheGoroutineOfTheCaller(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 2, 9} {
		for _, width := range []int{1, 3} {
			var running, begun atomic.Int32
			require.PanicsWithValue(t, "broken", func() {
				engine.Parallel(10, width, func(i int) {
					defer running.Add(-1)
					running.Add(1)
					begun.Add(1)
					if i == at {
						panic("broken")
					}
				})
			})
			require.Zero(t, running.Load())
			if width == 1 {
				require.EqualValues(t, at+1, begun.Load())
			}
		}
	}
}

func TestParallelUntilError_EndsTheOthersWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var together sync.WaitGroup
	together.Add(4)
	var begun atomic.Int32
	err := engine.ParallelUntilError(t.Context(), 100, 4, func(ctx context.Context, i int) error {
		begun.Add(1)
		together.Done()
		together.Wait()
		if i == 2 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	require.Equal(t, broken, err)
	require.EqualValues(t, 4, begun.Load())

	require.NoError(t, engine.ParallelUntilError(t.Context(), 0, 4, func(context.Context, int) error { return broken }))
	require.Equal(t, broken, engine.ParallelUntilError(t.Context(), 1, 4, func(context.Context, int) error { return broken }))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, engine.ParallelUntilError(ended, 3, 4, func(context.Context, int) error { return nil }), context.Canceled)
}

// careless is a tracer that returns no context.
type careless struct{ entitytype.Tracer }

func (careless) Start(context.Context, entitytype.Call) context.Context { return nil }
func (careless) End(context.Context, entitytype.Report)                 {}

func TestMeasure_KeepsTheContextIfATracerReturnsNone(t *testing.T) {
	t.Parallel()
	r := &engine.Runner{Tracer: careless{}}
	require.NoError(t, r.Measure(t.Context(), entitytype.Call{Verb: "Get"}, func(ctx context.Context) error { return ctx.Err() }))
}
