package wire

import (
	"bytes"
	"encoding/base64"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a stored item: one of a page, or a map of attribute values. The zero Item is no item. An item of a page must
// not be used after its release; the values made of it may.
type Item struct {
	page *Page
	at   int32
	m    map[string]types.AttributeValue
}

// Of returns the item of a map, the zero Item for nil.
func Of(m map[string]types.AttributeValue) Item { return Item{m: m} }

func OfAll(maps []map[string]types.AttributeValue) []Item {
	all := make([]Item, len(maps))
	for i, m := range maps {
		all[i].m = m
	}
	return all
}

// Release ends the use of the page that the item is from, so that its memory serves another answer. Without it, the
// garbage collector does that. A released item panics when it is used; it never shows another answer's data.
func (it Item) Release() {
	if it.page == nil || it.page.answer == nil {
		return
	}
	a := it.page.answer
	it.page.answer = nil
	if a.piece.Cap() > 0 {
		clear(a.recent[:])
	}
	a.shared = shared{}
	if cap(a.body) <= maxKept && cap(a.nodes) <= maxKeptNodes && cap(a.rows) <= maxKeptNodes {
		unused.Put(a)
	}
}

func (it Item) Missing() bool { return it.page == nil && it.m == nil }

func (it Item) Map() map[string]types.AttributeValue {
	if it.page == nil {
		return it.m
	}
	m := make(map[string]types.AttributeValue, it.page.nodes[it.at].from)
	for name, v := range it.All() {
		m[name] = v.Attribute()
	}
	return m
}

// Detach returns the item as attribute values and releases it.
func (it Item) Detach() map[string]types.AttributeValue {
	defer it.Release()
	return it.Map()
}

// DetachAll detaches items, which may be of one page.
func DetachAll(items []Item) []map[string]types.AttributeValue {
	if items == nil {
		return nil
	}
	all := make([]map[string]types.AttributeValue, len(items))
	for i, it := range items {
		all[i] = it.Map()
	}
	ReleaseAll(items)
	return all
}

func ReleaseAll(items []Item) {
	for _, it := range items {
		it.Release()
	}
}

// Together returns how many items there are in the item's page, 1 for a map.
func (it Item) Together() int {
	if it.page == nil {
		return 1
	}
	return len(it.page.rows)
}

// Pick returns the attributes with the given names, those that the item has.
func (it Item) Pick(names ...string) map[string]types.AttributeValue {
	m := make(map[string]types.AttributeValue, len(names))
	for _, name := range names {
		if av := it.Get(name); av != nil {
			m[name] = av
		}
	}
	return m
}

func (it Item) Get(name string) types.AttributeValue { return it.Value(name).Attribute() }

// Value returns one attribute, or a value of the kind None.
func (it Item) Value(name string) Value {
	p := it.page
	if p == nil {
		return ValueOf(it.m[name])
	}
	found, end := Value{}, p.nodes[it.at].next
	wanted, _ := number(&p.names, name)
	if wanted == 0 && !p.incomplete && len(p.all) < maxNames { // no item of the last answers had one
		return found
	}
	for at := it.at + 1; at < end; at = p.nodes[at].next {
		n := p.nodes[at].number
		v := Value{page: p, at: at}
		if n > 0 && n == wanted || n == 0 && string(v.Name()) == name {
			found = v // of a repeated name the last counts, as for the SDK
		}
	}
	return found
}

// All goes through the attributes, of a page in the order of the answer.
func (it Item) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if it.page == nil {
			for name, av := range it.m {
				if !yield(name, ValueOf(av)) {
					return
				}
			}
			return
		}
		p := it.page
		for at, end := it.at+1, p.nodes[it.at].next; at < end; at = p.nodes[at].next {
			v := Value{page: p, at: at}
			if !yield(p.text(v.Name()), v) {
				return
			}
		}
	}
}

// Value is one value: of a page, or an attribute value.
type Value struct {
	page *Page
	at   int32
	av   types.AttributeValue
}

func ValueOf(av types.AttributeValue) Value { return Value{av: av} }

// Attribute returns the value as an attribute value, as the SDK does, nil if it is absent.
func (v Value) Attribute() types.AttributeValue {
	if v.page == nil {
		return v.av
	}
	switch v.Kind() {
	case S:
		return &types.AttributeValueMemberS{Value: v.Text()}
	case N:
		return &types.AttributeValueMemberN{Value: v.Text()}
	case B:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case BOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}
	case NULL:
		return &types.AttributeValueMemberNULL{Value: v.Bool()}
	case L:
		return &types.AttributeValueMemberL{Value: collect(v, Value.Attribute)}
	case M:
		return &types.AttributeValueMemberM{Value: v.Item().Map()}
	case SS:
		return &types.AttributeValueMemberSS{Value: collect(v, Value.Text)}
	case NS:
		return &types.AttributeValueMemberNS{Value: collect(v, Value.Text)}
	}
	return &types.AttributeValueMemberBS{Value: collect(v, Value.Binary)}
}

