package proof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// sim runs clients on one database, one request at a time. Which request comes next is decided by a seed while every goroutine waits, so that the
// same seed gives the same history, however fast the machine is. It lives in a bubble of package synctest.
type sim struct {
	rng     *rand.Rand
	courier *courier
	clients []*faults.Transport

	mu      sync.Mutex
	twins   map[string]bool   // requests that are delivered twice with nothing in between, by client and order
	last    string            // of them, the one that was delivered once
	ends    map[string]func() // what happens just before a request is sent, by client and order
	late    map[string]bool   // requests whose callers do not wait for them, by client and order
	waiting []*call
	running int // clients at work
	step    int // requests sent so far

	refused map[string]bool  // requests that the database refused, by client and order
	belated map[string]int64 // of these, the step at which another copy was applied
	wrote   map[string]int64 // the steps at which requests were applied first
}

// call is a request that waits for its turn.
type call struct {
	client int
	order  string // distinguishes the requests of one client, but for repetitions
	req    *http.Request
	body   []byte
	done   chan reply // takes one reply without a receiver
}

func (c *call) id() string { return fmt.Sprint(c.client, " ", c.order) }

// idOf returns the id of the call that a request of a client becomes.
func idOf(client int, r faults.Request) string {
	return (&call{client: client, order: orderOf(r.Operation, r.Body)}).id()
}

// pair has a request of a client delivered twice with nothing in between.
func (s *sim) pair(client int, r faults.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.twins == nil {
		s.twins = map[string]bool{}
	}
	s.twins[idOf(client, r)] = true
}

// delay has the caller of a request lose its connection before the request is sent, which then waits with the others and may come much later.
// [faults.Late] would keep the requests that a call makes in parallel in the order in which they came, which is not always the same.
func (s *sim) delay(client int, r faults.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		s.late = map[string]bool{}
	}
	s.late[idOf(client, r)] = true
}

// endAt has f called when a request of a client is on its way.
func (s *sim) endAt(client int, r faults.Request, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends == nil {
		s.ends = map[string]func(){}
	}
	s.ends[idOf(client, r)] = f
}

func (s *sim) end(c *call) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.ends[c.id()]
	delete(s.ends, c.id())
	return f
}

// orderOf distinguishes the requests of a client. The SDK writes the members of an object in any order.
func orderOf(operation string, body []byte) string {
	var content any
	if json.Unmarshal(body, &content) == nil {
		if sorted, err := json.Marshal(content); err == nil {
			body = sorted
		}
	}
	return operation + " " + string(body)
}

type reply struct {
	resp *http.Response
	err  error
}

// gate is the way of one client to the database.
type gate struct {
	s      *sim
	client int
}

// Do waits for its turn. A request whose context ends meanwhile is on its way already, and reaches the database all the same.
func (g gate) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	c := &call{client: g.client, order: orderOf(operation, body), req: req, body: body, done: make(chan reply, 1)}
	g.s.mu.Lock()
	g.s.waiting = append(g.s.waiting, c)
	late := g.s.late[c.id()]
	delete(g.s.late, c.id())
	g.s.mu.Unlock()
	if late {
		return nil, fmt.Errorf("%w before the answer to %s came", faults.ErrInjected, operation)
	}
	select {
	case r := <-c.done:
		return r.resp, r.err
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// join adds a client and returns its transport.
func (s *sim) join() *faults.Transport {
	t := faults.New(gate{s, len(s.clients)})
	s.clients = append(s.clients, t)
	return t
}

// run starts work for each client and ends when all have ended and every late request has arrived.
func (s *sim) run(work func(client int)) {
	s.running = len(s.clients)
	for i := range s.clients {
		go func() {
			defer func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.running--
			}()
			work(i)
		}()
		synctest.Wait() // one goes after the other, from the first step on
	}
	for {
		synctest.Wait()
		next, running := s.pick()
		switch {
		case next != nil:
			if end := s.end(next); end != nil {
				end()
				synctest.Wait()
			}
			r := s.courier.send(next)
			s.note(next, r)
			next.done <- r
		case running > 0:
			time.Sleep(time.Millisecond) // of the bubble's own time: a client pauses
		default:
			return
		}
	}
}

// note writes down what became of a request. One that was refused can be applied when it comes again: a refusal does not spend the token.
func (s *sim) note(c *call, r reply) {
	if r.err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrote == nil {
		s.refused, s.belated, s.wrote = map[string]bool{}, map[string]int64{}, map[string]int64{}
	}
	id, step := c.id(), int64(s.step)
	switch _, before := s.wrote[id]; {
	case r.resp.StatusCode != http.StatusOK:
		s.refused[id] = true
	case s.refused[id] && !before:
		s.belated[id] = step
		fallthrough
	case !before:
		s.wrote[id] = step
	}
}

// pick takes the next request out of those that wait.
func (s *sim) pick() (next *call, running int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, s.running
	}
	slices.SortStableFunc(s.waiting, func(a, b *call) int {
		if a.client != b.client {
			return a.client - b.client
		}
		return strings.Compare(a.order, b.order)
	})
	i := s.rng.IntN(len(s.waiting))
	if twin := slices.IndexFunc(s.waiting, func(c *call) bool { return c.id() == s.last }); s.last != "" && twin >= 0 {
		i = twin
	}
	next = s.waiting[i]
	s.last = ""
	if s.twins[next.id()] {
		s.last = next.id()
		delete(s.twins, s.last)
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.step++
	return next, s.running
}

// now counts the requests sent so far.
func (s *sim) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.step)
}

// courier sends requests from outside the bubble, where connections live.
type courier struct {
	in  chan *http.Request
	out chan reply
}

func newCourier(client aws.HTTPClient) *courier {
	c := &courier{make(chan *http.Request), make(chan reply)}
	go func() {
		for req := range c.in {
			c.out <- carry(client, req)
		}
	}()
	return c
}

// send sends the request of a call and returns the whole answer.
func (c *courier) send(of *call) reply {
	req, err := http.NewRequestWithContext(context.Background(), of.req.Method, of.req.URL.String(), bytes.NewReader(of.body))
	if err != nil {
		return reply{nil, err}
	}
	req.Header = maps.Clone(of.req.Header)
	c.in <- req
	r := <-c.out
	if r.err == nil {
		r.resp.Request = of.req
	}
	return r
}

func carry(client aws.HTTPClient, req *http.Request) reply {
	resp, err := client.Do(req)
	if err != nil {
		return reply{nil, fmt.Errorf("the database does not answer: %w", err)}
	}
	body, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return reply{resp, err}
}

func (c *courier) close() { close(c.in) }
