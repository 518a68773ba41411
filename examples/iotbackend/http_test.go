package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		"an unknown field":  {post, devices, token, `{"is_active":true}`, "400 INVALID_JSON"},
		"too large":         {post, devices, token, `{"boot_id":"` + strings.Repeat("x", mostBody) + `"}`, "413 BODY_TOO_LARGE"},
		"invalid values":    {post, devices, token, "{}", "400 VALIDATION_FAILED"},
		"an invalid path":   {"GET", "/v1/devices/x/readings/latest", token, "", "400 VALIDATION_FAILED"},
		"an invalid cursor": {"GET", "/v1/devices?cursor=x", token, "", "400 INVALID_CURSOR"},
	} {
		req := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		req.Header.Set("Authorization", c.token)
		resp := httptest.NewRecorder()
		l.routes().ServeHTTP(resp, req)
		var p problem
		require.NoError(t, json.Unmarshal(resp.Body.Bytes(), &p), name)
		require.Equal(t, c.want, fmt.Sprint(resp.Code, " ", p.Code), name)
		require.NotEmpty(t, p.Message, name)
		require.Equal(t, "application/json", resp.Header().Get("Content-Type"), name)
		require.Equal(t, resp.Code == http.StatusUnauthorized, resp.Header().Get("WWW-Authenticate") != "", name)
	}
	require.Empty(t, l.wire.Requests())
}
