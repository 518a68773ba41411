package schema

import (
	"encoding"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/dynastrata/dynastrata/internal/item"
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[attributevalue.Marshaler]()

	unmarshalerType = reflect.TypeFor[attributevalue.Unmarshaler]()
)

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	stringerType    = reflect.TypeFor[fmt.Stringer]()
	formatterType   = reflect.TypeFor[fmt.Formatter]()
	errorType       = reflect.TypeFor[error]()
)

func Bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func IsTime(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) && !reflect.PointerTo(t).Implements(marshalerType)
}

// Encoded is item.Pointee up to a type that encodes itself.
func Encoded(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && !item.EncodesItself(t) && n < item.Deepest; n++ {
		t = t.Elem()
	}
	return t
}

// Nilable reports whether values of t can be nil.
func Nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// Numeric reports whether values of t are stored as numbers.
func Numeric(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.String:
		return t.Implements(item.NumberType)
	case k >= reflect.Int && k <= reflect.Float64:
		return k != reflect.Uintptr
	}
	return false
}

func BytesOf(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

// hasElements reports whether t is or can be stored as a list, set or map.
func hasElements(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return !BytesOf(t)
	}
	return t.Kind() == reflect.Interface
}

// holdsSet reports whether t can be stored as a set of that kind.
func holdsSet(t reflect.Type, kind string) bool {
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Array || BytesOf(t) {
		return false
	}
	e := Encoded(t.Elem())
	if item.EncodesItself(e) {
		return true
	}
	switch kind {
	case "string":
		return IsTime(e) || e.Kind() == reflect.String && !Numeric(e)
	case "number":
		return Numeric(e)
	}
	return BytesOf(e)
}

// keyType reports whether attributevalue can write map keys of type t and read back the same keys. It writes keys as
// fmt prints them, but does not read what a String method prints.
func keyType(t reflect.Type) bool {
	writes := t.Implements(textMarshaler)
	reads := t.Implements(textUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)
	if writes || reads {
		return writes && reflect.PointerTo(t).Implements(textUnmarshaler)
	}
	for _, prints := range []reflect.Type{stringerType, formatterType, errorType} {
		if t.Implements(prints) {
			return false
		}
	}
	k := t.Kind()
	return k == reflect.String || k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}

// Attribute is the parsed `dynamodbav` tag of a struct field.
type Attribute = item.Attribute

// ruled is a field with the rule of its `validate` tag.
type ruled struct {
	item.Field
	rule *Rule
}

// ruledFields are item.Fields; outer is the rule of t.
func ruledFields(t reflect.Type, outer *Rule) []ruled {
	all := item.Fields(t)
	fields := make([]ruled, len(all))
	for i, f := range all {
		around := outer
		if f.Outer >= 0 {
			around = fields[f.Outer].rule
		}
		fields[i] = ruled{f, ruleOf(around, f.StructField)}
	}
	return fields
}

// ruleCode returns the code of a mistake that item.Fields finds.
func ruleCode(r item.Rule) string {
	return [...]string{
		item.TagSyntax: CodeMalformed, item.TagOption: CodeCodecOption, item.OwnName: CodeSharedAttr, item.Reachable: CodeUnsupportedType, item.Whole: CodeDropped,
	}[r]
}

// codecOptions returns the options of a dynamodbav tag that change how a single value is encoded, without omitempty.
func codecOptions(tag reflect.StructTag) (options string) {
	for _, o := range strings.Split(tag.Get("dynamodbav"), ",")[1:] {
		if o != "omitempty" {
			options += "," + o
		}
	}
	return options
}

// optionMisfit returns which option of a dynamodbav tag does not fit type t, or "". attributevalue ignores some of them
// and fails for others when the first value is written.
func optionMisfit(t reflect.Type, o Attribute) string {
	t = Encoded(t)
	misfit := func(option, why string) string {
		return "the option " + option + " does not fit " + t.String() + ": " + why
	}
	own := item.EncodesItself(t)
	switch {
	case o.OmitEmpty && o.NullEmpty:
		return "omitempty and nullempty exclude each other"
	case o.OmitEmptyElem && o.NullEmptyElem:
		return "omitemptyelem and nullemptyelem exclude each other"
	case o.Set != "" && (own || !holdsSet(t, o.Set)):
		return misfit(o.Set+"set", "it is for slices of "+map[string]string{"string": "strings", "number": "numbers, but not of bytes", "binary": "byte slices"}[o.Set]+
			"; a field of the entity itself can be a map[T]struct{} of such elements")
	case o.String && (own || !Numeric(t)):
		return misfit("string", "it is for numbers")
	case o.UnixTime && !IsTime(t):
		return misfit("unixtime", "it is for times")
	case o.NullEmpty && t.Kind() == reflect.Struct:
		return misfit("nullempty", "a struct is never empty")
	case o.OmitEmptyElem && (own || !hasElements(t)):
		return misfit("omitemptyelem", "it is for slices and maps")
	case o.NullEmptyElem && (own || !hasElements(t) || o.Set != ""):
		return misfit("nullemptyelem", "it is for lists and maps")
	}
	return ""
}

