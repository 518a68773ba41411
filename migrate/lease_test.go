package migrate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// A run whose clock was hours ahead has died. Another takes over after the time of a lease, whatever end is stored.
func TestCheckpoint_OfADeadRunWhoseClockWasAhead(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.fill(3)
	wire := faults.New(c.Raw.Options().HTTPClient)
	fast := c.Open(c.Through(wire), dbtest.Attempts(1), func(x *entity.Config) { x.Clock = func() time.Time { return c.Clock.Now().Add(5 * time.Hour) } })
	var dead atomic.Bool
	wire.Inject(func(r faults.Request) faults.Fault {
		if dead.Load() {
			return faults.Unsent
		}
		dead.Store(r.Operation == "PutItem") // it has the lease
		return faults.None
	})
	_, err := migrate.Rewrite(c.Ctx, dbtest.Declare[member](t, fast), migrate.Checkpoint("fill"))
	require.Error(t, err)
	var passed atomic.Int64
	engine.DatabaseOf(c.DB).Runner.Elapsed = func() time.Duration { return time.Duration(passed.Load()) }
	run := func() error { _, err := migrate.Rewrite(c.Ctx, c.now, migrate.Checkpoint("fill")); return err }
	var running *migrate.RunningError
	require.ErrorAs(t, run(), &running)
	assert.WithinDuration(t, c.Clock.Now().Add(30*time.Second), running.Until, time.Second)
	passed.Add(int64(30*time.Second - 1))
	require.ErrorIs(t, run(), migrate.ErrRunning)
	passed.Add(1)
	require.NoError(t, run())
	assert.Len(t, c.team("red"), 3)
}

// A run whose context ends while it takes the lease gives up what its write took, or may take later.
func TestCheckpoint_IsGivenUpByARunWhoseContextEnds(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.fill(3)
	other := dbtest.Declare[member](t, c.Open(c.Raw))
	for i, f := range []faults.Fault{faults.Lost, faults.Late, faults.InternalApplied, faults.Drop, faults.Throttle} {
		ctx, stop := context.WithCancel(c.Ctx)
		name, sent := fmt.Sprint("fill-", i), false
		c.Wire.Inject(func(r faults.Request) faults.Fault {
			switch {
			case ctx.Err() != nil:
			case sent:
				stop()
			case r.Operation == "PutItem":
				sent = true
				return f
			}
			return faults.None
		})
		_, err := migrate.Rewrite(ctx, c.now, migrate.Checkpoint(name))
		require.Error(t, err, "%v", f)
		require.True(t, sent)
		c.Wire.Inject(nil)
		_, err = c.Wire.Deliver()
		require.NoError(t, err)
		r, err := migrate.Rewrite(c.Ctx, other, migrate.Checkpoint(name))
		require.NoError(t, err, "%v", f)
		assert.True(t, r.Done)
	}
}
