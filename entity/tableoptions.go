package entity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/entity/entitytype"
)

// TableOptions has the fields Provisioned, Indexes, PointInTimeRecovery and DeletionProtection: settings of a table that do not
// affect the code and may differ between environments; see [Config].TableOptions.
type TableOptions = entitytype.TableOptions

// Throughput has the fields Read and Write: a provisioned capacity, in units per second, each 1 or more.
type Throughput = entitytype.Throughput

// optionMistakes returns what is wrong with o regardless of the declarations.
func optionMistakes(o TableOptions) []string {
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
