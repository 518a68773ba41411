package main

import (
	"bytes"
	"strings"
	"sync"
)

// lines keeps a log in memory, so that it can be searched for what must not be in it.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the whole log.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) count() int { return strings.Count(l.String(), `"msg":"request"`) }

// contain reports whether one of texts is in the log.
func (l *lines) contain(texts []secret) bool {
	all := l.String()
	for _, t := range texts {
		if strings.Contains(all, t.text) {
			return true
		}
	}
	return false
}
