package idempotent_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// site is a server with an idempotent handler that creates payments.
type site struct {
	*lab
	url    string
	handle func(http.ResponseWriter, *http.Request) // what the handler does besides counting
	mu     sync.Mutex
	errs   []error
}

func newSite(t *testing.T, change func(*idempotent.HTTP), o idempotent.Options) *site {
	t.Helper()
	s := &site{lab: newLab(t)}
	s.op = s.open(o)
	options := idempotent.HTTP{
		Scope: func(r *http.Request) string { return r.Header.Get("User") },
		OnError: func(_ *http.Request, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.errs = append(s.errs, err)
		},
	}
	if change != nil {
		change(&options)
	}
	protect, err := idempotent.Middleware(s.op, options)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.runs.Add(1)
		if s.handle != nil {
			s.handle(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		w.Header().Set("Location", fmt.Sprint("/payments/", n))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=secret")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%d,"got":%q}`, n, body)
	})))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics of handlers
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// got is an answer.
type got struct {
	status int
	header http.Header
	body   string
}

func (g got) replayed() bool { return g.header.Get("Idempotent-Replayed") == "true" }

// send sends a request with headers, each "Name: value".
func (s *site) send(method, path, body string, headers ...string) got {
	s.T.Helper()
	r, err := http.NewRequestWithContext(s.Ctx, method, s.url+path, strings.NewReader(body))
	require.NoError(s.T, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return got{}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.T, err)
	return got{answer.StatusCode, answer.Header, string(text)}
}

func (s *site) post(key string) got {
	s.T.Helper()
	return s.send("POST", "/payments", "order", "Idempotency-Key: "+key)
}

// problem requires an answer of the middleware's own.
func (s *site) problem(g got, status int) {
	s.T.Helper()
	assert.Equal(s.T, status, g.status, g.body)
	assert.Equal(s.T, "application/problem+json", g.header.Get("Content-Type"))
	assert.Contains(s.T, g.body, fmt.Sprintf(`"status":%d`, status))
	assert.False(s.T, g.replayed())
}

func TestMiddleware_ARepetitionGetsTheFirstAnswer(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	first := s.post(`"8e03978e"`)
	assert.Equal(t, http.StatusCreated, first.status)
	assert.Equal(t, `{"id":1,"got":"order"}`, first.body)
	assert.Equal(t, "session=secret", first.header.Get("Set-Cookie"))
	assert.False(t, first.replayed())
	for _, key := range []string{`"8e03978e"`, "8e03978e", ` "8e03978e" `} {
		again := s.post(key)
		assert.True(t, again.replayed())
		assert.Equal(t, first.status, again.status)
		assert.Equal(t, first.body, again.body)
		assert.Equal(t, "/payments/1", again.header.Get("Location"))
		assert.Equal(t, "application/json", again.header.Get("Content-Type"))
		assert.Empty(t, again.header.Get("Set-Cookie"), "it is not among the kept headers")
	}
	assert.EqualValues(t, 1, s.runs.Load())
	assert.NotContains(t, fmt.Sprint(s.records()), "secret")
	assert.Empty(t, s.errs)
}

func TestMiddleware_KeepsTheHeadersThatAreChosen(t *testing.T) {
	s := newSite(t, func(o *idempotent.HTTP) { o.Headers = []string{"x-request-id"} }, idempotent.Options{})
	s.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Request-Id"] = []string{"a", "b"}
		w.Header().Set("Location", "/1")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
		_, err := w.Write([]byte("x"))
		assert.ErrorIs(t, err, http.ErrBodyNotAllowed)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X-Late", "1")
	}
	first, again := s.post("k"), s.post("k")
	assert.Equal(t, http.StatusNoContent, first.status)
	assert.Equal(t, "/1", first.header.Get("Location"))
	assert.Equal(t, http.StatusNoContent, again.status)
	assert.Equal(t, []string{"a", "b"}, again.header.Values("X-Request-Id"))
	for _, g := range []got{first, again} {
		assert.Empty(t, g.header.Get("X-Late"), "it was set after the status")
	}
	assert.Empty(t, again.header.Get("Location"))
	assert.True(t, again.replayed())
}

