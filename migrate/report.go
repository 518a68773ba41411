package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/engine"
)

// A Reason says why an item is rewritten. An item can have several.
type Reason string

// The reasons.
const (
	Payload   Reason = "payload"    // an earlier payload version
	IndexKeys Reason = "index keys" // a key of an index is missing, or differs from what its parts say
	Marks     Reason = "marks"      // a hidden attribute is missing: the item was written by another program
	Defaults  Reason = "defaults"   // an attribute with a default is missing
	KeyParts  Reason = "key parts"  // an attribute is missing that the primary key is composed of
	EventKeys Reason = "event keys" // the key of an event lacks the id that the series declares
	Ending    Reason = "end"        // the end is missing, with the option Ends
	Claims    Reason = "claims"     // a unique value is not claimed, or its claim expires at another time than the item
)

// The reasons of a copy.
const (
	Missing   Reason = "missing"   // there is no copy
	Differing Reason = "differing" // the copy is not what the function makes of the item
	Extra     Reason = "extra"     // there is a copy, and no item that the function makes it of
)

// A Problem says why an item cannot be rewritten. Such an item stays as it is.
type Problem string

// The problems.
const (
	NotUpgraded Problem = "payload cannot be upgraded"              // an upgrade failed, or none reads the version
	Undecodable Problem = "does not decode"                         // an attribute has another type than its field
	WrongKey    Problem = "key does not follow from its attributes" // or from its kind
	ValueTaken  Problem = "unique value belongs to another item"    // by its sentinel; Repair of package unique may settle it
	Unstorable  Problem = "cannot be stored as it should be"        // an index key is invalid or too long, or the item too large
	NoEventID   Problem = "event without an id"                     // the series declares an id, and the event has none
	EventTaken  Problem = "another event has its new key"           // with the same orderBy and id and other content
	UnknownKind Problem = "related item of an unknown kind"         // a later version of the library may have written it
	Busy        Problem = "written too often meanwhile"             // in each of five times Config.MaxAttempts attempts; a second run may succeed
)

// The problems of a copy. It can have Undecodable, NotUpgraded, ValueTaken, Unstorable, UnknownKind and Busy too.
const (
	NotConverted Problem = "function returned an error"         // which is in the example
	KeyTaken     Problem = "key belongs to another item's copy" // the function gives two items one key
	Foreign      Problem = "written by another program"         // the item under the copy's key, which therefore stays
)

// mostExamples limits the examples that a report has of each reason and problem.
const mostExamples = 10

// Example is an item with a reason or a problem.
type Example struct {
	Reason  Reason  // "" if the item has a problem
	Problem Problem // "" if the item is rewritten
	Key     string  // its primary key, in a copy that of the old item; secret parts are hidden
	Err     error   // of the function of a copy; nil for other problems
}

// Cost sums up what requests cost.
type Cost struct {
	Requests   int
	ReadUnits  float64 // read capacity units
	WriteUnits float64 // write capacity units, those of indexes included
}

// add adds a measured call.
func (c *Cost) add(r engine.Report) {
	c.Requests += r.Requests
	c.ReadUnits += r.ReadUnits
	c.WriteUnits += r.WriteUnits
}

// String returns the cost on one line.
func (c Cost) String() string {
	return fmt.Sprintf("%d requests, %.1f read units, %.1f write units", c.Requests, c.ReadUnits, c.WriteUnits)
}

// Report is the result of a [Rewrite], or of a part of a [Copier]. With a [Checkpoint], the counts are those of all runs of the work. A page of items
// that was under way when a run was killed is read again, and what the killed run did of it is not counted.
type Report struct {
	Evaluated int             // items read, of any entity
	Items     int             // of them items of the entity: current items, deleted copies, snapshots, events
	Expired   int             // of them items that have expired, which stay as they are; of a copy also those whose copies would have
	Omitted   int             // of a copy: items that the function leaves out with Skip
	Related   int             // of a copy: events, snapshots and deleted copies, which are not copied
	Rewritten int             // items written or removed; with DryRun and Verify, to be written or removed
	Reasons   map[Reason]int  // how many for each reason
	Problems  map[Problem]int // how many items stay as they are for each problem
	Conflicts int             // how often an item was read again because it was written meanwhile
	Examples  []Example       // up to ten items of this run for each reason and problem
	Cost      Cost            // of all requests, those for the checkpoint included
	Estimate  Cost            // with DryRun: what the same run would cost without it
	Resumed   bool            // an earlier run under the checkpoint has done part of the work
	Done      bool            // the whole table, or the whole segment, was read

	written string // what was done to the items that were written
}

// Clean reports whether the whole table was read, and every item was as it should be.
func (r Report) Clean() bool { return r.Done && r.Rewritten == 0 && r.Skipped() == 0 }

// Skipped returns how many items cannot be rewritten.
func (r Report) Skipped() (n int) {
	for _, k := range r.Problems {
		n += k
	}
	return n
}

// String returns the counts on one line, reasons and problems in the order of their names.
func (r Report) String() string {
	written := r.written
	if written == "" {
		written = "rewritten"
	}
	text := fmt.Sprintf("%d of %d items %s", r.Rewritten, r.Items, written) + counts(r.Reasons)
	if n := r.Skipped(); n > 0 {
		text += fmt.Sprintf(", %d skipped", n) + counts(r.Problems)
	}
	return text
}

// counts prints a count for each name, in parentheses.
func counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// newReport returns an empty report.
func newReport() Report { return Report{Reasons: map[Reason]int{}, Problems: map[Problem]int{}} }

// clone returns a copy that shares nothing with r.
func (r Report) clone() Report {
	r.Reasons, r.Problems, r.Examples = maps.Clone(r.Reasons), maps.Clone(r.Problems), slices.Clone(r.Examples)
	return r
}

// example adds an example, unless there are enough of its reason or problem.
func (r *Report) example(x Example) {
	same := 0
	for _, y := range r.Examples {
		if y.Reason == x.Reason && y.Problem == x.Problem {
			same++
		}
	}
	if same < mostExamples {
		r.Examples = append(r.Examples, x)
	}
}

// add adds the counts of a part of the work.
func (r *Report) add(part Report) {
	r.Evaluated += part.Evaluated
	r.Items += part.Items
	r.Expired += part.Expired
	r.Rewritten += part.Rewritten
	r.Omitted += part.Omitted
	r.Related += part.Related
	r.Conflicts += part.Conflicts
	for k, n := range part.Reasons {
		r.Reasons[k] += n
	}
	for k, n := range part.Problems {
		r.Problems[k] += n
	}
	for _, x := range part.Examples {
		r.example(x)
	}
	r.Estimate.Requests += part.Estimate.Requests
	r.Estimate.ReadUnits += part.Estimate.ReadUnits
	r.Estimate.WriteUnits += part.Estimate.WriteUnits
}
