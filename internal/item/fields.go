package item

import (
	"cmp"
	"encoding"
	"iter"
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
	keySet    bool   // a set whose elements are the keys of a map
	options   string // of the tag, with a leading comma
}

// facts describes a type to the codec. Only a struct has fields, attrs and opaque.
type facts struct {
	fields []field          // outer ones first
	attrs  map[string]field // by attribute; the outermost field of a name counts
	opaque bool
	// problem is why a value of the struct inside another would lose a field, or "".
	problem string
	plain   bool // isPlain
	room    Room
	needs   func() needs
}

// needs says which steps of the codec values of a type need.
type needs struct {
	check  bool // checkValue: the type does not show whether a value can be stored
	fit    bool // fit: values contain arrays, structs, float32s, or maps whose keys are not plain text
	settle bool // settle: values contain times with the option unixtime, or interfaces
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

// list collects the stored fields of struct type t.
func (f *facts) list(t reflect.Type) {
	f.attrs = map[string]field{}
	hidden := false
	for _, sf := range Fields(t) {
		hidden = hidden || sf.Use == Left && sf.Problem == "" && !sf.IsExported() && sf.Name != "_"
		if f.problem == "" && (sf.Problem != "" || sf.TopOnly) {
			f.problem = "field " + sf.Path + " of " + t.String() + ": " + cmp.Or(sf.Problem, TopOnly)
		}
		if sf.Use != Stored {
			continue
		}
		bare, options := Pointee(sf.Type), strings.Split(sf.Tag.Get("dynamodbav"), ",")[1:]
		isFloat := bare.Kind() == reflect.Float64 || bare.Kind() == reflect.Float32
		found := field{
			index: sf.Index, attr: sf.Attr.Name, typ: sf.Type,
			asNumber:  sf.Attr.String,
			floatText: isFloat && sf.Attr.String,
			unixTime:  isTime(bare) && sf.IsExported() && sf.Attr.UnixTime,
			time:      isTime(bare),
			form:      formOf(sf.Type, options), omitEmpty: sf.Attr.OmitEmpty,
			keySet: sf.Attr.Set != "" && IsKeySet(sf.Type),
		}
		for _, o := range options {
			found.options += "," + o
		}
		f.fields = append(f.fields, found)
		f.attrs[found.attr] = found
	}
	f.opaque = hidden && len(f.fields) == 0 && !isTime(t)
}

// needsOf computes the needs of t from the types that its values contain.
func needsOf(t reflect.Type) needs {
	return needs{
		check: anywhere(t, true, map[reflect.Type]bool{}, func(t reflect.Type) (yes, known bool) {
			switch k := t.Kind(); {
			case EncodesItself(t):
				return true, true
			case k <= reflect.Float64 && k != reflect.Uintptr && k != reflect.Invalid, k == reflect.String:
				return false, true
			case OtherBytes(t) != "":
				return true, true
			case k == reflect.Pointer, k == reflect.Slice, k == reflect.Array, k == reflect.Map:
				return false, false
			case isTime(t):
				return false, true
			}
			yes = t.Kind() != reflect.Struct || Opaque(t) || factsOf(t).problem != ""
			return yes, yes
		}, func(f field) bool { return f.floatText }),
		fit: anywhere(t, true, map[reflect.Type]bool{}, func(t reflect.Type) (yes, known bool) {
			k := t.Kind()
			yes = k == reflect.Array || k == reflect.Struct || k == reflect.Float32 || k == reflect.Map && !ownText(t.Key())
			return yes, yes
		}, nil),
		settle: anywhere(t, false, map[reflect.Type]bool{}, func(t reflect.Type) (yes, known bool) {
			return t.Kind() == reflect.Interface, t.Kind() == reflect.Interface || isTime(t) || t.Implements(unmarshalerType) || reflect.PointerTo(t).Implements(unmarshalerType)
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

// StoredFields lists the attributes of struct type t, each with the index of its field.
func StoredFields(t reflect.Type) iter.Seq2[string, []int] {
	return func(yield func(string, []int) bool) {
		for _, f := range factsOf(t).fields {
			if !yield(f.attr, f.index) {
				return
			}
		}
	}
}

// Opaque reports whether t is a struct that keeps its content in unexported fields, of which nothing would be stored.
func Opaque(t reflect.Type) bool { return factsOf(t).opaque }

func isTime(t reflect.Type) bool { return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) }

// Pointee returns the type that t points to, through any number of pointers. It returns a pointer for one that points to itself,
// as type P *P does.
func Pointee(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && n < Deepest; n++ {
		t = t.Elem()
	}
	return t
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
