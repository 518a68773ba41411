package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Fault is what becomes of one request.
type Fault int

// The faults. "Refused" means that the database never sees the request.
const (
	// None lets the request through.
	None Fault = iota

	// Throttle refuses the request because of too much traffic: as ProvisionedThroughputExceededException; for a transaction as
	// TransactionCanceledException, the first action with reason ThrottlingError and, if there are several, the last one with reason
	// ProvisionedThroughputExceeded; for calls that manage tables as ThrottlingException.
	Throttle

	// Conflict refuses the request because a transaction is under way on the item: for a transaction, reading or writing, as
	// TransactionCanceledException whose first action has reason TransactionConflict and the others None; for PutItem, UpdateItem,
	// DeleteItem and ExecuteStatement as TransactionConflictException. The other calls know no conflict: they are throttled.
	Conflict

	// Internal refuses the request with status 500 and InternalServerError.
	Internal

	// InternalApplied lets the request through, but answers like Internal, whatever the database said.
	InternalApplied

	// Drop refuses the request with a connection error that matches [ErrInjected].
	Drop

	// Lost lets the request through and then loses the answer: the caller sees the same connection error as with Drop.
	Lost

	// Twice lets the request through two times, one right after the other, as a proxy does that repeats by itself. The caller sees the second answer.
	Twice

	// Late keeps the request back after it was written, while the caller sees the same connection error as with Lost. [Transport.Deliver] lets it
	// through: after the caller has heard of the failure, and perhaps after its later requests.
	Late

	// Hang refuses the request, but says so only when its context ends. The error is the context's.
	Hang

	// Unprocessed answers BatchWriteItem and BatchGetItem with success, but everything they asked for as unprocessed. The other calls are
	// throttled.
	Unprocessed

	// Unsent refuses the request with a connection error that matches [ErrInjected], before it was written in full: a caller that traces the
	// connection (net/http/httptrace) sees a write that failed. With Drop it sees nothing, as with an HTTP client that knows no traces.
	Unsent

	// Cut lets the request through and breaks the connection in the middle of the answer: status and header arrive, and half of the body.
	Cut
)

var names = [...]string{"None", "Throttle", "Conflict", "Internal", "InternalApplied", "Drop", "Lost", "Twice", "Late", "Hang", "Unprocessed", "Unsent", "Cut"}

// String returns the constant's name.
func (f Fault) String() string {
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprintf("Fault(%d)", int(f))
	}
	return names[f]
}

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
