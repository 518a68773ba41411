package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Kind is DynamoDB's type of a value.
type Kind uint8

// The types of values. None is the kind of an absent value.
const (
	None Kind = iota
	S
	N
	B
	BOOL
	NULL
	L
	M
	SS
	NS
	BS
)

// node is a value in a body. The nodes of a list, set or map follow its own, up to next.
type node struct {
	name, nameEnd uint32 // the text of the entry's name, if the value is one of a map
	from, to      uint32 // the text of an S, N or B; from is the number of elements of a list, set or map
	next          int32  // the node after this one and its content
	kind          Kind
	escapedName   bool
	escaped       bool // also, of a BOOL or NULL, whether it is true
	number        byte // of the name, 0 if it has none
}

// maxDepth is the most levels of values inside values. DynamoDB allows 32.
const maxDepth = 64

// errOther says that a text is not the JSON that DynamoDB sends. The SDK may still accept it.
var errOther = errors.New("not an answer in DynamoDB's own form")

// parser walks a body once.
type parser struct {
	body  []byte
	at    int
	nodes []node
	text  int // bytes of the strings so far, as the body has them
	names *names
	last  byte // the number of the entry before
}

// space skips white space and returns the next byte, 0 at the end.
func (p *parser) space() byte {
	for p.at < len(p.body) {
		switch c := p.body[p.at]; c {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// take skips white space and c. It reports whether c was there.
func (p *parser) take(c byte) bool {
	if p.at < len(p.body) && p.body[p.at] == c { // the usual case: no white space
		p.at++
		return true
	}
	if p.space() != c {
		return false
	}
	p.at++
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has a high bit at the first byte of v that ends plain text: a quote, a backslash or a control character. Bits of
// later bytes mean nothing.
func special(v uint64) uint64 {
	quote, slash := v^ones*'"', v^ones*'\\'
	return ((v-ones*0x20)&^v | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// str reads a string and returns the bounds of the text between its quotes, and whether it has escapes.
func (p *parser) str() (from, to uint32, escaped, ok bool) {
	if !p.take('"') {
		return 0, 0, false, false
	}
	return p.rest()
}

// plainEnd returns where plain text that begins at i ends, or a place before, close to the end of the body.
func (p *parser) plainEnd(i int) int {
	b := p.body
	for ; i+8 <= len(b); i += 8 {
		if found := special(binary.LittleEndian.Uint64(b[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return i
}

// rest is str after the first quote.
func (p *parser) rest() (from, to uint32, escaped, ok bool) {
	b, i := p.body, p.at
	start := i
	for {
		i = p.plainEnd(i)
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			i++
		}
		switch {
		case i >= len(b) || b[i] < 0x20:
			return 0, 0, false, false
		case b[i] == '"':
			p.at = i + 1
			return uint32(start), uint32(i), escaped, true
		}
		n := escapeLength(b[i:])
		if n == 0 {
			return 0, 0, false, false
		}
		escaped, i = true, i+n
	}
}

// escapeLength returns the length of the escape that b begins with, or 0.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// literal reads a word such as true.
func (p *parser) literal(word string) bool {
	p.space()
	end := p.at + len(word)
	if end > len(p.body) || string(p.body[p.at:end]) != word {
		return false
	}
	p.at = end
	return true
}

// kinds has the types with a name of one letter.
var kinds = [256]Kind{'S': S, 'N': N, 'B': B, 'L': L, 'M': M}

// kindOf reads the name of a value's type.
func (p *parser) kindOf() Kind {
	if b := p.body[p.at:]; len(b) > 2 && b[0] == '"' && b[2] == '"' { // the usual case: no white space
		p.at += 3
		return kinds[b[1]]
	}
	from, to, escaped, ok := p.str()
	if !ok || escaped {
		return None
	}
	switch string(p.body[from:to]) {
	case "S":
		return S
	case "N":
		return N
	case "B":
		return B
	case "BOOL":
		return BOOL
	case "NULL":
		return NULL
	case "L":
		return L
	case "M":
		return M
	case "SS":
		return SS
	case "NS":
		return NS
	case "BS":
		return BS
	}
	return None
}

// kind reads {"S":" or how another type begins.
func (p *parser) kind(n *node) bool {
	if !p.take('{') {
		return false
	}
	if n.kind = p.kindOf(); n.kind == None || !p.take(':') {
		return false
	}
	return n.kind > N || p.take('"')
}

// text is how most elements of lists begin.
const text = `{"S":"`

// value reads {"S":"…"} or another type, and adds its nodes.
func (p *parser) value(depth int) bool {
	var n node
	if end := p.at + len(text); end <= len(p.body) && string(p.body[p.at:end]) == text {
		n.kind, p.at = S, end
	} else if !p.kind(&n) {
		return false
	}
	return p.content(n, depth)
}

// content reads what follows the type of a value. n has the name of an entry.
func (p *parser) content(n node, depth int) bool {
	if n.kind <= N { // most values
		return p.plain(n) && p.take('}')
	}
	if depth > maxDepth {
		return false
	}
	switch n.kind {
	case B:
		if !p.take('"') || !p.plain(n) {
			return false
		}
	case BOOL, NULL:
		if n.escaped = p.space() == 't'; n.escaped && !p.literal("true") || !n.escaped && !p.literal("false") {
			return false
		}
		n.next = int32(len(p.nodes)) + 1
		p.nodes = append(p.nodes, n)
	case M:
		if !p.entries(n, depth) {
			return false
		}
	default:
		if !p.elements(n, depth) {
			return false
		}
	}
	return p.take('}')
}

// plain reads the text of an S, N or B after the first quote.
func (p *parser) plain(n node) (ok bool) {
	if i := p.plainEnd(p.at); n.kind <= N && i < len(p.body) && p.body[i] == '"' {
		n.from, n.to, p.at = uint32(p.at), uint32(i), i+1
	} else if n.from, n.to, n.escaped, ok = p.rest(); !ok || n.kind == B && !p.base64(&n) {
		return false
	}
	if n.kind == S {
		p.text += int(n.to - n.from)
	}
	n.next = int32(len(p.nodes)) + 1
	p.nodes = append(p.nodes, n)
	return true
}

// base64 reports whether the text of n is base64.
func (p *parser) base64(n *node) bool {
	text := p.body[n.from:n.to]
	if n.escaped { // such as \/
		text = appendUnescaped(nil, text)
	}
	return isBase64(text)
}

// elementKinds has the types of the elements of sets.
var elementKinds = [...]Kind{SS: S, NS: N, BS: B}

// elements reads a list or set.
func (p *parser) elements(n node, depth int) bool {
	at, set := len(p.nodes), n.kind != L
	p.nodes = append(p.nodes, n)
	if !p.take('[') {
		return false
	}
	count := uint32(0)
	for more := p.space() != ']'; more; more = p.take(',') {
		if set && !(p.take('"') && p.plain(node{kind: elementKinds[n.kind]})) || !set && !p.value(depth+1) {
			return false
		}
		count++
	}
	p.nodes[at].from, p.nodes[at].next = count, int32(len(p.nodes))
	return p.take(']')
}

// entries reads an object whose members are values, such as an item.
func (p *parser) entries(n node, depth int) bool {
	at := len(p.nodes)
	p.nodes = append(p.nodes, n)
	if !p.take('{') {
		return false
	}
	count := uint32(0)
	for more := p.space() != '}'; more; more = p.take(',') {
		if !p.entry(depth + 1) {
			return false
		}
		count++
	}
	p.nodes[at].from, p.nodes[at].next = count, int32(len(p.nodes))
	return p.take('}')
}

// entry reads an entry. It first guesses that the attribute which followed the previous one last time follows it again, and
// that it is a text without escapes.
func (p *parser) entry(depth int) bool {
	number := p.names.all[p.last].next
	known, at := &p.names.all[number], p.at
	end := at + len(known.begin)
	if number == 0 || end > len(p.body) || string(p.body[at:end]) != string(known.begin) {
		return p.newEntry(depth)
	}
	p.at, p.last = end, number
	n := node{name: uint32(at) + 1, nameEnd: uint32(at+1) + known.length, kind: known.kind, number: number}
	if n.kind > N {
		return p.content(n, depth)
	}
	i := p.plainEnd(end)
	if i+1 >= len(p.body) || p.body[i] != '"' || p.body[i+1] != '}' {
		return p.content(n, depth)
	}
	if n.kind == S {
		p.text += i - end
	}
	n.from, n.to, n.next = uint32(end), uint32(i), int32(len(p.nodes))+1
	p.nodes = append(p.nodes, n)
	p.at = i + 2
	return true
}

// newEntry reads an entry and learns how it begins.
func (p *parser) newEntry(depth int) (ok bool) {
	p.space()
	n, from := node{}, p.at
	if n.name, n.nameEnd, n.escapedName, ok = p.str(); !ok || !p.take(':') || !p.kind(&n) {
		return false
	}
	if n.escapedName {
		p.names.incomplete = true
	} else {
		n.number = p.names.learn(p.last, p.body[n.name:n.nameEnd], p.body[from:p.at], n.kind)
	}
	p.last = n.number
	return p.content(n, depth)
}

// skip reads any value and ignores it.
func (p *parser) skip(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch p.space() {
	case '"':
		_, _, _, ok := p.str()
		return ok
	case '{':
		p.at++
		for more := p.space() != '}'; more; more = p.take(',') {
			if _, _, _, ok := p.str(); !ok || !p.take(':') || !p.skip(depth+1) {
				return false
			}
		}
		return p.take('}')
	case '[':
		p.at++
		for more := p.space() != ']'; more; more = p.take(',') {
			if !p.skip(depth + 1) {
				return false
			}
		}
		return p.take(']')
	}
	n := 0 // a number or word; the SDK checks it
	for p.at+n < len(p.body) && bytes.IndexByte([]byte(",]} \t\r\n"), p.body[p.at+n]) < 0 {
		n++
	}
	p.at += n
	return n > 0
}

// item reads an item and adds its row.
func (p *parser) item(rows *[]int32) bool {
	*rows = append(*rows, int32(len(p.nodes)))
	return p.entries(node{kind: M}, 0)
}

// items reads an array of items.
func (p *parser) items(rows *[]int32) bool {
	if !p.take('[') {
		return false
	}
	for more := p.space() != ']'; more; more = p.take(',') {
		if !p.item(rows) {
			return false
		}
	}
	return p.take(']')
}

// shape says where an answer has its items.
type shape struct {
	member  string // the member of the answer that holds them
	read    func(p *parser, page *Page) bool
	counted bool // the answer has their number
}

var (
	listed   = shape{"Items", func(p *parser, page *Page) bool { return p.items(&page.rows) }, true}
	single   = shape{"Item", func(p *parser, page *Page) bool { return p.item(&page.rows) }, false}
	returned = shape{"Attributes", single.read, false}
	snapshot = shape{"Responses", readSnapshot, false}
	batch    = shape{"Responses", readBatch, false}
)

// readSnapshot reads the items of a TransactGetItems answer; a missing item has the row -1.
func readSnapshot(p *parser, page *Page) bool {
	if !p.take('[') {
		return false
	}
	for more := p.space() != ']'; more; more = p.take(',') {
		if !p.take('{') {
			return false
		}
		if p.take('}') {
			page.rows = append(page.rows, -1)
			continue
		}
		from, to, escaped, ok := p.str()
		if !ok || escaped || string(p.body[from:to]) != "Item" || !p.take(':') || !p.item(&page.rows) || !p.take('}') {
			return false
		}
	}
	return p.take(']')
}

// mostTables is the most tables of a BatchGetItem, which has up to 100 keys.
const mostTables = 100

// readBatch reads the items of a BatchGetItem answer.
func readBatch(p *parser, page *Page) bool {
	if !p.take('{') {
		return false
	}
	for more := p.space() != '}'; more; more = p.take(',') {
		from, to, escaped, ok := p.str()
		if !ok || escaped || len(page.tables) == mostTables || !p.take(':') {
			return false
		}
		t := Table{Name: string(p.body[from:to]), page: page, from: len(page.rows)}
		for _, other := range page.tables {
			if other.Name == t.Name {
				return false
			}
		}
		if !p.items(&page.rows) {
			return false
		}
		t.to = len(page.rows)
		page.tables = append(page.tables, t)
	}
	return p.take('}')
}

// parse reads the items of the page's body. rest is the body without them, nil if there is nothing else in it.
func (page *Page) parse(s shape) (rest []byte, err error) {
	if s.member == "" || len(page.body) > math.MaxInt32 {
		return nil, errOther
	}
	p := &page.memory.parser
	*p = parser{body: page.body, nodes: page.nodes[:0], names: &page.memory.names}
	if !p.take('{') {
		return nil, errOther
	}
	cutFrom, cutTo, others := -1, -1, 0
	for more := p.space() != '}'; more; more = p.take(',') {
		before := p.at
		if !p.take('"') {
			return nil, errOther
		}
		from, to, escaped, ok := p.rest()
		switch {
		case !ok || escaped || !p.take(':'):
			return nil, errOther
		case string(p.body[from:to]) != s.member:
			others++
			if !p.skip(0) {
				return nil, errOther
			}
			continue
		case cutFrom >= 0:
			return nil, errOther
		}
		if !s.read(p, page) {
			return nil, errOther
		}
		cutFrom, cutTo = before, p.at
		page.left = p.text
	}
	if page.nodes = p.nodes; !p.take('}') || cutFrom < 0 {
		return nil, errOther
	}
	if others == 0 {
		return nil, nil
	}
	return without(page.body[:p.at], cutFrom, cutTo), nil
}

// without returns the object in body without the member between from and to, which is not the only one.
func without(body []byte, from, to int) []byte {
	before, after := bytes.TrimRight(body[:from], " \t\r\n"), bytes.TrimLeft(body[to:], " \t\r\n")
	if after[0] == ',' {
		after = after[1:]
	} else {
		before = before[:len(before)-1]
	}
	return append(append(make([]byte, 0, len(before)+len(after)), before...), after...)
}
