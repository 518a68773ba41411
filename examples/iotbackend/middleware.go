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
	route string // the pattern that matched, "" for none
	about string // the id in the path, once it is known to be one
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

// requestName is the name that the client gives its request, "" if that is none, or could be an API key.
func requestName(r *http.Request) string {
	name := r.Header.Get("X-Request-Id")
	if !requestIDForm.MatchString(name) || rawKeyForm.MatchString(name) {
		return ""
	}
	return name
}

// method is the method of a request, "" for those that clients make up.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return ""
}

// pathID is the id that a request is about. Only a valid one is noted: anything can stand in its place.
func pathID[ID ~string](r *http.Request, name, tag string) ID {
	id := ID(r.PathValue(name))
	if rules.Var(id, tag) == nil {
		noted(r).about = string(id)
	}
	return id
}

// observed gives every request an id, logs it, and keeps a panic to the one request that it struck. Headers, queries, bodies
// and paths as they came are not logged: secrets travel in them, or are put there by mistake.
func (s *service) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		n := &note{id: requestName(r)}
		if n.id == "" {
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
			s.log.InfoContext(r.Context(), "request", "request_id", n.id, "method", method(r), "route", n.route, "about", n.about,
				"status", seen.status, "code", n.code, "key_id", n.keyID, "ms", time.Since(start).Milliseconds())
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
