package entity

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Spec is what the stores declared on a [DB] need of DynamoDB: the value from which [DB.CreateTables] makes its requests
// and with which [DB.Verify] compares. It is plain data, equal for equal declarations in equal order; print it to read
// it.
type Spec struct {
	Tables []TableSpec // in order of first use

	mistakes []error
}

// Err joins a *[SchemaError] for each reason that no such tables can be made: with code EDD-9068 a mistake of
// [Config].TableOptions that shows only beside the declarations, which is a name that no entity uses, two names of one
// table that differ, or an index that there is not; with EDD-9070 and EDD-9071 more local indexes or projected attributes
// than DynamoDB allows. CreateTables, Verify and package iac return it before they do anything.
func (s Spec) Err() error {
	errs := slices.Clone(s.mistakes)
	for _, t := range s.Tables {
		errs = append(errs, t.limits()...)
	}
	return errors.Join(errs...)
}

// TableSpec is one table.
type TableSpec struct {
	Name     string            // physical name
	Logical  []string          // the names in entity.Key's table that lead to it, in order of first use; "" is the default table
	Entities []string          // names of the entities that live in it, in order of declaration
	Key      KeySpec           // primary key
	GSIs     []IndexSpec       // global secondary indexes, each once, in order of declaration
	LSIs     []IndexSpec       // local secondary indexes, likewise; their partition key is the table's
	TTL      string            // attribute that items expire by, "" when none does
	Billing  types.BillingMode // on demand, or provisioned by [Config].TableOptions

	Throughput          Throughput           // of a provisioned table
	Stream              types.StreamViewType // what the stream shows, "" when no entity needs one
	PointInTimeRecovery bool
	DeletionProtection  bool
}

// provisioned is the billing mode of tables with a Throughput.
const provisioned = types.BillingModeProvisioned

// KeySpec is the key of a table or an index. Only a GSI with a native key has more than one attribute on a side.
type KeySpec struct {
	Partition []AttributeSpec // at least one
	Sort      []AttributeSpec // nil without a sort key
}

// AttributeSpec is an attribute of a key: its name, and S, N or B.
type AttributeSpec struct {
	Name string
	Type types.ScalarAttributeType
}

// IndexSpec is one secondary index: its name in DynamoDB, its key, and what it holds.
type IndexSpec struct {
	Name       string
	Key        KeySpec
	Projection ProjectionSpec
	Throughput Throughput // of a global index of a provisioned table
}

// ProjectionSpec is what an index holds of the items: ALL, KEYS_ONLY, or INCLUDE with the attributes beside the keys.
type ProjectionSpec struct {
	Type    types.ProjectionType
	Include []string // for INCLUDE: what the entities ask for, then what the library's own filters need
}

// CheckNew returns the errors that stand in the way of creating the tables of the spec, joined: those of [Spec.Err], a
// *[SchemaError] with code EDD-9050 for a table that [Config] knows by an ARN or another text that is not a table name,
// and keys without a partition key, as a Spec written by hand may have. It is nil when there are none.
func (s Spec) CheckNew() error {
	errs := append([]error{s.Err()}, s.misnamed()...)
	for _, t := range s.Tables {
		for _, x := range append([]IndexSpec{{Name: t.Name, Key: t.Key}}, append(slices.Clone(t.GSIs), t.LSIs...)...) {
			if len(x.Key.Partition) == 0 {
				errs = append(errs, fmt.Errorf("table %s: %s has no partition key", t.Name, x.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// KeyAttributes returns the attributes of all keys of the table and its indexes, each once, ordered by name.
func (t TableSpec) KeyAttributes() []AttributeSpec {
	keyed := append(slices.Clone(t.Key.Partition), t.Key.Sort...)
	for _, x := range append(slices.Clone(t.GSIs), t.LSIs...) {
		keyed = append(append(keyed, x.Key.Partition...), x.Key.Sort...)
	}
	slices.SortFunc(keyed, func(a, b AttributeSpec) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(keyed)
}

// String prints each table with one line for each of its parts.
func (s Spec) String() string {
	tables := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		tables[i] = t.String()
	}
	return strings.Join(tables, "\n")
}

// String prints the table with one line for each of its parts.
func (t TableSpec) String() string {
	var b strings.Builder
	line := func(what, text string) { fmt.Fprintf(&b, "\n  %-8s %s", what, text) }
	b.WriteString("table " + t.Name)
	logical := make([]string, len(t.Logical))
	for i, name := range t.Logical {
		if logical[i] = name; name == "" {
			logical[i] = "(default)"
		}
	}
	line("logical", strings.Join(logical, ", "))
	line("entities", strings.Join(t.Entities, ", "))
	line("key", t.Key.String())
	for _, x := range t.GSIs {
		line("gsi", x.String())
	}
	for _, x := range t.LSIs {
		line("lsi", x.String())
	}
	if t.TTL != "" {
		line("ttl", t.TTL)
	}
	if t.Stream != "" {
		line("stream", string(t.Stream))
	}
	if t.PointInTimeRecovery {
		line("recovery", "point in time")
	}
	if t.DeletionProtection {
		line("deletion", "protected")
	}
	if t.Billing == provisioned {
		line("billing", string(t.Billing)+": "+t.Throughput.String())
	} else {
		line("billing", string(t.Billing))
	}
	return b.String()
}

// String prints the key as DynamoDB's console does: pk (S) HASH, sk (S) RANGE.
func (k KeySpec) String() string {
	var parts []string
	for _, a := range k.Partition {
		parts = append(parts, a.String()+" HASH")
	}
	for _, a := range k.Sort {
		parts = append(parts, a.String()+" RANGE")
	}
	return strings.Join(parts, ", ")
}

// String prints the attribute: pk (S).
func (a AttributeSpec) String() string { return a.Name + " (" + string(a.Type) + ")" }

// String prints the index on one line.
func (x IndexSpec) String() string {
	text := x.Name + ": " + x.Key.String() + "; " + x.Projection.String()
	if x.Throughput != (Throughput{}) {
		text += "; " + x.Throughput.String()
	}
	return text
}

// String prints the projection: ALL, KEYS_ONLY, or INCLUDE with the attributes.
func (p ProjectionSpec) String() string {
	if len(p.Include) == 0 {
		return string(p.Type)
	}
	return string(p.Type) + " " + strings.Join(p.Include, ", ")
}
