package main

import (
	"net/http"
	"path"
)

// handler is one operation: it returns the status and the body of the answer, or an error.
type handler func(r *http.Request) (status int, body any, err error)

// routes is the API. Devices present an API key, administrators the admin token.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	device := func(pattern string, h handler) { mux.Handle(pattern, s.answer(s.withKey(h))) }
	admin := func(pattern string, h handler) { mux.Handle(pattern, s.answer(s.withAdminToken(h))) }

	device("POST /v1/devices", s.postDevice)
	device("POST /v1/devices/{hardware_id}/readings", s.postReadings)
	device("GET /v1/devices/{hardware_id}/readings", s.getReadings)
	device("GET /v1/devices/{hardware_id}/readings/latest", s.getLatest)

	admin("GET /v1/devices", s.getDevices)
	admin("PATCH /v1/devices/{hardware_id}", s.patchDevice)
	admin("POST /v1/api-keys", s.postKey)
	admin("GET /v1/api-keys", s.getKeys)
	admin("POST /v1/api-keys/{key_id}/revoke", s.revoke)

	mux.Handle("GET /healthz", s.answer(func(*http.Request) (int, any, error) {
		return http.StatusOK, map[string]string{"status": "ok"}, nil
	}))
	return s.observed(s.bounded(matched(mux)))
}

// matched answers requests without a route like all others: in JSON.
func matched(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if !plain(r.URL.EscapedPath()) { // the mux would redirect to a cleaned path
			pattern, h = "", http.NotFoundHandler()
		}
		if noted(r).route = pattern; pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refusal := &unmatched{header: http.Header{}}
		h.ServeHTTP(refusal, r)
		p := &problem{Status: http.StatusNotFound, Code: "ROUTE_NOT_FOUND", Message: "there is no such resource"}
		if refusal.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", refusal.header.Get("Allow"))
			p = &problem{Status: refusal.status, Code: "METHOD_NOT_ALLOWED", Message: "the resource does not have this method"}
		}
		fail(w, r, p)
	})
}

// plain reports whether a path has no empty and no dotted segments.
func plain(p string) bool {
	return p == path.Clean(p) || p == path.Clean(p)+"/"
}

// unmatched records what the mux writes for a request without a route.
type unmatched struct {
	header http.Header
	status int
}

func (u *unmatched) Header() http.Header         { return u.header }
func (u *unmatched) Write(p []byte) (int, error) { return len(p), nil }
func (u *unmatched) WriteHeader(status int)      { u.status = status }
