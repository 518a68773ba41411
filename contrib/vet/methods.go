package vet

import (
	"go/types"
	"reflect"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
)

// methods holds the methods that the schema looks for on a type.
type methods struct {
	encodes, encodesValue bool // attributevalue.Marshaler: by address, and also by value
	decodes               bool // attributevalue.Unmarshaler
	writes, writesValue   bool // encoding.TextMarshaler
	reads                 bool // encoding.TextUnmarshaler
	prints                bool // a String, Error or Format method of the value
	number                bool // a number in a text, such as json.Number
}

const attributeValue = "github.com/aws/aws-sdk-go-v2/service/dynamodb/types.AttributeValue"

func methodsOf(t types.Type) methods {
	value := types.NewMethodSet(t)
	address := value
	if !types.IsInterface(t) {
		address = types.NewMethodSet(types.NewPointer(t))
	}
	return methods{
		encodes: has(address, "MarshalDynamoDBAttributeValue", "", attributeValue+",error"), encodesValue: has(value, "MarshalDynamoDBAttributeValue", "", attributeValue+",error"),
		decodes: has(address, "UnmarshalDynamoDBAttributeValue", attributeValue, "error"),
		writes:  has(address, "MarshalText", "", "[]byte,error"), writesValue: has(value, "MarshalText", "", "[]byte,error"),
		reads:  has(address, "UnmarshalText", "[]byte", "error"),
		prints: has(value, "String", "", "string") || has(value, "Error", "", "string") || has(value, "Format", "fmt.State,rune", ""),
		number: has(value, "Float64", "", "float64,error") && has(value, "Int64", "", "int64,error") && has(value, "String", "", "string"),
	}
}

// has reports whether a set has an exported method with these parameters and results.
func has(set *types.MethodSet, name, params, results string) bool {
	m := set.Lookup(nil, name)
	if m == nil {
		return false
	}
	s, ok := m.Type().(*types.Signature)
	return ok && textOf(s.Params()) == params && textOf(s.Results()) == results
}

func textOf(list *types.Tuple) string {
	var all []string
	for v := range list.Variables() {
		all = append(all, types.TypeString(types.Unalias(v.Type()), nil))
	}
	return strings.ReplaceAll(strings.Join(all, ","), "uint8", "byte")
}

// borrowed reports whether a struct encodes itself by a method of what it embeds, and has other fields.
func borrowed(t types.Type, s *types.Struct) bool {
	_, index, _ := types.LookupFieldOrMethod(t, true, nil, "MarshalDynamoDBAttributeValue")
	fields := 0
	for i := range s.NumFields() {
		f := s.Field(i)
		a, err := item.AttributeOf(reflect.StructField{Tag: reflect.StructTag(s.Tag(i))})
		if (f.Exported() || f.Embedded()) && (err != nil || !a.Skip) {
			fields++
		}
	}
	return len(index) > 1 && fields > 1
}

// declares reports whether t is the type of fields that declare something: a struct whose one field is blank and a declaration.
func declares(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && s.NumFields() == 1 && s.Field(0).Name() == "_" && has(types.NewMethodSet(s.Field(0).Type()), "Declare", "*"+library+"/internal/schema.Decl", "")
}

// prepares reports whether t or its address has a Prepare method.
func prepares(t types.Type) bool {
	return has(types.NewMethodSet(types.NewPointer(t)), "Prepare", "context.Context", "error")
}

// twoPrepares reports whether an entity has no Prepare method because two embedded structs have one.
func twoPrepares(t types.Type) bool {
	if found, _, _ := types.LookupFieldOrMethod(t, true, nil, "Prepare"); found != nil {
		return false
	}
	return embedsPreparer(t, map[types.Type]bool{})
}

func embedsPreparer(t types.Type, seen map[types.Type]bool) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok || seen[t] {
		return false
	}
	seen[t] = true
	for f := range s.Fields() {
		inner := types.Unalias(f.Type())
		if p, ok := inner.(*types.Pointer); ok {
			inner = types.Unalias(p.Elem())
		}
		if f.Embedded() && (prepares(inner) || embedsPreparer(inner, seen)) {
			return true
		}
	}
	return false
}

// isTime reports whether s is the content of a time.Time.
func isTime(s *types.Struct) bool {
	return s.NumFields() == 3 && s.Field(0).Name() == "wall" && s.Field(0).Pkg() != nil && s.Field(0).Pkg().Path() == "time"
}

// isByte reports whether t is byte itself.
func isByte(t types.Type) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// hasExported reports whether a struct has a field that can be stored.
func hasExported(s *types.Struct) bool {
	for f := range s.Fields() {
		if f.Exported() || f.Embedded() {
			return true
		}
	}
	return false
}

// lends reports whether a struct embeds a type that is, without a name in the tag.
func lends(s *types.Struct, is func(types.Type) bool) bool {
	for i := range s.NumFields() {
		f := s.Field(i)
		a, err := item.AttributeOf(reflect.StructField{Tag: reflect.StructTag(s.Tag(i))})
		t := types.Unalias(f.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if f.Embedded() && err == nil && !a.Skip && a.Name == "" && is(t) {
			return true
		}
	}
	return false
}

// isMoment reports whether t is a time.
func isMoment(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && isTime(s)
}

// isSealedText reports whether t is a struct that is text, and has no field that can be stored.
func isSealedText(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	m := methodsOf(t)
	return ok && m.reads && m.writes && !m.encodes && !m.decodes && !isTime(s) && !hasExported(s)
}
