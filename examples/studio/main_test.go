package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
)

func TestRun_ServesTheShopUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	localdb.Test(t) // without a database there is nothing to serve
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, write, "127.0.0.1:0")
		write.CloseWithError(err)
		done <- err
	}()
	lines := bufio.NewScanner(read)
	require.True(t, lines.Scan())
	require.True(t, lines.Scan(), "the shop was written: %v", lines.Err())
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, lines.Text(), nil)
	require.NoError(t, err)
	out, err := (&http.Client{Jar: jar}).Do(r)
	require.NoError(t, err)
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	for _, name := range []string{"Customer", "Order", "Session", "Reading", "Timeline-warmest", "edits allowed"} {
		require.True(t, strings.Contains(string(text), name), name)
	}
	stop()
	require.NoError(t, <-done)
}
