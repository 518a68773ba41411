package spool

import (
	"bufio"
	"bytes"
	"container/heap"
	"fmt"
	"io"
	"iter"
)

// Sorted yields the entries in the order of their keys, equal ones in the order in which they were added. It can be
// called again, and ends the adding.
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

// merged reads runs, and what is still held and was added last, side by side.
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

// heads are runs, ordered by the entry that comes next.
type runHeap []*runReader

func (h runHeap) Len() int      { return len(h) }
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
