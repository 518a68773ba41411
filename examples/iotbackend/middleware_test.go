package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
