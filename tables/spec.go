package tables

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A Spec describes the tables and indexes that the stores declared on an [entity.DB] need. [Create] makes its requests from it, and [Verify]
// compares with it. It is plain data, equal for equal declarations in equal order. Print it to read it.
type Spec struct {
	Tables []Table // in order of first use

	mistakes []error
}

// Table is one table.
type Table struct {
	Name     string            // physical name
	Logical  []string          // logical names in entity.Key, in order of first use; "" is the default table
	Entities []string          // names of its entities, in order of declaration
	Key      Key               // primary key
	GSIs     []Index           // global secondary indexes, each once, in order of declaration
	LSIs     []Index           // local secondary indexes, likewise; with the table's partition key
	TTL      string            // attribute by which items expire, "" if none do
	Billing  types.BillingMode // on demand, or provisioned by [entity.Config].TableOptions

	Throughput          entity.Throughput    // of a provisioned table
	Stream              types.StreamViewType // view type of the stream, "" if no entity needs one
	PointInTimeRecovery bool
	DeletionProtection  bool
}

// provisioned is the billing mode of tables with a Throughput.
const provisioned = types.BillingModeProvisioned

// Key is the key of a table or an index. Only a GSI with a native key has more than one attribute on a side.
type Key struct {
	Partition []Attribute // at least one
	Sort      []Attribute // nil without a sort key
}

// has reports whether the named attribute is part of the key.
func (k Key) has(name string) bool {
	is := func(a Attribute) bool { return a.Name == name }
	return slices.ContainsFunc(k.Partition, is) || slices.ContainsFunc(k.Sort, is)
}

// Attribute is an attribute of a key: its name, and its type S, N or B.
type Attribute struct {
	Name string
	Type types.ScalarAttributeType
}

// Index is one secondary index: its name in DynamoDB, its key and its projection.
type Index struct {
	Name       string
	Key        Key
	Projection Projection
	Throughput entity.Throughput // of a global index of a provisioned table
}

// A Projection says which attributes of the items an index holds: ALL, KEYS_ONLY, or INCLUDE with attributes in addition to the
// keys.
type Projection struct {
	Type    types.ProjectionType
	Include []string // for INCLUDE: what the entities ask for, then what the library's filters need
}

// How many attributes other than keys DynamoDB lets the indexes of a table project by name. An attribute counts once for
// each index.
const (
	mostProjected        = 20  // by one index
	mostProjectedInTotal = 100 // by all indexes of a table
)

