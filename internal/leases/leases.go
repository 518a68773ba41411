// Package leases keeps the lease of a long task: a right that ends unless it is renewed in time, so that another program can take over
// from one that stopped.
package leases

import (
	"context"
	"errors"
	"time"
)

// Duration is how long a lease lasts after its last renewal.
const Duration = 30 * time.Second

// Due reports whether a lease that lasts until end should be renewed: after a third of its duration.
func Due(now, end time.Time) bool { return now.After(end.Add(-Duration * 2 / 3)) }

// Keep runs work and meanwhile calls renew six times per [Duration], which renews the lease if that is due. If renew returns lost,
// Keep cancels the context of work and returns lost. Any other error of renew is harmless, since the next renewal comes soon. When
// Keep returns or work panics, renew is not running, so that the lease can be given up.
func Keep(ctx context.Context, lost error, renew, work func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	defer func() {
		stop(nil)
		<-ended
	}()
	go func() {
		defer close(ended)
		tick := time.NewTicker(Duration / 6)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if errors.Is(renew(ctx), lost) {
				stop(lost)
			}
		}
	}()
	err := work(ctx)
	if errors.Is(context.Cause(ctx), lost) {
		err = lost
	}
	return err
}
