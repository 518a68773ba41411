package item

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/internal/wire"
)

// A compiled decoder sets the fields of a struct from the values of an item, and does what attributevalue would do, but
// for one thing: where a value is not what the field expects, it gives up. The fields are then decoded by attributevalue,
// which finds the error or knows better. So a decoder needs no errors, and only covers what it does exactly.

// decoder sets dst, which is zero, from a stored value. It returns false if it gives up.
type decoder func(v wire.Value, dst reflect.Value) bool

// Compile makes Read and Decode use a compiled decoder for values of struct type t, with the formats and keys of the codec, which is
// complete. attributevalue decodes the fields of types that have no decoder. Compile returns false for a struct type whose fields are
// not those of attributevalue: such values are left to it.
func (c *Codec) Compile(t reflect.Type) bool {
	compiling.Lock()
	defer compiling.Unlock()
	l := layoutOf(t, func(f *field) attribute {
		if at := c.timeField(f.attr); at != nil {
			return attribute{decode: timeDecoder(at.Format), keepNull: true}
		}
		if text := c.textField(f.attr); text != nil {
			return attribute{decode: text.read}
		}
		if d := compile(f.typ, f.asNumber); d != nil && !f.keySet {
			return attribute{decode: d}
		}
		return attribute{decode: func(v wire.Value, dst reflect.Value) bool { return c.unmarshal(f, v.Attribute(), dst) == nil }}
	})
	if c.layout = l; l == nil {
		return false
	}
	for i := range c.Parts {
		if at, ok := l.byName[c.Parts[i].Attr]; ok {
			l.fields[at].part = &c.Parts[i]
		}
	}
	for i := range l.fields {
		f := &l.fields[i]
		if f.part == nil && c.textField(f.name) == nil && !slices.Contains(c.Kept, f.name) {
			f.again = factsOf(t).fields[i].again(c.timeField(f.name))
		}
	}
	return true
}

// again returns what sets dst, which is zero, to the value of f that decoding what given was encoded to would give. It returns nil if
// only decoding shows it. at is the format of a time.
func (f *field) again(at *TimeField) func(given, dst reflect.Value) {
	elem := f.typ
	if elem.Kind() == reflect.Slice {
		elem = elem.Elem()
	}
	k := elem.Kind()
	basic := k == reflect.String || k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
	minusZero := f.omitEmpty && elem == f.typ && (k == reflect.Float32 || k == reflect.Float64)
	switch {
	case len(f.index) > 1:
	case at != nil && f.typ == timeType:
		return func(given, dst reflect.Value) {
			t, _ := reflect.TypeAssert[time.Time](given)
			setTime(dst, at.Format.Truncate(t))
		}
	case !basic || minusZero || f.asNumber || reflect.PointerTo(f.typ).Implements(unmarshalerType) || reflect.PointerTo(elem).Implements(unmarshalerType):
	case f.form == asPlain && elem == f.typ:
		return func(given, dst reflect.Value) { dst.Set(given) }
	case f.form == asList:
		return func(given, dst reflect.Value) {
			if n := given.Len(); n > 0 {
				dst.Grow(n)
				dst.SetLen(n)
				dst.SetCap(n)
				reflect.Copy(dst, given)
			} else if !given.IsNil() {
				dst.Set(reflect.MakeSlice(f.typ, 0, 0))
			}
		}
	}
	return nil
}

// Read fills the struct that dst points to, which must be zero, from it. Otherwise it is like [Codec.Decode]. given, if it is valid, is a
// struct from which it was encoded, and then completed: what the item must have as well is taken from there.
func (c *Codec) Read(it wire.Item, given, dst reflect.Value) error {
	if l := c.layout; l != nil && l.typ == dst.Type().Elem() {
		if l.decode(it, given, dst.Elem()) {
			return nil
		}
		dst.Elem().SetZero()
	}
	return c.decodeEach(it.Map(), dst.Elem())
}

// Decode fills the struct that dst points to from it. It ignores attributes that the struct does not have. The error is a *[FieldError].
func (c *Codec) Decode(it Item, dst reflect.Value) error {
	if c.layout != nil && dst.Elem().IsZero() {
		return c.Read(wire.Of(it), reflect.Value{}, dst)
	}
	return c.decodeEach(it, dst.Elem())
}