func TestMiddleware_KeysThatAreMissingOrMalformed(t *testing.T) {
	s := newSite(t, func(o *idempotent.HTTP) { o.Docs = "https://example.org/keys" }, idempotent.Options{})
	missing := s.send("POST", "/payments", "order")
	s.problem(missing, http.StatusBadRequest)
	assert.Equal(t, `<https://example.org/keys>; rel="describedby"`, missing.header.Get("Link"))
	assert.Contains(t, missing.body, `"type":"https://example.org/keys"`)
	for _, key := range []string{"", `""`, `"a`, `a"b`, `"a"b`, `"a\b"`, `"a\`, "a b", "ä", strings.Repeat("k", 256)} {
		s.problem(s.post(key), http.StatusBadRequest)
	}
	s.problem(s.send("POST", "/payments", "order", "Idempotency-Key: a", "Idempotency-Key: b"), http.StatusBadRequest)
	assert.Zero(t, s.runs.Load())
	assert.Equal(t, "IDEM-03", dbtest.InputCode(s.errs[0]))
	for _, key := range []string{strings.Repeat("k", 255), `"a b"`, `"a\"b"`, `"a\\b"`, "a/b:c"} {
		assert.Equal(t, http.StatusCreated, s.post(key).status, key)
	}
	assert.EqualValues(t, 5, s.runs.Load())
}

func TestMiddleware_AKeyCanBeOptional(t *testing.T) {
	s := newSite(t, func(o *idempotent.HTTP) { o.Optional = true }, idempotent.Options{})
	for n := range 2 {
		assert.Contains(t, s.send("POST", "/payments", "order").body, fmt.Sprintf(`"id":%d`, n+1))
	}
	assert.Empty(t, s.Operations(), "what has no key is neither stored nor found")
	assert.Equal(t, s.post("k").body, s.post("k").body)
	s.problem(s.post(`"`), http.StatusBadRequest)
}

func TestMiddleware_OnlyMethodsThatChangeSomething(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		for range 2 {
			assert.False(t, s.send(method, "/", "", "Idempotency-Key: k").replayed())
		}
	}
	assert.Empty(t, s.Operations())
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		s.send(method, "/", "", "Idempotency-Key: "+method)
		assert.True(t, s.send(method, "/", "", "Idempotency-Key: "+method).replayed(), method)
	}
}

func TestMiddleware_AnotherRequestUnderTheKey(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	s.post("k")
	for name, other := range map[string]got{
		"body":         s.send("POST", "/payments", "another order", "Idempotency-Key: k"),
		"path":         s.send("POST", "/refunds", "order", "Idempotency-Key: k"),
		"query":        s.send("POST", "/payments?x=1", "order", "Idempotency-Key: k"),
		"method":       s.send("PUT", "/payments", "order", "Idempotency-Key: k"),
		"content type": s.send("POST", "/payments", "order", "Idempotency-Key: k", "Content-Type: text/csv"),
	} {
		t.Log(name)
		s.problem(other, http.StatusUnprocessableEntity)
	}
	assert.EqualValues(t, 1, s.runs.Load())
	assert.True(t, s.post("k").replayed())
	dbtest.As[*idempotent.PayloadMismatchError](t, s.errs[0])
}

func TestMiddleware_ThePayloadCanBeAPart(t *testing.T) {
	s := newSite(t, func(o *idempotent.HTTP) {
		o.Payload = func(_ *http.Request, body []byte) any { return bytes.ToLower(body) }
	}, idempotent.Options{})
	s.post("k")
	assert.True(t, s.send("POST", "/payments?retry=1", "ORDER", "Idempotency-Key: k").replayed())
	s.problem(s.send("POST", "/payments", "another", "Idempotency-Key: k"), http.StatusUnprocessableEntity)
}

func TestMiddleware_AKeyBelongsToItsScope(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	ada := s.send("POST", "/payments", "order", "Idempotency-Key: k", "User: ada")
	bob := s.send("POST", "/payments", "order", "Idempotency-Key: k", "User: bob")
	assert.Contains(t, ada.body, `"id":1`)
	assert.Contains(t, bob.body, `"id":2`)
	assert.False(t, bob.replayed())
}

func TestMiddleware_IsInProgressWhileTheHandlerRuns(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{Lease: 30 * time.Second})
	s.handle = func(w http.ResponseWriter, _ *http.Request) {
		s.handle = nil
		s.Clock.Move(1500 * time.Millisecond)
		busy := s.post("k")
		s.problem(busy, http.StatusConflict)
		assert.Equal(t, "31", busy.header.Get("Retry-After"), "of 32 seconds, rounded up")
		w.WriteHeader(http.StatusAccepted)
	}
	assert.Equal(t, http.StatusAccepted, s.post("k").status)
	assert.Equal(t, http.StatusAccepted, s.post("k").status)
	assert.EqualValues(t, 1, s.runs.Load())
}

func TestMiddleware_AnswersThatAreNotKept(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	for status, kept := range map[int]bool{200: true, 400: true, 404: true, 409: true, 422: true, 408: false, 425: false, 429: false, 500: false, 503: false} {
		s.handle = func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "as the handler says")
		}
		key := fmt.Sprint("k-", status)
		for n := range 2 {
			g := s.post(key)
			assert.Equal(t, status, g.status)
			assert.Equal(t, "as the handler says", g.body)
			assert.Equal(t, kept && n == 1, g.replayed(), status)
		}
	}
	assert.Empty(t, s.errs)
	all := newSite(t, func(o *idempotent.HTTP) { o.Kept = func(int) bool { return true } }, idempotent.Options{})
	all.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	all.post("k")
	assert.True(t, all.post("k").replayed())
}

