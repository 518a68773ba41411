package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// settle repeats a write while it is unknown whether it was applied. The library leaves that to its caller if items carry
// nothing that would prove who wrote them, as in tables whose schema is fixed. So write must do no harm if it is applied twice.
func settle(ctx context.Context, write func() error) error {
	const attempts = 5
	for n := 1; ; n++ {
		err := write()
		if !entity.IsAmbiguous(err) || n == attempts || !pause(ctx, n) {
			return err
		}
	}
}

// pause waits for a random time, longer after each attempt. It returns false if ctx ended.
func pause(ctx context.Context, n int) bool {
	timer := time.NewTimer(rand.N(10 * time.Millisecond << min(n, 6)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
