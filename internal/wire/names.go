package wire

// maxNames is the most names that have numbers.
const maxNames = 128

// names numbers the names of entries. It is kept for the next answer, because most items have the same attributes in the same
// order: the parser guesses how an entry begins by the entry before it, and a decoder finds its fields by number.
type names struct {
	all     []name             // by number; the first is no name
	at      [2 * maxNames]byte // numbers by hash of the name, in the next place if that is taken; 0 in an empty place
	indexes []Indexes

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

// clear forgets all names.
func (w *names) clear() { *w = names{all: append(w.all[:0], name{}), indexes: w.indexes[:0]} }

// hash returns where to look for a name first.
func hash[T string | []byte](text T) int {
	n := len(text)
	if n == 0 {
		return 0
	}
	return int(mix(n, text[0], text[n/2], text[n-1]) % (2 * maxNames))
}

// mix returns a hash of what differs in most texts.
func mix(n int, first, middle, last byte) uint32 {
	return (uint32(n)<<24 | uint32(middle)<<16 | uint32(first)<<8 | uint32(last)) * 0x9e3779b1 >> 16
}

// number returns the number of a name, 0 if it has none, and its place in w.at.
func number[T string | []byte](w *names, text T) (n byte, at int) {
	for at = hash(text); ; at = (at + 1) % len(w.at) {
		if n = w.at[at]; n == 0 || string(w.all[n].text()) == string(text) {
			return n, at
		}
	}
}

// learn notes that an entry began like this after another one. It returns the number of its name, 0 if there are too many.
func (w *names) learn(after byte, text, begin []byte, kind Kind) byte {
	n, at := number(w, text)
	if n == 0 {
		if len(w.all) == maxNames {
			return 0
		}
		n = byte(len(w.all))
		w.all, w.at[at] = append(w.all, name{}), n
	}
	known := &w.all[n]
	known.begin, known.length, known.kind = append(known.begin[:0], begin...), uint32(len(text)), kind
	w.all[after].next = n
	return n
}

// Finder finds by name, such as the fields of a struct.
type Finder interface {
	// Find returns an index, or -1.
	Find(name []byte) int
}

// Indexes are what a Finder finds for the names of a page, so that it is asked once for a name and not for each entry.
type Indexes struct {
	finder Finder
	by     []int16 // by number
}

// mostIndexes is for how many Finders indexes are kept.
const mostIndexes = 64

// Indexes returns the indexes of f for the entries.
func (e *Elements) Indexes(f Finder) Indexes {
	w := &e.of.page.memory.names
	i := 0
	for i < len(w.indexes) && w.indexes[i].finder != f {
		i++
	}
	if i == len(w.indexes) {
		if i == mostIndexes {
			w.indexes, i = w.indexes[:0], 0
		}
		w.indexes = append(w.indexes, Indexes{finder: f, by: make([]int16, 1, len(w.all))})
	}
	x := &w.indexes[i]
	for n := len(x.by); n < len(w.all); n++ {
		x.by = append(x.by, int16(f.Find(w.all[n].text())))
	}
	return *x
}

// Of returns the index of an entry.
func (x *Indexes) Of(v Value) int {
	if n := v.page.nodes[v.at].number; n > 0 {
		return int(x.by[n])
	}
	return x.find(v)
}

func (x *Indexes) find(v Value) int { return x.finder.Find(v.Name()) }

const (
	mostRecent  = 128
	longestText = 64
)

// recent are texts of the piece by their hash, none empty or longer than longestText. Many are the same in most items, such as a
// partition key or a state.
type recent [mostRecent]string
