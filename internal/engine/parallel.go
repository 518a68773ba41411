package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// Parallel runs f(0) … f(n-1), at most width at a time, and waits for all of them. The last one runs on the caller's goroutine, whose stack
// has grown already: a single request needs no other. If one panics, no further one is begun, and Parallel panics with the same value when
// all have ended: f may call functions of the user, who can recover only on his own goroutine.
func Parallel(n, width int, f func(int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	var panicked atomic.Pointer[any]
	defer func() {
		wg.Wait()
		if p := panicked.Load(); p != nil {
			panic(*p)
		}
	}()
	slots := make(chan struct{}, width)
	for i := range n {
		slots <- struct{}{}
		switch {
		case panicked.Load() != nil:
			return
		case i == n-1:
			f(i)
			return
		}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.CompareAndSwap(nil, &p)
				}
				<-slots
			}()
			f(i)
		})
	}
}

// ParallelUntilError is Parallel for work that is of use as a whole only. The first error or panic ends the context of the
// others and keeps further ones from being begun. It returns the first error.
func ParallelUntilError(ctx context.Context, n, width int, f func(ctx context.Context, i int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	var first error
	Parallel(n, width, func(i int) {
		done := false
		defer func() {
			if !done { // it failed, or panics
				cancel()
			}
		}()
		err := ctx.Err()
		if err == nil {
			err = f(ctx, i)
		}
		if done = err == nil; !done {
			once.Do(func() { first = err })
		}
	})
	return first
}