// limits returns the reasons why DynamoDB would refuse to create t.
func (t Table) limits() []error {
	var errs []error
	bad := func(code, format string, args ...any) {
		errs = append(errs, &entity.SchemaError{Code: code, Type: "table " + t.Name, Problem: fmt.Sprintf(format, args...)})
	}
	if n := len(t.LSIs); n > schema.MaxLocalIndexes { // of a Spec written by hand; New refuses others
		bad(schema.CodeLocalIndexes, "it has %d local indexes; DynamoDB gives a table %d", n, schema.MaxLocalIndexes)
	}
	total := 0
	for _, list := range [][]Index{t.GSIs, t.LSIs} {
		for _, x := range list {
			n := len(x.Projection.Include)
			if total += n; n > mostProjected {
				bad(schema.CodeProjected, `index %s would carry %d attributes in addition to its keys, with those that the library needs; DynamoDB allows %d: use project:"all"`, x.Name, n, mostProjected)
			}
		}
	}
	if total > mostProjectedInTotal {
		bad(schema.CodeProjected, `its indexes would carry %d attributes in addition to their keys; DynamoDB allows %d for a table: use project:"all" on some`, total, mostProjectedInTotal)
	}
	return errs
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

// configured returns the field of [entity.Config] that t's name comes from.
func (t Table) configured() string {
	switch {
	case len(t.Logical) == 0: // a Spec written by hand
		return fmt.Sprintf("Tables[%q]", t.Name)
	case t.Logical[0] == "":
		return "Table"
	}
	return fmt.Sprintf("Tables[%q]", t.Logical[0])
}

// misnamed returns an error for each table that cannot be created under its name. Requests to an existing table may
// have its ARN; creating a table needs a name.
func (s Spec) misnamed() []error {
	var errs []error
	for _, t := range s.Tables {
		if !tableName.MatchString(t.Name) {
			errs = append(errs, &entity.SchemaError{
				Code: schema.CodeConfig, Type: "entity.Config", Field: t.configured(),
				Problem: fmt.Sprintf("a table cannot be made with the name %q: it must have 3 to 255 letters, digits, _, . and -; an ARN names one that is there", t.Name),
			})
		}
	}
	return errs
}

// Err joins a *[SchemaError] for each reason why these tables cannot be created. Code EDD-9068 is a mistake in
// [entity.Config].TableOptions: a name that no entity uses, two names of one table with different options, or an index that
// does not exist. EDD-9070 and EDD-9071 are more local indexes or projected attributes than DynamoDB allows.
// Create, Verify and package iac return it before they do anything.
func (s Spec) Err() error {
	errs := slices.Clone(s.mistakes)
	for _, t := range s.Tables {
		errs = append(errs, t.limits()...)
	}
	return errors.Join(errs...)
}

// CheckNew joins the errors that prevent creating the tables of the spec: those of [Spec.Err], a *[SchemaError] with
// code EDD-9050 for a table configured by ARN or by another text that is not a table name, and an error for each key
// without a partition key, which a Spec written by hand may have. It is nil if there are none.
func (s Spec) CheckNew() error {
	errs := append([]error{s.Err()}, s.misnamed()...)
	for _, t := range s.Tables {
		for _, x := range append([]Index{{Name: t.Name, Key: t.Key}}, append(slices.Clone(t.GSIs), t.LSIs...)...) {
			if len(x.Key.Partition) == 0 {
				errs = append(errs, fmt.Errorf("table %s: %s has no partition key", t.Name, x.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// KeyAttributes returns the attributes of all keys of the table and its indexes, each once, ordered by name.
func (t Table) KeyAttributes() []Attribute {
	keyed := append(slices.Clone(t.Key.Partition), t.Key.Sort...)
	for _, x := range append(slices.Clone(t.GSIs), t.LSIs...) {
		keyed = append(append(keyed, x.Key.Partition...), x.Key.Sort...)
	}
	slices.SortFunc(keyed, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(keyed)
}

// text is the attribute as a text: pk (S).
func (a Attribute) text() string { return a.Name + " (" + string(a.Type) + ")" }

// text is the key as DynamoDB's console does: pk (S) HASH, sk (S) RANGE.
func (k Key) text() string {
	var parts []string
	for _, a := range k.Partition {
		parts = append(parts, a.text()+" HASH")
	}
	for _, a := range k.Sort {
		parts = append(parts, a.text()+" RANGE")
	}
	return strings.Join(parts, ", ")
}

// text is the projection: ALL, KEYS_ONLY, or INCLUDE with the attributes.
func (p Projection) text() string {
	if len(p.Include) == 0 {
		return string(p.Type)
	}
	return string(p.Type) + " " + strings.Join(p.Include, ", ")
}

// text is the index on one line.
func (x Index) text() string {
	text := x.Name + ": " + x.Key.text() + "; " + x.Projection.text()
	if x.Throughput != (entity.Throughput{}) {
		text += "; " + capacity(x.Throughput)
	}
	return text
}

// text is the table with one line for each of its parts.
func (t Table) text() string {
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
	line("key", t.Key.text())
	for _, x := range t.GSIs {
		line("gsi", x.text())
	}
	for _, x := range t.LSIs {
		line("lsi", x.text())
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
		line("billing", string(t.Billing)+": "+capacity(t.Throughput))
	} else {
		line("billing", string(t.Billing))
	}
	return b.String()
}

// String prints each table with one line for each of its parts.
func (s Spec) String() string {
	tables := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		tables[i] = t.text()
	}
	return strings.Join(tables, "\n")
}

// capacity is a throughput as a text.
func capacity(t entity.Throughput) string {
	return fmt.Sprintf("%d read, %d write units", t.Read, t.Write)
}

// attributeSpecs returns the key's stored attributes; a nil key has none.
func attributeSpecs(h *schema.KeyDef) []Attribute {
	switch {
	case h == nil:
		return nil
	case h.Written():
		return []Attribute{{h.Attr, h.Type}}
	}
	var specs []Attribute
	for _, a := range h.Native {
		specs = append(specs, Attribute{a.Name, a.Scalar})
	}
	return specs
}

func keySpec(pk, sk *schema.KeyDef) Key { return Key{attributeSpecs(pk), attributeSpecs(sk)} }

// indexes returns the table's indexes, each once, in order of declaration.
func indexes(t *schema.Table) []*schema.Index {
	var all []*schema.Index
	for _, s := range t.Entities {
		for _, x := range s.Indexes {
			if !slices.ContainsFunc(all, func(y *schema.Index) bool { return y.Index == x.Index }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// projection merges what the entities on the index ask for and what queries filter by. The keys of the table and of the
// index are always projected.
func projection(t *schema.Table, x *schema.Index, keys ...Key) Projection {
	var include []string
	add := func(name string) {
		if !slices.Contains(include, name) && !slices.ContainsFunc(keys, func(k Key) bool { return k.has(name) }) {
			include = append(include, name)
		}
	}
	for _, s := range t.Entities {
		for _, y := range s.Indexes {
			if y.Index != x.Index {
				continue
			}
			if y.Project.All {
				return Projection{Type: types.ProjectionTypeAll}
			}
			for _, name := range y.Project.Include {
				add(name)
			}
			if s.Templated || plan.Marked(t.Entities, y) {
				add(schema.EntityAttr)
			}
			if s.Discriminator != nil {
				add(s.Discriminator.Attr)
			}
			if s.Expires || s.HoldsCopies(y) {
				add(s.Options.TTL)
			}
			if s.HoldsCopies(y) { // a deleted copy is read with the time of its delete
				add(s.DeletedAt.Name)
			}
		}
	}
	if include == nil {
		return Projection{Type: types.ProjectionTypeKeysOnly}
	}
	return Projection{Type: types.ProjectionTypeInclude, Include: include}
}

// tableOf returns what the entities on t need together.
func tableOf(t *schema.Table) Table {
	first := t.Entities[0]
	spec := Table{Name: t.Name, Key: keySpec(first.PK, first.SK), Billing: types.BillingModePayPerRequest}
	for _, s := range t.Entities {
		spec.Entities = append(spec.Entities, s.Name)
		if !slices.Contains(spec.Logical, s.Table) {
			spec.Logical = append(spec.Logical, s.Table)
		}
		if s.Stream != "" {
			spec.Stream = s.Stream // one for the table, as its TTL attribute
		}
		if s.UsesTTL {
			spec.TTL = s.Options.TTL // one for the table: others are refused when a store is built
		}
	}
	for _, x := range indexes(t) {
		one := Index{Name: x.Index, Key: keySpec(x.PK, x.SK)}
		if x.Local {
			one.Key = keySpec(first.PK, x.SK)
		}
		one.Projection = projection(t, x, spec.Key, one.Key)
		if x.Local {
			spec.LSIs = append(spec.LSIs, one)
		} else {
			spec.GSIs = append(spec.GSIs, one)
		}
	}
	return spec
}

// Of returns what the stores declared on db so far need: tables, keys, indexes, time to live and streams, with the options of
// [entity.Config].TableOptions. It does no I/O and needs no client. [Spec.Err] reports whether the options fit. The value
// shares nothing with db, and does not have stores that are declared later.
func Of(db *entity.DB) Spec {
	d := engine.DatabaseOf(db)
	if d == nil {
		return Spec{mistakes: []error{engine.Unopened(reflect.TypeOf(db))}}
	}
	var s Spec
	for _, t := range d.Tables() {
		s.Tables = append(s.Tables, tableOf(&t))
	}
	s.setOptions(d.TableOptions)
	return s
}
