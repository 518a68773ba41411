package plan

import (
	"errors"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Validator is implemented by types of fields, and by entities, that know which of their values may be stored.
type Validator interface{ Validate() error }

var validatorType = reflect.TypeFor[Validator]()

// ValidationError is a value that its own Validate method refused, before any request. Field is "" when it was the
// entity's. The error of the method is behind it; for a secret field it is not, because it may quote the value.
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

// ValidateField asks the field's type whether the value of a may be stored. A nil pointer is no value.
func ValidateField(s *schema.Schema, a *schema.Attr, fv reflect.Value) error {
	err := ask(fv)
	if err == nil {
		return nil
	}
	if a.Role.Has(tag.Secret) {
		err = nil
	}
	return &ValidationError{CodeInvalid, s.Type.String(), a.Field, err}
}

// ask calls Validate on v or on its address, whichever has it.
func ask(v reflect.Value) error {
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case t.Implements(validatorType):
		return v.Interface().(Validator).Validate()
	case t.Kind() == reflect.Pointer:
		return ask(v.Elem())
	case reflect.PointerTo(t).Implements(validatorType):
		p := reflect.New(t)
		p.Elem().Set(v)
		return p.Interface().(Validator).Validate()
	}
	return nil
}

// validate asks every field of v that it holds, and then v itself. All failures are joined.
func validate(s *schema.Schema, v reflect.Value, it item.Item) error {
	var errs []error
	for _, a := range s.Attrs {
		fv, err := v.FieldByIndexErr(a.Index)
		if _, written := it[a.Name]; err == nil && written && !a.Owned() {
			errs = append(errs, ValidateField(s, a, fv))
		}
	}
	if err := ask(v); err != nil && s.Handle == "" {
		errs = append(errs, &ValidationError{CodeInvalid, s.Type.String(), "", err})
	}
	return errors.Join(errs...)
}
