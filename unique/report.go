package unique

import (
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Kind says what is wrong with a value.
type Kind int

// What can be wrong with a value.
const (
	Orphaned     Kind = iota // a sentinel, and no item that has the value
	WrongOwner               // an item has the value, and the sentinel names another one, which has it not
	MissingClaim             // an item has the value, and there is no sentinel
	Conflict                 // several items have the value
)

// String is the name of the kind.
func (k Kind) String() string {
	names := []string{"orphaned", "misowned", "unclaimed", "conflict"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// Finding is one value whose sentinel and owner do not agree. It never shows the value; keys of items, in which a value
// may be a part, are in its fields only.
type Finding struct {
	Kind      Kind
	Owners    []Owner // the items that have the value
	ClaimedBy *Owner  // the item that the sentinel names; nil without a sentinel, or when it names none

	suspect *suspect
}

// String says what is wrong, without keys.
func (f Finding) String() string {
	if f.Kind == Conflict {
		return fmt.Sprintf("conflict of %d items", len(f.Owners))
	}
	return f.Kind.String()
}

// Report is what [Lookup.Verify] found.
type Report struct {
	Items      int // items that have a value, deleted copies that reserve one among them
	Sentinels  int // sentinels that have not expired
	Unreadable int // items whose value could not be composed, since an attribute has another type
	Findings   []Finding
}

// String counts the findings.
func (r Report) String() string {
	return fmt.Sprintf("%d items, %d sentinels, %d unreadable: %s", r.Items, r.Sentinels, r.Unreadable, count(r.Findings))
}

// Repaired is what [Lookup.Repair] did.
type Repaired struct {
	Report    Report    // what it found
	Fixed     []Finding // what it mended
	Remaining []Finding // what it left: conflicts, and values that were written too often meanwhile
}

// String counts what was done.
func (r Repaired) String() string {
	return fmt.Sprintf("mended %s; left %s", count(r.Fixed), count(r.Remaining))
}

func count(findings []Finding) string {
	n := map[Kind]int{}
	for _, f := range findings {
		n[f.Kind]++
	}
	var parts []string
	for k := Orphaned; k <= Conflict; k++ {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// suspect is a value that was seen where sentinel and owner did not agree.
type suspect struct {
	key    item.Item            // of the sentinel
	owners map[string]item.Item // primary keys of items that were seen with the value, by their ids
}