func collect[E any](v Value, of func(Value) E) []E {
	out := make([]E, 0, v.Len())
	for all := v.Elements(); all.Next(); {
		out = append(out, of(all.Value))
	}
	return out
}

func (v Value) Item() Item {
	it := Item{page: v.page, at: v.at}
	if m, ok := v.av.(*types.AttributeValueMemberM); ok {
		it.m = m.Value
	}
	return it
}

func (v Value) Kind() Kind {
	if v.page != nil {
		return v.page.nodes[v.at].kind
	}
	switch v.av.(type) {
	case *types.AttributeValueMemberS:
		return S
	case *types.AttributeValueMemberN:
		return N
	case *types.AttributeValueMemberB:
		return B
	case *types.AttributeValueMemberBOOL:
		return BOOL
	case *types.AttributeValueMemberNULL:
		return NULL
	case *types.AttributeValueMemberL:
		return L
	case *types.AttributeValueMemberM:
		return M
	case *types.AttributeValueMemberSS:
		return SS
	case *types.AttributeValueMemberNS:
		return NS
	case *types.AttributeValueMemberBS:
		return BS
	}
	return None
}

// Name returns the name of an attribute of a page. It must not be kept or changed.
func (v Value) Name() []byte {
	n := &v.page.nodes[v.at]
	name := v.page.body[n.name:n.nameEnd]
	if n.number == 0 && bytes.IndexByte(name, '\\') >= 0 {
		return unescape(name)
	}
	return name
}

// Bytes returns the text of an S, N or B, of a B of a page in base64: in the memory of the page, or appended to room. It must not
// be kept or changed.
func (v Value) Bytes(room []byte) []byte {
	if v.page == nil {
		return append(room, v.Text()...)
	}
	n := &v.page.nodes[v.at]
	text := v.page.body[n.from:n.to]
	if n.escaped {
		return unescape(text)
	}
	return text
}

func (v Value) Text() string {
	if v.page != nil {
		return v.page.text(v.Bytes(nil))
	}
	switch v := v.av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

func (v Value) Bool() bool {
	if v.page != nil {
		return v.page.nodes[v.at].escaped
	}
	b, _ := v.av.(*types.AttributeValueMemberBOOL)
	return b != nil && b.Value
}

// Binary returns a copy of a B.
func (v Value) Binary() []byte {
	if v.page != nil {
		text := v.Bytes(nil)
		out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, _ := base64.StdEncoding.Decode(out, text) // parse has checked it
		return out[:n]
	}
	b, _ := v.av.(*types.AttributeValueMemberB)
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b.Value)), b.Value...)
}

// Len returns the number of elements of a list, set or map.
func (v Value) Len() int {
	if v.page != nil {
		return int(v.page.nodes[v.at].from)
	}
	switch v := v.av.(type) {
	case *types.AttributeValueMemberL:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		return len(v.Value)
	case *types.AttributeValueMemberNS:
		return len(v.Value)
	case *types.AttributeValueMemberBS:
		return len(v.Value)
	}
	return 0
}

// Elements goes through the elements of a list or set.
type Elements struct {
	Value Value // the current one, after Next
	of    Value
	next  int // of a page the next node, else the next index
	end   int
}

// Elements returns the elements of a list or set.
func (v Value) Elements() Elements {
	if v.page != nil {
		return Elements{Value: Value{page: v.page}, of: v, next: int(v.at) + 1, end: int(v.page.nodes[v.at].next)}
	}
	return Elements{of: v, end: v.Len()}
}

// Next goes to the next element. It returns false after the last.
func (e *Elements) Next() bool {
	if e.next >= e.end {
		return false
	}
	if p := e.of.page; p != nil {
		e.Value.at = int32(e.next)
		e.next = int(p.nodes[e.next].next)
	} else {
		switch v := e.of.av.(type) {
		case *types.AttributeValueMemberL:
			e.Value.av = v.Value[e.next]
		case *types.AttributeValueMemberSS:
			e.Value.av = &types.AttributeValueMemberS{Value: v.Value[e.next]}
		case *types.AttributeValueMemberNS:
			e.Value.av = &types.AttributeValueMemberN{Value: v.Value[e.next]}
		case *types.AttributeValueMemberBS:
			e.Value.av = &types.AttributeValueMemberB{Value: v.Value[e.next]}
		}
		e.next++
	}
	return true
}
