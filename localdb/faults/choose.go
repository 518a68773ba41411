package faults

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Nth returns a function for [Transport.Inject] that gives f to the n-th request, counted from 1, and None to all others. Only
// requests of the named operations ("PutItem") count; without names, all do. It counts from the moment of its making, retries included.
func Nth(n int, f Fault, operations ...string) func(Request) Fault {
	var mu sync.Mutex
	seen := 0
	return func(r Request) Fault {
		if len(operations) > 0 && !slices.Contains(operations, r.Operation) {
			return None
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return f
		}
		return None
	}
}

// Random returns a function for [Transport.Inject] that gives requests a fault with probability rate, each of faults equally
// often; without faults, it gives none. The same seed gives the same sequence of faults, so a single-threaded test is repeatable; which
// of several concurrent requests gets which is up to the scheduler.
func Random(seed uint64, rate float64, faults ...Fault) func(Request) Fault {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 0))
	faults = slices.Clone(faults)
	return func(Request) Fault {
		if len(faults) == 0 {
			return None
		}
		mu.Lock()
		defer mu.Unlock()
		// Two numbers for each request, so that what one request gets does not depend on the rate of those before it.
		hit, which := source.Float64() < rate, source.IntN(len(faults))
		if !hit {
			return None
		}
		return faults[which]
	}
}
