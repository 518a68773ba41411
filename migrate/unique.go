package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/unique"
)

// The kinds of findings of [VerifyUnique], in addition to [Orphaned].
const (
	WrongOwner   Kind = "wrong owner"   // an item has the value, but the sentinel names another item, which does not
	MissingClaim Kind = "missing claim" // an item has the value, but there is no sentinel
	Conflict     Kind = "conflict"      // several items have the value
	WrongExpiry  Kind = "wrong expiry"  // an item has the value, and the sentinel names it, but does not expire with it
)

// A Lookup names the constraint that [VerifyUnique] and [RepairUnique] work on. A *unique.Lookup implements it.
type Lookup interface {
	engine.Holder
	Constraint() string
}

// UniqueFinding is one value whose sentinel and items do not agree. [Orphaned] is a sentinel whose value no item has. Its text
// never contains the value. Keys of items, of which the value may be a part, are in its fields only.
type UniqueFinding struct {
	Kind      Kind
	Owners    []unique.Owner // the items that have the value
	ClaimedBy *unique.Owner  // the item that the sentinel names; nil if there is no sentinel, or if it names no item

	suspect *doubt
}

// String returns what is wrong, without keys.
func (f UniqueFinding) String() string {
	if f.Kind == Conflict {
		return fmt.Sprintf("conflict of %d items", len(f.Owners))
	}
	return string(f.Kind)
}

// UniqueReport is the result of [VerifyUnique].
type UniqueReport struct {
	Items      int // items that have a value, including deleted copies that reserve one
	Sentinels  int // sentinels that have not expired
	Unreadable int // items whose value could not be read, because an attribute has another type
	Findings   []UniqueFinding
}

// String returns the counts of items, sentinels and findings.
func (r UniqueReport) String() string {
	return fmt.Sprintf("%d items, %d sentinels, %d unreadable: %s", r.Items, r.Sentinels, r.Unreadable, kindsOf(r.Findings))
}

// UniqueRepair is the result of [RepairUnique].
type UniqueRepair struct {
	Report    UniqueReport    // what VerifyUnique found
	Fixed     []UniqueFinding // the findings that it fixed
	Remaining []UniqueFinding // the others: conflicts, and values that were written too often meanwhile
}

// String returns the counts of fixed and remaining findings.
func (r UniqueRepair) String() string {
	return fmt.Sprintf("fixed %s; remaining %s", kindsOf(r.Fixed), kindsOf(r.Remaining))
}

// kindsOf returns how many findings there are of each kind.
func kindsOf(findings []UniqueFinding) string {
	n := map[Kind]int{}
	for _, f := range findings {
		n[f.Kind]++
	}
	var parts []string
	for _, k := range []Kind{Orphaned, WrongOwner, MissingClaim, Conflict, WrongExpiry} {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// VerifyUnique scans a table and compares the values of items with their sentinels, in both directions. A value that does not
// agree is read again, sentinel and items in one transaction, so writes at the same time are not reported as damage. With
// unique:"reserve" of package lifecycle, the newest deleted copy of an item has its value too. Expired items, sentinels and
// copies do not count. If the constraint has a ttl, an item without a sentinel is no finding. An item of an earlier payload version
// has its values in today's form; the sentinel for its stored form is not orphaned.
//
// VerifyUnique writes nothing. It costs a strongly consistent scan, one read for every sentinel and one for the sentinel of every
// item, in batches of 100, and a few reads for each value that does not agree.
func VerifyUnique(ctx context.Context, l Lookup, opts ...PassOption) (UniqueReport, error) {
	c := engine.Of(l)
	if err := c.Err(); err != nil {
		return UniqueReport{}, c.Wrap("Verify", "", err)
	}
	v, spec := newVerification(l), bind.Collect(opts)
	err := c.Measure(ctx, "Verify", "", func(ctx context.Context) error { return v.run(bind.WithPace(ctx, spec.Budget), spec) })
	return v.report, err
}

// RepairUnique runs [VerifyUnique] and then fixes its findings: it deletes sentinels of values that no item has, makes sentinels
// that name the wrong item name the right one, puts missing sentinels, and gives sentinels the expiry of their items. It writes sentinels only. Each fix is one
// transaction, under the condition that the sentinel and the items are as they were read, so other writers can continue.
// It does not fix conflicts: only the caller can say which item keeps the value.
//
// Use it for tables that other programs have written to, and after a constraint was declared for existing items. It can be
// stopped at any time and run again; what it did until then is in the result, together with the error. It costs what VerifyUnique
// costs, and a few reads and a transaction for every finding.
func RepairUnique(ctx context.Context, l Lookup, opts ...PassOption) (UniqueRepair, error) {
	c := engine.Of(l)
	if err := c.Err(); err != nil {
		return UniqueRepair{}, c.Wrap("Repair", "", err)
	}
	v, spec := newVerification(l), bind.Collect(opts)
	var done UniqueRepair
	err := c.Measure(ctx, "Repair", "", func(ctx context.Context) error {
		ctx = bind.WithPace(ctx, spec.Budget)
		err := v.run(ctx, spec)
		if done.Report = v.report; err != nil {
			return err
		}
		for _, f := range v.report.Findings {
			if err := v.fix(ctx, f, &done); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}
