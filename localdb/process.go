package localdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// errEnded says that a process is gone that should be serving.
var errEnded = errors.New("it ended before it answered")

// child is a database process that lives no longer than this one, or the keeper of a database that others share.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer // open as long as the child shall live
	output *tail
	done   chan struct{} // closed when the process has ended
	ended  error         // how; to be read when done is closed
	once   sync.Once
}

// launch starts a process that ends with this one. The last of what it says is kept in output.
func launch(dir string, argv ...string) (*child, error) {
	return run(dir, newCommand(argv), nil)
}

// run starts a prepared command. What it says is kept in output and copied to copied, unless that is nil.
func run(dir string, cmd *exec.Cmd, copied io.Writer) (*child, error) {
	cmd.Dir = dir
	c := &child{cmd: cmd, output: &tail{copied: copied}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = c.output, c.output
	cmd.WaitDelay = 2 * time.Second // a grandchild that holds the pipe must not hold up Wait
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// Linux ends the child when the thread that forked it ends. Locked to this goroutine, the thread is not given back before the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		c.ended = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// stop asks the process to end, and after two seconds makes it. All data is in memory, so nothing is lost either way.
func (c *child) stop() error {
	c.once.Do(func() {
		_ = c.stdin.Close() // a container, or a watchdog, ends on this alone
		interrupt(c.cmd)
		if c.endsWithin(2 * time.Second) {
			return
		}
		kill(c.cmd)
	})
	if !c.endsWithin(5 * time.Second) {
		return fmt.Errorf("localdb: process %d does not end", c.cmd.Process.Pid)
	}
	return nil
}

// kill ends the process and those that it has started, and waits until it is gone.
func (c *child) kill() {
	kill(c.cmd)
	<-c.done
}

func (c *child) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// ready waits until the child serves endpoint. An error carries the end of what the child said; the child is gone then.
func (c *child) ready(ctx context.Context, server *Server) error {
	err := await(ctx, server.http, server.endpoint, server.token, c.done)
	if err == nil {
		return nil
	}
	_ = c.stop()
	if said := c.output.String(); said != "" {
		return fmt.Errorf("%w; its output:\n%s", err, said)
	}
	return err
}

// tailSize is how much of a process's output is kept for the error message.
const tailSize = 8 << 10

// tail is a writer that remembers the last tailSize bytes.
type tail struct {
	copied io.Writer // gets everything, too; may be nil, and may fail

	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copied != nil {
		_, _ = t.copied.Write(p)
	}
	t.kept = append(t.kept, p...)
	if excess := len(t.kept) - tailSize; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(p), nil
}

// String returns what was kept, as valid UTF-8 without the space around it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), ""))
}
