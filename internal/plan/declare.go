package plan

import (
	"errors"
	"reflect"
	"strings"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// AnyHandle, as the Handle of Options, accepts structs with every constructor.
const AnyHandle = "any"

// Declare compiles struct type t for a database with the options o and a store with those of spec. It checks all that New checks
// without knowing the other entities. The error joins an *entitytype.SchemaError or *entitytype.InputError for each mistake.
func Declare(t reflect.Type, o schema.Options, spec *bind.Options) (*schema.Schema, error) {
	refused := func(problem string) error {
		return &entitytype.InputError{Code: bind.CodeOption, Type: t.String(), Problem: problem}
	}
	if err := spec.Err(); err != nil {
		return nil, refused(err.Error())
	}
	o.Name, o.Table, o.After, o.NoExpiry = spec.Name, spec.Table, spec.After, spec.NoExpiry
	o.Own, o.Derived, o.Sources, o.Secret = spec.Own, spec.Derived, spec.Sources, spec.Secret
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
		// A declaration, such as timeseries.Events, is for one constructor, such as timeseries.New.
		declares := func(constructor string) string { return "_ " + strings.TrimSuffix(constructor, "New") + "Events" }
		problem := "the struct needs no declaration of " + spec.Handle + "; use entity.New"
		switch {
		case s.Handle != "":
			problem = declares(s.Handle) + " needs " + s.Handle + ", and not entity.New"
		case spec.Handle != "":
			problem = "the struct lacks the declaration that " + spec.Handle + " is for: " + declares(spec.Handle)
		}
		return nil, &entitytype.SchemaError{Code: schema.CodeHandle, Type: t.String(), Problem: problem}
	case spec.Upgrades == nil:
		return s, nil
	}
	var steps schema.Upgrades
	for _, u := range spec.Upgrades {
		steps = append(steps, schema.Upgrade{From: u.From, Old: u.Old, New: u.New, Apply: u.Apply})
	}
	var wrong []error
	for _, problem := range s.SetUpgrades(steps) {
		wrong = append(wrong, &entitytype.InputError{Code: bind.CodeUpgrade, Type: t.String(), Problem: problem})
	}
	return s, errors.Join(wrong...)
}
