package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
)

// buffered is the size of the buffer of each run.
const bufferSize = 64 * 1024

// file holds a sorted run.
type runFile struct {
	*os.File
	level   int  // how often its entries were merged
	removed bool // from its directory, though it is still open
}

// create makes the file of a run. Where the system permits it the name is gone at once, so that a process that is killed
// leaves nothing behind.
func createRun(dir string, level int) (*runFile, error) {
	f, err := os.CreateTemp(dir, "dynastrata-*.run")
	if err != nil {
		return nil, err
	}
	return &runFile{File: f, level: level, removed: os.Remove(f.Name()) == nil}, nil
}

// discard ends the file.
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

// run reads the entries of a file back, one at a time.
type runReader struct {
	r     *bufio.Reader
	entry Entry
	order int // of the runs: entries with equal keys come in the order in which they were added
}

// next reads the following entry; false at the end.
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
