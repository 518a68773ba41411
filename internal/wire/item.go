package wire

import (
	"encoding/base64"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Page holds the items of one answer. It is for one goroutine at a time.
type Page struct {
	shared
	body   []byte
	nodes  []node
	rows   []int32 // of each item its node, -1 if the item is missing
	tables []Table
	memory *memory
}

// Len returns the number of items.
func (p *Page) Len() int { return len(p.rows) }

// Item returns the i-th item, the zero Item if it is missing.
func (p *Page) Item(i int) Item {
	if p.rows[i] < 0 {
		return Item{}
	}
	return Item{page: p, at: p.rows[i]}
}

// Items returns all items.
func (p *Page) Items() []Item {
	all := make([]Item, len(p.rows))
	for i := range all {
		all[i] = p.Item(i)
	}
	return all
}

// Table is the items of one table in the answer to a BatchGetItem.
type Table struct {
	Name     string
	page     *Page
	from, to int
}

// Tables returns the tables of a BatchGetItem, as they came.
func (p *Page) Tables() []Table { return p.tables }

// Items returns the items of the table.
func (t Table) Items() []Item {
	all := make([]Item, 0, t.to-t.from)
	for i := t.from; i < t.to; i++ {
		all = append(all, t.page.Item(i))
	}
	return all
}

// Item is a stored item: one of a page, or a map of attribute values. The zero Item is no item. An item of a page must
// not be used after its release; the values made of it may.
type Item struct {
	page *Page
	at   int32
	m    map[string]types.AttributeValue
}

// Of returns the item of a map, the zero Item for nil.
func Of(m map[string]types.AttributeValue) Item { return Item{m: m} }

// OfAll returns the items of maps.
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
	if it.page != nil {
		it.page.Release()
	}
}

// Missing reports whether there is no item.
func (it Item) Missing() bool { return it.page == nil && it.m == nil }

// Map returns the item as attribute values.
func (it Item) Map() map[string]types.AttributeValue {
	if it.page == nil {
		return it.m
	}
	return it.page.attributes(it.at)
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
	for _, it := range items {
		it.Release()
	}
	return all
}

// ReleaseAll releases items.
func ReleaseAll(items []Item) {
	for _, it := range items {
		it.Release()
	}
}

