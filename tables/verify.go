package tables

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// DriftKind says what differs.
type DriftKind string

// The kinds of differences. Create reports those up to DifferentStream, Verify all.
const (
	DriftKey            DriftKind = "key"              // DynamoDB cannot change it: a new table is needed
	MissingIndex        DriftKind = "index"            // a local one cannot be added to a table
	DifferentIndexKey   DriftKind = "index key"        // needs a new index
	DifferentProjection DriftKind = "index projection" // lacks attributes; needs a new index
	DifferentStream     DriftKind = "stream"           // needs a stream that is switched off and on
	DifferentTTL        DriftKind = "time to live"
	DifferentRecovery   DriftKind = "point-in-time recovery"
	DifferentDeletion   DriftKind = "deletion protection"
	DifferentBilling    DriftKind = "billing"
	DifferentThroughput DriftKind = "throughput"
)

// Drift is one difference between a table and the declarations.
type Drift struct {
	Kind  DriftKind
	Index string // name in DynamoDB, of a difference of an index
	Need  string // what the declarations need, as [Spec] prints it
	Has   string // what the table has, "" if nothing
}

// String returns the difference on one line: index gsi1, key: needs …, has ….
func (d Drift) String() string {
	text := string(d.Kind)
	if d.Index != "" && d.Kind != MissingIndex {
		text += " of " + d.Index
	}
	has := d.Has
	if has == "" {
		has = "none"
	}
	return text + ": needs " + d.Need + ", has " + has
}

// Error says that [Create] or [Verify] does not accept a table. It differs from the declarations, is missing, or a request for it failed. It matches a *[entity.SchemaError] with code EDD-9049 if the table differs, and [entity.ErrNoTable] if
// it is missing.
type Error struct {
	Table       string  // physical name
	Differences []Drift // all of them: key, indexes, then settings
	Err         error   // of a request; nil if the table differs
}

