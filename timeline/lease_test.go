package timeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

// A builder whose clock was hours ahead has died. Another takes over after the time of a lease, whatever end is stored.
func TestLease_OfADeadBuilderWhoseClockWasAhead(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(*lab, *timeline.View[string, totals]) error{
		"rebuild": func(l *lab, v *timeline.View[string, totals]) error { _, err := v.Rebuild(l.Ctx); return err },
		"job": func(l *lab, v *timeline.View[string, totals]) error {
			job, err := v.BeginJob(l.Ctx)
			if err != nil {
				return err
			}
			return job.Abandon(l.Ctx, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-1", "north", 1)
			ctx, die := context.WithCancel(l.Ctx)
			dead, err := l.ahead(5 * time.Hour).BeginJob(ctx)
			require.NoError(t, err)
			die()
			var passed atomic.Int64
			l.connect()
			engine.DatabaseOf(l.DB).Runner.Elapsed = func() time.Duration { return time.Duration(passed.Load()) }
			v := view(l, l.sites())
			var busy *timeline.BuildingError
			require.ErrorAs(t, build(l, v), &busy)
			assert.WithinDuration(t, l.Clock.Now().Add(30*time.Second), busy.Until, time.Second)
			passed.Add(int64(30*time.Second - 1))
			require.ErrorIs(t, build(l, v), timeline.ErrBuilding)
			passed.Add(1)
			require.NoError(t, build(l, v))
			assert.ErrorIs(t, dead.Abandon(l.Ctx, nil), timeline.ErrLeaseLost)
			rebuild(l, v)
		})
	}
}

// A build whose context ends while it takes the lease gives up what its write took, or may take later.
func TestLease_IsGivenUpByABuildWhoseContextEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	other := *l
	other.connect()
	w := view(&other, other.sites())
	for _, f := range []faults.Fault{faults.Lost, faults.Late, faults.InternalApplied, faults.Drop, faults.Throttle} {
		for range 2 { // the first has no manifest
			ctx, stop := context.WithCancel(l.Ctx)
			sent := false
			l.Wire.Inject(func(r faults.Request) faults.Fault {
				switch {
				case ctx.Err() != nil:
				case sent:
					stop()
				case r.Operation == "UpdateItem" || r.Operation == "PutItem":
					sent = true
					return f
				}
				return faults.None
			})
			_, err := v.Rebuild(ctx)
			require.Error(t, err, "%v", f)
			require.True(t, sent)
			l.Wire.Inject(nil)
			_, err = l.Wire.Deliver()
			require.NoError(t, err)
			rebuild(&other, w)
		}
	}
}