// place is a type and whether its values there are addressable. Values in maps are not.
type place struct {
	typ       reflect.Type
	addressed bool
}

// lossy says why values of a type cannot be stored.
type lossy struct {
	code, problem string
	place         string       // in the value: [].Price
	in            reflect.Type // the struct that has the field, nil without one
}

// at returns m for a value at a place inside another.
func (m *lossy) at(place string) *lossy {
	if m != nil {
		m.place = place + m.place
	}
	return m
}

func unstorable(format string, args ...any) *lossy {
	return &lossy{code: CodeUnsupportedType, problem: fmt.Sprintf(format, args...)}
}

// unsupported returns why values of t cannot be stored and read back, or nil.
func unsupported(t reflect.Type, addressed bool, seen map[place]bool) *lossy {
	at := place{t, addressed}
	switch {
	case seen[at]:
		return nil
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		return unstorable("what is stored cannot be read back into the interface %s; use a type, or any", t)
	case t.Implements(marshalerType):
		return borrowed(t)
	}
	if seen[at] = true; reflect.PointerTo(t).Implements(marshalerType) {
		if addressed {
			return borrowed(t)
		}
		return unstorable("in a map %s does not encode itself, only a pointer to it does; use a map of pointers", t)
	}
	if IsTime(t) {
		return nil
	}
	if problem := item.OtherBytes(t); problem != "" {
		return unstorable("%s", problem)
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return unstorable("values of type %s cannot be stored", t)
	case reflect.Pointer:
		switch item.Pointee(t).Kind() {
		case reflect.Pointer:
			return unstorable("the type is a pointer to itself, and never points to a value")
		case reflect.Interface:
			return unstorable("what a %s points to is not stored; use the interface itself", t)
		}
		return unsupported(t.Elem(), true, seen)
	case reflect.Slice:
		return unsupported(t.Elem(), true, seen).at("[]")
	case reflect.Array:
		return unsupported(t.Elem(), addressed, seen).at("[]")
	case reflect.Map:
		if !keyType(t.Key()) {
			return unstorable("a map with keys of type %s cannot be stored or read back; use plain strings or numbers, or a type that marshals and unmarshals itself as text", t.Key())
		}
		return unsupported(t.Elem(), false, seen).at("{}")
	case reflect.Struct:
		if item.Opaque(t) {
			hint := ""
			if item.IsText(t) {
				hint = "; a type that marshals itself as text can be a field of the entity itself, not of a nested value"
			}
			return unstorable("a %s keeps its content in unexported fields, of which nothing would be stored; give it the methods of attributevalue.Marshaler and Unmarshaler%s", t, hint)
		}
		for _, f := range item.Fields(t) {
			var m *lossy
			_, hasRole := f.Tag.Lookup("entity")
			switch {
			case f.Problem != "":
				m = &lossy{code: ruleCode(f.Rule), problem: f.Problem}
			case hasRole:
				m = &lossy{code: CodeMalformed, problem: "a field of a nested struct has no entity tag; roles belong to top-level attributes"}
			case f.Use != item.Stored:
			case f.TopOnly:
				m = &lossy{code: CodeDropped, problem: item.TopOnly}
			default:
				if problem := optionMisfit(f.Type, f.Attr); problem != "" {
					m = &lossy{code: CodeCodecOption, problem: problem}
				} else {
					m = unsupported(f.Type, addressed || f.Behind, seen)
				}
			}
			if m != nil {
				if m.in == nil {
					m.in = t
				}
				return m.at("." + f.Path)
			}
		}
	}
	return nil
}

// borrowed returns why a type that encodes itself loses fields: the method is that of an embedded field, which stores itself alone.
// The source file of a promoted method is named after the compiler, which generates it.
func borrowed(t reflect.Type) *lossy {
	t = Bare(t)
	m, ok := t.MethodByName("MarshalDynamoDBAttributeValue")
	if !ok {
		m, _ = reflect.PointerTo(t).MethodByName("MarshalDynamoDBAttributeValue")
	}
	if t.Kind() != reflect.Struct || !m.Func.IsValid() {
		return nil
	}
	if file, _ := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer()); file != "<autogenerated>" {
		return nil
	}
	lent, fields := false, 0
	for _, f := range item.Fields(t) {
		if len(f.Index) == 1 && f.Use != item.Left {
			lent, fields = lent || f.Anonymous && item.EncodesItself(Bare(f.Type)), fields+1
		}
	}
	if !lent || fields == 1 {
		return nil
	}
	return &lossy{code: CodeDropped, in: t, problem: "the method that encodes the struct is that of an embedded type, and stores nothing else; make that a field with a name, or give the struct a method of its own"}
}
