package schema

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Inside is what one step from n leads to, as far as n's type says; a step that the type knows nothing of leads to
// anything.
func (n *Node) Inside(step expr.Step) *Node {
	in := &Node{Path: n.Path.Child(step), Attr: n.Attr, Type: reflect.TypeFor[any](), Loose: true}
	t := n.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	opaque := n.Attr.Time && n.Top || isTime(t) || reflect.PointerTo(t).Implements(marshalerType)
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
		if f := fieldIn(t, step.Name, n.Rule, nil); f != nil {
			in.Field, in.Type, in.Tag, in.Options, in.Loose, in.Rule = n.Field+"."+f.Name, f.Type, f.tag, codecOptions(f.tag), false, f.rule
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

// taggedField is a field of a nested struct.
type taggedField struct {
	reflect.StructField
	tag  tag.Attribute
	rule *Rule
}

// fieldIn finds the field of struct t that is stored under a name; nil if absent. rule is that of the struct. A struct can be embedded in
// itself by a pointer; around are those that t is embedded in.
func fieldIn(t reflect.Type, name string, rule *Rule, around []reflect.Type) *taggedField {
	if slices.Contains(around, t) {
		return nil
	}
	around = append(around[:len(around):len(around)], t)
	for i := range t.NumField() {
		f := t.Field(i)
		attrTag, err := attributeTag(f)
		if err != nil || attrTag.Skip {
			continue
		}
		if inner := flattened(f, attrTag); inner != nil {
			if found := fieldIn(inner, name, ruleOf(rule, f), around); found != nil {
				return found
			}
			continue
		}
		if f.IsExported() && (attrTag.Name == name || attrTag.Name == "" && f.Name == name) {
			return &taggedField{f, attrTag, ruleOf(rule, f)}
		}
	}
	return nil
}
