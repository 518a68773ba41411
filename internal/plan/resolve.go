package plan

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// input returns an *InputError about attribute a, or about the type when a is nil.
func input(s *schema.Schema, code string, a *schema.Attr, format string, args ...any) error {
	field := ""
	if a != nil {
		field = a.Field
	}
	return &InputError{Code: code, Type: s.Type.String(), Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Node finds the place that a target names.
func Node(s *schema.Schema, t opt.Target) (*schema.Node, error) {
	n, err := outer(s, t)
	if err != nil || t.Inside == "" {
		return n, err
	}
	path, ok := parseSteps(t.Inside)
	if !ok {
		return nil, input(s, CodePointer, n.Attr, "the path %q is malformed; write name.name[0] or [0].name", t.Inside)
	}
	for _, step := range path {
		n = n.Inside(step)
	}
	return n, nil
}

// outer finds the place that a target begins with.
func outer(s *schema.Schema, t opt.Target) (*schema.Node, error) {
	if a := s.Attr(t.Attr); a != nil && t.Pointer == nil && t.Text == "" {
		return &schema.Node{Path: expr.Attr(a.Name), Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Rule: a.Rule, Top: true}, nil
	}
	if t.Pointer == nil {
		return textNode(s, t.Text)
	}
	p := reflect.ValueOf(t.Pointer)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return nil, input(s, CodePointer, nil, "a nil pointer of type %T names no attribute; use the address of a field of entity.Fields[%s]()", t.Pointer, s.Type.Name())
	}
	n := s.Node(p)
	if n == nil {
		return nil, input(s, CodePointer, nil, "the pointer of type %T is not the address of a field of entity.Fields[%s]()", t.Pointer, s.Type.Name())
	}
	switch {
	case t.Entry != nil && *t.Entry == "":
		return nil, input(s, CodeValue, n.Attr, "the key of a map entry is empty")
	case t.Entry != nil:
		return n.Inside(expr.Step{Name: *t.Entry}), nil
	case t.Elem != nil && *t.Elem < 0:
		return nil, input(s, CodeValue, n.Attr, "the index of a list element is negative")
	case t.Elem != nil:
		return n.Inside(expr.Step{Index: *t.Elem}), nil
	}
	return n, nil
}

// encode turns a Go value for the field at n into an attribute value; exact demands that a time fits its format. It
// returns nil for a value that the field's tag makes absent.
func encode(s *schema.Schema, n *schema.Node, v any, exact bool) (types.AttributeValue, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	if n.Top && n.Attr.Time {
		f := item.TimeField{Attr: n.Attr.Name, Format: n.Attr.Format, OmitEmpty: n.Tag.OmitEmpty, Exact: exact}
		av, err := f.Encode(rv)
		return av, valueError(s, n.Attr, err)
	}
	if n.Top && n.Attr.Text {
		f := n.Attr.TextField()
		f.OmitEmpty = n.Tag.OmitEmpty
		av, err := f.Encode(rv)
		return av, valueError(s, n.Attr, err)
	}
	options := n.Options
	if n.Tag.OmitEmpty {
		options += ",omitempty"
	}
	av, err := s.Codec.EncodeValue(rv, options)
	if n.Top {
		av = n.Attr.Stored(av)
	}
	return av, valueError(s, n.Attr, err)
}

// valueError makes an *InputError of an encoding error. The cause may quote the value, so it is not kept.
func valueError(s *schema.Schema, a *schema.Attr, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *item.FieldError:
		if a == nil {
			a = s.Attr(e.Attr)
		}
		return input(s, CodeValue, a, "%s", e.Problem)
	case *key.PartError:
		return input(s, CodeValue, a, "%s", e.Problem)
	}
	return input(s, CodeValue, a, "the value cannot be stored (%T)", err)
}
