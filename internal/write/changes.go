package write

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
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

func joinsList(kind expr.Kind) bool { return kind == expr.ListAppend || kind == expr.ListPrepend }

func addsElements(kind expr.Kind) bool { return joinsList(kind) || kind == expr.AddToSet }

// storesValues reports whether a change of this kind stores its value as it is, as a whole or as elements.
func storesValues(kind expr.Kind) bool {
	return kind == expr.Set || kind == expr.SetIfNotExists || addsElements(kind)
}

// checkChangeRule calls the Validator for what a change stores at n: the value, the added elements, the map key. For a
// removed field it validates the zero value, which readers will see. It does not validate the result of Add, or a list,
// map or struct of which only a part changes.
func checkChangeRule(s *schema.Schema, n *schema.Node, c Change, value any) []error {
	v, place := reflect.ValueOf(value), n.Field
	if place == "" {
		place = n.Attr.Field
	}
	switch {
	case s.Options.Validator == nil || n.Rule == nil:
		return nil
	case c.Kind == expr.Remove && !n.Loose:
		return checkRule(s, n.Attr, place, n.Rule, reflect.Zero(n.Rule.Type))
	case addsElements(c.Kind):
		var errs []error
		for i := range v.Len() {
			errs = append(errs, checkRule(s, n.Attr, place, n.Rule.Elem, v.Index(i))...)
		}
		return errs
	case storesValues(c.Kind):
		var errs []error
		if c.Target.Key != nil {
			errs = checkRule(s, n.Attr, place, n.KeyRule, reflect.ValueOf(c.Target.Key))
		}
		return append(errs, checkRule(s, n.Attr, place, n.Rule, v)...)
	}
	return nil
}

// setOption returns the codec option that encodes the slice type as a set.
func setOption(slice reflect.Type) string {
	e := item.Pointee(slice.Elem())
	switch {
	case e.Kind() == reflect.String:
		return ",stringset"
	case e.Kind() == reflect.Slice || e.Kind() == reflect.Array:
		return ",binaryset"
	}
	return ",numberset"
}

// validateChange calls the Validate methods of what a change stores at n: the value, the added elements, the map key. It
// cannot validate the result of Add, which only DynamoDB knows, or the value that contains a nested one.
func validateChange(s *schema.Schema, n *schema.Node, c Change, value any, av types.AttributeValue) []error {
	v := reflect.ValueOf(value)
	place := n.Field
	if place == "" {
		place = n.Attr.Field
	}
	if av == nil || !v.IsValid() || !storesValues(c.Kind) {
		return nil
	}
	var found refusals
	if c.Target.Key != nil {
		found.walk(reflect.ValueOf(c.Target.Key), av, place)
	}
	if !addsElements(c.Kind) {
		found.walk(v, av, place)
		return found.errors(s, n.Attr, CodeInvalid)
	}
	found.walkElements(v, av, func(int) string { return place })
	return found.errors(s, n.Attr, CodeInvalid)
}

// checkChangeType checks that a change of elements works on the type that the attribute is stored as.
func checkChangeType(s *schema.Schema, n *schema.Node, kind expr.Kind, av types.AttributeValue) error {
	switch kind {
	case expr.Add:
		if _, ok := av.(*types.AttributeValueMemberN); !ok {
			return Invalid(s, CodeValue, n.Attr, "Add needs an attribute that is stored as a number")
		}
	case expr.ListAppend, expr.ListPrepend:
		if _, ok := av.(*types.AttributeValueMemberL); !ok {
			return Invalid(s, CodeValue, n.Attr, "ListAppend and ListPrepend need an attribute that is stored as a list")
		}
	case expr.AddToSet, expr.DeleteFromSet:
		switch av.(type) {
		case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		default:
			return Invalid(s, CodeValue, n.Attr, "the attribute is not stored as a set; tag the field stringset, numberset or binaryset")
		}
	}
	return nil
}

