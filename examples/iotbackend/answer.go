package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// handler is one operation: it returns the status and the body of the answer, or an error.
type handler func(r *http.Request) (status int, body any, err error)

// answer makes an operation an HTTP handler: it bounds the work on a request, and logs its route, its outcome and nothing that
// the caller sent.
func (s *service) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		status, body, err := h(r)
		if err != nil {
			p := explain(err)
			s.log.WarnContext(ctx, "request failed", "route", r.Pattern, "code", p.Code, "error", err)
			fail(w, p)
			return
		}
		s.log.InfoContext(ctx, "request", "route", r.Pattern, "status", status)
		reply(w, status, body)
	})
}

// fail answers with a problem.
func fail(w http.ResponseWriter, p *problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, p.Status, p)
}

// reply sends a JSON body. It encodes the body before it sends the status, so that a failure can still be reported.
func reply(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"code":"INTERNAL","message":"the answer could not be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that has gone needs no answer
}
