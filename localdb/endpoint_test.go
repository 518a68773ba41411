package localdb

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckEndpoint(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"http://127.0.0.1:8000", "http://localhost:8000/", "https://dynamodb.example.com", "http://[::1]:8000", "http://notamazonaws.com",
		"http://amazonaws.com.example.org",
	} {
		assert.NoError(t, checkEndpoint(good, false), good)
	}
	for _, bad := range []string{"", "localhost:8000", "127.0.0.1:8000", "ftp://localhost", "http://", "http://a b"} {
		assert.Error(t, checkEndpoint(bad, true), bad)
	}
	for _, aws := range []string{
		"https://dynamodb.us-east-1.amazonaws.com", "https://dynamodb.cn-north-1.amazonaws.com.cn", "https://DynamoDB.eu-west-1.AmazonAWS.com.:443/",
		"https://dynamodb.us-east-1.api.aws", "http://amazonaws.com",
	} {
		assert.ErrorContains(t, checkEndpoint(aws, false), "LOCALDB_ALLOW_AWS=1", aws)
		assert.NoError(t, checkEndpoint(aws, true), aws)
	}
}

// answering returns the URL of a server that gives one answer to everything.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAttach(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"open":             answering(t, http.StatusOK, `{"TableNames":[]}`),
		"with credentials": answering(t, http.StatusBadRequest, `{"__type":"x#UnrecognizedClientException"}`),
	} {
		server, err := start(t.Context(), settings{endpoint: url + "/", kind: KindDocker}, nil)
		require.NoError(t, err, name)
		assert.Equal(t, KindEndpoint, server.Kind())
		assert.Equal(t, url, server.Endpoint())
		require.NoError(t, server.Close())
		require.NoError(t, server.Close())
	}
}

func TestAttachFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := start(ctx, settings{endpoint: answering(t, http.StatusOK, "<html>welcome</html>")}, candidates)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "DYNAMODB_ENDPOINT")
	require.ErrorContains(t, err, "what answers is not DynamoDB")

	_, err = start(ctx, settings{endpoint: "https://dynamodb.us-east-1.amazonaws.com"}, candidates)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "LOCALDB_ALLOW_AWS=1")
}
