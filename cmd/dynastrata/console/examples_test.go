package console

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
)

// keeper stands in front of a database and keeps tables that a program deletes at its end.
func keeper(t *testing.T, endpoint string) *http.Server {
	t.Helper()
	target, err := url.Parse(endpoint)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{} // the default one is shared with servers that close its connections at the end of other tests
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DeleteTable") {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			_, _ = w.Write([]byte("{}"))
			return
		}
		proxy.ServeHTTP(w, r)
	})}
}

var tableLine = regexp.MustCompile(`table (\S+) on`)

// The lock file of an example decodes everything that the example has written.
func TestExamples_AreDecodedByTheirLocks(t *testing.T) {
	client, _ := localdb.Test(t)
	server := keeper(t, *client.Options().BaseEndpoint)
	listener, err := listen()
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	endpoint := "http://" + listener.Addr().String()
	t.Setenv("DYNAMODB_ENDPOINT", endpoint)
	db, err := localdb.Start(t.Context())
	require.NoError(t, err)
	for name, kinds := range map[string][]Kind{
		"lifecycle": {KindCurrent, KindVersion, KindSentinel},
		"telemetry": {KindCurrent, KindEvent},
	} {
		binary := filepath.Join(t.TempDir(), name)
		build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
		build.Dir = "../../../examples/" + name
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
		run := exec.CommandContext(t.Context(), binary)
		run.Env = append(os.Environ(), "DYNAMODB_ENDPOINT="+endpoint)
		out, err = run.CombinedOutput()
		require.NoError(t, err, string(out))
		table := tableLine.FindStringSubmatch(string(out))[1]
		t.Cleanup(func() {
			_, _ = client.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &table})
		})
		lock := "../../../examples/" + name + "/dynastrata.lock"
		var shown, errs bytes.Buffer
		code := Run(t.Context(), App{Client: db.Client()}, Streams{In: strings.NewReader(""), Out: &shown, Err: &errs}, []string{"--lock", lock, "--table", table, "check"})
		require.Contains(t, []int{ExitOK, ExitFindings}, code, errs.String())
		require.NotContains(t, shown.String(), "unknown")
		require.NotContains(t, shown.String(), "broken")
		require.NotContains(t, shown.String(), "table  ")
		s := &session{app: App{}, client: db.Client()}
		seen := map[Kind]int{}
		m := modelOfFile(t, lock, table)
		for page, err := range s.scan(t.Context(), table, &spent{}) {
			require.NoError(t, err)
			for _, it := range page {
				x := m.decode(table, it, noon)
				require.Empty(t, x.Problem, x.Entity)
				seen[x.Kind]++
			}
		}
		for _, k := range kinds {
			require.NotZero(t, seen[k], "%s: %s", name, k)
		}
	}
}
