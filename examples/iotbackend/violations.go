package main

import (
	"errors"
	"fmt"
	"strings"
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

// ask has the value of a field say whether it is valid.
func (v *violations) ask(field string, value interface{ Validate() error }) {
	if err := value.Validate(); err != nil {
		v.add(field, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
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
