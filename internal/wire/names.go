package wire

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// maxNames is the most names that have numbers.
const maxNames = 128

// names numbers the names of entries. It is kept for the next answer, because most items have the same attributes in the same
// order: the parser guesses how an entry begins by the entry before it, and a decoder finds its fields by number.
type names struct {
	all     []name             // by number; the first is no name
	places  [2 * maxNames]byte // numbers by hash of the name, in the next place if that is taken; 0 in an empty place
	indexes []indexes

	incomplete bool // a name with escapes was left out
}

// name is a name and how its entry begins.
type name struct {
	begin  []byte // such as "name":{"S":" as it came last
	length uint32 // of the name
	kind   Kind
	next   byte // the number of the entry that came next the last time
}

func (n *name) text() []byte { return n.begin[1 : 1+n.length] }

// hash returns a hash of what differs in most texts.
func hash[T string | []byte](text T) int {
	n := len(text)
	if n == 0 {
		return 0
	}
	return int((uint32(n)<<24 | uint32(text[n/2])<<16 | uint32(text[0])<<8 | uint32(text[n-1])) * 0x9e3779b1 >> 16)
}

// number returns the number of a name, 0 if it has none, and its place.
func number[T string | []byte](w *names, text T) (n byte, at int) {
	for at = hash(text) % len(w.places); ; at = (at + 1) % len(w.places) {
		if n = w.places[at]; n == 0 || string(w.all[n].text()) == string(text) {
			return n, at
		}
	}
}

// Finder finds by name, such as the fields of a struct.
type Finder interface {
	// Find returns an index, or -1.
	Find(name []byte) int
}

// indexes holds what a Finder has found for the names of a page, so that it is asked once for a name and not for each entry.
type indexes struct {
	finder Finder
	by     []int16 // by number
}

// mostIndexes is for how many Finders indexes are kept.
const mostIndexes = 64

// Fields goes through those attributes of an item of a page that a Finder finds.
type Fields struct {
	Value     Value // the current one, after Next
	next, end int32
	indexes
}

// Fields returns the attributes that f finds. An item that is not of a page has none, but is made of the map m.
func (it Item) Fields(f Finder) (of Fields, m map[string]types.AttributeValue) {
	if it.page == nil {
		return Fields{}, it.m
	}
	w := &it.page.names
	i := 0
	for i < len(w.indexes) && w.indexes[i].finder != f {
		i++
	}
	if i == len(w.indexes) {
		if i == mostIndexes {
			w.indexes, i = w.indexes[:0], 0
		}
		w.indexes = append(w.indexes, indexes{finder: f, by: make([]int16, 1, len(w.all))})
	}
	x := &w.indexes[i]
	for n := len(x.by); n < len(w.all); n++ {
		x.by = append(x.by, int16(f.Find(w.all[n].text())))
	}
	return Fields{Value: Value{page: it.page}, next: it.at + 1, end: it.page.nodes[it.at].next, indexes: *x}, nil
}

// Next goes to the next attribute, and returns what the Finder has found for it: -1 after the last.
func (f *Fields) Next() int {
	p := f.Value.page
	for f.next < f.end {
		n := &p.nodes[f.next]
		f.Value.at, f.next = f.next, n.next
		index := int(f.by[n.number])
		if n.number == 0 {
			index = f.finder.Find(f.Value.Name())
		}
		if index >= 0 {
			return index
		}
	}
	return -1
}