// Error lists the differences, one per line.
func (e *Error) Error() string {
	if e.Err != nil {
		return "table " + e.Table + ": " + e.Err.Error()
	}
	lines := []string{schema.CodeTableKey + " table " + e.Table + " differs from the declarations:"}
	for _, d := range e.Differences {
		lines = append(lines, "  "+d.String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns Err, or the differences as a *entity.SchemaError.
func (e *Error) Unwrap() error {
	if e.Err != nil {
		return e.Err
	}
	texts := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		texts[i] = d.String()
	}
	return &entity.SchemaError{Code: schema.CodeTableKey, Type: "table " + e.Table, Problem: "the table exists and differs: " + strings.Join(texts, "; ")}
}

// VerifyError has an [Error] for each table that [Verify] does not accept. They are in the order of [Of].
type VerifyError struct{ Tables []*Error }

// Error joins the errors of the tables.
func (e *VerifyError) Error() string {
	texts := make([]string, len(e.Tables))
	for i, t := range e.Tables {
		texts[i] = t.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the errors of the tables.
func (e *VerifyError) Unwrap() []error {
	errs := make([]error, len(e.Tables))
	for i, t := range e.Tables {
		errs[i] = t
	}
	return errs
}

// describedTable returns what DescribeTable shows of a table.
func describedTable(d *types.TableDescription) Table {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		kinds[*a.AttributeName] = a.AttributeType
	}
	key := func(elements []types.KeySchemaElement) (k Key) {
		for _, e := range elements {
			a := Attribute{*e.AttributeName, kinds[*e.AttributeName]}
			if e.KeyType == types.KeyTypeHash {
				k.Partition = append(k.Partition, a)
			} else {
				k.Sort = append(k.Sort, a)
			}
		}
		return k
	}
	t := Table{Key: key(d.KeySchema), Billing: provisioned, Throughput: describedThroughput(d.ProvisionedThroughput)}
	if d.BillingModeSummary != nil { // absent if the table was never on demand
		t.Billing = d.BillingModeSummary.BillingMode
	}
	if s := d.StreamSpecification; s != nil && s.StreamEnabled != nil && *s.StreamEnabled {
		t.Stream = s.StreamViewType
	}
	t.DeletionProtection = d.DeletionProtectionEnabled != nil && *d.DeletionProtectionEnabled
	for _, x := range d.GlobalSecondaryIndexes {
		t.GSIs = append(t.GSIs, Index{*x.IndexName, key(x.KeySchema), describedProjection(x.Projection), describedThroughput(x.ProvisionedThroughput)})
	}
	for _, x := range d.LocalSecondaryIndexes {
		t.LSIs = append(t.LSIs, Index{Name: *x.IndexName, Key: key(x.KeySchema), Projection: describedProjection(x.Projection)})
	}
	return t
}

func describedProjection(p *types.Projection) Projection {
	if p == nil {
		return Projection{Type: types.ProjectionTypeAll}
	}
	return Projection{p.ProjectionType, p.NonKeyAttributes}
}

func describedThroughput(p *types.ProvisionedThroughputDescription) (t entity.Throughput) {
	if p != nil && p.ReadCapacityUnits != nil && p.WriteCapacityUnits != nil {
		t = entity.Throughput{Read: *p.ReadCapacityUnits, Write: *p.WriteCapacityUnits}
	}
	return t
}

// lacking returns what the code needs of t and an existing table does not have: its key, an index, a projected
// attribute, a stream.
func (t Table) lacking(got Table) []Drift {
	var found []Drift
	if a, b := t.Key.text(), got.Key.text(); a != b {
		found = append(found, Drift{Kind: DriftKey, Need: a, Has: b})
	}
	check := func(kind string, need, have []Index) {
		for _, x := range need {
			i := slices.IndexFunc(have, func(y Index) bool { return y.Name == x.Name })
			if i < 0 {
				found = append(found, Drift{Kind: MissingIndex, Index: x.Name, Need: "the " + kind + " index " + x.Name + ": " + x.Key.text()})
				continue
			}
			y := have[i]
			if a, b := x.Key.text(), y.Key.text(); a != b {
				found = append(found, Drift{DifferentIndexKey, x.Name, a, b})
			} else if !x.Projection.within(y.Projection) {
				found = append(found, Drift{DifferentProjection, x.Name, x.Projection.text(), y.Projection.text()})
			}
		}
	}
	check("global", t.GSIs, got.GSIs)
	check("local", t.LSIs, got.LSIs)
	if t.Stream != "" && !shows(got.Stream, t.Stream) {
		found = append(found, Drift{Kind: DifferentStream, Need: string(t.Stream), Has: string(got.Stream)})
	}
	return found
}

// shows reports whether a stream with view type has contains everything that view type need would.
func shows(has, need types.StreamViewType) bool {
	return has == need || has == types.StreamViewTypeNewAndOldImages || has != "" && need == types.StreamViewTypeKeysOnly
}

// within reports whether an index that projects got projects all of p.
func (p Projection) within(got Projection) bool {
	if got.Type == types.ProjectionTypeAll || p.Type == types.ProjectionTypeKeysOnly {
		return true
	}
	return p.Type != types.ProjectionTypeAll && !slices.ContainsFunc(p.Include, func(name string) bool { return !slices.Contains(got.Include, name) })
}

// unlike returns what Config.TableOptions asks of t and an existing table does not have. It ignores capacity and
// protection that a table has in addition.
func (t Table) unlike(got Table) []Drift {
	var found []Drift
	if t.DeletionProtection && !got.DeletionProtection {
		found = append(found, Drift{Kind: DifferentDeletion, Need: "on", Has: "off"})
	}
	switch {
	case t.Billing != provisioned:
		return found
	case got.Billing != provisioned:
		return append(found, Drift{Kind: DifferentBilling, Need: string(t.Billing), Has: string(got.Billing)})
	case t.Throughput != got.Throughput:
		found = append(found, Drift{Kind: DifferentThroughput, Need: capacity(t.Throughput), Has: capacity(got.Throughput)})
	}
	for _, x := range t.GSIs {
		for _, y := range got.GSIs {
			if x.Name == y.Name && x.Throughput != y.Throughput {
				found = append(found, Drift{DifferentThroughput, x.Name, capacity(x.Throughput), capacity(y.Throughput)})
			}
		}
	}
	return found
}

// Verify compares every table of [Of] with the existing one: keys and their types, indexes and their projections,
// time to live, the stream, and the options of [entity.Config].TableOptions. It ignores what a table has in addition. It
// changes nothing. It costs two requests per table, a third for each with point-in-time recovery. The error is a
// *[VerifyError] with every difference of every table. Before any request come [Spec.Err], EDD-9069 for a client that
// needs DescribeContinuousBackups and lacks it, and [entity.ErrNoClient].
func Verify(ctx context.Context, db *entity.DB) error {
	return manage(ctx, db, "Verify", func(ctx context.Context, m *manager, err error) error {
		if err != nil {
			return err
		}
		return m.verify(ctx)
	})
}

func (m *manager) verify(ctx context.Context) error {
	var bad VerifyError
	for _, t := range m.spec.Tables {
		found, err := m.differences(ctx, t)
		if err != nil || len(found) > 0 {
			bad.Tables = append(bad.Tables, &Error{Table: t.Name, Differences: found, Err: err})
		}
	}
	if bad.Tables == nil {
		return nil
	}
	return &bad
}

// manager sends the requests about the tables of one database.
type manager struct {
	runner  *engine.Runner
	spec    Spec
	backups backupClient // nil if no table needs it
}

// manage calls f as one measured call about all tables, after the checks that precede all management of tables. f gets the
// error of the checks of the spec and of the client.
func manage(ctx context.Context, db *entity.DB, verb string, f func(context.Context, *manager, error) error) error {
	d := engine.DatabaseOf(db)
	if d == nil {
		return engine.Unopened(reflect.TypeOf(db))
	}
	m := &manager{runner: d.Runner, spec: Of(db)}
	if err := engine.CheckContext(ctx); err != nil {
		return f(ctx, m, err)
	}
	return m.runner.Measure(ctx, entitytype.Call{Verb: verb}, func(ctx context.Context) error {
		if m.runner.Client == nil {
			return f(ctx, m, entity.ErrNoClient)
		}
		err := m.spec.Err()
		if err == nil {
			m.backups, err = m.backupsOf()
		}
		return f(ctx, m, err)
	})
}

// differences returns everything that an existing table lacks of t.
func (m *manager) differences(ctx context.Context, t Table) ([]Drift, error) {
	described, err := m.runner.DescribeTable(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	got := describedTable(described)
	found := t.lacking(got)
	if stored, err := m.storedTTL(ctx, t.Name); err != nil {
		return nil, err
	} else if t.TTL != "" && stored != t.TTL {
		found = append(found, Drift{Kind: DifferentTTL, Need: t.TTL, Has: stored})
	}
	if t.PointInTimeRecovery {
		switch on, err := m.storedRecovery(ctx, t.Name); {
		case errors.Is(err, ErrNoRecovery): // does not hide the other differences
			found = append(found, Drift{Kind: DifferentRecovery, Need: "on", Has: "a database without it"})
		case err != nil:
			return nil, err
		case !on:
			found = append(found, Drift{Kind: DifferentRecovery, Need: "on", Has: "off"})
		}
	}
	return append(found, t.unlike(got)...), nil
}
