package item

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// A Use says whether the codec stores a field.
type Use int

// The uses of fields.
const (
	Left     Use = iota // not stored
	Stored              // as an attribute
	Embedded            // its fields are those of the struct around it, and come next
)

// Rule is a rule of fields that a struct type can break.
type Rule int

// The rules of fields.
const (
	TagSyntax Rule = iota + 1 // the tag is well-formed, and of a field that is stored
	TagOption                 // attributevalue knows the options of the dynamodbav tag
	OwnName                   // no two fields are one attribute
	Reachable                 // the codec can read and set the field
	Whole                     // nothing of the field is dropped
)

// Field is a field of a struct, or of a struct embedded in it.
type Field struct {
	reflect.StructField           // with the index from the outermost struct
	Path                string    // its name with those of the embedded structs around it: Base.ID
	Attr                Attribute // with the name of the attribute, also where the tag has none
	Use                 Use
	Outer               int    // the embedded field around it, as an index of the list, or -1
	Behind              bool   // in an embedded pointer, which may be nil
	TopOnly             bool   // a nested value would lose it, for the reason TopOnly
	Rule                Rule   // that the field breaks, or 0
	Problem             string // why it is then not stored
}

// TopOnly is why nested values lose fields with TopOnly.
const TopOnly = "an embedded time is stored as an attribute of the entity itself only; inside a nested value, give it a name in the dynamodbav tag"

// Fields lists the fields of struct type t and of the structs embedded in it, in the order of the program. It decides what a
// field is: the schema, the codec and everything else that looks at the fields of a type take them from here. A field with a
// Problem is one that attributevalue would drop, or whose tag it would ignore.
func Fields(t reflect.Type) []Field {
	w := walk{fields: make([]Field, 0, t.NumField()), attrs: make(map[string]string, t.NumField())}
	w.list(t, Field{}, -1)
	return w.fields
}

// walk is the state of Fields.
type walk struct {
	fields []Field
	attrs  map[string]string // of each attribute the path of its field
	around []reflect.Type
	pairs  []Pair
}

// list adds the fields of t, which is embedded by field number outer.
func (w *walk) list(t reflect.Type, by Field, outer int) {
	w.around = append(w.around, t)
	for i := range t.NumField() {
		f := Field{StructField: t.Field(i), Outer: outer, Behind: by.Behind || outer >= 0 && by.Type.Kind() == reflect.Pointer}
		f.Index = append(by.Index[:len(by.Index):len(by.Index)], i)
		if f.Path = f.Name; outer >= 0 {
			f.Path = by.Path + "." + f.Name
		}
		w.use(&f)
		if w.fields = append(w.fields, f); f.Use == Embedded {
			w.list(structOf(f.Type), f, len(w.fields)-1)
		}
	}
	w.around = w.around[:len(w.around)-1]
}

// structOf returns the struct type that an embedded field has or points to, or nil.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// Flattened returns the struct type of an embedded field whose fields are attributes of the outer struct, or nil.
func Flattened(f reflect.StructField) reflect.Type {
	a, err := AttributeOf(f)
	if inner := structOf(f.Type); f.Anonymous && err == nil && !a.Skip && a.Name == "" && inner != nil && !isTime(inner) {
		return inner
	}
	return nil
}

// AttributeOf parses the dynamodbav tag of a field.
func AttributeOf(f reflect.StructField) (Attribute, error) {
	return ParseAttribute(f.Tag.Get("dynamodbav"))
}

// use sets what the codec does with f, or which rule f breaks.
func (w *walk) use(f *Field) {
	broken := func(r Rule, format string, args ...any) { f.Rule, f.Problem = r, fmt.Sprintf(format, args...) }
	var err, malformed error
	f.Attr, err = AttributeOf(f.StructField)
	_, tagged := f.Tag.Lookup("dynamodbav")
	hidden := !f.IsExported()
	if hidden && !f.Anonymous {
		if tagged && (err != nil || !f.Attr.Skip) {
			broken(TagSyntax, `an unexported field is not stored, whatever its dynamodbav tag says; export it, or give it dynamodbav:"-"`)
		}
		return
	}
	// reflect ignores everything after the first malformed pair of a tag.
	w.pairs, malformed = AppendPairs(w.pairs[:0], string(f.Tag))
	inner := Flattened(f.StructField)
	switch {
	case malformed != nil:
		broken(TagSyntax, "the tag is malformed: %v", malformed)
	case err != nil:
		broken(TagOption, "dynamodbav: %v", err)
	case f.Attr.Skip:
	case inner != nil && slices.Contains(w.around, inner):
		broken(Reachable, "the struct embeds itself")
	case inner != nil && hidden && f.Type.Kind() == reflect.Pointer:
		broken(Reachable, "an embedded pointer to an unexported struct cannot be filled when an item is read; embed it by value or export it")
	case inner != nil && (IsText(inner) && Opaque(inner) || EncodesItself(inner) && !EncodesItself(w.around[0])):
		broken(Whole, "a type that stores itself in its own way does not when it is embedded; make it a field with a name")
	case inner != nil:
		f.Use = Embedded
	case hidden && f.Type.Kind() != reflect.Struct:
		broken(Reachable, "an embedded unexported type that is no struct, and an embedded pointer to an unexported one, cannot be stored and read back; export it, or give the field a name")
	case hidden:
		broken(Whole, "an embedded unexported type is stored neither under a name of its own nor as a time; export the type, or make it a field with an exported name")
	default:
		f.TopOnly = f.Anonymous && f.Attr.Name == "" && isTime(Pointee(f.Type))
		f.Attr.Name = cmp.Or(f.Attr.Name, f.Name)
		if first, ok := w.attrs[f.Attr.Name]; ok {
			broken(OwnName, "the attribute %q already belongs to field %s", f.Attr.Name, first)
			return
		}
		w.attrs[f.Attr.Name] = f.Path
		f.Use = Stored
	}
}

// EncodesItself reports whether attributevalue calls a method of values of type t, or of their addresses.
func EncodesItself(t reflect.Type) bool {
	return t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
}
