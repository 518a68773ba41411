package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
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

var kindNames = [...]string{S: "S", N: "N", B: "B", BOOL: "BOOL", NULL: "NULL", L: "L", M: "M", SS: "SS", NS: "NS", BS: "BS"}

// String returns the name that DynamoDB has for the type, "" for None.
func (k Kind) String() string { return kindNames[k] }

// node is a value in a body. The nodes of a list, set or map follow its own, up to next.
type node struct {
	name, nameEnd uint32 // the text of the entry's name, if the value is one of a map
	from, to      uint32 // the text of an S, N or B; from is the number of elements of a list, set or map
	next          int32  // the node after this one and its content
	kind          Kind
	escaped       bool // also, of a BOOL or NULL, whether it is true
	number        byte // of the name, 0 if it has none
}

// maxDepth is the most levels of values inside values. DynamoDB allows 32.
const maxDepth = 64

// space skips white space and returns the next byte, 0 at the end.
func (a *answer) space() byte {
	for a.at < len(a.body) {
		switch c := a.body[a.at]; c {
		case ' ', '\t', '\n', '\r':
			a.at++
		default:
			return c
		}
	}
	return 0
}

// take skips white space and c. It reports whether c was there.
func (a *answer) take(c byte) bool {
	if a.at < len(a.body) && a.body[a.at] == c { // the usual case: no white space
		a.at++
		return true
	}
	if a.space() != c {
		return false
	}
	a.at++
	return true
}

// str reads a string after its first quote. It returns the bounds of the text between its quotes, and whether it has escapes.
func (a *answer) str() (from, to uint32, escaped, ok bool) {
	b := a.body
	for i := a.at; ; escaped = true {
		i = a.plainEnd(i)
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			i++
		}
		switch {
		case i == len(b) || b[i] < 0x20:
			return 0, 0, false, false
		case b[i] == '"':
			from, a.at = uint32(a.at), i+1
			return from, uint32(i), escaped, true
		case i+1 < len(b) && strings.IndexByte(`"\/bfnrt`, b[i+1]) >= 0:
			i += 2
		case i+6 <= len(b) && b[i+1] == 'u' && hex4(b[i+2:]) >= 0:
			i += 6
		default:
			return 0, 0, false, false
		}
	}
}

