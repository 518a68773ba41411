package localdb

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStart_TakesTheFirstAvailableKind(t *testing.T) {
	t.Parallel()
	var tried []string
	with := func(kind string, err error) candidate {
		return candidate{kind, func(context.Context, settings) (*Server, error) {
			tried = append(tried, kind)
			return &Server{kind: kind}, err
		}}
	}
	list := []candidate{with("one", errors.New("no luck")), with("two", nil), with("three", nil)}

	var said bytes.Buffer
	server, err := start(t.Context(), settings{notify: &said}, list)
	require.NoError(t, err)
	assert.Equal(t, "two", server.Kind())
	assert.Equal(t, "  - one: no luck", server.PassedOver())
	assert.Equal(t, "localdb: using two, for want of a better one:\n  - one: no luck\n", said.String())
	assert.Equal(t, []string{"one", "two"}, tried)

	tried = nil
	server, err = start(t.Context(), settings{kind: "three"}, list)
	require.NoError(t, err)
	assert.Equal(t, "three", server.Kind())
	assert.Empty(t, server.PassedOver())
	assert.Equal(t, []string{"three"}, tried)

	_, err = start(t.Context(), settings{kind: "four"}, list)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `LOCALDB_KIND="four": want one of one, two, three`)
}

func TestStart_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	list := []candidate{
		{"one", func(context.Context, settings) (*Server, error) { cancel(); return nil, ctx.Err() }},
		{"two", func(context.Context, settings) (*Server, error) { panic("not to be tried") }},
	}
	_, err := start(ctx, settings{}, list)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable, "that a start was interrupted says nothing about the set-up")
}

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

// answering returns the URL of a server that gives the same answer to every request.
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

func TestAttach_Fails(t *testing.T) {
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

func TestJavaVersion(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment":                 17,
		"java version \"1.8.0_392\"":                                                          8,
		"openjdk version \"21-ea\" 2023-09-19":                                                21,
		"openjdk version \"25\" 2025-09-16":                                                   25,
		"Picked up JAVA_TOOL_OPTIONS: -Dx=\"9\"\nopenjdk version \"17.0.1\" 2021-10-19\nmore": 17,
	} {
		version, ok := javaVersion(output)
		assert.True(t, ok, output)
		assert.Equal(t, want, version, output)
	}
	_, ok := javaVersion("The operation couldn't be completed. Unable to locate a Java Runtime.")
	assert.False(t, ok)
}
