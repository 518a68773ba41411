package faults

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
)

// keep stores a request for [Transport.Deliver]. A caller that traces the connection sees the request written, as with one that a network holds up.
func (t *Transport) keep(req *http.Request) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	again := req.WithContext(context.Background()) // it is on its way, whatever becomes of the caller, who hears no more of it
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = append(t.late, again)
}

// Kept returns how many requests wait for [Transport.Deliver].
func (t *Transport) Kept() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.late)
}

// Deliver sends the requests that [Late] has kept so far, in the order in which they came, and discards the answers. They get no other fault, are
// not held and not recorded again. The errors are those of connections, joined; what the database answers is no error.
func (t *Transport) Deliver() error {
	t.mu.Lock()
	late := t.late
	t.late = nil
	t.mu.Unlock()
	var errs []error
	for _, req := range late {
		errs = append(errs, t.apply(req))
	}
	return errors.Join(errs...)
}

// twice sends a request, and once more, and returns the second answer.
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
