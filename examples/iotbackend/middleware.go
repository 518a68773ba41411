package main

import (
	"context"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"
)

// note is what is logged of a request beside its outcome. The handlers of the request fill it in.
type note struct {
	id    string // of the request
	keyID string
	code  string // of the problem
}

type noteKey struct{}

// noted returns the note of a request.
func noted(r *http.Request) *note {
	if n, ok := r.Context().Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

func requestID(r *http.Request) string { return noted(r).id }

// A client may name its request, to find it in the log.
var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// observed gives every request an id, logs it, and keeps a panic to the one request that it struck. Headers, queries and
// bodies are not logged: secrets travel in them.
func (s *service) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		n := &note{id: r.Header.Get("X-Request-Id")}
		if !requestIDForm.MatchString(n.id) {
			n.id = s.newID()
		}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		seen := &statusWriter{ResponseWriter: w}
		seen.Header().Set("X-Request-Id", n.id)
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				s.log.ErrorContext(r.Context(), "panic", "request_id", n.id, "stack", string(debug.Stack()))
				if seen.status == 0 {
					fail(seen, r, &problem{Status: http.StatusInternalServerError, Code: "INTERNAL", Message: "the request could not be carried out"})
				}
			}
			s.log.InfoContext(r.Context(), "request", "request_id", n.id, "method", r.Method, "path", r.URL.Path, "status", seen.status,
				"code", n.code, "key_id", n.keyID, "ms", time.Since(start).Milliseconds())
		}()
		next.ServeHTTP(seen, r)
	})
}

// bounded ends the work on a request that takes too long.
func (s *service) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the connection's own writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
