package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ErrInjected is matched by the connection errors that this package makes. These are of [Drop], [Unsent], [Lost], [Late] and [Cut]. The SDK wraps and
// treats them like any other.
var ErrInjected = errors.New("faults: connection reset by test")

// Transport passes requests on and injects faults, for dynamodb.Options.HTTPClient. Several clients may share it. All
// methods are safe for concurrent use.
type Transport struct {
	next aws.HTTPClient

	// deciding is held while functions of the test run, so that they see one request at a time, in the order of the
	// indexes. It is not mu, so they may call the transport's methods.
	deciding sync.Mutex

	mu       sync.Mutex // guards the fields below
	requests []Request
	inject   func(Request) Fault
	holds    []*hold
	late     []*http.Request
}

// New returns a transport that sends requests through next, or through an HTTP client of its own if next is nil. All
// requests pass until [Transport.Inject] is called.
func New(next aws.HTTPClient) *Transport {
	if next == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 64 // parallel tests would otherwise open a connection for most requests
		next = &http.Client{Transport: own}
	}
	return &Transport{next: next}
}

// Inject sets the function that decides the fault of each request from now on; nil ends all faults. f is called for one
// request at a time, in the order of their indexes, so it needs no lock; it must not wait for another request. See [Nth]
// and [Random].
func (t *Transport) Inject(f func(Request) Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inject = f
}

// Do records the request, holds it back, and passes it on or answers it, as [Transport.Hold] and [Transport.Inject] say.
func (t *Transport) Do(req *http.Request) (*http.Response, error) {
	req, body, err := capture(req)
	if err != nil {
		return nil, fmt.Errorf("faults: read the request: %w", err)
	}
	r, fault, holds := t.decide(operation(req), body)
	for _, h := range holds {
		if err := h.wait(req.Context(), r); err != nil {
			return nil, err
		}
	}
	switch fault {
	case None:
		return t.next.Do(req)
	case Hang:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case Stall:
		if err := t.apply(req.WithContext(context.WithoutCancel(req.Context()))); err != nil {
			return nil, err
		}
		<-req.Context().Done()
		return nil, req.Context().Err()
	case Drop:
		return nil, fmt.Errorf("%w before %s was sent", ErrInjected, r.Operation)
	case Lost, InternalApplied:
		if err := t.apply(req); err != nil {
			return nil, err
		}
		if fault == Lost {
			return nil, fmt.Errorf("%w before the answer to %s came", ErrInjected, r.Operation)
		}
	case Unsent:
		err := fmt.Errorf("%w while %s was written", ErrInjected, r.Operation)
		traceUnsent(req, err)
		return nil, err
	case Twice:
		return t.twice(req)
	case Late:
		t.keep(req)
		return nil, fmt.Errorf("%w before the answer to %s came", ErrInjected, r.Operation)
	case Cut:
		resp, err := t.next.Do(req)
		return cut(resp, err)
	}
	return answer(req, r, fault), nil
}

// decide records a request and asks the test's functions for its fault and the holds that apply.
func (t *Transport) decide(operation string, body []byte) (Request, Fault, []*hold) {
	t.deciding.Lock()
	defer t.deciding.Unlock()
	r := t.record(operation, body)
	t.mu.Lock()
	inject, holds := t.inject, t.holds
	t.mu.Unlock()
	fault := None
	if inject != nil {
		fault = inject(r)
	}
	var matching []*hold
	for _, h := range holds {
		if h.match(r) {
			matching = append(matching, h)
		}
	}
	return r, fault, matching
}

// apply sends the request and reads the whole answer, so that the database is done with it.
func (t *Transport) apply(req *http.Request) error {
	resp, err := t.next.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Request is one HTTP request, as the SDK's client sent it.
type Request struct {
	Index     int    // position in [Transport.Requests], from 0
	Operation string // the API call, such as "PutItem"
	Body      []byte // JSON; shared, do not change it
}

// Requests returns the requests since the start or the last [Transport.Reset], in the order in which they came. Those with
// a fault are included, whether or not the database saw them.
func (t *Transport) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// Count returns how many requests of an operation ("PutItem") there have been since the start or the last [Transport.Reset].
func (t *Transport) Count(operation string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, r := range t.requests {
		if r.Operation == operation {
			n++
		}
	}
	return n
}

// Reset forgets the requests so far; the next one has index 0. Faults and holds stay.
func (t *Transport) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = nil
}

// record remembers a request and gives it its index.
func (t *Transport) record(operation string, body []byte) Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Request{Index: len(t.requests), Operation: operation, Body: body}
	t.requests = append(t.requests, r)
	return r
}

// operation returns the name of the call from a header such as "DynamoDB_20120810.PutItem".
func operation(req *http.Request) string {
	target := req.Header.Get("X-Amz-Target")
	return target[strings.LastIndexByte(target, '.')+1:]
}

// capture reads the request's body and returns an equal request that still has it to send.
func capture(req *http.Request) (*http.Request, []byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil, nil
	}
	body, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, nil, err
	}
	same := req.WithContext(req.Context()) // a copy: the caller's request stays as it was
	same.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	same.Body, _ = same.GetBody()
	return same, body, nil
}

// hold is one call of [Transport.Hold].
type hold struct {
	match    func(Request) bool
	arrived  chan Request
	released chan struct{}
}

// Hold makes matching requests wait before they are sent, or get their fault, until release is called. With it a test orders
// concurrent writers:
//
//	arrived, release := transport.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
//	defer release()
//	go slow(ctx)      // reads, and then wants to write
//	<-arrived         // it has read
//	fast(ctx)         // through another client, overtakes it
//	release()         // slow's write meets what fast wrote
//
// Each waiting request is also sent to arrived, in no certain order; it need not be received. The channel is never closed. match is
// called for one request at a time, so it may keep a count ("only the first") without a lock. release lets all waiting requests go
// and ends the hold; it may be called more than once. A request whose context ends stops waiting and fails with the context's error.
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
		t.holds = kept // a new slice: requests may be iterating over the old one
		close(h.released)
	})
}

// wait announces the request and returns when it may proceed.
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

// keep stores a request for [Transport.Deliver]. A caller that traces the connection sees it written, as with a slow
// network.
func (t *Transport) keep(req *http.Request) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	again := req.WithContext(context.Background()) // it is on its way and no longer depends on the caller
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = append(t.late, again)
}

// traceUnsent shows a tracing caller a connection that broke during the write.
func traceUnsent(req *http.Request, err error) {
	trace := httptrace.ContextClientTrace(req.Context())
	if trace == nil {
		return
	}
	if trace.GetConn != nil {
		trace.GetConn(req.URL.Host)
	}
	if trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// Kept returns how many requests wait for [Transport.Deliver].
func (t *Transport) Kept() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.late)
}

// Deliver passes on the requests that got the fault [Late] since the last Deliver, in the order in which they came, and
// returns how many there were. They get no other fault, are not held or recorded again, and their answers are discarded.
// The error is one of the connection.
func (t *Transport) Deliver() (int, error) {
	t.mu.Lock()
	late := t.late
	t.late = nil
	t.mu.Unlock()
	for i, req := range late {
		if err := t.apply(req); err != nil {
			return i, err
		}
	}
	return len(late), nil
}

// twice sends a request two times and returns the second answer.
func (t *Transport) twice(req *http.Request) (*http.Response, error) {
	if err := t.apply(req); err != nil {
		return nil, err
	}
	if req.GetBody != nil {
		again := req.WithContext(req.Context())
		again.Body, _ = req.GetBody() // the body is in memory: see capture
		req = again
	}
	return t.next.Do(req)
}
