package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/exampletest"
	"github.com/dynastrata/dynastrata/localdb"
)

func TestDemo_EndsWithOk(t *testing.T) {
	t.Parallel()
	localdb.Test(t) // where there is no database, there is nothing to show
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), &out, environment{envDevices: "mine"}.get))
	text := out.String()
	require.True(t, strings.HasSuffix(text, "\nok\n"), text)
	for _, part := range []string{
		envPepper + " is not set", "tables mine-demo-", "devices: 2 items", "device_readings: 5 items", "processed_batches: 5 items", "api_keys: 1 items",
		"409 BATCH_COLLISION", "401 UNAUTHORIZED", `"gsi1pk":{"S":"devices"}`,
	} {
		require.Contains(t, text, part)
	}
	// A reading with its proof: measured, not computed.
	require.Regexp(t, regexp.MustCompile(`Transact ProcessedBatch and Reading +5 +5 +0\.0 +20\.0 +4\.0`), text)
}

// A story that compares nothing would succeed too.
func TestStory_ReportsWhatIsNotAsItMustBe(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := newStory(io.Discard, l.api.URL, l.cfg, l.clock.Now)
	require.NoError(t, s.do(t.Context(), s.admin, http.MethodGet, "/v1/devices", nil, nil, "201"))
	require.NoError(t, s.do(t.Context(), s.admin, http.MethodGet, "/v1/nothing", nil, nil, "200"))
	require.Len(t, s.broken, 2)
	s = newStory(io.Discard, l.api.URL, l.cfg, l.clock.Now)
	l.registered(greenhouse) // so that its first registration is not the first
	require.NoError(t, s.tell(t.Context()))
	require.NotEmpty(t, s.broken)
}

func TestRun_InterruptedLeavesNoTable(t *testing.T) {
	t.Parallel()
	client, prefix := localdb.Test(t)
	cfg := testConfig(prefix)
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Interrupter{After: "/readings", Cancel: cancel}
	require.ErrorIs(t, run(ctx, out, client, cfg), context.Canceled)
	require.NotContains(t, out.String(), "\nok\n")
	require.NoError(t, drop(ctx, client, cfg))
	_, err := readTables(t.Context(), client, cfg)
	require.Error(t, err)
	require.NoError(t, drop(t.Context(), client, cfg), "dropping again does nothing")
}

// Served for others, nothing is made up: the secrets must be given.
func TestServeAt_NeedsItsSecrets(t *testing.T) {
	t.Parallel()
	err := serveAt(t.Context(), "127.0.0.1:0", func(string) string { return "" }, io.Discard)
	require.ErrorContains(t, err, envPepper)
	require.ErrorContains(t, err, envAdmin)
}

func TestServeAt_ServesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	_, prefix := localdb.Test(t)
	env := environment{
		envPepper: "p", envAdmin: "a", envDevices: prefix + "-d", envReadings: prefix + "-r", envBatches: prefix + "-b", envKeys: prefix + "-k",
	}
	ctx, stop := context.WithCancel(t.Context())
	logs, ended := &journal{}, make(chan error, 1)
	go func() { ended <- serveAt(ctx, "127.0.0.1:0", env.get, logs) }()
	address := regexp.MustCompile(`"address":"([^"]+)"`)
	require.Eventually(t, func() bool { return address.MatchString(logs.String()) }, 5*time.Minute, 10*time.Millisecond)
	c := newClient("http://"+address.FindStringSubmatch(logs.String())[1], "a")
	var made struct {
		APIKey string `json:"api_key"`
	}
	c.succeeds(t, http.MethodPost, "/v1/api-keys", map[string]string{}, &made)
	require.Len(t, made.APIKey, 64)
	stop()
	require.NoError(t, <-ended)
	require.NotContains(t, logs.String(), made.APIKey)
}

// A client sends again what can be sent again, and nothing else.
func TestClient_RepeatsWhatWillPass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.admin()
	c.attempts, c.longest = 3, time.Millisecond
	calls := 0
	l.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			fail(w, r, busy("THROTTLED", "x"))
			return
		}
		fail(w, r, &problem{Status: http.StatusBadRequest, Code: "NO", Message: "x"})
	})
	c.refused(t, http.MethodGet, "/", nil, http.StatusBadRequest, "NO")
	require.Equal(t, 3, calls)
	c.refused(t, http.MethodGet, "/", nil, http.StatusBadRequest, "NO")
	require.Equal(t, 4, calls)
}
