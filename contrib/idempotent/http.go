package idempotent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotent-Replayed"
)

// HTTP are the settings of a [Middleware].
type HTTP struct {
	// Scope returns whose keys a request uses, such as the id of the authenticated user: equal keys of different scopes
	// are different keys. It is required, because otherwise a user who guesses a key gets the answer of another.
	Scope func(r *http.Request) string

	// Payload returns what must be the same when the key is, as for [Do]. Default: the method, the URI, the content type
	// and the bytes of the body.
	Payload func(r *http.Request, body []byte) any

	// Kept reports whether an answer is kept. If not, the claim is removed, and a repetition runs the handler again.
	// Default: all below 500 but 408, 425 and 429, which ask for a repetition.
	Kept func(status int) bool

	// OnError, if it is set, is called for each request that the middleware refuses, and for each whose answer could not be
	// kept or whose claim could not be removed.
	OnError func(r *http.Request, err error)

	Optional bool     // a request without a key goes to the handler, unprotected; otherwise it is refused
	Methods  []string // whose requests are protected; default POST, PUT, PATCH and DELETE
	Headers  []string // of the handler that are kept; default: those of the content, ETag, Link and Location
	MaxBody  int64    // bytes that the body of a request may have; default 1 MiB
	Docs     string   // URL of a description for clients, which refusals name; default none
}

type middleware struct {
	HTTP
	op   *Operation
	next http.Handler
}

