package main

import (
	"net/http"
	"strings"
)

// bearer returns the token of a request, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// withKey accepts requests with an API key.
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

// withAdminToken accepts requests with the admin token.
func (s *service) withAdminToken(h handler) handler {
	return func(r *http.Request) (int, any, error) {
		if !s.admin.equal(bearer(r)) {
			return 0, nil, errUnauthorized
		}
		return h(r)
	}
}
