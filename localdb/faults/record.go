package faults

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Request is one HTTP request, as the SDK's client sent it.
type Request struct {
	Index     int    // its place in [Transport.Requests], from 0
	Operation string // the API call, such as "PutItem"
	Body      []byte // its JSON; shared, not to be changed
}

// Requests returns the requests since the start or the last [Transport.Reset], in the order in which they came. Those that got a fault
// are among them, whether or not the database saw them.
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

// Reset forgets the requests so far; the next one has index 0. Faults and holds stay as they are.
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

// operation returns the call's name out of "DynamoDB_20120810.PutItem".
func operation(req *http.Request) string {
	target := req.Header.Get("X-Amz-Target")
	return target[strings.LastIndexByte(target, '.')+1:]
}

// capture reads the request's body and returns it with an equal request that still has it to send.
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
	same := req.WithContext(req.Context()) // a copy: what the caller passed stays as it was
	same.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	same.Body, _ = same.GetBody()
	return same, body, nil
}
