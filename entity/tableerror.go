package entity

import (
	"strings"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// TableError is a table that [DB.CreateTables] or [DB.Verify] cannot accept: because it differs from the declarations, or
// because a request failed. A table that differs is a *[SchemaError] with code EDD-9049 too, one that is missing an
// [ErrNoTable].
type TableError struct {
	Table       string  // physical name
	Differences []Drift // all that there are: key, indexes, then settings
	Err         error   // of a request; nil when the table differs
}

// Error lists the differences, one on a line.
func (e *TableError) Error() string {
	if e.Err != nil {
		return "table " + e.Table + ": " + e.Err.Error()
	}
	lines := []string{schema.CodeTableKey + " table " + e.Table + " differs from the declarations:"}
	for _, d := range e.Differences {
		lines = append(lines, "  "+d.String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives Err, or the differences as a *SchemaError.
func (e *TableError) Unwrap() error {
	if e.Err != nil {
		return e.Err
	}
	texts := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		texts[i] = d.String()
	}
	return &SchemaError{Code: schema.CodeTableKey, Type: "table " + e.Table, Problem: "the table exists and differs: " + strings.Join(texts, "; ")}
}

// VerifyError is what [DB.Verify] found: every table that differs, is missing, or could not be asked about, in the order of
// [DB.Spec].
type VerifyError struct{ Tables []*TableError }

// Error is the text of each table's error.
func (e *VerifyError) Error() string {
	texts := make([]string, len(e.Tables))
	for i, t := range e.Tables {
		texts[i] = t.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap gives the errors of the tables.
func (e *VerifyError) Unwrap() []error {
	errs := make([]error, len(e.Tables))
	for i, t := range e.Tables {
		errs[i] = t
	}
	return errs
}

// Drift is one thing that a table does not have as the declarations need it.
type Drift struct {
	Kind  DriftKind
	Index string // name in DynamoDB, of a difference of an index
	Need  string // what the declarations need, in the words of [Spec]
	Has   string // what the table has, "" for nothing
}

// DriftKind says what differs.
type DriftKind string

// The kinds of differences. CreateTables reports those up to DifferentStream, Verify all.
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

// String is the difference on one line: index gsi1, key: needs …, has ….
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