// resolveChange compiles one change. refused are the errors of validation, and err is any other mistake.
func resolveChange(s *schema.Schema, n *schema.Node, c Change) (r expr.Change, refused []error, err error) {
	r = expr.Change{Kind: c.Kind, Path: n.Path}
	switch c.Kind {
	case expr.Remove:
		return r, checkChangeRule(s, n, c, nil), nil
	case expr.ListAppend, expr.ListPrepend, expr.AddToSet, expr.DeleteFromSet:
		// A value for a path in text has not been type-checked by the compiler.
		switch v := reflect.ValueOf(c.Value); {
		case v.Kind() != reflect.Slice && v.Kind() != reflect.Array:
			return r, nil, Invalid(s, CodeValue, n.Attr, "the elements to add or remove must be given as a slice")
		case v.Len() == 0:
			return r, nil, Invalid(s, CodeValue, n.Attr, "there is no element to add or remove")
		}
	}
	plain := *n
	if c.Kind != expr.Set && c.Kind != expr.SetIfNotExists {
		plain.Tag.OmitEmpty = false
	}
	if n.Loose && (c.Kind == expr.AddToSet || c.Kind == expr.DeleteFromSet) {
		plain.Options = setOption(reflect.TypeOf(c.Value))
	}
	value := c.Value
	if c.Target.Pointer == nil || c.Target.Inside != "" {
		if value, err = conform(s, n, value); err != nil {
			return r, nil, err
		}
	}
	av, err := encode(s, &plain, reflect.ValueOf(value), n.Attr.Exact, nil)
	if err != nil {
		return r, nil, err
	}
	var byRule []error
	if s.Options.Validator != nil || c.Target.Key != nil || value != nil && !(n.Top && n.Attr.Basic) && schema.MayHaveValidate(reflect.TypeOf(value)) {
		refused, byRule = validateChange(s, n, c, value, av), checkChangeRule(s, n, c, value)
	}
	if c.Kind != expr.Set && c.Kind != expr.SetIfNotExists {
		if err := checkChangeType(s, n, c.Kind, av); err != nil {
			return r, nil, err
		}
	}
	if !n.Attr.Free {
		if n.Top && item.Empty(av) && n.Attr.IsRequired {
			return r, nil, Invalid(s, CodeRequired, n.Attr, "%s", n.Attr.WhyRequired())
		}
		if n.Attr.Role.Has(schema.SetOnce) {
			r.Kind = expr.SetIfNotExists
		}
		if n.Top && item.Absent(av) && n.Attr.IsOnce {
			return r, nil, Invalid(s, CodeValue, n.Attr, "an empty value is not stored in an attribute that is written once")
		}
	}
	if av == nil || n.Top && n.Attr.IndexPart && item.Absent(av) {
		if c.Kind == expr.SetIfNotExists {
			return r, nil, Invalid(s, CodeValue, n.Attr, "an empty value is not stored here")
		}
		r.Kind, av, refused = expr.Remove, nil, nil // as in a write of the whole value
	}
	r.Value = av
	return r, append(refused, byRule...), nil
}

// Changes checks the changes of an update against the schema and encodes their values. simple reports that each sets or removes
// an attribute that is free to change, so that no guard is needed.
func Changes(s *schema.Schema, list []Change) (out []expr.Change, simple bool, err error) {
	if len(list) == 0 {
		return nil, false, Invalid(s, CodeNoChange, nil, "an update needs at least one change")
	}
	var refused []error
	out, simple = make([]expr.Change, 0, len(list)+4), true // with room for what follows from them
	for _, c := range list {
		n, err := Node(s, c.Target)
		if err != nil {
			return nil, false, err
		}
		if !n.Attr.Free {
			if err := MayChange(s, n, c.Kind); err != nil {
				return nil, false, err
			}
		}
		r, errs, err := resolveChange(s, n, c)
		if err != nil {
			return nil, false, err
		}
		refused, simple = append(refused, errs...), simple && n.Attr.Free && len(r.Path) == 1 && (r.Kind == expr.Set || r.Kind == expr.Remove)
		for _, o := range out {
			switch {
			case o.Path.Overlaps(r.Path):
				return nil, false, Invalid(s, CodeOverlap, n.Attr, "two changes overlap in %s", PathText(s, r.Path))
			case o.Path.Disagrees(r.Path):
				return nil, false, Invalid(s, CodeOverlap, n.Attr, "%s and %s take one attribute for a map and for a list", PathText(s, o.Path), PathText(s, r.Path))
			}
		}
		out = append(out, r)
	}
	if len(refused) > 0 {
		err = JoinErrors(refused)
	}
	return out, simple, err
}

func ChangeOf(changes []expr.Change, name string) *expr.Change {
	for i, c := range changes {
		if c.Path.Root() == name {
			return &changes[i]
		}
	}
	return nil
}
