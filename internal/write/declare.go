package write

import (
	"errors"
	"reflect"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// AnyHandle, as the Handle of Options, accepts structs with every constructor.
const AnyHandle = "any"

// Declare compiles struct type t for a database with the options o and a store with those of spec. It checks all that New checks
// without knowing the other entities. The error joins an *entitytype.SchemaError or *entitytype.InputError for each mistake.
func Declare(t reflect.Type, o schema.Options, spec *Options) (*schema.Schema, error) {
	refused := func(problem string) error {
		return &entitytype.InputError{Code: CodeOption, Type: t.String(), Problem: problem}
	}
	if err := spec.Err(); err != nil {
		return nil, refused(err.Error())
	}
	o.Name, o.Table, o.After, o.NoExpiry = spec.Name, spec.Table, spec.After, spec.NoExpiry
	o.Derived, o.Sources, o.Secret = spec.Derived, spec.Sources, spec.Secret
	if spec.Own {
		o.Precision, o.Profile, o.Validator = key.Nano, schema.Profile{}, nil
	}
	s, err := schema.Build(t, o)
	if err != nil {
		return nil, err
	}
	switch expiry := spec.After != nil || spec.NoExpiry; {
	case expiry && !s.Expires:
		return nil, refused("After and NoExpiry need a lifecycle.TTL declaration")
	case spec.After != nil && spec.NoExpiry:
		return nil, refused("After and NoExpiry exclude each other")
	case s.Handle != spec.Handle && spec.Handle != AnyHandle:
		return nil, wrongHandle(s, spec.Handle)
	}
	return s, setUpgrades(s, spec.Upgrades)
}

// wrongHandle returns the error of a struct that needs another constructor than the one used.
func wrongHandle(s *schema.Schema, used string) error {
	problem := "the struct needs no declaration of " + used + "; use entity.New"
	switch {
	case s.Handle != "":
		problem = "the struct's declarations need " + s.Handle
	case used != "":
		problem = "the struct lacks the declaration that " + used + " is for"
	}
	return &entitytype.SchemaError{Code: schema.CodeHandle, Type: s.Type.String(), Problem: problem}
}

// setUpgrades compiles the upgrades of a new store.
func setUpgrades(s *schema.Schema, upgrades []Upgrade) error {
	if upgrades == nil {
		return nil
	}
	var steps schema.Upgrades
	for _, u := range upgrades {
		steps = append(steps, schema.Upgrade{From: u.From, Old: u.Old, New: u.New, Apply: u.Apply})
	}
	var wrong []error
	for _, problem := range s.SetUpgrades(steps) {
		wrong = append(wrong, &entitytype.InputError{Code: CodeUpgrade, Type: s.Type.String(), Problem: problem})
	}
	return errors.Join(wrong...)
}
