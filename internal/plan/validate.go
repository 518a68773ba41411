package plan

import (
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// ValidationError is a value that its own Validate method refused, before any request. Field is the Go name of the field
// and says which value inside it was meant, as in Address.City, Tags[2] or Status["bme280"]; it is "" when the value was
// the entity. The error of the method is behind it; for a secret field it is not, because it may quote the value, and
// Field is its name alone.
type ValidationError struct {
	Code, Type, Field string
	Err               error
}

func (e *ValidationError) Error() string {
	text := e.Code + " " + e.Type
	if e.Field != "" {
		text += "." + e.Field
	}
	if e.Err == nil {
		return text + ": the value is not valid"
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the error of the Validate method.
func (e *ValidationError) Unwrap() error { return e.Err }

// ValidateField asks the value fv of a, stored as av, and all values inside it whether they may be stored. It returns
// the refusals, in the order of the fields.
func ValidateField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	return validateAt(s, a, a.Field, fv, av)
}

func validateAt(s *schema.Schema, a *schema.Attr, place string, fv reflect.Value, av types.AttributeValue) []error {
	var found refusals
	found.walk(fv, av, place)
	return found.errors(s, a)
}

func (r refusals) errors(s *schema.Schema, a *schema.Attr) []error {
	if len(r) > 0 && a != nil && a.Role.Has(tag.Secret) {
		return []error{&ValidationError{CodeInvalid, s.Type.String(), a.Field, nil}}
	}
	var errs []error
	for _, f := range r {
		errs = append(errs, &ValidationError{CodeInvalid, s.Type.String(), f.place, f.err})
	}
	return errs
}

// validate asks every field of v that it holds, and then v itself.
func validate(s *schema.Schema, v reflect.Value, it item.Item) []error {
	var errs []error
	for _, a := range s.Attrs {
		fv, err := v.FieldByIndexErr(a.Index)
		if av, written := it[a.Name]; err == nil && written && !a.Owned() {
			errs = append(errs, ValidateField(s, a, fv, av)...)
		}
	}
	if s.Handle != "" {
		return errs
	}
	var found refusals
	found.ask(v, "")
	return append(errs, found.errors(s, nil)...)
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
		return found.errors(s, n.Attr)
	}
	found.walkElements(v, av, func(int) string { return place })
	return found.errors(s, n.Attr)
}

// Joined is one error for all: nil for none, itself for one.
func Joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