// Len returns the number of attributes.
func (it Item) Len() int {
	if it.page == nil {
		return len(it.m)
	}
	return int(it.page.nodes[it.at].from)
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

// Get returns one attribute, or nil.
func (it Item) Get(name string) types.AttributeValue { return it.Value(name).Attribute() }

// MayHave reports whether the item may have an attribute with this name: no if no item of the last answers had one.
func (it Item) MayHave(name string) bool {
	if it.page == nil {
		return it.m[name] != nil
	}
	w := &it.page.memory.names
	for i := 1; i < len(w.all); i++ {
		if n := &w.all[i]; int(n.length) == len(name) && string(n.begin[1:1+n.length]) == name {
			return true
		}
	}
	return w.incomplete || len(w.all) == maxNames
}

// Value returns one attribute, or a value of the kind None.
func (it Item) Value(name string) Value {
	p := it.page
	if p == nil {
		return ValueOf(it.m[name])
	}
	found, end := Value{}, p.nodes[it.at].next
	wanted, _ := number(&p.memory.names, name)
	for at := it.at + 1; at < end; at = p.nodes[at].next {
		n := p.nodes[at].number
		v := Value{page: p, at: at}
		if n > 0 && n == wanted || n == 0 && string(v.Name()) == name {
			found = v // of a repeated name the last counts, as for the SDK
		}
	}
	return found
}

// Stored returns the map that the item was made of, or nil for an item of a page.
func (it Item) Stored() map[string]types.AttributeValue { return it.m }

// Values returns the attributes of an item of a page, in the order of the answer, or the map that the item was made of.
func (it Item) Values() (Elements, map[string]types.AttributeValue) {
	if it.page == nil {
		return Elements{}, it.m
	}
	return Elements{Value: Value{page: it.page}, of: Value{page: it.page, at: it.at}, next: int(it.at) + 1, end: int(it.page.nodes[it.at].next)}, nil
}

// Value is one value: of a page, or an attribute value.
type Value struct {
	page *Page
	at   int32
	av   types.AttributeValue
}

// ValueOf returns the value of av.
func ValueOf(av types.AttributeValue) Value { return Value{av: av} }

// Attribute returns the value as an attribute value, nil if it is absent.
func (v Value) Attribute() types.AttributeValue {
	if v.page == nil {
		return v.av
	}
	return v.page.attribute(v.at)
}

// Item returns an M that is an attribute value as an item.
func (v Value) Item() Item {
	m, _ := v.av.(*types.AttributeValueMemberM)
	if m == nil {
		return Item{}
	}
	return Item{m: m.Value}
}

// FromPage reports whether the value is one of a page.
func (v Value) FromPage() bool { return v.page != nil }

// Kind returns the type of the value.
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

// Name returns the name of an entry of a page. It must not be kept or changed.
func (v Value) Name() []byte {
	n := &v.page.nodes[v.at]
	name := v.page.body[n.name:n.nameEnd]
	if n.escapedName {
		return appendUnescaped(nil, name)
	}
	return name
}

// NameText returns a copy of [Value.Name].
func (v Value) NameText() string { return v.page.text(v.Name()) }

// Bytes returns the text of an S, N or B of a page, of a B in base64. It must not be kept or changed.
func (v Value) Bytes() []byte {
	n := &v.page.nodes[v.at]
	text := v.page.body[n.from:n.to]
	if n.escaped {
		return appendUnescaped(nil, text)
	}
	return text
}

// Text returns the text of an S or N.
func (v Value) Text() string {
	if v.page != nil {
		return v.page.text(v.Bytes())
	}
	switch v := v.av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// AppendText appends the text of an S or N.
func (v Value) AppendText(dst []byte) []byte {
	if v.page != nil {
		return append(dst, v.Bytes()...)
	}
	return append(dst, v.Text()...)
}

// Int returns an S or N that is an int64, as [strconv.ParseInt] reads it.
func (v Value) Int() (int64, bool) {
	if v.page == nil {
		n, err := strconv.ParseInt(v.Text(), 10, 64)
		return n, err == nil
	}
	if n, ok := digits(v.Bytes()); ok {
		return n, true
	}
	n, err := strconv.ParseInt(string(v.Bytes()), 10, 64)
	return n, err == nil
}

// digits reads a whole number of up to 18 digits.
func digits(b []byte) (n int64, ok bool) {
	negative := len(b) > 1 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// Uint is Int for [strconv.ParseUint].
func (v Value) Uint() (uint64, bool) {
	if v.page == nil {
		n, err := strconv.ParseUint(v.Text(), 10, 64)
		return n, err == nil
	}
	b := v.Bytes()
	if n, ok := digits(b); ok && b[0] != '-' {
		return uint64(n), true
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	return n, err == nil
}

// Float is Int for [strconv.ParseFloat] with bits.
func (v Value) Float(bits int) (float64, bool) {
	if v.page == nil {
		n, err := strconv.ParseFloat(v.Text(), bits)
		return n, err == nil
	}
	n, err := strconv.ParseFloat(string(v.Bytes()), bits)
	return n, err == nil
}

// Bool returns a BOOL.
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
		text := v.Bytes()
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

// Elements goes through the elements of a list or set, or the entries of a map of a page.
type Elements struct {
	Value Value // the current one, after Next
	of    Value
	next  int // of a page the next node, else the next index
	end   int
}

// Elements returns the elements of a list or set, and the entries of a map of a page.
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
		e.Value = ValueOf(e.of.element(e.next))
		e.next++
	}
	return true
}

// element returns an element of a list or set that is an attribute value.
func (v Value) element(i int) types.AttributeValue {
	switch v := v.av.(type) {
	case *types.AttributeValueMemberL:
		return v.Value[i]
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberS{Value: v.Value[i]}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberN{Value: v.Value[i]}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberB{Value: v.Value[i]}
	}
	return nil
}

// attribute returns the value at a node as the SDK does.
func (p *Page) attribute(at int32) types.AttributeValue {
	v := Value{page: p, at: at}
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
		return &types.AttributeValueMemberM{Value: p.attributes(at)}
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

// attributes returns the entries of the map at a node.
func (p *Page) attributes(at int32) map[string]types.AttributeValue {
	v := Value{page: p, at: at}
	m := make(map[string]types.AttributeValue, v.Len())
	for all := v.Elements(); all.Next(); {
		m[all.Value.NameText()] = p.attribute(all.Value.at)
	}
	return m
}
