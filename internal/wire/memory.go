package wire

import (
	"io"
	"sync"
)

// memory is what a page uses: it is kept for the next answer.
type memory struct {
	body   []byte
	nodes  []node
	rows   []int32
	page   *Page // one that had no items, and is used again
	names  names
	parser parser
	recent recent // empty between answers
}

// bytesPerNode is about how long a value and its name are in a body.
const bytesPerNode = 24

// Memory that a body of more than maxKept bytes, or its values, took is left to the garbage collector. DynamoDB's answers
// have up to 1 MB of items, which is more in JSON.
const (
	maxKept      = 4 << 20
	maxKeptNodes = maxKept / bytesPerNode
)

var unused = sync.Pool{New: func() any { return new(memory) }}

// read returns a page with the content of r, which is read to its end, where its checksum is verified. size is the expected
// length, 0 or less if it is unknown. After an error or a panic of r, the memory serves no other answer: a Read that timed out
// may still be writing into it.
func read(r io.Reader, size int64) (*Page, error) {
	m := unused.Get().(*memory)
	page := m.page
	if page == nil {
		page = new(Page)
	}
	page.memory, m.page = m, nil
	body := m.body[:0]
	if want := max(min(size, maxKept)+1, 1<<10); want > int64(cap(body)) {
		body = make([]byte, 0, want)
	}
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	m.body = body
	if want := len(body) / bytesPerNode; want > cap(m.nodes) {
		m.nodes = make([]node, 0, want)
	}
	if n := len(m.names.all); n == 0 || n == maxNames {
		m.names.clear()
	}
	page.body, page.nodes, page.rows = body, m.nodes[:0], m.rows[:0]
	return page, nil
}

// releaseEmpty is Release for a page to which no item refers.
func (p *Page) releaseEmpty() {
	p.memory.page = p
	p.Release()
}

// Release ends the use of the page. Its items panic from then on. It may be called twice.
func (p *Page) Release() {
	m := p.memory
	if m == nil {
		return
	}
	if p.nodes != nil {
		m.nodes, m.rows = p.nodes, p.rows
	}
	if n := m.parser.nodes; cap(n) > cap(m.nodes) { // of a body that was not parsed to its end
		m.nodes = n
	}
	m.parser = parser{}
	if p.piece.Cap() > 0 {
		clear(m.recent[:])
	}
	p.body, p.nodes, p.rows, p.tables, p.memory, p.shared = nil, nil, nil, nil, nil, shared{}
	if cap(m.body) <= maxKept && cap(m.nodes) <= maxKeptNodes && cap(m.rows) <= maxKeptNodes {
		unused.Put(m)
	}
}