// Middleware returns a function that makes handlers idempotent by the header Idempotency-Key of
// draft-ietf-httpapi-idempotency-key-header. A repetition gets status, kept headers and body of the first answer, with the
// header Idempotent-Replayed: true. Answers of the middleware itself are application/problem+json:
//
//	400  the key is missing, malformed or longer than 255 bytes, or the body cannot be read
//	409  a request with the key is in progress; Retry-After says for how long at most
//	410  the request was done, but its answer could not be kept
//	413  the body is larger than MaxBody
//	422  the key was used with another payload
//	503  the table is not available
//
// The answer of a handler is sent after it is kept, so it is in memory as a whole: a handler cannot stream, flush or hijack,
// and has no trailers. If it cannot be kept, the first request gets it all the same. The error joins an *entity.InputError
// with the code IDEM-07 for each mistake.
func Middleware(op *Operation, o HTTP) (func(http.Handler) http.Handler, error) {
	var errs []error
	bad := func(field, problem string) { errs = append(errs, mistake(codeHTTP, "idempotent.HTTP", field, problem)) }
	if op == nil || op.records == nil {
		bad("", "the operation must be one that New has returned")
	}
	if o.Scope == nil {
		bad("Scope", "it must return whose keys a request uses")
	}
	if o.MaxBody < 0 {
		bad("MaxBody", "it must not be negative")
	}
	if slices.ContainsFunc(o.Methods, func(m string) bool { return m == "" || strings.ToUpper(m) != m || slices.Contains(safe, m) }) {
		bad("Methods", "they must be methods that change something, in upper case")
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	o.MaxBody = cmp.Or(o.MaxBody, 1<<20)
	if o.Methods == nil {
		o.Methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	}
	if o.Headers == nil {
		o.Headers = []string{"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Type", "Etag", "Last-Modified", "Link", "Location"}
	}
	if o.Kept == nil {
		o.Kept = func(status int) bool {
			return status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly && status != http.StatusTooManyRequests
		}
	}
	if o.Payload == nil {
		o.Payload = func(r *http.Request, body []byte) any {
			return []any{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body}
		}
	}
	return func(next http.Handler) http.Handler { return &middleware{o, op, next} }, nil
}

// safe are the methods that change nothing.
var safe = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

// keyIn returns the key in a header, and whether the header is there. It is a string of RFC 8941, in quotes, or visible ASCII
// without quotes, as many clients send it.
func keyIn(h http.Header) (key string, there, ok bool) {
	values := h.Values(keyHeader)
	if len(values) != 1 {
		return "", len(values) > 0, false
	}
	key = strings.Trim(values[0], " \t")
	least := byte('!')
	if inner, quoted := strings.CutPrefix(key, `"`); quoted {
		if key, ok = unquoted(inner); !ok {
			return "", true, false
		}
		least = ' '
	} else if strings.Contains(key, `"`) {
		return "", true, false
	}
	outside := func(r rune) bool { return r < rune(least) || r > '~' }
	return key, true, len(key) > 0 && len(key) <= 255 && !strings.ContainsFunc(key, outside)
}

// unquoted returns the string that a text after a quotation mark stands for.
func unquoted(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), i == len(text)-1
		case '\\':
			if i++; i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", false
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// reply is the answer of a handler, as it is kept.
type reply struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// errPassed is the error of a handler's answer that is not to be kept.
var errPassed = errors.New("idempotent: the answer is not to be kept")

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(m.Methods, r.Method) {
		m.next.ServeHTTP(w, r)
		return
	}
	key, there, ok := keyIn(r.Header)
	switch {
	case !there && m.Optional:
		m.next.ServeHTTP(w, r)
		return
	case !there:
		m.refuse(w, r, http.StatusBadRequest, mistake(codeKey, "http.Request", keyHeader, "the header is required"))
		return
	case !ok:
		m.refuse(w, r, http.StatusBadRequest, mistake(codeKey, "http.Request", keyHeader, "the header must be one string of 1 to 255 characters"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, m.MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		m.refuse(w, r, status, err)
		return
	}
	m.serve(w, r, strconv.Quote(m.Scope(r))+strconv.Quote(key), body)
}

// serve answers a request with a key and the body that was read.
func (m *middleware) serve(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	var given *recorder // once the handler has answered
	kept, err := DoResult(r.Context(), m.op, key, m.Payload(r, body), func(ctx context.Context) (reply, error) {
		again := r.WithContext(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		answer := &recorder{header: http.Header{}}
		m.next.ServeHTTP(answer, again)
		answer.WriteHeader(http.StatusOK) // unless it has
		given = answer
		if !m.Kept(answer.status) {
			return reply{}, errPassed
		}
		return answer.reply(m.Headers), nil
	})
	var taken *TakenOverError
	switch {
	case given == nil && err != nil:
		m.refuse(w, r, statusOf(err), err)
		return
	case given == nil:
		w.Header().Set(replayHeader, "true")
		given = &recorder{status: kept.Answer.Status, sent: kept.Answer.Header}
		given.body.Write(kept.Answer.Body)
	case errors.As(err, &taken): // the answer that counts is that of another
		m.refuse(w, r, http.StatusConflict, err)
		return
	case err != nil && err != errPassed && m.OnError != nil: // errPassed is joined with what is to be reported
		m.OnError(r, err)
	}
	for name, values := range given.sent {
		w.Header()[name] = values
	}
	w.WriteHeader(given.status)
	_, _ = w.Write(given.body.Bytes()) // the client may have gone
}

// statusOf returns the status of an answer to a request whose handler has not run.
func statusOf(err error) int {
	var progress *InProgressError
	var mismatch *PayloadMismatchError
	var answer *AnswerError
	switch {
	case errors.As(err, &progress):
		return http.StatusConflict
	case errors.As(err, &mismatch):
		return http.StatusUnprocessableEntity
	case errors.As(err, &answer):
		return http.StatusGone
	}
	if class := entity.ClassOf(err); class == entity.ClassUnavailable || class == entity.ClassConflict || class == entity.ClassUnknown {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// titles explain the answers of the middleware. They have no text of errors, which may be about the table.
var titles = map[int]string{
	http.StatusBadRequest:            "Idempotency-Key is missing or malformed, or the body cannot be read",
	http.StatusConflict:              "A request with this Idempotency-Key is in progress",
	http.StatusGone:                  "The request was done, and its answer could not be kept",
	http.StatusRequestEntityTooLarge: "The body is too large",
	http.StatusUnprocessableEntity:   "Idempotency-Key was used with another request",
}

// refuse sends an answer of the middleware's own.
func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	if m.OnError != nil {
		m.OnError(r, err)
	}
	var progress *InProgressError
	if errors.As(err, &progress) {
		w.Header().Set("Retry-After", strconv.Itoa(int((progress.RetryAfter+time.Second-1)/time.Second)))
	} else if status == http.StatusConflict || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if m.Docs != "" {
		w.Header().Set("Link", "<"+m.Docs+`>; rel="describedby"`)
	}
	problem := map[string]any{"type": cmp.Or(m.Docs, "about:blank"), "title": cmp.Or(titles[status], http.StatusText(status)), "status": status}
	text, _ := json.Marshal(problem) // of texts and a number
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}

// recorder keeps the answer of a handler. It can neither flush nor hijack.
type recorder struct {
	header, sent http.Header // sent is a copy of header when the status was written
	status       int
	body         bytes.Buffer
}

func (a *recorder) Header() http.Header { return a.header }

func (a *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status)) // as in net/http, which would do so at each repetition
	}
	if a.status == 0 && status >= 200 { // interim answers are left out
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *recorder) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK) // unless it has
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return a.body.Write(p)
}

// reply returns what is kept of the answer.
func (a *recorder) reply(headers []string) reply {
	kept := http.Header{}
	for _, name := range headers {
		if values := a.sent.Values(name); len(values) > 0 {
			kept[http.CanonicalHeaderKey(name)] = values
		}
	}
	return reply{a.status, kept, a.body.Bytes()}
}
