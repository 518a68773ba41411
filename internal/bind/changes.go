package bind

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
)

// MayChange rejects changes of attributes that an update must not write.
func MayChange(s *schema.Schema, n *schema.Node, kind expr.Kind) error {
	a := n.Attr
	switch {
	case s.KeyPart(a):
		return Invalid(s, CodeNotYours, a, "the attribute is part of the primary key")
	case a.IsOwned:
		return Invalid(s, CodeNotYours, a, "the library sets the attribute itself")
	case a.Append || a.Clock:
		return Invalid(s, CodeNotYours, a, "only Append writes the attribute")
	case a.Role.Has(schema.Immutable) && !(kind == expr.Set && n.Top):
		return Invalid(s, CodeNotYours, a, "the attribute is immutable")
	case a.Role.Has(schema.SetOnce) && !((kind == expr.Set || kind == expr.SetIfNotExists) && n.Top):
		return Invalid(s, CodeNotYours, a, "the attribute is set once")
	case a.IsRequired && kind == expr.Remove && n.Top:
		return Invalid(s, CodeRequired, a, "%s", a.WhyRequired())
	}
	return nil
}

// addsElements reports whether a change of this kind adds elements to a list or set.
func addsElements(kind expr.Kind) bool {
	return kind == expr.ListAppend || kind == expr.ListPrepend || kind == expr.AddToSet
}

// validateChange validates what a change stores at n, as av: the value, the added elements, the map key. It calls the Validate methods,
// and then the Validator; for a removed field that gets the zero value, which readers will see. It cannot validate the result of Add,
// which only DynamoDB knows, or a list, map or struct of which only a part changes.
func validateChange(s *schema.Schema, n *schema.Node, c Change, value any, av types.AttributeValue) (refused []error) {
	v, place, stores := reflect.ValueOf(value), n.Field, c.Kind == expr.Set || c.Kind == expr.SetIfNotExists
	if place == "" {
		place = n.Attr.Field
	}
	if av != nil && v.IsValid() && (stores || addsElements(c.Kind)) {
		var found refusals
		if c.Target.Key != nil {
			found.walk(reflect.ValueOf(c.Target.Key), av, place)
		}
		if stores {
			found.walk(v, av, place)
		} else {
			found.walkElements(v, av, func(int) string { return place })
		}
		refused = found.errors(s, n.Attr, CodeInvalid)
	}
	check := func(rule *schema.Rule, v reflect.Value) {
		refused = append(refused, checkRule(s, n.Attr, place, rule, v)...)
	}
	switch {
	case s.Options.Validator == nil || n.Rule == nil:
	case c.Kind == expr.Remove && !n.Loose:
		check(n.Rule, reflect.Zero(n.Rule.Type))
	case addsElements(c.Kind):
		rule := n.Rule.Elem
		if item.IsKeySet(n.Rule.Type) {
			rule = n.Rule.Key
		}
		for i := range v.Len() {
			check(rule, v.Index(i))
		}
	case stores:
		if c.Target.Key != nil {
			check(n.KeyRule, reflect.ValueOf(c.Target.Key))
		}
		check(n.Rule, v)
	}
	return refused
}

// Changes checks the changes of an update against the schema and encodes their values. simple reports that each sets or removes
// an attribute that is free to change, so that no guard is needed.
func Changes(s *schema.Schema, list []Change) (out []expr.Change, simple bool, err error) {
	var refused []error
	out, simple = make([]expr.Change, 0, len(list)+4), true // with room for what follows from them
	for _, c := range list {
		n, err := Node(s, c.Target)
		if err != nil {
			return nil, false, err
		}
		r := expr.Change{Kind: c.Kind, Path: n.Path}
		switch {
		case !n.Attr.Plain || c.Target != (Target{Pointer: c.Target.Pointer}) || c.Kind != expr.Set && c.Kind != expr.Remove:
			if r, refused, err = change(s, n, c, refused); err != nil {
				return nil, false, err
			}
			simple = simple && n.Attr.Free && len(r.Path) == 1 && (r.Kind == expr.Set || r.Kind == expr.Remove)
		case c.Kind == expr.Set:
			if r.Value, err = encode(s, n, reflect.ValueOf(c.Value), n.Attr.Exact, nil); err != nil {
				return nil, false, err
			}
			if r.Value == nil { // as in a write of the whole value
				r.Kind = expr.Remove
			}
		}
		for _, o := range out {
			switch {
			case o.Path.Overlaps(r.Path):
				return nil, false, Invalid(s, CodeOverlap, n.Attr, "two changes overlap in %s", layout.PathText(s, r.Path))
			case o.Path.Disagrees(r.Path):
				return nil, false, Invalid(s, CodeOverlap, n.Attr, "%s and %s take one attribute for a map and for a list", layout.PathText(s, o.Path), layout.PathText(s, r.Path))
			}
		}
		out = append(out, r)
	}
	if len(refused) > 0 {
		err = JoinErrors(refused)
	}
	return out, simple, err
}

