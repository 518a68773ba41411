package leases_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/leases"
)

var errLost = errors.New("lost")

func TestDue_AfterAThird(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	assert.False(t, leases.Due(now, now.Add(leases.Duration)))
	assert.False(t, leases.Due(now.Add(leases.Duration/3), now.Add(leases.Duration)))
	assert.True(t, leases.Due(now.Add(leases.Duration/3+1), now.Add(leases.Duration)))
}

func TestKeep_RenewsWhileWorkRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		renewed := 0
		err := leases.Keep(t.Context(), errLost, func(context.Context) error {
			renewed++
			return errors.New("throttled")
		}, func(ctx context.Context) error {
			time.Sleep(leases.Duration + time.Second)
			return ctx.Err()
		})
		require.NoError(t, err, "a renewal that fails does no harm")
		assert.Equal(t, 6, renewed)
		time.Sleep(leases.Duration)
		assert.Equal(t, 6, renewed, "none after the work")
	})
}

func TestKeep_EndsWorkWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := leases.Keep(t.Context(), errLost, func(context.Context) error { return errors.Join(errLost, errors.New("taken")) },
			func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		assert.Equal(t, errLost, err)
	})
}

func TestKeep_StopsRenewingWhenWorkPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		renewed := false
		assert.Panics(t, func() {
			_ = leases.Keep(t.Context(), errLost, func(context.Context) error {
				renewed = true
				return nil
			}, func(context.Context) error { panic("a handler") })
		})
		time.Sleep(leases.Duration)
		assert.False(t, renewed)
	})
}
