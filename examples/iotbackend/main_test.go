package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

func TestDemo_EndsWithOk(t *testing.T) {
	t.Parallel()
	localdb.Test(t) // where there is no database, there is nothing to show
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), &out, environment{envDevices: "mine"}.get))
	text := out.String()
	require.True(t, strings.HasSuffix(text, "\nok\n"), text)
	for _, part := range []string{"tables mine-demo-", "2 acknowledged, 3 duplicates", "409 BATCH_COLLISION", `"gsi1pk":{"S":"devices"}`} {
		require.Contains(t, text, part)
	}
}

// A story that compares nothing would succeed too.
func TestStory_ReportsWhatIsNotAsItMustBe(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := newStory(io.Discard, l.api.URL, apiToken, l.service.clock)
	l.registered(greenhouse) // so that its first registration is not the first
	require.NoError(t, s.tell(t.Context()))
	require.Len(t, s.broken, 1)
	require.NoError(t, s.check(t.Context(), l.raw, l.cfg))
	require.Len(t, s.broken, 1)
	proof := l.stored(l.cfg.Batches)[0]
	proof["hardware_id"] = dbtest.S(string(macB))
	_, err := l.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.cfg.Batches, Item: proof})
	require.NoError(t, err)
	require.NoError(t, s.check(t.Context(), l.raw, l.cfg))
	require.Len(t, s.broken, 2)
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
	_, err := readRaw(t.Context(), client, cfg.Readings)
	require.Error(t, err)
	require.NoError(t, drop(t.Context(), client, cfg), "dropping again does nothing")
}

func TestServeAt_ServesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, serveAt(t.Context(), "127.0.0.1:0", environment{}.get, io.Discard), envToken, "nothing is made up")
	_, prefix := localdb.Test(t)
	env := environment{envToken: apiToken, envDevices: prefix + "-d", envReadings: prefix + "-r", envBatches: prefix + "-b"}
	ctx, stop := context.WithCancel(t.Context())
	logs, ended := &journal{}, make(chan error, 1)
	go func() { ended <- serveAt(ctx, "127.0.0.1:0", env.get, logs) }()
	address := regexp.MustCompile(`"address":"([^"]+)"`)
	require.Eventually(t, func() bool { return address.MatchString(logs.String()) }, 5*time.Minute, 10*time.Millisecond)
	c := newAPIClient("http://" + address.FindStringSubmatch(logs.String())[1])
	c.succeeds(t, http.MethodPost, "/v1/devices", boots(macA, boot1), nil)
	stop()
	require.NoError(t, <-ended)
	require.Contains(t, logs.String(), `"route":"POST /v1/devices","status":201`)
	token := secret{apiToken}
	require.NotContains(t, logs.String()+fmt.Sprintf("%v %+v %#v", token, token, token), apiToken)
}
