package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// buffered is the size of the buffer of each run.
const buffered = 64 * 1024

// writeRun writes entries, each as two lengths and its bytes, and goes back to the beginning.
func writeRun(f *os.File, entries []Entry) error {
	w := bufio.NewWriterSize(f, buffered)
	var head []byte
	for _, e := range entries {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(e.Key))), uint64(len(e.Value)))
		for _, b := range [][]byte{head, e.Key, e.Value} {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// run reads entries back, one at a time.
type run struct {
	r     *bufio.Reader
	entry Entry
	order int // of the runs: entries with equal keys come in the order in which they were added
}

// next reads the following entry; false at the end.
func (r *run) next() (bool, error) {
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
