package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-playground/validator/v10"
)

// violation is one value of a request that breaks a rule. It never has the value.
type violation struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// invalid is a request that cannot be carried out as it is.
type invalid struct{ violations []violation }

func (e *invalid) Error() string {
	texts := make([]string, len(e.violations))
	for i, v := range e.violations {
		texts[i] = v.Field + ": " + v.Problem
	}
	return strings.Join(texts, "; ")
}

// violations collects everything that is wrong with a request, so that its sender learns it at once.
type violations []violation

func (v *violations) add(field, format string, args ...any) {
	*v = append(*v, violation{field, fmt.Sprintf(format, args...)})
}

// ask checks the value of a field by a tag.
func (v *violations) ask(field string, value any, tag string) {
	v.refused(field, rules.Var(value, tag))
}

// validate checks a request by the tags of its fields. Of a field and what is inside it, the first violation counts.
func validate(request any) error {
	var v violations
	v.refused("", rules.Struct(request))
	return v.err()
}

// refused adds what the rules found, under the name of the field, or of each field of a request.
func (v *violations) refused(field string, err error) {
	var found validator.ValidationErrors
	if !errors.As(err, &found) {
		return
	}
	seen := map[string]bool{}
	for _, f := range found {
		name := field
		if name == "" {
			_, path, _ := strings.Cut(f.Namespace(), ".")
			name, _, _ = strings.Cut(path, ".")
		}
		if !seen[name] {
			seen[name] = true
			v.add(name, "%s", problemOf(f.Tag()))
		}
	}
}

// take adds the violations of a part of the request, below its name.
func (v *violations) take(below string, err error) {
	var part *invalid
	if errors.As(err, &part) {
		for _, p := range part.violations {
			v.add(below+p.Field, "%s", p.Problem)
		}
	}
}

func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	return &invalid{v}
}
