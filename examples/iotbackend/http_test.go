package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// send makes a request by hand.
func (l *lab) send(method, path, token, body string) (*http.Response, string) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.api.URL+path, strings.NewReader(body))
	require.NoError(l.t, err)
	req.Header.Set("Authorization", token)
	resp, err := l.api.Client().Do(req)
	require.NoError(l.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(l.t, err)
	return resp, string(answer)
}

// Whatever is wrong with a request, the answer is JSON of one form, and nothing was asked of the database.
func TestHTTP_RefusalsHaveOneForm(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const token, post, devices = "Bearer " + apiToken, "POST", "/v1/devices"
	for name, c := range map[string]struct{ method, path, token, body, want string }{
		"no token":          {post, devices, "", "{}", "401 UNAUTHORIZED"},
		"another token":     {post, devices, "Bearer x", "{}", "401 UNAUTHORIZED"},
		"another scheme":    {post, devices, "Basic " + apiToken, "{}", "401 UNAUTHORIZED"},
		"nothing":           {post, devices, token, "", "400 INVALID_JSON"},
		"half of it":        {post, devices, token, `{"boot_id":`, "400 INVALID_JSON"},
		"a list":            {post, devices, token, "[]", "400 INVALID_JSON"},
		"two objects":       {post, devices, token, "{} {}", "400 INVALID_JSON"},
		"another type of":   {post, devices, token, `{"boot_id":7}`, "400 INVALID_JSON"},
		"an unknown field":  {post, devices, token, `{"is_active":true}`, "400 INVALID_JSON"},
		"too large":         {post, devices, token, `{"boot_id":"` + strings.Repeat("x", mostBody) + `"}`, "413 BODY_TOO_LARGE"},
		"invalid values":    {post, devices, token, "{}", "400 VALIDATION_FAILED"},
		"an invalid path":   {"GET", "/v1/devices/x/readings/latest", token, "", "400 VALIDATION_FAILED"},
		"an invalid cursor": {"GET", "/v1/devices?cursor=x", token, "", "400 INVALID_CURSOR"},
	} {
		resp, body := l.send(c.method, c.path, c.token, c.body)
		var p problem
		require.NoError(t, json.Unmarshal([]byte(body), &p), "%s: %s", name, body)
		require.Equal(t, c.want, fmt.Sprint(resp.StatusCode, " ", p.Code), name)
		require.NotEmpty(t, p.Message, name)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"), name)
		require.Equal(t, resp.StatusCode == http.StatusUnauthorized, resp.Header.Get("WWW-Authenticate") != "", name)
	}
	require.Empty(t, l.wire.Requests())
}

// The service takes no new requests when it ends, and answers those that it has.
func TestServe_RequestsUnderWayAreAnswered(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	arrived, release := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-release:
			reply(w, http.StatusOK, "done")
		case <-r.Context().Done():
			reply(w, http.StatusInternalServerError, "cut off")
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, h, slog.New(slog.DiscardHandler), strict) }()
	url := "http://" + listener.Addr().String()
	answered := make(chan string, 1)
	go func() {
		resp, err := http.Get(url)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answered <- string(body)
	}()
	<-arrived
	stop()
	require.Eventually(t, func() bool {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	}, 2*time.Minute, 10*time.Millisecond, "it takes new requests")
	close(release)
	require.Equal(t, "\"done\"\n", <-answered)
	require.NoError(t, <-ended)
}
