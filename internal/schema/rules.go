package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Validator checks values by the rules in `validate` tags; package entity documents the contract.
type Validator interface {
	Struct(v any) error
	Var(v any, tag string) error
}

// Rule is the `validate` tag of a field, or of the elements of one. A nil rule belongs to a place that a check of the
// whole struct does not reach; single values are not checked there either.
type Rule struct {
	Tag  string       // "" without a tag; a struct is then checked by the tags inside it
	Type reflect.Type // of the place, as declared

	Elem, Key *Rule // of the elements and of the keys of a map; nil without dive
}

func ruleOf(outer *Rule, f reflect.StructField) *Rule {
	text := f.Tag.Get("validate")
	if outer == nil || text == "-" || hasWord(outer.Tag, "structonly") {
		return nil
	}
	return newRule(text, f.Type)
}

func hasWord(text, word string) bool {
	return strings.Contains(text, word) && slices.Contains(strings.Split(text, ","), word)
}

// newRule splits a tag: after the word dive it is about the elements, and between keys and endkeys about the keys of a map.
func newRule(text string, t reflect.Type) *Rule {
	r := &Rule{Tag: text, Type: t}
	t = item.Pointee(t)
	if !hasWord(text, "dive") || t.Kind() != reflect.Slice && t.Kind() != reflect.Array && t.Kind() != reflect.Map {
		return r
	}
	words := strings.Split(text, ",")
	words = words[slices.Index(words, "dive")+1:]
	if len(words) > 0 && words[0] == "keys" && t.Kind() == reflect.Map {
		end := slices.Index(words, "endkeys")
		if end < 0 {
			return r // the Validator rejects the tag
		}
		r.Key = newRule(strings.Join(words[1:end], ","), t.Key())
		words = words[end+1:]
	}
	r.Elem = newRule(strings.Join(words, ","), t.Elem())
	return r
}

// Check validates v, a value for the place of r.
func (r *Rule) Check(validator Validator, v reflect.Value) error {
	if validator == nil || r == nil {
		return nil
	}
	// v gets the type of the place if that keeps its content, so that the Validator sees what it would find in the whole struct.
	switch {
	case !v.IsValid(): // it stands for nil
		v = reflect.Zero(r.Type)
	case r.Type.Kind() == reflect.Pointer && v.Type() == r.Type.Elem():
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	case v.Kind() == r.Type.Kind() && v.CanConvert(r.Type):
		v = v.Convert(r.Type)
	}
	if r.Tag != "" {
		return validator.Var(v.Interface(), r.Tag)
	}
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct && !IsTime(v.Type()) {
		return validator.Struct(v.Interface())
	}
	return nil
}

func (b *builder) probeFields(outer *Rule, t reflect.Type, place string, seen map[reflect.Type]bool) {
	if seen[t] || IsTime(t) {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if declarationOf(f.Type) != nil || !f.IsExported() && !f.Anonymous {
			continue
		}
		r := ruleOf(outer, f)
		if r != nil && r.Tag != "" {
			if problem := r.misread(b.s.Options.Validator); problem != "" {
				b.add(CodeRule, place+f.Name, "the validator does not take the tag validate:%q: %s", r.Tag, problem)
			}
		}
		b.probeInside(r, place+f.Name, seen)
	}
}

// probeInside probes the structs inside the values of a place.
func (b *builder) probeInside(r *Rule, place string, seen map[reflect.Type]bool) {
	if r == nil {
		return
	}
	b.probeInside(r.Key, place, seen)
	b.probeInside(r.Elem, place, seen)
	t := item.Pointee(r.Type)
	if t.Kind() == reflect.Struct {
		b.probeFields(r, t, place+".", seen)
	}
}

// misread returns the text of the panic with which the Validator reads the tag, or "". Whether the zero value is valid does not matter.
func (r *Rule) misread(validator Validator) (problem string) {
	defer func() {
		if p := recover(); p != nil {
			problem = fmt.Sprint(p)
		}
	}()
	_ = validator.Var(reflect.Zero(r.Type).Interface(), r.Tag)
	return ""
}
