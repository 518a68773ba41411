package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// client calls the service as a device would.
type client struct {
	base  string // such as http://127.0.0.1:8080
	token string
}

// apiError is the response to a refused request.
type apiError struct {
	Status     int             `json:"-"`
	RetryAfter string          `json:"-"` // seconds; "": sending the request again would not help
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Details    json.RawMessage `json:"details"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// call sends a request and decodes the response.
func (c *client) call(ctx context.Context, method, path string, body, into any) (status int, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	if resp.StatusCode >= 400 {
		refused := &apiError{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
		if err := d.Decode(refused); err != nil {
			return resp.StatusCode, fmt.Errorf("status %d: %w", resp.StatusCode, err)
		}
		return resp.StatusCode, refused
	}
	if into != nil {
		err = d.Decode(into)
	}
	return resp.StatusCode, err
}
