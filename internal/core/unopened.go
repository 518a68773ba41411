package core

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Unopened is the error of a handle of type t, or of a database, that is nil or a zero value.
func Unopened(t reflect.Type) error {
	name := "handle"
	if t != nil {
		name = t.String()
	}
	return &plan.InputError{Code: plan.CodeUnopened, Type: name, Problem: "it is nil or a zero value; use what the functions that open it return"}
}

// Closed is the core of a handle of type t that is nil or a zero value: whatever is made of it fails with the same error,
// before any request.
func Closed(t reflect.Type) *Core {
	s := &schema.Schema{Type: t, Unopened: Unopened(t)}
	if t == nil {
		s.Type = reflect.TypeFor[Handle]()
	}
	return &Core{Schema: s, Runner: &exec.Runner{MaxAttempts: 1, Clock: time.Now, NewID: func() string { return "" }}}
}

// Err is why nothing can be done with c: its handle was not opened. It is nil for others.
func (c *Core) Err() error { return c.Schema.Unopened }

// Refused is the plan of a query of a core that was not opened; verb is what it would have done.
func Refused(c *Core, verb string) *query.Plan {
	return &query.Plan{Source: query.Source{Schema: c.Schema, Verb: verb}, Err: c.Err()}
}
