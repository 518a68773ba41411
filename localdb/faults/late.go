package faults

import (
	"context"
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

// traceUnsent says to a caller that traces the connection that it was had and broke.
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

// Deliver lets the requests through that got the fault [Late] since the last Deliver, in the order in which they came, and returns how many there
// were. They get no other fault, are not held and not recorded again, and nobody sees their answers. The error is one of the connection.
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
