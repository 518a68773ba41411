package faults

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// ErrInjected is matched by the connection errors of [Drop], [Unsent], [Lost], [Late] and [Cut], which the SDK wraps and treats like any other connection error.
var ErrInjected = errors.New("faults: connection reset by test")

// HTTPClient sends requests. It is the type of dynamodb.Options.HTTPClient; *http.Client implements it too.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// Transport sends requests on and injects faults, for dynamodb.Options.HTTPClient. It may be shared by several clients. All
// methods are safe for concurrent use.
type Transport struct {
	next HTTPClient

	// deciding is held while functions of the test run, so that they see one request at a time, in the order of the indexes. It is not mu,
	// so they may call the transport's methods.
	deciding sync.Mutex

	mu       sync.Mutex // guards what follows
	requests []Request
	inject   func(Request) Fault
	holds    []*hold
	late     []*http.Request
}

// New returns a transport that sends requests through next, or through an HTTP client of its own if next is nil. It lets all of them pass until
// [Transport.Inject] says otherwise.
func New(next HTTPClient) *Transport {
	if next == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 64 // parallel tests would otherwise open a connection for most requests
		next = &http.Client{Transport: own}
	}
	return &Transport{next: next}
}

// Inject lets f decide what becomes of each request from now on; nil ends all faults. f is called for one request at a time, in the
// order of their indexes, so it needs no lock of its own; it must not wait for another request. See [Nth] and [Random].
func (t *Transport) Inject(f func(Request) Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inject = f
}

// Do records the request, holds it back, and sends it on or answers it, as [Transport.Hold] and [Transport.Inject] say.
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

// decide records a request and asks the test's functions what becomes of it.
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
