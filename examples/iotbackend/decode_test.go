package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slow body is not malformed: sent again, it may arrive.
func TestHTTP_ABodyThatDoesNotArriveIsATimeout(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.wire.Reset()
	api := httptest.NewUnstartedServer(l.routes())
	api.Config.ReadTimeout = 200 * time.Millisecond
	api.Start()
	t.Cleanup(api.Close)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", api.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
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
