package entity

import (
	"fmt"
	"regexp"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// What DynamoDB lets the indexes of a table carry beside their keys, where they do not carry all. An attribute counts once
// for each index.
const (
	mostProjected        = 20  // by one index
	mostProjectedInTotal = 100 // by all indexes of a table
)

// limits are the reasons for which DynamoDB would not make t, whoever asks.
func (t TableSpec) limits() []error {
	var errs []error
	bad := func(code, format string, args ...any) {
		errs = append(errs, &SchemaError{Code: code, Type: "table " + t.Name, Problem: fmt.Sprintf(format, args...)})
	}
	if n := len(t.LSIs); n > schema.MaxLocalIndexes { // of a Spec made by hand: others are refused when a store is built
		bad(schema.CodeLocalIndexes, "it has %d local indexes; DynamoDB gives a table %d", n, schema.MaxLocalIndexes)
	}
	total := 0
	for _, list := range [][]IndexSpec{t.GSIs, t.LSIs} {
		for _, x := range list {
			n := len(x.Projection.Include)
			if total += n; n > mostProjected {
				bad(schema.CodeProjected, `index %s would carry %d attributes beside its keys, with those that the library needs; DynamoDB allows %d: use project:"all"`, x.Name, n, mostProjected)
			}
		}
	}
	if total > mostProjectedInTotal {
		bad(schema.CodeProjected, `its indexes would carry %d attributes beside their keys; DynamoDB allows %d for a table: use project:"all" on some`, total, mostProjectedInTotal)
	}
	return errs
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

// misnamed is what is wrong with the names of tables that are to be made. Requests to a table that is there may have its
// ARN, which says whose it is; what makes a table takes a name.
func (s Spec) misnamed() []error {
	var errs []error
	for _, t := range s.Tables {
		if !tableName.MatchString(t.Name) {
			errs = append(errs, &SchemaError{
				Code: schema.CodeConfig, Type: "entity.Config", Field: t.configured(),
				Problem: fmt.Sprintf("a table cannot be made with the name %q: it must have 3 to 255 letters, digits, _, . and -; an ARN names one that is there", t.Name),
			})
		}
	}
	return errs
}

// configured is the field of [Config] that the name of t is from.
func (t TableSpec) configured() string {
	switch {
	case len(t.Logical) == 0: // a Spec written by hand
		return fmt.Sprintf("Tables[%q]", t.Name)
	case t.Logical[0] == "":
		return "Table"
	}
	return fmt.Sprintf("Tables[%q]", t.Logical[0])
}