func TestMiddleware_APanicOfTheHandlerReleasesTheKey(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	for _, handle := range []func(http.ResponseWriter, *http.Request){
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) },
	} {
		s.handle = handle
		assert.Zero(t, s.post("k").status, "the connection breaks, as without the middleware")
		assert.Eventually(t, func() bool { return len(s.records()) == 0 }, 5*time.Second, 5*time.Millisecond)
	}
	s.handle = nil
	assert.Equal(t, http.StatusCreated, s.post("k").status)
}

func TestMiddleware_HandlersCannotStream(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	s.handle = func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		assert.ErrorIs(t, control.Flush(), http.ErrNotSupported)
		_, _, err := control.Hijack()
		assert.ErrorIs(t, err, http.ErrNotSupported)
		_, err = io.WriteString(w, "whole")
		assert.NoError(t, err)
	}
	assert.Equal(t, "whole", s.post("k").body)
	assert.Equal(t, "whole", s.post("k").body)
}

func TestMiddleware_LargeBodiesAndAnswers(t *testing.T) {
	s := newSite(t, func(o *idempotent.HTTP) { o.MaxBody = 10 }, idempotent.Options{MaxAnswer: 200})
	s.problem(s.send("POST", "/", "12345678901", "Idempotency-Key: k"), http.StatusRequestEntityTooLarge)
	assert.Equal(t, http.StatusCreated, s.send("POST", "/", "1234567890", "Idempotency-Key: k").status)
	assert.Empty(t, s.records()[0]["size"])

	s.handle = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 200)) }
	first := s.post("large")
	assert.Equal(t, http.StatusOK, first.status)
	assert.Len(t, first.body, 200, "the first request gets it")
	dbtest.As[*idempotent.AnswerError](t, s.errs[1])
	for range 2 {
		s.problem(s.post("large"), http.StatusGone)
	}
	assert.EqualValues(t, 2, s.runs.Load())
}

func TestMiddleware_TheAnswerThatCountsIsThatOfWhoTookOver(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{Lease: 30 * time.Second})
	s.handle = func(w http.ResponseWriter, _ *http.Request) {
		s.handle = nil
		s.Clock.Move(32 * time.Second)
		assert.Equal(t, http.StatusCreated, s.post("k").status)
		w.WriteHeader(http.StatusOK)
	}
	late := s.post("k")
	s.problem(late, http.StatusConflict)
	assert.Equal(t, "1", late.header.Get("Retry-After"))
	assert.Contains(t, s.post("k").body, `"id":2`)
	dbtest.As[*idempotent.TakenOverError](t, s.errs[0])
}

func TestMiddleware_TheTableIsNotAvailable(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	var from atomic.Int64
	s.Wire.Inject(func(r faults.Request) faults.Fault {
		if from.Load() > 0 && (r.Operation != "PutItem" || from.Load() == 1) {
			return faults.Drop
		}
		return faults.None
	})
	from.Store(1)
	down := s.post("k")
	s.problem(down, http.StatusServiceUnavailable)
	assert.Equal(t, "1", down.header.Get("Retry-After"))
	assert.Zero(t, s.runs.Load())
	assert.NotContains(t, down.body, "PutItem")

	from.Store(2) // the claim succeeds, and no other request
	unkept := s.post("k")
	assert.Equal(t, http.StatusCreated, unkept.status, "the client gets the answer of what was done")
	dbtest.As[*idempotent.NotKeptError](t, s.errs[1])
	s.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	assert.Equal(t, http.StatusBadGateway, s.post("k2").status)
	dbtest.As[*idempotent.ClaimError](t, s.errs[2], "the claim is there until its lease ends")
}

func TestMiddleware_RefusesOptionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	_, err := idempotent.Middleware(nil, idempotent.HTTP{MaxBody: -1, Methods: []string{"GET"}})
	const in = "IDEM-07 idempotent.HTTP."
	assert.Equal(t, []string{in, in + "Scope", in + "MaxBody", in + "Methods"}, mistakes(t, err))
	for _, methods := range [][]string{{"post"}, {""}, {"POST", "TRACE"}} {
		_, err := idempotent.Middleware(&idempotent.Operation{}, idempotent.HTTP{Methods: methods})
		assert.Contains(t, mistakes(t, err), in+"Methods", "%q", methods)
	}
}

// A body that breaks off is no request.
func TestMiddleware_ABodyThatCannotBeRead(t *testing.T) {
	s := newSite(t, nil, idempotent.Options{})
	protect, err := idempotent.Middleware(s.op, idempotent.HTTP{Scope: func(*http.Request) string { return "" }})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("half"), broken{}))
	r.Header.Set("Idempotency-Key", "k")
	protect(http.NotFoundHandler()).ServeHTTP(w, r)
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Empty(t, s.records())
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }
