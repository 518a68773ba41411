package vet

import (
	"cmp"
	"go/types"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/dynastrata/dynastrata/internal/item"
)

// converter makes reflect types of the types of one entity, so that the schema can compile them.
type converter struct {
	done   typeutil.Map // of named types: the reflect.Type, true while it is being made
	around typeutil.Map // the structs that embed the one that is being made
	depth  int
	// encodes reports whether the entity encodes itself.
	encodes bool
	both    bool              // one of its types can be in a key as what it encodes itself as, which is not known
	unsure  string            // why the entity cannot be examined; "" if it can
	spoken  map[string]string // how the schema names types and fields in a message → their names in the program
	fields  map[string]field  // the fields of the entity that the schema can name
}

// field is a field of an entity, or of a struct embedded in it.
type field struct {
	inner *types.Var // the field itself
	outer *types.Var // the field of the entity that contains it, or is it
}

// deepest limits the depth to which types are examined.
const deepest = 100

func newConverter() *converter {
	return &converter{spoken: map[string]string{}, fields: map[string]field{}}
}

// entity returns the struct type of an entity. Anything else becomes its ordinary type.
func (c *converter) entity(t types.Type) reflect.Type {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return c.typeOf(t)
	}
	c.around.Set(t, true)
	defer c.around.Delete(t)
	c.encodes = methodsOf(t).encodes
	return c.speak(c.structOf(s, &place{}), t)
}

// speak notes the name of a type for messages.
func (c *converter) speak(made reflect.Type, t types.Type) reflect.Type {
	if made.Kind() == reflect.Interface && made.NumMethod() == 0 {
		return made
	}
	name := types.TypeString(t, func(p *types.Package) string { return p.Name() })
	if old, ok := c.spoken[made.String()]; ok && old != name {
		name = "type" // of several, which it is shows the field
	}
	c.spoken[made.String()] = name
	return made
}

// place names where in the entity an embedded struct is converted.
type place struct {
	prefix string     // of the names of fields
	outer  *types.Var // the field of the entity; nil: the place is the entity
}

// pathOf returns the name of a declared type with its import path, "" for other types.
func pathOf(t types.Type) string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// typeOf returns a type with the same kind, content and relevant methods.
func (c *converter) typeOf(t types.Type) reflect.Type {
	t = types.Unalias(t)
	if c.depth++; c.depth > deepest {
		c.unsure = "its types are nested too deeply"
	}
	defer func() { c.depth-- }()
	if c.unsure != "" {
		return inside
	}
	switch t := t.(type) {
	case *types.Named:
		if made, ok := known[pathOf(t)]; ok {
			return made
		}
		switch made := c.done.At(t).(type) {
		case reflect.Type:
			return made
		case bool:
			return inside
		}
		c.done.Set(t, true)
		made := c.named(t)
		c.done.Set(t, made)
		return made
	case *types.TypeParam:
		c.unsure = "it has a type parameter"
		return inside
	case *types.Struct, *types.Interface: // a struct can have the methods of embedded types
		return c.named(t)
	}
	return c.plain(t)
}

// named returns the type that stands for t, which can have methods.
func (c *converter) named(t types.Type) reflect.Type {
	m, kind := methodsOf(t), kindOf(t)
	text := m.reads && m.writes && !m.encodes && !m.decodes
	standIn := func(made reflect.Type) reflect.Type { return c.speak(made, t) }
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return standIn(c.plain(u))
	case *types.Struct:
		switch {
		case m.encodes && borrowed(t, u):
			return standIn(reflect.TypeFor[selfBorrowed]())
		case m.encodes && !m.encodesValue && m.decodes:
			c.both = true
			return standIn(reflect.TypeFor[bothByAddr]())
		case m.encodes && !m.encodesValue:
			return standIn(reflect.TypeFor[selfByAddr]())
		case !m.encodes && isTime(u):
			return known["time.Time"]
		case text && lends(u, isMoment):
			return standIn(reflect.TypeFor[textTime]())
		case text && lends(u, isSealedText):
			return standIn(reflect.TypeFor[textSealed]())
		case text && hasExported(u):
			return standIn(reflect.TypeFor[textOpen]())
		}
	case *types.Array:
		if text && isByte(u.Elem()) && u.Len() != 16 && u.Len() > 0 {
			return standIn(reflect.TypeFor[textArray]())
		}
		text = text && isByte(u.Elem()) && u.Len() == 16
	case *types.Slice:
		text = text && isByte(u.Elem())
	case *types.Basic:
		if m.number && kind == reflect.String && !m.encodes {
			return reflect.TypeFor[attributevalue.Number]()
		}
	}
	var made reflect.Type
	switch {
	case m.encodes && m.decodes && boths[kind] != nil:
		made, c.both = boths[kind], true
	case m.encodes:
		made = selves[kind]
	case text:
		made = texts[kind]
	case m.reads:
		made = readers[kind]
	case kind == reflect.Struct:
		outside := c.around
		c.around = typeutil.Map{}
		c.around.Set(t, true)
		made = c.plain(t.Underlying())
		c.around = outside
		return standIn(made)
	default:
		return c.plain(t.Underlying())
	}
	if made == nil {
		c.unsure = "the methods of " + t.String() + " decide how it is stored"
		return inside
	}
	return standIn(made)
}

