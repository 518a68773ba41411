package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// send makes a request by hand.
func (l *lab) send(method, path, token, contentType, body string) (*http.Response, string) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.api.URL+path, strings.NewReader(body))
	require.NoError(l.t, err)
	req.Header.Set("Authorization", token)
	req.Header.Set("Content-Type", contentType)
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
	const asAdmin, asJSON = "Bearer " + adminToken, "application/json"
	l.wire.Reset()
	for name, c := range map[string]struct {
		method, path, token, contentType, body string
		want                                   string
	}{
		"no such path":      {"GET", "/v2/devices", asAdmin, asJSON, "", "404 ROUTE_NOT_FOUND"},
		"no such method":    {"DELETE", "/v1/devices", asAdmin, asJSON, "", "405 METHOD_NOT_ALLOWED"},
		"no token":          {"POST", "/v1/api-keys", "", asJSON, "{}", "401 UNAUTHORIZED"},
		"another token":     {"POST", "/v1/api-keys", "Bearer x", asJSON, "{}", "401 UNAUTHORIZED"},
		"another scheme":    {"POST", "/v1/api-keys", "Basic " + adminToken, asJSON, "{}", "401 UNAUTHORIZED"},
		"admin as device":   {"POST", "/v1/devices", asAdmin, asJSON, "{}", "401 UNAUTHORIZED"},
		"no content type":   {"POST", "/v1/api-keys", asAdmin, "", "{}", "415 UNSUPPORTED_MEDIA_TYPE"},
		"another type":      {"POST", "/v1/api-keys", asAdmin, "text/plain", "{}", "415 UNSUPPORTED_MEDIA_TYPE"},
		"nothing":           {"POST", "/v1/api-keys", asAdmin, asJSON, "", "400 INVALID_JSON"},
		"no JSON":           {"POST", "/v1/api-keys", asAdmin, asJSON, "{]", "400 INVALID_JSON"},
		"half of it":        {"POST", "/v1/api-keys", asAdmin, asJSON, `{"description":`, "400 INVALID_JSON"},
		"a list":            {"POST", "/v1/api-keys", asAdmin, asJSON, "[]", "400 INVALID_JSON"},
		"null":              {"POST", "/v1/api-keys", asAdmin, asJSON, " null", "400 INVALID_JSON"},
		"a text":            {"POST", "/v1/api-keys", asAdmin, asJSON, `"{}"`, "400 INVALID_JSON"},
		"null to rename":    {"PATCH", "/v1/devices/" + string(macA), asAdmin, asJSON, "null", "400 INVALID_JSON"},
		"spaces":            {"POST", "/v1/api-keys", asAdmin, asJSON, " \n", "400 INVALID_JSON"},
		"something after":   {"POST", "/v1/api-keys", asAdmin, asJSON, "{} x", "400 INVALID_JSON"},
		"another type of":   {"POST", "/v1/api-keys", asAdmin, asJSON, `{"description":7}`, "400 INVALID_JSON"},
		"an unknown field":  {"POST", "/v1/api-keys", asAdmin, asJSON, `{"is_active":true}`, "400 INVALID_JSON"},
		"two objects":       {"POST", "/v1/api-keys", asAdmin, asJSON, `{} {}`, "400 INVALID_JSON"},
		"too large":         {"POST", "/v1/api-keys", asAdmin, asJSON, `{"description":"` + strings.Repeat("x", mostBody) + `"}`, "413 BODY_TOO_LARGE"},
		"an invalid value":  {"POST", "/v1/api-keys", asAdmin, asJSON, `{"description":"grün"}`, "400 VALIDATION_FAILED"},
		"an invalid path":   {"PATCH", "/v1/devices/x", asAdmin, asJSON, `{"friendly_name":"x"}`, "400 VALIDATION_FAILED"},
		"an invalid cursor": {"GET", "/v1/devices?cursor=x", asAdmin, asJSON, "", "400 INVALID_CURSOR"},
	} {
		resp, body := l.send(c.method, c.path, c.token, c.contentType, c.body)
		var p struct{ Code, Message string }
		require.NoError(t, json.Unmarshal([]byte(body), &p), "%s: %s", name, body)
		require.Equal(t, c.want, fmt.Sprint(resp.StatusCode, " ", p.Code), name)
		require.NotEmpty(t, p.Message, name)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"), name)
		require.NotEmpty(t, resp.Header.Get("X-Request-Id"), name)
		require.Equal(t, resp.StatusCode == http.StatusMethodNotAllowed, resp.Header.Get("Allow") != "", name)
		require.Equal(t, resp.StatusCode == http.StatusUnauthorized, resp.Header.Get("WWW-Authenticate") != "", name)
	}
	require.Empty(t, l.wire.Requests())
	resp, _ := l.send("GET", "/healthz", "", "", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	_, body := l.send("POST", "/v1/api-keys", asAdmin, "application/json; charset=utf-8", "{}")
	require.Contains(t, body, "api_key")
}

