package tables

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// sameOptions reports whether o and p are equal.
func sameOptions(o, p entity.TableOptions) bool {
	return o.PointInTimeRecovery == p.PointInTimeRecovery && o.DeletionProtection == p.DeletionProtection &&
		(o.Provisioned == nil) == (p.Provisioned == nil) && (o.Provisioned == nil || *o.Provisioned == *p.Provisioned) &&
		maps.Equal(o.Indexes, p.Indexes)
}

// setOptions sets the options of each table by its logical names. It records as mistakes names that no entity uses,
// names of one table with different options, and indexes that do not exist.
func (s *Spec) setOptions(all map[string]entity.TableOptions) {
	bad := func(name, format string, args ...any) {
		s.mistakes = append(s.mistakes, &entity.SchemaError{
			Code: schema.CodeTableOptions, Type: "entity.Config", Field: fmt.Sprintf("TableOptions[%q]", name), Problem: fmt.Sprintf(format, args...),
		})
	}
	known := map[string]bool{}
	for i := range s.Tables {
		t := &s.Tables[i]
		said := ""
		var first entity.TableOptions
		found := false
		for _, name := range t.Logical {
			known[name] = true
			o, ok := all[name]
			switch {
			case !ok:
			case !found:
				said, first, found = name, o, true
			case !sameOptions(first, o):
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
func (t *Table) set(o entity.TableOptions) (problems []string) {
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
