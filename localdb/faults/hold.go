package faults

import (
	"context"
	"sync"
)

// hold is one call of [Transport.Hold].
type hold struct {
	match    func(Request) bool
	arrived  chan Request
	released chan struct{}
}

// Hold makes matching requests wait before they are sent, or get their fault, until release is called. With it a test puts concurrent
// writers into the order that it wants:
//
//	arrived, release := transport.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
//	defer release()
//	go slow(ctx)      // reads, and then wants to write
//	<-arrived         // it has read
//	fast(ctx)         // through another client, overtakes it
//	release()         // slow's write meets what fast wrote
//
// Each request that waits is also sent to arrived, in no certain order; nobody has to receive it. The channel is never closed. match is called
// for one request at a time, so it may keep a count ("only the first") without a lock. release lets all requests go that wait and ends the hold; it
// may be called more than once. A request whose context ends stops waiting and fails with the context's error.
func (t *Transport) Hold(match func(Request) bool) (arrived <-chan Request, release func()) {
	h := &hold{match: match, arrived: make(chan Request), released: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds = append(t.holds, h)
	return h.arrived, sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		kept := make([]*hold, 0, len(t.holds))
		for _, other := range t.holds {
			if other != h {
				kept = append(kept, other)
			}
		}
		t.holds = kept // a new slice: requests may be looking through the old one
		close(h.released)
	})
}

// wait announces the request and returns when it may go on.
func (h *hold) wait(ctx context.Context, r Request) error {
	select {
	case h.arrived <- r:
	case <-h.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
