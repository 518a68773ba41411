package item

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

var (
	timeType            = reflect.TypeFor[time.Time]()
	marshalerType       = reflect.TypeFor[attributevalue.Marshaler]()
	unmarshalerType     = reflect.TypeFor[attributevalue.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// field is a field of a struct, or of a struct embedded in it, that attributevalue stores as an attribute.
type field struct {
	index     []int
	attr      string
	typ       reflect.Type
	floatText bool // a float that the option string stores as text, which can no longer be checked
	asNumber  bool // the option string: a number that is stored as text
	unixTime  bool // a time that the option unixtime stores as a number
	time      bool // a time, or a pointer to one
	form      form // how it is encoded
	omitEmpty bool
	hidden    bool   // another field of the same name counts
	options   string // of the tag, with a leading comma
}

// facts is what the codec knows about a type. Only a struct has fields, attrs and opaque.
type facts struct {
	fields []field          // outer ones first
	attrs  map[string]field // by attribute; the outermost field of a name counts
	opaque bool
	plain  bool // isPlain
	room   room
	needs  func() needs
}

// needs says which steps of the codec values of a type need.
type needs struct {
	check bool // checkValue: the type does not show whether a value can be stored
	fit   bool // fit: values contain arrays, structs, float32s, or maps whose keys are not plain text
	utc   bool // inUTC: values contain times with the option unixtime
}

var factsByType sync.Map // reflect.Type → *facts

func factsOf(t reflect.Type) *facts {
	if f, ok := factsByType.Load(t); ok {
		return f.(*facts)
	}
	f := &facts{needs: sync.OnceValue(func() needs { return needsOf(t) })}
	if t.Kind() == reflect.Struct {
		f.list(t)
		f.room = roomOf(f.fields)
	}
	f.plain = isPlain(t)
	stored, _ := factsByType.LoadOrStore(t, f)
	return stored.(*facts)
}

// list collects the fields of struct type t, level by level through embedded structs.
func (f *facts) list(t reflect.Type) {
	type place struct {
		typ   reflect.Type
		index []int
	}
	f.attrs = map[string]field{}
	direct, hidden, seen := false, false, map[reflect.Type]bool{}
	for level := []place{{t, nil}}; len(level) > 0; {
		var next []place
		for _, p := range level {
			if seen[p.typ] {
				continue
			}
			seen[p.typ] = true
			for i := range p.typ.NumField() {
				sf := p.typ.Field(i)
				name, options := avTag(sf)
				if sf.PkgPath != "" && !sf.Anonymous || name == "-" {
					hidden = hidden || p.index == nil && sf.PkgPath != "" && sf.Name != "_"
					continue
				}
				direct = direct || p.index == nil
				index := append(p.index[:len(p.index):len(p.index)], i)
				if inner := Flattened(sf); inner != nil {
					next = append(next, place{inner, index})
					continue
				}
				f.add(sf, index, name, options)
			}
		}
		level = next
	}
	for i := range f.fields {
		f.fields[i].hidden = !slices.Equal(f.attrs[f.fields[i].attr].index, f.fields[i].index)
	}
	f.opaque = hidden && !direct && !isTime(t)
}

func (f *facts) add(sf reflect.StructField, index []int, name string, options []string) {
	if name == "" {
		name = sf.Name
	}
	bare := Pointee(sf.Type)
	isFloat := bare.Kind() == reflect.Float64 || bare.Kind() == reflect.Float32
	found := field{
		index: index, attr: name, typ: sf.Type,
		asNumber:  slices.Contains(options, "string"),
		floatText: isFloat && slices.Contains(options, "string"),
		unixTime:  isTime(bare) && sf.IsExported() && slices.Contains(options, "unixtime"),
		time:      isTime(bare),
		form:      formOf(sf.Type, options), omitEmpty: slices.Contains(options, "omitempty"),
	}
	for _, o := range options {
		found.options += "," + o
	}
	f.fields = append(f.fields, found)
	if outer, ok := f.attrs[name]; !ok || len(outer.index) == len(index) {
		f.attrs[name] = found
	}
}

// needsOf computes the needs of t from the types that its values contain.
func needsOf(t reflect.Type) needs {
	return needs{
		check: anywhere(t, true, map[reflect.Type]bool{}, func(t reflect.Type) (yes, known bool) {
			switch k := t.Kind(); {
			case k <= reflect.Float64 && k != reflect.Uintptr && k != reflect.Invalid, k == reflect.String:
				return false, true
			case OtherBytes(t) != "":
				return true, true
			case k == reflect.Pointer, k == reflect.Slice, k == reflect.Array, k == reflect.Map:
				return false, false
			case isTime(t):
				return false, true
			}
			byAddress := !t.Implements(marshalerType) && reflect.PointerTo(t).Implements(marshalerType)
			yes = t.Kind() != reflect.Struct || Opaque(t) || byAddress
			return yes, yes
		}, func(f field) bool { return f.floatText }),
		fit: anywhere(t, true, map[reflect.Type]bool{}, func(t reflect.Type) (yes, known bool) {
			k := t.Kind()
			yes = k == reflect.Array || k == reflect.Struct || k == reflect.Float32 || k == reflect.Map && !ownText(t.Key())
			return yes, yes
		}, nil),
		utc: anywhere(t, false, map[reflect.Type]bool{}, func(t reflect.Type) (yes, known bool) {
			return false, isTime(t) || t.Implements(unmarshalerType) || reflect.PointerTo(t).Implements(unmarshalerType)
		}, func(f field) bool { return f.unixTime }),
	}
}

// anywhere reports whether is or has is true for t or anything that its values contain. Where is knows the answer for a
// type, its content is not examined. again is the answer for a type inside itself.
func anywhere(t reflect.Type, again bool, inside map[reflect.Type]bool, is func(reflect.Type) (yes, known bool), has func(field) bool) bool {
	if yes, known := is(t); known {
		return yes
	}
	if inside[t] {
		return again
	}
	inside[t] = true
	defer delete(inside, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return anywhere(t.Elem(), again, inside, is, has)
	case reflect.Struct:
		return slices.ContainsFunc(factsOf(t).fields, func(f field) bool {
			return has(f) || anywhere(f.typ, again, inside, is, has)
		})
	}
	return false
}

// Opaque reports whether t is a struct that keeps its content in unexported fields, of which nothing would be stored.
func Opaque(t reflect.Type) bool { return factsOf(t).opaque }

func isTime(t reflect.Type) bool { return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) }

// Flattened returns the struct type of an embedded field whose fields are attributes of the outer struct, or nil.
func Flattened(f reflect.StructField) reflect.Type {
	if !f.Anonymous {
		return nil
	}
	inner := f.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	name, _ := avTag(f)
	if name != "" || inner.Kind() != reflect.Struct || isTime(inner) {
		return nil
	}
	return inner
}

// avTag splits a field's dynamodbav tag.
func avTag(f reflect.StructField) (name string, options []string) {
	words := strings.Split(f.Tag.Get("dynamodbav"), ",")
	return words[0], words[1:]
}

// Pointee returns the type that t points to, through any number of pointers. It returns a pointer for one that points to itself,
// as type P *P does.
func Pointee(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && n < Deepest; n++ {
		t = t.Elem()
	}
	return t
}

// fieldByIndex is FieldByIndex, but returns false for a field behind a nil embedded pointer.
func fieldByIndex(v reflect.Value, index []int) (reflect.Value, bool) {
	if len(index) == 1 {
		return v.Field(index[0]), true
	}
	fv, err := v.FieldByIndexErr(index)
	return fv, err == nil
}

func allocate(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// ownText reports whether keys of type t are plain text, so that different texts are different keys.
func ownText(t reflect.Type) bool {
	return t.Kind() == reflect.String && !reflect.PointerTo(t).Implements(textUnmarshalerType)
}