func TestHTTP_EveryRequestIsLoggedUnderItsID(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.api.URL+"/v1/devices?cursor=in-the-query", nil)
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "mine-1")
	resp, err := l.api.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "mine-1", resp.Header.Get("X-Request-Id"))
	require.Eventually(t, func() bool { return strings.Contains(l.logs.String(), "mine-1") }, 2*time.Minute, time.Millisecond)
	line := l.logs.String()
	for _, part := range []string{`"request_id":"mine-1"`, `"method":"GET"`, `"route":"GET /v1/devices"`, `"status":401`, `"code":"UNAUTHORIZED"`} {
		require.Contains(t, line, part)
	}
	require.NotContains(t, line, "in-the-query")
	for _, bad := range []string{"two words", strings.Repeat("x", 65), `"quote"`} {
		req.Header.Set("X-Request-Id", bad)
		resp, err := l.api.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.NotEqual(t, bad, resp.Header.Get("X-Request-Id"))
	}
}

// Temporary failures are distinguished from permanent ones, with a hint when to retry.
func TestHTTP_FailuresSayWhetherToComeAgain(t *testing.T) {
	t.Parallel()
	for f, c := range map[faults.Fault]struct {
		read, write string
		timeout     time.Duration
	}{
		faults.Throttle: {"THROTTLED", "THROTTLED", requestTimeout},
		faults.Drop:     {"UNAVAILABLE", "OUTCOME_UNKNOWN", requestTimeout},
		faults.Internal: {"UNAVAILABLE", "OUTCOME_UNKNOWN", requestTimeout},
		faults.Hang:     {"TIMEOUT", "OUTCOME_UNKNOWN", 3 * time.Second}, // time for what comes before the write,
	} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			device := l.device()
			l.registered(macA)
			l.timeout = c.timeout
			l.wire.Inject(func(r faults.Request) faults.Fault {
				if strings.Contains(string(r.Body), l.cfg.Keys) || r.Operation == "GetItem" {
					return faults.None
				}
				return f
			})
			path := readingsOf(macA)
			require.Equal(t, time.Second, device.refused(t, "GET", path+"/latest", nil, http.StatusServiceUnavailable, c.read).RetryAfter)
			require.Equal(t, time.Second, device.refused(t, "POST", path, map[string]any{"readings": samples(macA, 1)}, http.StatusServiceUnavailable, c.write).RetryAfter)
		})
	}
}

// When its time is over while it waits to be repeated, a read says what it waited for.
func TestHTTP_TimeThatEndsInAPauseIsReportedByItsCause(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.attempts = 1000
	l.service = newService(l.open(l.client), l.cfg)
	l.api.Config.Handler = l.routes()
	device := l.device()
	l.disturb(faults.Throttle, "Query")
	l.timeout = 2 * time.Second
	device.refused(t, "GET", "/v1/devices/"+string(macA)+"/readings/latest", nil, http.StatusServiceUnavailable, "THROTTLED")
}

func TestHTTP_APanicStrikesOneRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	h := l.observed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(adminToken) }))
	w := &unmatchedBody{unmatched: unmatched{header: http.Header{}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil)
	require.NoError(t, err)
	h.ServeHTTP(w, req)
	require.Equal(t, http.StatusInternalServerError, w.status)
	require.Contains(t, w.body.String(), "INTERNAL")
	require.Contains(t, l.logs.String(), "panic")
	require.NotContains(t, l.logs.String()+w.body.String(), adminToken)
	require.Panics(t, func() {
		l.observed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).ServeHTTP(w, req)
	})
}

// unmatchedBody is a response that keeps its body.
type unmatchedBody struct {
	unmatched
	body bytes.Buffer
}

func (u *unmatchedBody) Write(p []byte) (int, error) { return u.body.Write(p) }

