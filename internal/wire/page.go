package wire

import (
	"io"
	"sync"
)

// Page holds the items of one answer. It is for one goroutine at a time. After its release it has no answer: its items panic.
type Page struct{ *answer }

// Table is the items of one table in the answer to a BatchGetItem.
type Table struct {
	Name     string
	Items    []Item
	from, to int // in the rows
}

// answer is the body of an answer, and what is found in it. It is kept for the next answer.
type answer struct {
	body   []byte
	at     int // where the parser is
	nodes  []node
	rows   []int32 // of each item its node, -1 if the item is missing
	tables []Table // of a BatchGetItem
	last   byte    // the number of the entry that was read before
	names
	shared
	recent [mostRecent]string // texts of the piece by their hash, empty between answers
}

// bytesPerNode is about how long a value and its name are in a body.
const bytesPerNode = 24

// Memory that a body of more than maxKept bytes, or its values, took is left to the garbage collector. DynamoDB's answers
// have up to 1 MB of items, which is more in JSON.
const (
	maxKept      = 4 << 20
	maxKeptNodes = maxKept / bytesPerNode
)

var unused = sync.Pool{New: func() any { return new(answer) }}

// receive returns an answer with the content of r, which is read to its end, where its checksum is verified. size is the expected
// length, 0 or less if it is unknown. After an error or a panic of r, the memory serves no other answer: a Read that timed out
// may still be writing into it.
func receive(r io.Reader, size int64) (*answer, error) {
	a := unused.Get().(*answer)
	body := a.body[:0]
	if want := max(min(size, maxKept)+1, 1<<10); want > int64(cap(body)) {
		body = make([]byte, 0, want)
	}
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			a.body = body
			return a, nil
		case err != nil:
			return nil, err
		}
	}
}