// plainEnd returns where plain text that begins at i ends: at a quote, a backslash or a control character. Close to the end of the
// body it returns a place before.
func (a *answer) plainEnd(i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	b := a.body
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		quote, slash := v^ones*'"', v^ones*'\\'
		// The first high bit is at the first such byte. Bits of later bytes mean nothing.
		if found := ((v-ones*0x20)&^v | (quote-ones)&^quote | (slash-ones)&^slash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return i
}

// literal reads a word such as true.
func (a *answer) literal(word string) bool {
	a.space()
	end := a.at + len(word)
	if end > len(a.body) || string(a.body[a.at:end]) != word {
		return false
	}
	a.at = end
	return true
}

// letters has the types with a name of one letter.
var letters = [256]Kind{'S': S, 'N': N, 'B': B, 'L': L, 'M': M}

// kind reads {"S":" or how another type begins.
func (a *answer) kind(n *node) bool {
	if !a.take('{') {
		return false
	}
	if b := a.body[a.at:]; len(b) > 2 && b[0] == '"' && b[2] == '"' { // the usual case: no white space
		n.kind = letters[b[1]]
		a.at += 3
	} else if a.take('"') {
		if from, to, escaped, ok := a.str(); ok && !escaped {
			n.kind = Kind(max(0, slices.Index(kindNames[:], string(a.body[from:to]))))
		}
	}
	return n.kind != None && a.take(':') && (n.kind > N || a.take('"'))
}

// content reads what follows the type of a value. n has the name of an entry.
func (a *answer) content(n node, depth int) bool {
	if n.kind <= N { // most values
		return a.plain(n) && a.take('}')
	}
	if depth > maxDepth {
		return false
	}
	switch n.kind {
	case B:
		if !a.take('"') || !a.plain(n) {
			return false
		}
	case BOOL, NULL:
		if n.escaped = a.space() == 't'; n.escaped && !a.literal("true") || !n.escaped && !a.literal("false") {
			return false
		}
		n.next = int32(len(a.nodes)) + 1
		a.nodes = append(a.nodes, n)
	case M:
		if !a.entries(n, depth) {
			return false
		}
	default:
		if !a.elements(n, depth) {
			return false
		}
	}
	return a.take('}')
}

// plain reads the text of an S, N or B after the first quote.
func (a *answer) plain(n node) (ok bool) {
	if i := a.plainEnd(a.at); n.kind <= N && i < len(a.body) && a.body[i] == '"' {
		n.from, n.to, a.at = uint32(a.at), uint32(i), i+1
	} else if n.from, n.to, n.escaped, ok = a.str(); !ok {
		return false
	}
	switch n.kind {
	case S:
		a.left += int(n.to - n.from)
	case B:
		text := a.body[n.from:n.to]
		if n.escaped { // such as \/
			text = unescape(text)
		}
		if !isBase64(text) {
			return false
		}
	}
	n.next = int32(len(a.nodes)) + 1
	a.nodes = append(a.nodes, n)
	return true
}

// elementKinds has the types of the elements of sets.
var elementKinds = [...]Kind{SS: S, NS: N, BS: B}

// elements reads a list or set.
func (a *answer) elements(n node, depth int) bool {
	at := len(a.nodes)
	a.nodes = append(a.nodes, n)
	if !a.take('[') {
		return false
	}
	const likely = `{"S":"`
	for more := a.space() != ']'; more; more = a.take(',') {
		e := node{kind: elementKinds[n.kind]}
		var ok bool
		switch end := a.at + len(likely); {
		case n.kind != L:
			ok = a.take('"') && a.plain(e)
		case end <= len(a.body) && string(a.body[a.at:end]) == likely:
			e.kind, a.at = S, end
			ok = a.content(e, depth+1)
		default:
			ok = a.kind(&e) && a.content(e, depth+1)
		}
		if !ok {
			return false
		}
		a.nodes[at].from++
	}
	a.nodes[at].next = int32(len(a.nodes))
	return a.take(']')
}

// entries reads an object whose members are values. At depth 0 that is an item, which gets a row. It first guesses that the attribute which followed the
// previous one last time follows it again, and that it is a text without escapes.
func (a *answer) entries(n node, depth int) bool {
	at, count := len(a.nodes), uint32(0)
	if a.nodes = append(a.nodes, n); depth == 0 {
		a.rows = append(a.rows, int32(at))
	}
	if !a.take('{') {
		return false
	}
	for more := a.space() != '}'; more; more = a.take(',') {
		count++
		number := a.all[a.last].next
		known, from := &a.all[number], a.at
		end := from + len(known.begin)
		if number == 0 || end > len(a.body) || string(a.body[from:end]) != string(known.begin) {
			if !a.entry(depth + 1) {
				return false
			}
			continue
		}
		a.at, a.last = end, number
		e := node{name: uint32(from) + 1, nameEnd: uint32(from+1) + known.length, kind: known.kind, number: number}
		if e.kind <= N {
			if i := a.plainEnd(end); i+1 < len(a.body) && a.body[i] == '"' && a.body[i+1] == '}' {
				if e.kind == S {
					a.left += i - end
				}
				e.from, e.to, e.next, a.at = uint32(end), uint32(i), int32(len(a.nodes))+1, i+2
				a.nodes = append(a.nodes, e)
				continue
			}
		}
		if !a.content(e, depth+1) {
			return false
		}
	}
	a.nodes[at].from, a.nodes[at].next = count, int32(len(a.nodes))
	return a.take('}')
}

// entry reads an entry that was not guessed, and notes how it begins, and that it came after the last one. Its name gets a number, unless
// there are too many.
func (a *answer) entry(depth int) bool {
	if !a.take('"') {
		return false
	}
	n, begin := node{}, a.at-1
	from, to, escaped, ok := a.str()
	if n.name, n.nameEnd = from, to; !ok || !a.take(':') || !a.kind(&n) {
		return false
	}
	var place int
	switch n.number, place = number(&a.names, a.body[from:to]); {
	case escaped:
		n.number, a.incomplete = 0, true
	case n.number == 0 && len(a.all) < maxNames:
		n.number = byte(len(a.all))
		a.all, a.places[place] = append(a.all, name{}), n.number
	}
	if n.number > 0 {
		known := &a.all[n.number]
		known.begin, known.length, known.kind = append(known.begin[:0], a.body[begin:a.at]...), to-from, n.kind
		a.all[a.last].next = n.number
	}
	a.last = n.number
	return a.content(n, depth)
}

// skip reads any value and ignores it.
func (a *answer) skip(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch a.space() {
	case '"':
		a.at++
		_, _, _, ok := a.str()
		return ok
	case '{':
		a.at++
		for more := a.space() != '}'; more; more = a.take(',') {
			if !a.take('"') {
				return false
			}
			if _, _, _, ok := a.str(); !ok || !a.take(':') || !a.skip(depth+1) {
				return false
			}
		}
		return a.take('}')
	case '[':
		a.at++
		for more := a.space() != ']'; more; more = a.take(',') {
			if !a.skip(depth + 1) {
				return false
			}
		}
		return a.take(']')
	}
	n := 0 // a number or word; the SDK checks it
	for a.at+n < len(a.body) && bytes.IndexByte([]byte(",]} \t\r\n"), a.body[a.at+n]) < 0 {
		n++
	}
	a.at += n
	return n > 0
}

// items reads an array of items.
func (a *answer) items() bool {
	if !a.take('[') {
		return false
	}
	for more := a.space() != ']'; more; more = a.take(',') {
		if !a.entries(node{kind: M}, 0) {
			return false
		}
	}
	return a.take(']')
}

// snapshot reads the items of a TransactGetItems answer; a missing item has the row -1.
func (a *answer) snapshot() bool {
	if !a.take('[') {
		return false
	}
	for more := a.space() != ']'; more; more = a.take(',') {
		if !a.take('{') {
			return false
		}
		if a.take('}') {
			a.rows = append(a.rows, -1)
			continue
		}
		if !a.take('"') {
			return false
		}
		from, to, escaped, ok := a.str()
		if !ok || escaped || string(a.body[from:to]) != "Item" || !a.take(':') || !a.entries(node{kind: M}, 0) || !a.take('}') {
			return false
		}
	}
	return a.take(']')
}

// mostTables is the most tables of a BatchGetItem, which has up to 100 keys.
const mostTables = 100

// batch reads the items of a BatchGetItem answer.
func (a *answer) batch() bool {
	a.tables = nil
	if !a.take('{') {
		return false
	}
	for more := a.space() != '}'; more; more = a.take(',') {
		if !a.take('"') {
			return false
		}
		from, to, escaped, ok := a.str()
		if !ok || escaped || len(a.tables) == mostTables || !a.take(':') {
			return false
		}
		t := Table{Name: string(a.body[from:to]), from: len(a.rows)}
		if slices.ContainsFunc(a.tables, func(other Table) bool { return other.Name == t.Name }) || !a.items() {
			return false
		}
		t.to = len(a.rows)
		a.tables = append(a.tables, t)
	}
	return a.take('}')
}

// parse reads the items of the body, which are in a member: one item, unless read reads the member. rest is the body with null in their place, nil if there is nothing
// else in it. It returns false for a text that is not the JSON that DynamoDB sends. The SDK may still accept it.
func (a *answer) parse(member string, read func(*answer) bool) (rest []byte, ok bool) {
	if n := len(a.all); n == 0 || n == maxNames { // with more names than numbers, the next answer begins again
		a.names = names{all: append(a.all[:0], name{}), indexes: a.indexes[:0]}
	}
	if want := len(a.body) / bytesPerNode; want > cap(a.nodes) {
		a.nodes = make([]node, 0, want)
	}
	a.at, a.last, a.left, a.nodes, a.rows = 0, 0, 0, a.nodes[:0], a.rows[:0]
	if len(a.body) > math.MaxInt32 || !a.take('{') {
		return nil, false
	}
	cutFrom, cutTo, others := -1, -1, 0
	for more := a.space() != '}'; more; more = a.take(',') {
		if !a.take('"') {
			return nil, false
		}
		from, to, escaped, ok := a.str()
		if !ok || escaped || !a.take(':') {
			return nil, false
		}
		before := a.at
		switch found := string(a.body[from:to]) == member; {
		case !found && a.skip(0):
			others++
		case found && cutFrom < 0 && (read == nil && a.entries(node{kind: M}, 0) || read != nil && read(a)):
			cutFrom, cutTo = before, a.at
		default:
			return nil, false
		}
	}
	if !a.take('}') || cutFrom < 0 {
		return nil, false
	}
	if others > 0 {
		rest = slices.Concat(a.body[:cutFrom], []byte("null"), a.body[cutTo:a.at])
	}
	return rest, true
}