// change checks one change, of any kind, at n and encodes its value. It appends to refused what is invalid in it.
func change(s *schema.Schema, n *schema.Node, c Change, refused []error) (r expr.Change, _ []error, err error) {
	if !n.Attr.Free {
		if err := MayChange(s, n, c.Kind); err != nil {
			return r, nil, err
		}
	}
	r = expr.Change{Kind: c.Kind, Path: n.Path}
	value, sets := c.Value, c.Kind == expr.Set || c.Kind == expr.SetIfNotExists
	needs, fits := "", []string(nil) // what the attribute must be stored as; nil: anything
	switch c.Kind {
	case expr.Add:
		needs, fits = "Add needs an attribute that is stored as a number", []string{"N"}
	case expr.ListAppend, expr.ListPrepend:
		needs, fits = "ListAppend and ListPrepend need an attribute that is stored as a list", []string{"L"}
	case expr.AddToSet, expr.DeleteFromSet:
		needs, fits = "the attribute is not stored as a set; tag the field stringset, numberset or binaryset", []string{"SS", "NS", "BS"}
	}
	elements := c.Kind == expr.DeleteFromSet || addsElements(c.Kind)
	if elements { // a value for a path in text has not been type-checked by the compiler
		switch v := reflect.ValueOf(value); {
		case v.Kind() != reflect.Slice && v.Kind() != reflect.Array && !(v.IsValid() && item.IsKeySet(v.Type())):
			return r, nil, Invalid(s, CodeValue, n.Attr, "the elements to add or remove must be given as a slice")
		case v.Len() == 0:
			return r, nil, Invalid(s, CodeValue, n.Attr, "there is no element to add or remove")
		}
	}
	if c.Kind != expr.Remove {
		plain := *n
		plain.Tag.OmitEmpty = plain.Tag.OmitEmpty && sets
		if n.Loose && (c.Kind == expr.AddToSet || c.Kind == expr.DeleteFromSet) {
			plain.Options = ",numberset"
			switch item.Pointee(reflect.TypeOf(value).Elem()).Kind() {
			case reflect.String:
				plain.Options = ",stringset"
			case reflect.Slice, reflect.Array:
				plain.Options = ",binaryset"
			}
		}
		if c.Target.Pointer == nil || c.Target.Inside != "" {
			if value, err = conform(s, n, value); err != nil {
				return r, nil, err
			}
		}
		if elements {
			value = item.Elements(reflect.ValueOf(value)).Interface()
		}
		if r.Value, err = encode(s, &plain, reflect.ValueOf(value), n.Attr.Exact, nil); err != nil {
			return r, nil, err
		}
		switch {
		case fits != nil && !slices.Contains(fits, item.TypeName(r.Value)):
			return r, nil, Invalid(s, CodeValue, n.Attr, "%s", needs)
		case n.Top && n.Attr.IsRequired && item.Empty(r.Value):
			return r, nil, Invalid(s, CodeRequired, n.Attr, "%s", n.Attr.WhyRequired())
		case n.Top && n.Attr.IsOnce && item.Absent(r.Value):
			return r, nil, Invalid(s, CodeValue, n.Attr, "an empty value is not stored in an attribute that is written once")
		case r.Value == nil || n.Top && n.Attr.IndexPart && item.Absent(r.Value):
			if c.Kind == expr.SetIfNotExists {
				return r, nil, Invalid(s, CodeValue, n.Attr, "an empty value is not stored here")
			}
			r.Kind, r.Value = expr.Remove, nil // as in a write of the whole value
		case n.Attr.IsOnce && n.Attr.Role.Has(schema.SetOnce):
			r.Kind = expr.SetIfNotExists
		}
	}
	if s.Options.Validator != nil || c.Target.Key != nil || value != nil && !(n.Top && n.Attr.Basic) && schema.MayHaveValidate(reflect.TypeOf(value)) {
		refused = append(refused, validateChange(s, n, c, value, r.Value)...)
	}
	return r, refused, nil
}

// ChangeOf returns the change of an attribute or inside it, or nil.
func ChangeOf(changes []expr.Change, name string) *expr.Change {
	for i, c := range changes {
		if c.Path.Root() == name {
			return &changes[i]
		}
	}
	return nil
}
