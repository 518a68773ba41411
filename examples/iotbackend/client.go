package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// client calls the service as a device or an administrator would.
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
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode >= 400 {
		e := &apiError{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
		if err := json.Unmarshal(answer, e); err != nil {
			return resp.StatusCode, fmt.Errorf("status %d: %w", resp.StatusCode, err)
		}
		return resp.StatusCode, e
	}
	if into == nil {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, json.Unmarshal(answer, into)
}
