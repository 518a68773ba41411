package main

import (
	"net/http"
	"strings"
)

// bearer is the token that a request presents, empty without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// withKey lets a request pass that presents an API key.
func (s *service) withKey(h handler) handler {
	return func(r *http.Request) (int, any, error) {
		key, _, err := s.authenticate(r.Context(), RawKey{bearer(r)})
		if err != nil {
			return 0, nil, err
		}
		noted(r).keyID = string(key.KeyID)
		return h(r)
	}
}

// withAdminToken lets a request pass that presents the admin token.
func (s *service) withAdminToken(h handler) handler {
	return func(r *http.Request) (int, any, error) {
		if !s.admin.equal(bearer(r)) {
			return 0, nil, errUnauthorized
		}
		return h(r)
	}
}