// basics are the types of the language.
var basics = map[types.BasicKind]reflect.Type{
	types.Bool: reflect.TypeFor[bool](), types.String: reflect.TypeFor[string](), types.Uintptr: reflect.TypeFor[uintptr](),
	types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](), types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](),
	types.Uint: reflect.TypeFor[uint](), types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](), types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](),
	types.Float32: reflect.TypeFor[float32](), types.Float64: reflect.TypeFor[float64](), types.Complex64: reflect.TypeFor[complex64](), types.Complex128: reflect.TypeFor[complex128](),
}

// plain returns a type without methods.
func (c *converter) plain(t types.Type) reflect.Type {
	switch u := t.(type) {
	case *types.Basic:
		if made, ok := basics[u.Kind()]; ok {
			return made
		}
	case *types.Pointer:
		if endless(u) {
			return unstorable.pointer
		}
		return reflect.PointerTo(c.typeOf(u.Elem()))
	case *types.Slice:
		return reflect.SliceOf(c.elem(u.Elem()))
	case *types.Array:
		return arrayOf(u.Len(), c.elem(u.Elem()))
	case *types.Map:
		return reflect.MapOf(c.key(u.Key()), c.typeOf(u.Elem()))
	case *types.Signature:
		return unstorable.function
	case *types.Interface:
		switch {
		case methodsOf(u).encodesValue:
			return reflect.TypeFor[attributevalue.Marshaler]()
		case u.NumMethods() > 0:
			return unstorable.object
		}
		return reflect.TypeFor[any]()
	case *types.Struct:
		return c.structOf(u, nil)
	}
	return unstorable.channel
}

// endless reports whether t points to itself: type P *P.
func endless(t *types.Pointer) bool {
	for range deepest {
		next, ok := t.Elem().Underlying().(*types.Pointer)
		if !ok {
			return false
		}
		t = next
	}
	return true
}

// elem returns the type of the elements of a list: bytes of a type of their own are not bytes.
func (c *converter) elem(t types.Type) reflect.Type {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 && !isByte(t) {
		return c.speak(reflect.TypeFor[octet](), t)
	}
	return c.typeOf(t)
}

// Arrays are made shorter than they are, because reflect panics if a type is too large.
const (
	longest = 17
	largest = 1 << 20
)

func arrayOf(n int64, elem reflect.Type) reflect.Type {
	if n = min(max(n, 0), longest); elem.Size() > largest {
		n = min(n, 1)
	}
	return reflect.ArrayOf(int(n), elem)
}

// key returns the type of the keys of a map.
func (c *converter) key(t types.Type) reflect.Type {
	m := methodsOf(t)
	if _, param := types.Unalias(t).(*types.TypeParam); !param && known[pathOf(t)] == nil {
		switch {
		case m.writesValue && m.reads:
			return c.speak(reflect.TypeFor[textString](), t)
		case m.writesValue:
			return c.speak(reflect.TypeFor[writtenOnly](), t)
		case m.reads:
			return c.speak(reflect.TypeFor[readOnly](), t)
		case m.prints:
			return c.speak(reflect.TypeFor[printed](), t)
		}
	}
	if made := c.typeOf(t); made.Comparable() {
		return made
	}
	return reflect.TypeFor[[2]int]() // a stand-in for a struct
}

// structOf returns a struct type with fields in the same order. at is nil for a nested struct.
func (c *converter) structOf(s *types.Struct, at *place) reflect.Type {
	var fields []reflect.StructField
	var size uintptr
	for i := range s.NumFields() {
		v := s.Field(i)
		f := c.field(s, i, at)
		fields = append(fields, f)
		if size += f.Type.Size(); size > largest<<9 {
			c.unsure = "it is too large"
			return inside
		}
		if at == nil {
			continue
		}
		c.fields[at.prefix+f.Name] = field{v, cmp.Or(at.outer, v)}
		if f.Name != v.Name() {
			c.spoken[f.Name] = v.Name()
		}
	}
	return reflect.StructOf(fields)
}

