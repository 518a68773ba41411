package bind

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestBudget_WaitsUntilConsumedUnitsArePaidFor(t *testing.T) {
	t.Parallel()
	b := NewPace(10, 5)
	require.Zero(t, b.Delay(start), "nothing was consumed")
	b.Spend(start, 10, 0)
	require.Zero(t, b.Delay(start), "the units of one second were saved")
	b.Spend(start, 128, 0)
	require.Equal(t, 12800*time.Millisecond, b.Delay(start))
	require.Equal(t, 2800*time.Millisecond, b.Delay(start.Add(10*time.Second)))
	b.Spend(start.Add(10*time.Second), 0, 25)
	require.Equal(t, 4*time.Second, b.Delay(start.Add(10*time.Second)), "the longer of both waits")
	require.Zero(t, b.Delay(start.Add(14*time.Second)))
}

func TestBudget_CountsHalfUnitsAndSmallerOnes(t *testing.T) {
	t.Parallel()
	b := NewPace(1, 0)
	b.Spend(start, 1, 1e9)
	for range 6 {
		b.Spend(start, .5, 0)
	}
	require.Equal(t, 3*time.Second, b.Delay(start), "write units are unlimited")
	for range 10 {
		b.Spend(start, .0625, 0)
	}
	require.Equal(t, 3500*time.Millisecond, b.Delay(start), "the rest of .125 units is kept")
	for range 6 {
		b.Spend(start, .0625, 0)
	}
	require.Equal(t, 4*time.Second, b.Delay(start))
	slow := NewPace(.25, 0)
	slow.Spend(start, 2, 0)
	require.Equal(t, 6*time.Second, slow.Delay(start), "no budget saves less than half a unit")
}

func TestWith_KeepsEachBudgetOnce(t *testing.T) {
	t.Parallel()
	a, b := NewPace(1, 1), NewPace(2, 2)
	ctx := WithPace(WithPace(WithPace(WithPace(t.Context(), a), nil), b), a)
	require.Equal(t, []*Pace{a, b}, PacesOf(ctx))
	require.Empty(t, PacesOf(WithoutPace(ctx)))
	require.Empty(t, PacesOf(t.Context()))
}

func TestWait_EndsAtOnceWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewPace(1, 0)
		b.Spend(time.Now(), 3600, 0)
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, WaitPaces(ctx, []*Pace{b}), context.Canceled)
		require.Equal(t, time.Second, time.Since(begun))
	})
}
