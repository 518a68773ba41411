package entity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// TableOptions are settings of a table that do not affect the code and may differ between environments; see
// [Config].TableOptions. Everything that the code depends on is in the tags. The zero value is an on demand table
// without further settings.
type TableOptions struct {
	PointInTimeRecovery bool                  // continuous backups; needs a client with DescribeContinuousBackups and UpdateContinuousBackups, as *dynamodb.Client
	DeletionProtection  bool                  // DeleteTable is refused
	Provisioned         *Throughput           // capacity of the table; nil is on demand
	Indexes             map[string]Throughput // capacity of global indexes, by name in DynamoDB; default that of the table
}

// Throughput is a provisioned capacity, in read and write units per second, each 1 or more.
type Throughput struct{ Read, Write int64 }

func (t Throughput) String() string { return fmt.Sprintf("%d read, %d write units", t.Read, t.Write) }

// cloneOptions returns a deep copy.
func cloneOptions(all map[string]TableOptions) map[string]TableOptions {
	all = maps.Clone(all)
	for name, o := range all {
		if o.Provisioned != nil {
			t := *o.Provisioned
			o.Provisioned = &t
		}
		o.Indexes = maps.Clone(o.Indexes)
		all[name] = o
	}
	return all
}

// mistakes returns what is wrong with o regardless of the declarations.
func (o TableOptions) mistakes() []string {
	var problems []string
	units := func(of string, t Throughput) {
		if t.Read < 1 || t.Write < 1 {
			problems = append(problems, fmt.Sprintf("the units of %s must be 1 or more, not %d and %d", of, t.Read, t.Write))
		}
	}
	if o.Provisioned != nil {
		units("the table", *o.Provisioned)
	} else if len(o.Indexes) > 0 {
		problems = append(problems, "Indexes needs Provisioned: the indexes of an on demand table are on demand too")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Indexes)) {
		units("index "+name, o.Indexes[name])
	}
	return problems
}

func (o TableOptions) equal(p TableOptions) bool {
	return o.PointInTimeRecovery == p.PointInTimeRecovery && o.DeletionProtection == p.DeletionProtection &&
		(o.Provisioned == nil) == (p.Provisioned == nil) && (o.Provisioned == nil || *o.Provisioned == *p.Provisioned) &&
		maps.Equal(o.Indexes, p.Indexes)
}

// setOptions sets the options of each table by its logical names. It records as mistakes names that no entity uses,
// names of one table with different options, and indexes that do not exist.
func (s *Spec) setOptions(all map[string]TableOptions) {
	bad := func(name, format string, args ...any) {
		s.mistakes = append(s.mistakes, &SchemaError{
			Code: schema.CodeTableOptions, Type: "entity.Config", Field: fmt.Sprintf("TableOptions[%q]", name), Problem: fmt.Sprintf(format, args...),
		})
	}
	known := map[string]bool{}
	for i := range s.Tables {
		t := &s.Tables[i]
		said := ""
		var first TableOptions
		found := false
		for _, name := range t.Logical {
			known[name] = true
			o, ok := all[name]
			switch {
			case !ok:
			case !found:
				said, first, found = name, o, true
			case !first.equal(o):
				bad(name, "differs from TableOptions[%q], and both names lead to table %s", said, t.Name)
			}
		}
		for _, problem := range t.set(first) {
			bad(said, "%s", problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if known[name] {
			continue
		}
		hint := ""
		for _, t := range s.Tables {
			if t.Name == name {
				hint = fmt.Sprintf("; it is the physical name of the table that entities call %q", t.Logical[0])
			}
		}
		bad(name, "no entity that is declared names this table%s", hint)
	}
}

// set sets the options of t, and returns a problem for each index in o that t does not have.
func (t *TableSpec) set(o TableOptions) (problems []string) {
	t.PointInTimeRecovery, t.DeletionProtection = o.PointInTimeRecovery, o.DeletionProtection
	if o.Provisioned == nil {
		return nil
	}
	t.Billing, t.Throughput = provisioned, *o.Provisioned
	indexes := maps.Clone(o.Indexes)
	for i := range t.GSIs {
		x := &t.GSIs[i]
		x.Throughput = t.Throughput
		if own, ok := indexes[x.Name]; ok {
			x.Throughput = own
			delete(indexes, x.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		problems = append(problems, "Indexes names "+name+", which is no global index of table "+t.Name)
	}
	return problems
}
