package plan

import (
	"errors"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// ValidateField checks a part of an item: the value fv of a, stored as av. The value and all values inside it are asked
// whether they may be stored, and then the Validator, by the field's tag. It returns the refusals, in the order of the
// fields.
func ValidateField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	return append(askField(s, a, fv, av), check(s, a, a.Field, a.Rule, fv)...)
}

// askField asks the value fv of a and all values inside it.
func askField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	var found refusals
	found.walk(fv, av, a.Field)
	return found.errors(s, a, CodeInvalid)
}

// check asks the Validator about v, a value of a or inside it for the place of rule.
func check(s *schema.Schema, a *schema.Attr, place string, rule *schema.Rule, v reflect.Value) []error {
	if err := rule.Check(s.Options.Validator, v); err != nil {
		return refusals{{place, err}}.errors(s, a, CodeRefused)
	}
	return nil
}

func (r refusals) errors(s *schema.Schema, a *schema.Attr, code string) []error {
	if len(r) > 0 && a != nil && a.Role.Has(tag.Secret) {
		return []error{&ValidationError{Code: code, Type: s.Type.String(), Field: a.Field}}
	}
	var errs []error
	for _, f := range r {
		errs = append(errs, &ValidationError{Code: code, Type: s.Type.String(), Field: f.place, Err: f.err})
	}
	return errs
}

// validate checks a whole value: it asks every field of v that it holds, v itself, and the Validator about v. A series
// is written in parts, so its fields are checked one by one.
func validate(s *schema.Schema, v reflect.Value, it item.Item) []error {
	var errs []error
	inParts := s.Handle != ""
	for _, a := range s.Attrs {
		fv, err := v.FieldByIndexErr(a.Index)
		av, written := it[a.Name]
		switch {
		case err != nil || !written || a.Owned():
		case inParts:
			errs = append(errs, ValidateField(s, a, fv, av)...)
		default:
			errs = append(errs, askField(s, a, fv, av)...)
		}
	}
	if inParts {
		return errs
	}
	var found refusals
	found.ask(v, "")
	errs = append(errs, found.errors(s, nil, CodeInvalid)...)
	if s.Options.Validator == nil {
		return errs
	}
	if err := s.Options.Validator.Struct(v.Interface()); err != nil {
		errs = append(errs, &ValidationError{Code: CodeRefused, Type: s.Type.String(), Err: err, Redacted: hasSecret(s)})
	}
	return errs
}

func hasSecret(s *schema.Schema) bool {
	return slices.ContainsFunc(s.Attrs, func(a *schema.Attr) bool { return a.Role.Has(tag.Secret) })
}

// validateChange asks what a change stores at n: its value, the elements that it adds, the key of its entry. What Add
// makes of a number only DynamoDB knows, and what contains a nested value is not there to be asked.
func validateChange(s *schema.Schema, n *schema.Node, c opt.Change, value any, av types.AttributeValue) []error {
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

// checkChange asks the Validator about what a change stores at n: its value, the elements that it adds, the key of its
// entry. Of a field that is removed, readers see the zero value, so the Validator is asked about that. It is not asked
// about what an Add makes of a number, or about a list, map or struct of which only a part changes.
func checkChange(s *schema.Schema, n *schema.Node, c opt.Change, value any) []error {
	v, place := reflect.ValueOf(value), n.Field
	if place == "" {
		place = n.Attr.Field
	}
	switch {
	case s.Options.Validator == nil || n.Rule == nil:
		return nil
	case c.Kind == expr.Remove && !n.Loose:
		return check(s, n.Attr, place, n.Rule, reflect.Zero(n.Rule.Type))
	case addsElements(c.Kind):
		var errs []error
		for i := range v.Len() {
			errs = append(errs, check(s, n.Attr, place, n.Rule.Elem, v.Index(i))...)
		}
		return errs
	case storesValues(c.Kind):
		var errs []error
		if c.Target.Key != nil {
			errs = check(s, n.Attr, place, n.KeyRule, reflect.ValueOf(c.Target.Key))
		}
		return append(errs, check(s, n.Attr, place, n.Rule, v)...)
	}
	return nil
}

// Joined is one error for all: nil for none, itself for one.
func Joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
