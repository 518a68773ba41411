package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// A Fault says what a [Transport] does to a request.
type Fault int

// The faults. "Refused" means that the database never sees the request.
const (
	// None passes the request on.
	None Fault = iota

	// Throttle refuses the request because of too much traffic: with ProvisionedThroughputExceededException; a transaction
	// with TransactionCanceledException, whose first action has reason ThrottlingError and whose last, if there are
	// several, has reason ProvisionedThroughputExceeded; calls that manage tables with ThrottlingException.
	Throttle

	// Conflict refuses the request because of another transaction on the item: a transaction, reading or writing, with
	// TransactionCanceledException, whose first action has reason TransactionConflict and whose others have None; PutItem,
	// UpdateItem, DeleteItem and ExecuteStatement with TransactionConflictException. Other calls cannot conflict and are
	// throttled.
	Conflict

	// Internal refuses the request with status 500 and InternalServerError.
	Internal

	// InternalApplied passes the request on, but answers like Internal, whatever the database answered.
	InternalApplied

	// Drop refuses the request with a connection error that matches [ErrInjected].
	Drop

	// Lost passes the request on and then loses the answer: the caller sees the same connection error as with Drop.
	Lost

	// Twice passes the request on two times in a row, as a retrying proxy does. The caller sees the second answer.
	Twice

	// Late keeps the request back, while the caller sees the same connection error as with Lost. [Transport.Deliver] passes
	// it on: after the caller has seen the error, and perhaps after its later requests.
	Late

	// Hang refuses the request, but not before its context ends. The error is the context's.
	Hang

	// Unprocessed answers BatchWriteItem and BatchGetItem with success, but returns all their items as unprocessed. Other
	// calls are throttled.
	Unprocessed

	// Unsent refuses the request with a connection error that matches [ErrInjected] before it is written in full: a caller
	// that traces the connection (net/http/httptrace) sees a failed write. With Drop it sees nothing, as with an HTTP
	// client without traces.
	Unsent

	// Cut passes the request on and breaks the connection in the middle of the answer: status, header and half of the body
	// arrive.
	Cut

	// Stall passes the request on and keeps the answer back until the context of the request ends. The error is the
	// context's.
	Stall

	// HotPartition refuses the request like Throttle, because one partition of its table gets too much traffic: the error of
	// a request about items of one table has the reason KeyRangeThroughputExceeded.
	HotPartition
)

var names = [...]string{"None", "Throttle", "Conflict", "Internal", "InternalApplied", "Drop", "Lost", "Twice", "Late", "Hang", "Unprocessed", "Unsent", "Cut", "Stall", "HotPartition"}

// String returns the constant's name.
func (f Fault) String() string {
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprintf("Fault(%d)", int(f))
	}
	return names[f]
}

// Nth returns a function for [Transport.Inject] that gives f to the n-th request, counted from 1, and None to all others.
// Only requests of the named operations ("PutItem") count; without names, all do. It counts from the call of Nth, retries
// included.
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

// Random returns a function for [Transport.Inject] that gives a request one of faults with probability rate, each equally
// often; without faults it gives none. The same seed gives the same sequence of faults, so a single-threaded test is
// repeatable; among concurrent requests, the scheduler decides which gets which.
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
		// Always draw both numbers, so that the sequence does not depend on the rate.
		hit, which := source.Float64() < rate, source.IntN(len(faults))
		if !hit {
			return None
		}
		return faults[which]
	}
}
