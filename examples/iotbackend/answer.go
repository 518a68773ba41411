package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// answer makes an operation an HTTP handler.
func (s *service) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		status, body, err := h(r)
		if err != nil {
			p := explain(err)
			if p.Status >= http.StatusInternalServerError {
				s.log.ErrorContext(r.Context(), "request failed", "request_id", requestID(r), "code", p.Code, "error", err)
			}
			fail(w, r, p)
			return
		}
		reply(w, status, body)
	})
}

// fail answers with a problem.
func fail(w http.ResponseWriter, r *http.Request, p *problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	noted(r).code = p.Code
	reply(w, p.Status, p)
}

// reply sends a JSON body. It encodes the body before it sends the status, so that a failure can still be reported.
func reply(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"code":"INTERNAL","message":"the answer could not be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err = w.Write(append(text, '\n'))
	if err != nil && !errors.Is(err, http.ErrHandlerTimeout) {
		slog.Debug("answer was not sent", "error", err) // the client has gone
	}
}