func TestServe_EveryWaitIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(nil, slog.Default(), strict)
	for name, d := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "read": s.ReadTimeout, "write": s.WriteTimeout, "idle": s.IdleTimeout} {
		require.Positive(t, d, name)
	}
	require.Greater(t, s.WriteTimeout, requestTimeout, "an answer that was made in time is sent")
	require.Positive(t, s.MaxHeaderBytes)
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

// A path that the mux would clean is no resource: no page, and no redirection that would lose a request's body.
func TestHTTP_PathsThatAreNotPlainAreNotFound(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, path := range []string{"//v1", "//v1/devices", "/v1//devices", "/v1/./devices", "/v1/x/../devices", "/v1/devices//"} {
		resp, err := http.Get(l.api.URL + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, http.StatusNotFound, resp.StatusCode, path)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"), path)
		require.Equal(t, path, resp.Request.URL.Path, "it was not redirected")
		var said apiError
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&said), path)
		require.Equal(t, "ROUTE_NOT_FOUND", said.Code, path)
	}
}

// An API key that its owner puts in the wrong place is not in the log; ids are, once they are known to be ids.
func TestHTTP_TheLogHasRoutesAndIDsInsteadOfPaths(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	raw, key := l.newAPIKey("")
	l.registered(macA)
	for _, r := range []struct{ method, path, token string }{
		{"GET", "/v1/devices/" + raw.text + "/readings/latest", raw.text},
		{"PATCH", "/v1/devices/" + raw.text, adminToken},
		{"POST", "/v1/api-keys/" + raw.text + "/revoke", adminToken},
		{"GET", "/v1/" + raw.text, adminToken},
		{"DELETE", "/v1/devices/" + raw.text, adminToken},
		{"GET", "/v1//devices/" + raw.text + "/readings", raw.text},
		{raw.text, "/v1/devices", adminToken},
	} {
		resp, body := l.send(r.method, r.path, "Bearer "+r.token, "application/json", `{"friendly_name":"x"}`)
		require.GreaterOrEqual(t, resp.StatusCode, 400, "%s %s", r.path, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.api.URL+"/healthz", nil)
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", raw.text)
	resp, err := l.api.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())

	l.send("PATCH", "/v1/devices/"+string(macA), "Bearer "+adminToken, "application/json", `{"friendly_name":"x"}`)
	l.send("POST", "/v1/api-keys/"+string(key.KeyID)+"/revoke", "Bearer "+adminToken, "", "")
	last := `"route":"POST /v1/api-keys/{key_id}/revoke","about":"` + string(key.KeyID) + `","status":200`
	require.Eventually(t, func() bool { return strings.Contains(l.logs.String(), last) }, 2*time.Minute, time.Millisecond, l.logs)
	logs := l.logs.String()
	require.Contains(t, logs, `"route":"PATCH /v1/devices/{hardware_id}","about":"`+string(macA)+`","status":200`)
	require.Contains(t, logs, `"route":"GET /v1/devices/{hardware_id}/readings/latest","about":"","status":400`)
	require.NotContains(t, logs, raw.text)
	require.NotContains(t, logs, adminToken)
}

// A slow body is not malformed: sent again, it may arrive.
func TestHTTP_ABodyThatDoesNotArriveIsATimeout(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.wire.Reset()
	api := httptest.NewUnstartedServer(l.routes())
	api.Config.ReadTimeout = 200 * time.Millisecond
	api.Config.ReadHeaderTimeout = 2 * time.Minute // the header is in time, however slow this test is
	api.Start()
	t.Cleanup(api.Close)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", api.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	_, err = fmt.Fprintf(conn, "POST /v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", adminToken)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	var p problem
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&p))
	require.Equal(t, "408 BODY_TIMEOUT", fmt.Sprint(resp.StatusCode, " ", p.Code), p.Message)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	require.True(t, resp.Close, "what is left of the body is not read as a request")
	require.Empty(t, l.wire.Requests())
}

func TestHTTP_ProblemsOfABodyDoNotQuoteIt(t *testing.T) {
	t.Parallel()
	var body struct {
		Readings []submission `json:"readings"`
	}
	err := decodeObject([]byte(`{"readings":[{"sensors":{"humidity_pct":1e999}}]}`), &body)
	require.Error(t, err)
	require.Equal(t, "readings.sensors.humidity_pct: a number does not fit there", jsonProblem(err))
}
