package bind

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
)

func parsePath(text string) (expr.Path, bool) {
	var path expr.Path
	for _, part := range strings.Split(text, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		if name == "" || strings.Contains(name, "]") {
			return nil, false
		}
		path = append(path, expr.Step{Name: name})
		if len(indexes) == 0 {
			if strings.Contains(part, "[") {
				return nil, false
			}
			continue
		}
		for _, x := range strings.Split(strings.TrimSuffix(indexes, "]"), "][") {
			n, err := strconv.Atoi(x)
			if err != nil || n < 0 || !strings.HasSuffix(indexes, "]") {
				return nil, false
			}
			path = append(path, expr.Step{Index: n})
		}
	}
	return path, true
}

func isNegative(v reflect.Value) bool {
	switch {
	case v.CanInt():
		return v.Int() < 0
	case v.CanFloat():
		return v.Float() < 0
	}
	return false
}

// Node returns the place in the item that a target names.
func Node(s *schema.Schema, t Target) (*schema.Node, error) {
	if p := reflect.ValueOf(t.Pointer); p.Kind() == reflect.Pointer && !p.IsNil() && t == (Target{Pointer: t.Pointer}) { // most are a field
		if n := s.Node(p); n != nil {
			return n, nil
		}
	}
	return place(s, t)
}

// place is Node for any target. The path of a target in text, such as features.colour or items[0].qty, begins with an attribute of the
// struct. Names with a dot or a bracket need a field address or entity.MapEntry.
func place(s *schema.Schema, t Target) (n *schema.Node, err error) {
	var a *schema.Attr
	var steps expr.Path
	if t.Pointer == nil {
		a = s.Attr(t.Attr)
	}
	switch {
	case t.Pointer != nil:
		p := reflect.ValueOf(t.Pointer)
		if p.Kind() != reflect.Pointer || p.IsNil() {
			return nil, Invalid(s, CodePointer, nil, "a nil pointer of type %T names no attribute; use the address of a field of entity.Fields[%s]()", t.Pointer, s.Type.Name())
		}
		n = s.Node(p)
		switch {
		case n == nil && p.Type().Elem().Size() == 0:
			return nil, Invalid(s, CodePointer, nil, "a field of type %s has no size, and so no address of its own; name it with entity.Attr", p.Type().Elem())
		case n == nil:
			return nil, Invalid(s, CodePointer, nil, "the pointer of type %T is not the address of a field of entity.Fields[%s]()", t.Pointer, s.Type.Name())
		case t.Entry != nil && *t.Entry == "":
			return nil, Invalid(s, CodeValue, n.Attr, "the key of a map entry is empty")
		case t.Entry != nil && n.Tag.Set != "":
			return nil, Invalid(s, CodeValue, n.Attr, "the map is stored as a set, which has no entries; use AddKeys, DeleteKeys and ContainsKey")
		case t.Entry != nil:
			n = n.Inside(expr.Step{Name: *t.Entry})
		case t.Elem != nil && *t.Elem < 0:
			return nil, Invalid(s, CodeValue, n.Attr, "the index of a list element is negative")
		case t.Elem != nil:
			n = n.Inside(expr.Step{Index: *t.Elem})
		}
	case a == nil || t.Text != "":
		path, ok := parsePath(t.Text)
		if !ok {
			return nil, Invalid(s, CodePointer, nil, "the path %q is malformed; write name.name[0]", layout.GivenText(s, t.Text))
		}
		if a = s.Attr(path.Root()); a == nil {
			return nil, Invalid(s, CodePointer, nil, "the path begins with %q, which the struct does not have; an attribute has the name of its dynamodbav tag", layout.GivenText(s, t.Text))
		}
		n, steps = a.Node, path[1:]
	default:
		n = a.Node
	}
	if t.Inside != "" {
		path, ok := parsePath(t.Inside)
		if t.Inside[0] == '[' { // it continues with an index
			if path, ok = parsePath("_" + t.Inside); ok {
				path = path[1:]
			}
		}
		if !ok {
			given := t.Inside
			if n.Attr.IsSecret() {
				given = layout.HiddenValue
			}
			return nil, Invalid(s, CodePointer, n.Attr, "the path %q is malformed; write name.name[0] or [0].name", given)
		}
		steps = append(steps, path...)
	}
	for _, step := range steps {
		n = n.Inside(step)
	}
	return n, nil
}

// conform converts a value for a text path, which the compiler has not type-checked, to the type that the struct has there. A
// number may change its Go type if nothing is lost. Where the struct has no type, that is any.
func conform(s *schema.Schema, n *schema.Node, v any) (any, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return v, nil
	}
	want := n.Type
	if rv.Type().AssignableTo(want) {
		return v, nil
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if rv.Type().AssignableTo(want) {
		return rv.Interface(), nil
	}
	class := func(t reflect.Type) string { // values of one class can stand for each other
		switch k := t.Kind(); {
		case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
			return "number"
		case k == reflect.String || k == reflect.Bool:
			return k.String()
		}
		return t.String()
	}
	if rv.Type().ConvertibleTo(want) && class(rv.Type()) == class(want) {
		got := rv.Convert(want)
		if back := got.Convert(rv.Type()); back.Interface() == rv.Interface() && (isNegative(rv) == isNegative(got)) {
			return got.Interface(), nil
		}
	}
	if !n.Top {
		return nil, Invalid(s, CodeValue, n.Attr, "a value of type %s does not fit the type %s of %s", rv.Type(), n.Type, layout.PathText(s, n.Path))
	}
	return nil, Invalid(s, CodeValue, n.Attr, "a value of type %s does not fit the field's type %s", rv.Type(), n.Type)
}
