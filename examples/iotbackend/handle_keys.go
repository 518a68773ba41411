package main

import (
	"net/http"
	"time"
)

// keyView is an API key as the API shows it: without its hash.
type keyView struct {
	KeyID       UUID4       `json:"key_id"`
	Description Description `json:"description,omitempty"`
	CreatedAt   time.Time   `json:"created_at"`
	LastUsedAt  *time.Time  `json:"last_used_at,omitempty"`
	IsActive    bool        `json:"is_active"`
}

func viewKey(k APIKey) keyView {
	v := keyView{KeyID: k.KeyID, Description: k.Description, CreatedAt: k.CreatedAt, IsActive: k.IsActive}
	if !k.LastUsedAt.IsZero() {
		v.LastUsedAt = &k.LastUsedAt
	}
	return v
}

// postKey makes an API key. Its answer is the only place where the raw key is ever shown.
func (s *service) postKey(r *http.Request) (int, any, error) {
	var body struct {
		Description Description `json:"description"`
	}
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	raw, key, err := s.createKey(r.Context(), body.Description)
	return http.StatusCreated, struct {
		keyView
		APIKey string `json:"api_key"`
	}{viewKey(key), raw.text}, err
}

// getKeys lists API keys, the newest first. Unlike that of the other lists, its limit is brought into its bounds.
func (s *service) getKeys(r *http.Request) (int, any, error) {
	limit, given, err := wholeNumber(r, "limit")
	if err != nil {
		return 0, nil, err
	}
	if !given {
		limit = usualPage
	}
	page, err := s.listKeys(r.Context(), int(min(max(limit, 1), longestKeyPage)), r.URL.Query().Get("cursor"))
	keys := make([]keyView, len(page.Items))
	for i, k := range page.Items {
		keys[i] = viewKey(k)
	}
	return http.StatusOK, struct {
		Keys []keyView `json:"keys"`
		Next string    `json:"next_cursor,omitempty"`
	}{keys, page.Next}, err
}

// revoke makes a key worthless.
func (s *service) revoke(r *http.Request) (int, any, error) {
	key, err := s.revokeKey(r.Context(), pathID[UUID4](r, "key_id", "uuid4"))
	return http.StatusOK, viewKey(key), err
}
