package localdb

import "net/http"

// turns is a transport that sends one change of a table at a time. DynamoDB Local answers with an InternalFailure, to the
// change or to another request, when it creates, changes or deletes several tables at once.
type turns struct {
	next http.RoundTripper
	busy chan struct{} // holds an element while a change is under way
}

func newTurns(next http.RoundTripper) *turns { return &turns{next: next, busy: make(chan struct{}, 1)} }

// RoundTrip waits for its turn if req changes a table. Waiting ends with the context of req.
func (t *turns) RoundTrip(req *http.Request) (*http.Response, error) {
	if !changesTable(req) {
		return t.next.RoundTrip(req)
	}
	select {
	case t.busy <- struct{}{}:
	case <-req.Context().Done():
		if req.Body != nil { // as http.RoundTripper demands
			_ = req.Body.Close()
		}
		return nil, req.Context().Err()
	}
	defer func() { <-t.busy }()
	return t.next.RoundTrip(req)
}

// CloseIdleConnections is called by the method of http.Client.
func (t *turns) CloseIdleConnections() { (&http.Client{Transport: t.next}).CloseIdleConnections() }

// changesTable reports whether a request creates, changes or deletes a table.
func changesTable(req *http.Request) bool {
	switch req.Header.Get("X-Amz-Target") {
	case targetPrefix + "CreateTable", targetPrefix + "UpdateTable", targetPrefix + "DeleteTable":
		return true
	}
	return false
}