// unexported makes f a field that the schema sees as unexported.
func unexported(f reflect.StructField) reflect.StructField {
	f.PkgPath, f.Type = "vet", reflect.TypeFor[byte]()
	return f
}

// field converts field i of a struct.
func (c *converter) field(s *types.Struct, i int, at *place) reflect.StructField {
	v := s.Field(i)
	f := reflect.StructField{Name: v.Name(), Tag: reflect.StructTag(s.Tag(i))}
	bare, pointer := types.Unalias(v.Type()), false
	if p, ok := bare.(*types.Pointer); ok {
		bare, pointer = types.Unalias(p.Elem()), true
	}
	if made, ok := markers[pathOf(bare)]; ok {
		if f.Type = made; pointer {
			f.Type = reflect.PointerTo(made)
		}
		if !v.Exported() {
			f.PkgPath = "vet"
		}
		return f
	}
	switch {
	case declares(v.Type()):
		c.unsure = "the declaration " + v.Type().String() + " is unknown"
		return unexported(f)
	case v.Embedded():
		return c.embedded(f, s, v, bare, pointer, at)
	case !v.Exported():
		return unexported(f)
	}
	f.Type = c.typeOf(v.Type())
	return f
}

// embedded converts an embedded field. reflect.StructOf cannot embed an unexported type, so it gets an exported name.
func (c *converter) embedded(f reflect.StructField, s *types.Struct, v *types.Var, bare types.Type, pointer bool, at *place) reflect.StructField {
	if !v.Exported() {
		f.Name = "Embedded_" + v.Name()
		for hasField(s, f.Name) {
			f.Name += "_"
		}
	}
	inner, isStruct := bare.Underlying().(*types.Struct)
	if _, param := bare.(*types.TypeParam); param {
		c.unsure = "it embeds a type parameter"
		isStruct = false
	}
	tag, err := item.AttributeOf(f)
	flat := f
	flat.Anonymous, flat.Type = true, inside
	switch {
	case err != nil || tag.Skip: // the schema looks at the tag alone
		f.Type = reflect.TypeFor[byte]()
	case isStruct && !isTime(inner) && item.Flattened(flat) != nil:
		return c.flattened(flat, v, bare, inner, pointer, at)
	case v.Exported() && at == nil && isStruct && isTime(inner) && tag.Name == "":
		c.spoken[v.Name()+".Instant"] = v.Name()
		flat.Type, flat.Tag = nestedTime, ""
		return flat
	case v.Exported():
		f.Type = c.typeOf(v.Type())
	case isStruct && !pointer:
		flat.Type, flat.Tag = hiddenNamed, ""
		return flat
	default:
		flat.Type, flat.Tag = hiddenValue, ""
		return flat
	}
	return f
}

// flattened converts an embedded struct whose fields are attributes of the outer struct.
func (c *converter) flattened(f reflect.StructField, v *types.Var, t types.Type, inner *types.Struct, pointer bool, at *place) reflect.StructField {
	switch m := methodsOf(t); {
	case c.around.At(t) != nil:
		f.Type = cyclic
		return f
	case m.encodes && !(c.encodes && at != nil), isSealedText(t):
		f.Type = ownForm
		return f
	case pointer && !v.Exported():
		f.Type = hiddenPointer
		return f
	}
	var in *place
	if at != nil {
		in = &place{at.prefix + f.Name + ".", cmp.Or(at.outer, v)}
	}
	c.around.Set(t, true)
	f.Type = c.speak(c.structOf(inner, in), t)
	c.around.Delete(t)
	if pointer {
		f.Type = reflect.PointerTo(f.Type)
	}
	return f
}

func hasField(s *types.Struct, name string) bool {
	for f := range s.Fields() {
		if f.Name() == name {
			return true
		}
	}
	return false
}

// say returns a message of the schema with the names of the program.
func (c *converter) say(problem string) string {
	for _, old := range longestFirst(c.spoken) {
		problem = strings.ReplaceAll(problem, old, c.spoken[old])
	}
	return problem
}

// kindOf returns the kind of a type, and one for all integers, all unsigned ones and all floats.
func kindOf(t types.Type) reflect.Kind {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case u.Kind() == types.Uintptr:
		case info&types.IsUnsigned != 0:
			return reflect.Uint64
		case info&types.IsInteger != 0:
			return reflect.Int64
		case info&types.IsFloat != 0:
			return reflect.Float64
		case info&types.IsString != 0:
			return reflect.String
		case info&types.IsBoolean != 0:
			return reflect.Bool
		}
	case *types.Struct:
		return reflect.Struct
	case *types.Array:
		return reflect.Array
	case *types.Slice:
		return reflect.Slice
	case *types.Map:
		return reflect.Map
	}
	return reflect.Invalid
}
