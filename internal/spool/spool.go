// Package spool sorts more entries than memory should hold: what goes beyond a budget of bytes is written to temporary
// files as sorted runs, which are merged when the entries are read back.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
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
	runs    []*runFile // in the order of their entries; those that were merged more often come first
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

// Spilled is how many files there are.
func (s *Spool) Spilled() int { return len(s.runs) }

func (s *Spool) sort() {
	slices.SortStableFunc(s.held, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
}

// spill writes what is held as a sorted run, and merges runs when they get many.
func (s *Spool) spill() error {
	s.sort()
	if err := s.write(merged(nil, s.held), 0); err != nil {
		return err
	}
	clear(s.held) // lets the entries go, and keeps the slice
	s.held, s.size = s.held[:0], 0
	for {
		level := s.runs[len(s.runs)-1].level
		first := len(s.runs) - mergeFan
		if first < 0 || s.runs[first].level != level {
			return nil
		}
		if err := s.write(merged(s.runs[first:], nil), level+1); err != nil {
			return err
		}
		var errs []error
		for _, f := range s.runs[first : len(s.runs)-1] {
			errs = append(errs, f.discard())
		}
		s.runs = append(s.runs[:first], s.runs[len(s.runs)-1])
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
}

// fan is how many runs of one level become one of the next. So an entry is written once for each level, and hardly more than
// fan files of each are open, far fewer than a process may have.
const mergeFan = 64

// write adds a run.
func (s *Spool) write(entries iter.Seq2[Entry, error], level int) error {
	f, err := createRun(s.dir, level)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.runs = append(s.runs, f) // which Close discards, whatever comes
	if err := f.write(entries); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
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
		errs = append(errs, f.discard())
	}
	s.runs = nil
	return errors.Join(errs...)
}
