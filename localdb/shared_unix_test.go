//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package localdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFakeDatabase is not a test: it is the database of the tests below, a process that answers like DynamoDB Local.
func TestFakeDatabase(t *testing.T) {
	port, token := os.Getenv("LOCALDB_FAKE_PORT"), os.Getenv("LOCALDB_FAKE_TOKEN")
	if port == "" {
		t.Skip("runs only as a child of another test")
	}
	err := http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == token {
			w.Header().Set("Access-Control-Allow-Origin", token)
		}
		w.Header().Set("Pid", strconv.Itoa(os.Getpid()))
		_, _ = io.WriteString(w, `{"TableNames":[]}`)
	}))
	require.NoError(t, err)
}

// fakes is a list of one candidate, which starts the fake database.
var fakes = []candidate{{"fake", func(ctx context.Context, cfg settings) (*Server, error) {
	return boot(ctx, cfg, patience, recipe{"fake", os.TempDir(), fakeCommand})
}}}

func fakeCommand(port int, token string) []string {
	return []string{"/usr/bin/env", "LOCALDB_FAKE_PORT=" + strconv.Itoa(port), "LOCALDB_FAKE_TOKEN=" + token,
		os.Args[0], "-test.run=^TestFakeDatabase$", "-test.timeout=0"}
}

// pid asks a fake database for its process id.
func pid(t *testing.T, s *Server) int {
	t.Helper()
	resp := must(post(t.Context(), s.http, s.endpoint, "ListTables", "{}", ""))
	_ = resp.Body.Close()
	n := must(strconv.Atoi(resp.Header.Get("Pid")))
	return n
}

// sharing returns settings that form a group of their own.
func sharing(t *testing.T) settings {
	t.Helper()
	return settings{cache: t.TempDir(), notify: io.Discard}
}

func TestShared_ConcurrentStartsGiveOneDatabase(t *testing.T) {
	t.Parallel()
	cfg := sharing(t)
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		servers []*Server
	)
	for range 6 {
		all.Go(func() {
			server, err := openShared(t.Context(), cfg, fakes, 0)
			if assert.NoError(t, err) {
				mu.Lock()
				defer mu.Unlock()
				servers = append(servers, server)
			}
		})
	}
	all.Wait()
	require.Len(t, servers, 6)
	first := pid(t, servers[0])
	for _, s := range servers {
		assert.Equal(t, first, pid(t, s))
		assert.Equal(t, "fake", s.Kind())
		assert.Equal(t, servers[0].Endpoint(), s.Endpoint())
	}

	// It serves exactly as long as one of them uses it.
	for _, s := range servers[1:] {
		require.NoError(t, s.Close())
		require.NoError(t, s.Close(), "a second time is fine")
	}
	assert.Equal(t, first, pid(t, servers[0]))
	require.NoError(t, servers[0].Close())
	ends(t, first)
	left := must(filepath.Glob(filepath.Join(cfg.cache, "shared", "*.[jn]*")))
	assert.Empty(t, left, "no record of an ended database stays")
}

// TestSharer is not a test: it uses the shared database of the given directory until it is killed.
func TestSharer(t *testing.T) {
	cache := os.Getenv("LOCALDB_TEST_SHARER")
	if cache == "" {
		t.Skip("runs only as a child of another test")
	}
	server := must(openShared(t.Context(), settings{cache: cache, notify: io.Discard}, fakes, 0))
	fmt.Printf("\nserver %s\n", server.Endpoint())
	select {}
}

// sharer starts a process that uses the group's database, and returns it with the database's address.
func sharer(t *testing.T, cache string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSharer$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "LOCALDB_TEST_SHARER="+cache)
	stdout := must(cmd.StdoutPipe())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said bytes.Buffer
	for one := make([]byte, 1); ; {
		_, err := stdout.Read(one)
		require.NoError(t, err, said.String())
		said.Write(one)
		if _, rest, ok := strings.Cut(said.String(), "server "); ok && strings.HasSuffix(rest, "\n") {
			return cmd, strings.TrimSpace(rest)
		}
	}
}

func TestShared_OutlivesTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	cfg := sharing(t)
	starter, endpoint := sharer(t, cfg.cache)
	server := must(openShared(t.Context(), cfg, fakes, 0))
	require.Equal(t, endpoint, server.Endpoint())

	require.NoError(t, starter.Process.Kill())
	_ = starter.Wait()
	database := pid(t, server)
	third := must(openShared(t.Context(), cfg, fakes, 0))
	require.Equal(t, database, pid(t, third))

	require.NoError(t, server.Close())
	require.NoError(t, third.Close())
	ends(t, database)
}

func TestShared_StartsAnotherAfterACrash(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"database", "keeper"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			cfg := sharing(t)
			first := must(openShared(t.Context(), cfg, fakes, 0))
			defer func() { assert.NoError(t, first.Close()) }()
			database := pid(t, first)
			killed := database
			if victim == "keeper" {
				killed = parentOf(t, database)
			}
			require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
			ends(t, database)

			second := must(openShared(t.Context(), cfg, fakes, 0))
			again := pid(t, second)
			assert.NotEqual(t, database, again)
			require.NoError(t, second.Close())
			ends(t, again)
		})
	}
}

// parentOf asks ps for the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	out := must(exec.CommandContext(t.Context(), "ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output())
	parent := must(strconv.Atoi(strings.TrimSpace(string(out))))
	return parent
}

// The starter of a database may be killed before it answers.
func TestShared_IgnoresARecordOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	cfg := sharing(t)
	g := must(newGroup(cfg, 0))
	text := must(json.Marshal(record{Kind: "fake", Endpoint: answering(t, http.StatusOK, `{"TableNames":[]}`), Token: "localdb-x"}))
	for name, content := range map[string]string{"of a database that is gone": string(text), "that was cut off": `{"Kind":`, "that is empty": ""} {
		require.NoError(t, os.WriteFile(publicName(g.name), []byte(content), 0o600), name)
		server := must(openShared(t.Context(), cfg, fakes, 0))
		database := pid(t, server)
		require.NoError(t, server.Close())
		ends(t, database)
	}
}

// Another program's database takes the free port before the child does.
func TestBoot_AnotherDatabaseOnThePortIsNotTakenForTheChild(t *testing.T) {
	t.Parallel()
	stranger := answering(t, http.StatusOK, `{"TableNames":[]}`)
	c := must(launch(t.TempDir(), "/bin/sh", "-c", "exec sleep 600"))
	err := c.ready(t.Context(), &Server{endpoint: stranger, token: "localdb-mine", http: newHTTPClient()})
	require.ErrorIs(t, err, errStranger)
	assert.True(t, portTaken(err), "another port is tried")
	ends(t, c.cmd.Process.Pid)
}
