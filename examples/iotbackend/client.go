package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// client calls the service as a device or an administrator would.
type client struct {
	base  string // such as http://127.0.0.1:8080
	token string
	http  *http.Client
	// longest bounds the wait before it sends a request again, whatever the service asks for; attempts is how often it sends
	// a request.
	longest  time.Duration
	attempts int
}

// apiError is the response to a refused request.
type apiError struct {
	Status     int             `json:"-"`
	RetryAfter time.Duration   `json:"-"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Details    json.RawMessage `json:"details"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// call sends a request and decodes the response. It sends it again if the connection broke or the service says that this can
// help: every request of this API can be sent twice.
func (c *client) call(ctx context.Context, method, path string, body, into any) (status int, err error) {
	for n := 1; ; n++ {
		status, err = c.once(ctx, method, path, body, into)
		var refused *apiError
		answered := errors.As(err, &refused)
		if err == nil || answered && refused.RetryAfter == 0 || n >= c.attempts {
			return status, err
		}
		wait := c.longest
		if answered {
			wait = min(wait, refused.RetryAfter)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return status, err
		case <-timer.C:
		}
	}
}

// once sends a request once.
func (c *client) once(ctx context.Context, method, path string, body, into any) (int, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, text)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode >= 400 {
		e := &apiError{Status: resp.StatusCode}
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			e.RetryAfter = time.Duration(seconds) * time.Second
		}
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
