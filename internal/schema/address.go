package schema

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// Node is one field of a prototype, top-level or nested.
type Node struct {
	Path    expr.Path
	Attr    *Attr        // top-level attribute that contains it
	Field   string       // Go name with those of the outer fields: Address.City
	Type    reflect.Type // of the field
	Tag     Attribute
	Options string // codec options of the field
	Rule    *Rule  // of the field, or of an element or map entry
	KeyRule *Rule  // of the key of a map entry
	Top     bool   // the field is the attribute itself
	Loose   bool   // not a field: stored by the type of the given value
}

// address identifies a field of a prototype. The type is part of it because a struct and its first field have the same pointer.
type address struct {
	place uintptr
	typ   reflect.Type
}

var prototypes sync.Map // reflect.Type → reflect.Value, a pointer; one per entity type of the program

// Prototype returns the prototype of struct type t: the one value in the program whose field addresses stand for
// attributes. Its pointer fields point to prototypes too.
func Prototype(t reflect.Type) reflect.Value {
	if p, ok := prototypes.Load(t); ok {
		return p.(reflect.Value)
	}
	p := reflect.New(t)
	allocatePointers(p.Elem(), map[reflect.Type]bool{t: true})
	stored, _ := prototypes.LoadOrStore(t, p)
	return stored.(reflect.Value)
}

// allocatePointers fills the exported pointer fields of v. It follows a type that contains itself once.
func allocatePointers(v reflect.Value, inside map[reflect.Type]bool) {
	if v.Kind() != reflect.Struct || IsTime(v.Type()) {
		return
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if sf := v.Type().Field(i); !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct) {
			continue
		}
		t := f.Type()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			if inside[t] {
				continue
			}
			f.Set(reflect.New(t))
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct && !inside[t] {
			inside[t] = true
			allocatePointers(f, inside)
			delete(inside, t)
		}
	}
}

// Node returns the field at pointer p of the prototype, or nil if p points elsewhere. p is not nil.
func (s *Schema) Node(p reflect.Value) *Node {
	return s.addresses[address{p.Pointer(), p.Type().Elem()}]
}

// place records n at v's address, and the fields inside v.
func (s *Schema) place(v reflect.Value, n *Node) {
	if v.Type().Size() > 0 { // else it may have the address of another field
		s.addresses[address{v.Addr().Pointer(), v.Type()}] = n
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
		pointee := *n
		pointee.Type = v.Type()
		if !IsTime(v.Type()) {
			pointee.Tag.OmitEmpty = false // a pointer to zero is a value
		}
		s.place(v, &pointee)
		return
	}
	if v.Kind() != reflect.Struct || n.Attr.Time && n.Top || n.Attr.Text && n.Top || IsTime(v.Type()) || reflect.PointerTo(v.Type()).Implements(marshalerType) {
		return
	}
	for _, f := range ruledFields(v.Type(), n.Rule) {
		if fv, err := v.FieldByIndexErr(f.Index); err == nil && f.Use == item.Stored { // else in a nil embedded pointer
			s.place(fv, n.field(f))
		}
	}
}

func (n *Node) field(f ruled) *Node {
	return &Node{
		Path: n.Path.Child(expr.Step{Name: f.Attr.Name}), Attr: n.Attr, Field: n.Field + "." + f.Name,
		Type: f.Type, Tag: f.Attr, Options: codecOptions(f.Tag), Rule: f.rule,
	}
}

// Inside returns the node that one step from n leads to. If n's type does not define the step, the node has type any and is Loose.
func (n *Node) Inside(step expr.Step) *Node {
	in := &Node{Path: n.Path.Child(step), Attr: n.Attr, Type: reflect.TypeFor[any](), Loose: true}
	t := item.Pointee(n.Type)
	opaque := (n.Attr.Time || n.Attr.Text) && n.Top || IsTime(t) || reflect.PointerTo(t).Implements(marshalerType)
	switch k := t.Kind(); {
	case step.Name == "":
		in.Field = n.Field + "[" + strconv.Itoa(step.Index) + "]"
		if !opaque && (k == reflect.Slice || k == reflect.Array) {
			in.Type = t.Elem()
			if n.Rule != nil {
				in.Rule = n.Rule.Elem
			}
		}
	case k == reflect.Struct && !opaque:
		for _, f := range ruledFields(t, n.Rule) {
			if f.Use == item.Stored && f.Attr.Name == step.Name {
				return n.field(f)
			}
		}
	case k == reflect.Map && !opaque:
		in.Type = t.Elem()
		if n.Rule != nil {
			in.Rule, in.KeyRule = n.Rule.Elem, n.Rule.Key
		}
	}
	if in.Field == "" {
		in.Field = n.Field + "[" + strconv.Quote(step.Name) + "]"
	}
	return in
}

// Scalar returns the DynamoDB type of values at n, or "" if the struct does not say, or it is no type of a key.
func (n *Node) Scalar() types.ScalarAttributeType {
	_, kind := keyField(&Attr{Type: n.Type, Tag: n.Tag})
	return kind
}
