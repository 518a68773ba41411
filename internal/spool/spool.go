// Package spool sorts more entries than memory should hold: what goes beyond a budget of bytes is written to temporary
// files as sorted runs, which are merged when the entries are read back.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
)

// overhead is what an entry takes in memory beside its bytes.
const overhead = 64

// Entry is a key to sort by, as bytes, and what belongs to it.
type Entry struct{ Key, Value []byte }

// Spool collects entries. It is not safe for concurrent use. Close removes its files.
type Spool struct {
	budget  int // bytes held in memory
	dir     string
	held    []Entry
	size    int
	runs    []*os.File
	entries int
}

// New returns an empty spool that holds up to budget bytes in memory and writes its runs to dir, "" for the system's
// directory of temporary files.
func New(budget int, dir string) *Spool { return &Spool{budget: budget, dir: dir} }

// Add keeps an entry. The slices belong to the spool from then on.
func (s *Spool) Add(key, value []byte) error {
	s.held = append(s.held, Entry{key, value})
	s.size += len(key) + len(value) + overhead
	s.entries++
	if s.size < s.budget {
		return nil
	}
	return s.spill()
}

// Len is how many entries there are.
func (s *Spool) Len() int { return s.entries }

// Spilled is how many runs were written to files.
func (s *Spool) Spilled() int { return len(s.runs) }

func (s *Spool) sort() {
	slices.SortStableFunc(s.held, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
}

// spill writes what is held as a sorted run.
func (s *Spool) spill() error {
	s.sort()
	f, err := os.CreateTemp(s.dir, "dynastrata-*.run")
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.runs = append(s.runs, f)
	if err := writeRun(f, s.held); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	clear(s.held) // lets the entries go, and keeps the slice
	s.held, s.size = s.held[:0], 0
	return nil
}

// Reset forgets all entries, for the next use.
func (s *Spool) Reset() error {
	clear(s.held)
	s.held, s.size, s.entries = s.held[:0], 0, 0
	return s.Close()
}

// Close removes the files.
func (s *Spool) Close() error {
	var errs []error
	for _, f := range s.runs {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	s.runs = nil
	return errors.Join(errs...)
}
