// Package spool sorts more entries than fit into memory. It writes entries beyond a budget of bytes to temporary files
// as sorted runs, and merges the runs when the entries are read back.
package spool

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// Entry is a sort key and its value.
type Entry struct{ Key, Value []byte }

// Spool collects and sorts entries. It is not safe for concurrent use. Close removes its files.
type Spool struct {
	budget  int // bytes to hold in memory
	dir     string
	held    []Entry
	size    int
	runs    []*runFile // in the order of their entries; those merged more often first
	entries int
}

// overhead is the memory of an entry in addition to its bytes.
const overhead = 64

// New returns an empty spool that holds up to budget bytes in memory and writes its runs to dir. "" stands for the
// system's temporary directory.
func New(budget int, dir string) *Spool { return &Spool{budget: budget, dir: dir} }

// Add adds an entry. The spool takes ownership of the slices.
func (s *Spool) Add(key, value []byte) error {
	s.held = append(s.held, Entry{key, value})
	s.size += len(key) + len(value) + overhead
	s.entries++
	if s.size < s.budget {
		return nil
	}
	return s.spill()
}

// Len returns the number of entries.
func (s *Spool) Len() int { return s.entries }

// Spilled returns the number of files.
func (s *Spool) Spilled() int { return len(s.runs) }

// Sorted yields the entries by key, and entries with equal keys in the order in which they were added. It can be called
// again, but after the first call no entry may be added until Reset.
func (s *Spool) Sorted() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s.sort()
		for e, err := range merged(s.runs, s.held) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Reset removes all entries, so that the spool can be used again.
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

func (s *Spool) sort() {
	slices.SortStableFunc(s.held, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
}

// spill writes the held entries as a sorted run, and merges runs if there are many.
func (s *Spool) spill() error {
	s.sort()
	if err := s.write(merged(nil, s.held), 0); err != nil {
		return err
	}
	clear(s.held) // releases the entries and keeps the slice
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

// mergeFan is the number of runs of one level that are merged into one of the next level. An entry is written once per level, and
// little more than mergeFan files per level are open, far fewer than a process may have.
const mergeFan = 64

// write adds a run.
func (s *Spool) write(entries iter.Seq2[Entry, error], level int) error {
	f, err := createRun(s.dir, level)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.runs = append(s.runs, f) // so that Close discards it after an error too
	if err := f.write(entries); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// bufferSize is the buffer size of each run.
const bufferSize = 64 * 1024

// runFile holds a sorted run.
type runFile struct {
	*os.File
	level   int  // how often its entries were merged
	removed bool // unlinked while open
}

// createRun creates the file of a run. If the system permits, it unlinks the file at once, so that a killed process
// leaves no file.
func createRun(dir string, level int) (*runFile, error) {
	f, err := os.CreateTemp(dir, "dynastrata-*.run")
	if err != nil {
		return nil, err
	}
	return &runFile{File: f, level: level, removed: os.Remove(f.Name()) == nil}, nil
}

// discard closes and removes the file.
func (f *runFile) discard() error {
	err := f.Close()
	if !f.removed {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// write writes entries, each as two lengths and its bytes.
func (f *runFile) write(entries iter.Seq2[Entry, error]) error {
	w := bufio.NewWriterSize(f, bufferSize)
	var head []byte
	for e, err := range entries {
		if err != nil {
			return err
		}
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(e.Key))), uint64(len(e.Value)))
		for _, b := range [][]byte{head, e.Key, e.Value} {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// runReader reads back the entries of a file.
type runReader struct {
	r     *bufio.Reader
	entry Entry
	order int // of the runs, for entries with equal keys
}

// next reads the next entry. It returns false at the end.
func (r *runReader) next() (bool, error) {
	keyLength, err := binary.ReadUvarint(r.r)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	valueLength, err2 := binary.ReadUvarint(r.r)
	if err := errors.Join(err, err2); err != nil {
		return false, err
	}
	both := make([]byte, keyLength+valueLength)
	if _, err := io.ReadFull(r.r, both); err != nil {
		return false, err
	}
	r.entry = Entry{both[:keyLength:keyLength], both[keyLength:]}
	return true, nil
}

// merged merges runs with the held entries, which were added last.
func merged(files []*runFile, held []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := merge(files, held, yield); err != nil {
			yield(Entry{}, fmt.Errorf("spool: %w", err))
		}
	}
}

func merge(files []*runFile, held []Entry, yield func(Entry, error) bool) error {
	var runs runHeap
	for i, f := range files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r := &runReader{r: bufio.NewReaderSize(f, bufferSize), order: i}
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			runs = append(runs, r)
		}
	}
	heap.Init(&runs)
	for len(runs) > 0 || len(held) > 0 {
		if len(held) > 0 && (len(runs) == 0 || bytes.Compare(held[0].Key, runs[0].entry.Key) < 0) {
			if !yield(held[0], nil) {
				return nil
			}
			held = held[1:]
			continue
		}
		if !yield(runs[0].entry, nil) {
			return nil
		}
		switch ok, err := runs[0].next(); {
		case err != nil:
			return err
		case ok:
			heap.Fix(&runs, 0)
		default:
			heap.Pop(&runs)
		}
	}
	return nil
}

// runHeap orders runs by their next entry.
type runHeap []*runReader

func (h runHeap) Len() int { return len(h) }

func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h runHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].entry.Key, h[j].entry.Key); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}

func (h *runHeap) Push(x any) { *h = append(*h, x.(*runReader)) }

func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
