package localdb

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// lookPath finds a program in PATH, with an absolute path since children run in another directory.
func lookPath(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH", program)
	}
	return filepath.Abs(path)
}

// boot starts a process that serves DynamoDB on a port of its own, and waits until it answers, for no longer than patience.
// command returns the program and its arguments for a port.
func boot(ctx context.Context, kind, dir string, patience time.Duration, command func(port int) []string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for attempt := 1; ; attempt++ {
		server, err := bootOnce(ctx, kind, dir, command)
		if err == nil {
			return server, nil
		}
		// Between our finding a free port and the child's taking it, another program may have taken it.
		if attempt == 3 || !portTaken(err) {
			return nil, err
		}
	}
}

func bootOnce(ctx context.Context, kind, dir string, command func(port int) []string) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	c, err := launch(dir, command(port)...)
	if err != nil {
		return nil, err
	}
	server := &Server{kind: kind, endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), http: newHTTPClient(), child: c}
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

// portTaken tells from what a child said whether its port was taken: Java, Rust and docker all use words of this kind.
func portTaken(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "in use") || strings.Contains(text, "already allocated")
}
