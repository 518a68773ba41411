package schema

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/dynastrata/dynastrata/internal/item"
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[attributevalue.Marshaler]()
)

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	stringerType    = reflect.TypeFor[fmt.Stringer]()
	formatterType   = reflect.TypeFor[fmt.Formatter]()
	errorType       = reflect.TypeFor[error]()
)

// numberer is implemented by strings that are stored as numbers: attributevalue.Number and json.Number.
type numberer interface {
	Float64() (float64, error)
	Int64() (int64, error)
	String() string
}

var numbererType = reflect.TypeFor[numberer]()

func Bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func IsTime(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) && !reflect.PointerTo(t).Implements(marshalerType)
}

func EncodesItself(t reflect.Type) bool {
	return t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
}

// Encoded is item.Pointee up to a type that encodes itself.
func Encoded(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && !EncodesItself(t) && n < item.Deepest; n++ {
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
		return t.Implements(numbererType)
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
	if EncodesItself(e) {
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

func AttributeTag(f reflect.StructField) (Attribute, error) {
	text, ok := f.Tag.Lookup("dynamodbav")
	if !ok {
		return Attribute{}, nil
	}
	return ParseAttribute(text)
}

// Flattened returns the struct type of an embedded field whose fields are attributes of the outer struct, or nil.
func Flattened(f reflect.StructField, attrTag Attribute) reflect.Type {
	if attrTag.Skip {
		return nil
	}
	return item.Flattened(f)
}

// nestedField is a field of a nested struct or of a struct embedded in it.
type nestedField struct {
	reflect.StructField // with the index from the nested struct
	stored              string
	tag                 Attribute
	rule                *Rule
}

// nestedFields returns the fields of struct t that are stored, with those of embedded structs; rule is the rule of t.
func nestedFields(t reflect.Type, rule *Rule) []nestedField {
	return appendFields(nil, t, nestedField{rule: rule}, nil)
}

// appendFields adds the fields of t, which is embedded in around by the field at. A struct can embed itself by a pointer;
// its fields are added once.
func appendFields(fields []nestedField, t reflect.Type, at nestedField, around []reflect.Type) []nestedField {
	if slices.Contains(around, t) {
		return fields
	}
	around = append(around[:len(around):len(around)], t)
	for i := range t.NumField() {
		f := nestedField{StructField: t.Field(i)}
		var err error
		if f.tag, err = AttributeTag(f.StructField); err != nil || f.tag.Skip {
			continue
		}
		inner := Flattened(f.StructField, f.tag)
		if inner == nil && !f.IsExported() {
			continue
		}
		f.Index = append(at.Index[:len(at.Index):len(at.Index)], i)
		f.rule, f.stored = ruleOf(at.rule, f.StructField), cmp.Or(f.tag.Name, f.Name)
		if inner != nil {
			fields = appendFields(fields, inner, f, around)
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

// codecOptions returns the tag options that change how a single value is encoded, without omitempty.
func codecOptions(t Attribute) string {
	var b strings.Builder
	for _, o := range []struct {
		on   bool
		name string
	}{
		{t.OmitEmptyElem, "omitemptyelem"}, {t.NullEmpty, "nullempty"}, {t.NullEmptyElem, "nullemptyelem"}, {t.String, "string"},
		{t.UnixTime, "unixtime"}, {t.Set == "string", "stringset"}, {t.Set == "number", "numberset"}, {t.Set == "binary", "binaryset"},
	} {
		if o.on {
			b.WriteString("," + o.name)
		}
	}
	return b.String()
}

// optionMisfit returns which option of a dynamodbav tag does not fit type t, or "". attributevalue ignores some of them
// and fails for others when the first value is written.
func optionMisfit(t reflect.Type, o Attribute) string {
	t = Encoded(t)
	misfit := func(option, why string) string {
		return "the option " + option + " does not fit " + t.String() + ": " + why
	}
	own := EncodesItself(t)
	switch {
	case o.OmitEmpty && o.NullEmpty:
		return "omitempty and nullempty exclude each other"
	case o.OmitEmptyElem && o.NullEmptyElem:
		return "omitemptyelem and nullemptyelem exclude each other"
	case o.Set != "" && (own || !holdsSet(t, o.Set)):
		return misfit(o.Set+"set", map[string]string{
			"string": "it is for slices of strings", "number": "it is for slices of numbers, but not of bytes", "binary": "it is for slices of byte slices",
		}[o.Set])
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

// unreachable is the problem of embedded types that the codec cannot read or fill.
const unreachable = "an embedded unexported type that is no struct, and an embedded pointer to an unexported one, cannot be stored and read back; export it, or give the field a name"

// inVain is the problem of fields that taggedInVain finds.
const inVain = `an unexported field is not stored, whatever its dynamodbav tag says; export it, or give it dynamodbav:"-"`

// taggedInVain reports whether f has a name for an attribute although it is not stored.
func taggedInVain(f reflect.StructField) bool {
	o, err := AttributeTag(f)
	_, tagged := f.Tag.Lookup("dynamodbav")
	return tagged && err == nil && !o.Skip && !f.IsExported() && !f.Anonymous
}

// unsupported returns why values of t cannot be stored and read back, and the code of that mistake, or "" if they can.
func unsupported(t reflect.Type, addressed bool, seen map[place]bool) (code, problem string) {
	at := place{t, addressed}
	if seen[at] || t.Implements(marshalerType) {
		return "", ""
	}
	if seen[at] = true; reflect.PointerTo(t).Implements(marshalerType) {
		if addressed {
			return "", ""
		}
		return CodeUnsupportedType, "in a map " + t.String() + " does not encode itself, only a pointer to it does; use a map of pointers"
	}
	if IsTime(t) {
		return "", ""
	}
	if problem := item.OtherBytes(t); problem != "" {
		return CodeUnsupportedType, problem
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return CodeUnsupportedType, "values of type " + t.String() + " cannot be stored"
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return CodeUnsupportedType, "what is stored cannot be read back into the interface " + t.String() + "; use a type, or any"
		}
	case reflect.Pointer:
		if item.Pointee(t).Kind() == reflect.Pointer {
			return CodeUnsupportedType, "the type is a pointer to itself, and never points to a value"
		}
		return unsupported(t.Elem(), true, seen)
	case reflect.Slice:
		return unsupported(t.Elem(), true, seen)
	case reflect.Array:
		return unsupported(t.Elem(), addressed, seen)
	case reflect.Map:
		if !keyType(t.Key()) {
			return CodeUnsupportedType, "a map with keys of type " + t.Key().String() + " cannot be stored or read back; use plain strings or numbers, or a type that marshals and unmarshals itself as text"
		}
		return unsupported(t.Elem(), false, seen)
	case reflect.Struct:
		return unsupportedStruct(t, addressed, seen)
	}
	return "", ""
}

func unsupportedStruct(t reflect.Type, addressed bool, seen map[place]bool) (code, problem string) {
	if item.Opaque(t) {
		return CodeUnsupportedType, "a " + t.String() + " keeps its content in unexported fields, of which nothing would be stored; give it the methods of attributevalue.Marshaler and Unmarshaler" + textNested(t)
	}
	return unsupportedFields(t, addressed, seen)
}

func unsupportedFields(t reflect.Type, addressed bool, seen map[place]bool) (code, problem string) {
	for i := range t.NumField() {
		if code, problem := unsupportedField(t, t.Field(i), addressed, seen); problem != "" {
			return code, problem
		}
	}
	return "", ""
}

func unsupportedField(t reflect.Type, f reflect.StructField, addressed bool, seen map[place]bool) (code, problem string) {
	attrTag, err := AttributeTag(f)
	_, hasRole := f.Tag.Lookup("entity")
	where := "field " + f.Name + " of " + t.String() + ": "
	switch {
	case err != nil:
		return CodeCodecOption, where + "dynamodbav: " + err.Error()
	case hasRole:
		return CodeMalformed, "field " + f.Name + " of the nested struct " + t.String() + " has an entity tag; roles belong to top-level attributes"
	case taggedInVain(f):
		return CodeMalformed, where + inVain
	case f.PkgPath != "" && !f.Anonymous || attrTag.Skip:
		return "", ""
	case f.PkgPath != "" && f.Type.Kind() != reflect.Struct:
		return CodeUnsupportedType, where + unreachable
	}
	if inner := Flattened(f, attrTag); inner != nil {
		at := place{inner, addressed || f.Type.Kind() == reflect.Pointer}
		if seen[at] {
			return "", ""
		}
		seen[at] = true
		return unsupportedFields(inner, at.addressed, seen)
	}
	if problem := optionMisfit(f.Type, attrTag); problem != "" {
		return CodeCodecOption, where + problem
	}
	return unsupported(f.Type, addressed, seen)
}

// textNested returns the end of a message about a type inside a nested value.
func textNested(t reflect.Type) string {
	if item.IsText(t) {
		return "; a type that marshals itself as text can be a field of the entity itself, not of a nested value"
	}
	return ""
}