const mostFields = 256

// structLayout is a struct type compiled. It implements wire.Finder.
type structLayout struct {
	typ    reflect.Type
	fields []attribute
	byName map[string]int
}

// Find returns the index of the field for an attribute, or -1.
func (l *structLayout) Find(name []byte) int {
	if i, ok := l.byName[string(name)]; ok {
		return i
	}
	return -1
}

// attribute is a field and how to decode it.
type attribute struct {
	name     string
	index    []int
	decode   decoder
	keepNull bool                           // NULL is as if the attribute were absent
	again    func(given, dst reflect.Value) // see field.again; nil for a field that is always decoded
	part     *KeyPart                       // nil for a field that is not part of a key
}

// set decodes v into the field of dst.
func (a *attribute) set(v wire.Value, dst reflect.Value) bool {
	if a.keepNull && v.Kind() == wire.NULL {
		return true
	}
	if len(a.index) == 1 {
		return a.decode(v, dst.Field(a.index[0]))
	}
	return a.decode(v, allocate(dst, a.index))
}

// decode decodes an item. An attribute that comes twice makes it give up. given, if it is valid, is the value that the item was encoded from.
func (l *structLayout) decode(it wire.Item, given, dst reflect.Value) bool {
	var done [mostFields]bool
	all, m := it.Fields(l)
	for i := all.Next(); i >= 0; i = all.Next() {
		if done[i] || !l.fields[i].set(all.Value, dst) {
			return false
		}
		done[i] = true
	}
	for i := range l.fields {
		f := &l.fields[i]
		switch {
		case done[i]:
			continue
		case f.again != nil && given.IsValid():
			f.again(given.Field(f.index[0]), dst.Field(f.index[0]))
			continue
		}
		av, stored := m[f.name]
		if !stored && f.part != nil {
			var err error
			if av, err = f.part.read(it.Get); err != nil {
				return false
			}
			stored = av != nil
		}
		if stored && (av == nil || !f.set(wire.ValueOf(av), dst)) {
			return false
		}
	}
	return true
}

// read is decode for a stored value.
func (f *TextField) read(v wire.Value, dst reflect.Value) bool {
	switch v.Kind() {
	case wire.S:
		return f.decode(v.Text(), dst) == nil
	case wire.NULL:
		return true
	}
	return false
}

// layoutOf compiles struct type t. of returns how a field is decoded; without a decoder, the struct has no layout.
func layoutOf(t reflect.Type, of func(*field) attribute) *structLayout {
	facts := factsOf(t)
	if facts.opaque || len(facts.attrs) > mostFields || facts.problem != "" {
		return nil
	}
	l := &structLayout{typ: t, byName: map[string]int{}}
	for i := range facts.fields {
		f := &facts.fields[i]
		a := of(f)
		if a.decode == nil {
			return nil
		}
		a.name, a.index = f.attr, f.index
		l.byName[a.name] = len(l.fields)
		l.fields = append(l.fields, a)
	}
	return l
}

// nested are the layouts of structs inside others: their fields have no formats of their own. compiling guards the map, and
// with it all of a compilation: types can contain each other.
var (
	compiling sync.Mutex
	nested    = map[reflect.Type]*inner{}
)

// inner is the layout of a struct inside others, nil if it is left to attributevalue.
type inner struct {
	layout *structLayout
	done   bool // whether it has been compiled; a type inside itself is not yet
}

func structDecoder(t reflect.Type) decoder {
	in, known := nested[t]
	if !known {
		in = &inner{}
		nested[t] = in
		in.layout = layoutOf(t, func(f *field) attribute { return attribute{decode: compile(f.typ, f.asNumber)} })
		in.done = true
	}
	if in.done && in.layout == nil {
		return nil
	}
	return func(v wire.Value, dst reflect.Value) bool {
		if v.Kind() != wire.M {
			return v.Kind() == wire.NULL
		}
		return in.layout != nil && in.layout.decode(v.Item(), reflect.Value{}, dst)
	}
}
