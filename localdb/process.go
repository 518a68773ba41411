package localdb

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// errEnded says that a process ended before it served.
var errEnded = errors.New("it ended before it answered")

// child is a process that runs a database and ends with this one, or that keeps a shared one.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer // open as long as the child is to live
	output *tail
	done   chan struct{} // closed when the process has ended
	ended  error         // how it ended; valid once done is closed
	grace  time.Duration // between the interrupt and the kill
	once   sync.Once
}

// launch starts a process that ends with this one. output keeps the last of what it prints.
func launch(dir string, argv ...string) (*child, error) {
	return run(dir, newCommand(argv), nil)
}

// run starts a prepared command. output keeps the last of what it prints; copied gets all of it, unless nil.
func run(dir string, cmd *exec.Cmd, copied io.Writer) (*child, error) {
	cmd.Dir = dir
	c := &child{cmd: cmd, output: &tail{copied: copied}, done: make(chan struct{}), grace: 2 * time.Second}
	cmd.Stdout, cmd.Stderr = c.output, c.output
	cmd.WaitDelay = 2 * time.Second // do not wait for a grandchild that holds the pipe
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// Linux kills the child when the thread that forked it ends, so the thread is kept until the child is gone.
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

// stop interrupts the process, and kills it after its grace. All data is in memory, so nothing is lost.
func (c *child) stop() error {
	c.once.Do(func() {
		_ = c.stdin.Close() // this alone ends a container or a watchdog
		interrupt(c.cmd)
		if c.endsWithin(c.grace) {
			return
		}
		kill(c.cmd)
	})
	if !c.endsWithin(5 * time.Second) {
		return fmt.Errorf("localdb: process %d does not end", c.cmd.Process.Pid)
	}
	return nil
}

// kill kills the process and those it started, and waits for it to end.
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

// tailSize is the number of bytes of a process's output that are kept for the error message.
const tailSize = 8 << 10

// tail is a writer that remembers the last tailSize bytes.
type tail struct {
	copied io.Writer // gets everything too, unless nil; its errors are ignored

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

// String returns what was kept as valid UTF-8, without surrounding space.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), ""))
}
