package localdb

import (
	"io"
	"strings"
	"sync"
)

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
