package main

import (
	"net/http"
	"strings"
)

// routes is the API. Every request needs the token.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"POST /v1/devices":                              s.postDevice,
		"GET /v1/devices":                               s.getDevices,
		"POST /v1/devices/{hardware_id}/readings":       s.postReadings,
		"GET /v1/devices/{hardware_id}/readings":        s.getReadings,
		"GET /v1/devices/{hardware_id}/readings/latest": s.getLatest,
	} {
		mux.Handle(pattern, s.answer(s.withToken(h)))
	}
	return mux
}

// withToken accepts requests with the token.
func (s *service) withToken(h handler) handler {
	return func(r *http.Request) (int, any, error) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !s.token.equal(token) {
			return 0, nil, errUnauthorized
		}
		return h(r)
	}
}
