package localdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience bounds how long a database may take to answer. A machine may be busy with other things: it is there to end a start that
// hangs, not to measure one.
const patience = 5 * time.Minute

// lookPath finds a program in PATH, with an absolute path since children run in another directory.
func lookPath(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH", program)
	}
	return filepath.Abs(path)
}

// recipe is how a kind of database is started.
type recipe struct {
	kind string
	dir  string // where it runs
	// command returns the program and its arguments for a port. token is a random name by which the database can show who it is; see ping.
	command func(port int, token string) []string
}

// boot starts a process that serves DynamoDB on a port of its own, and waits until it answers, for no longer than patience.
func boot(ctx context.Context, cfg settings, patience time.Duration, r recipe) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for attempt := 1; ; attempt++ {
		server, err := bootOnce(ctx, cfg, r)
		if err == nil {
			return server, nil
		}
		// Between our finding a free port and the child's taking it, another program may have taken it.
		if attempt == 3 || !portTaken(err) {
			return nil, err
		}
	}
}

func bootOnce(ctx context.Context, cfg settings, r recipe) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	token := "localdb-" + strings.ToLower(rand.Text())
	start := cfg.launch
	if start == nil {
		start = launch
	}
	c, err := start(r.dir, r.command(port, token)...)
	if err != nil {
		return nil, err
	}
	server := &Server{kind: r.kind, endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), token: token, http: newHTTPClient(), child: c}
	if err := c.ready(ctx, server); err != nil {
		return nil, err
	}
	return server, nil
}

// freePort returns a port that nothing listens on now.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// portTaken reports whether a child's port was taken: another database answers there, or the child said so. Java, Rust and docker all use
// words of this kind.
func portTaken(err error) bool {
	text := strings.ToLower(err.Error())
	return errors.Is(err, errStranger) || strings.Contains(text, "in use") || strings.Contains(text, "already allocated")
}
