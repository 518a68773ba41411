package unique

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

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

// Repair verifies, and then brings sentinels in step with the items: it deletes those that no item stands behind, gives
// those that name the wrong item to the right one, and puts those that are missing. It changes sentinels only. Each is
// one transaction with checks that sentinel and items are still what they were found to be, so that other writers can go
// on meanwhile. Conflicts are left: which of the items keeps the value, only the caller can say.
//
// It is for tables that others have written to, and for constraints that were declared when there were items already. It
// can be stopped at any time and run again; what it did until then is in the result, beside the error. It costs what
// [Lookup.Verify] does, and a few reads and a transaction for every finding.
func (l *Lookup[T]) Repair(ctx context.Context, opts ...entity.QueryOption) (Repaired, error) {
	c := core.Of(l)
	if err := c.Err(); err != nil {
		return Repaired{}, c.Wrap("Repair", "", err)
	}
	a := newVerification(c, l.k)
	var done Repaired
	err := c.Measure(ctx, "Repair", "", func(ctx context.Context) error {
		err := a.run(ctx, opt.Queries(opts))
		if done.Report = a.report; err != nil {
			return err
		}
		for _, f := range a.report.Findings {
			if err := a.fix(ctx, f, &done); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// mend looks at a finding again and mends it, until it is mended or was written too often meanwhile.
func (a *verification) fix(ctx context.Context, f Finding, done *Repaired) error {
	for range maxLooks {
		e, err := a.examine(ctx, f.suspect)
		switch {
		case err != nil:
			return err
		case !e.damaged:
			return nil // by another client
		}
		if f = e.finding; f.Kind == Conflict {
			break
		}
		op := &plan.Op{Verb: "Repair", Schema: a.s, Table: a.c.Table, Key: f.suspect.key, SoleWriter: true}
		op.Plan = func(in plan.Input) (plan.Step, error) { return a.step(in, e), nil }
		outcome, err := a.c.Runner.Run(ctx, op)
		if err != nil {
			return err
		}
		if outcome == fixed {
			done.Fixed = append(done.Fixed, f)
			return nil
		}
	}
	done.Remaining = append(done.Remaining, f)
	return nil
}

// fate is what became of an attempt.
type repairOutcome int

const (
	fixed repairOutcome = iota
	changedMeanwhile
)

// step brings the sentinel in step with the evidence, under the condition that this still holds.
func (a *verification) step(in plan.Input, e evidence) plan.Step {
	p := e.finding.suspect
	var actions []plan.Action
	check := func(k item.Item, cond expr.Cond) {
		actions = append(actions, plan.Action{Kind: plan.Check, Table: a.c.Table, Key: k, Cond: cond})
	}
	asRead := plan.Absent(a.s)
	if e.sentinel != nil {
		asRead = a.unchanged(e.sentinel)
	} else {
		asRead = expr.Any(asRead, expr.Compare(expr.Le, expr.Attr(a.s.Options.TTL), plan.Seconds(in.Now)))
	}
	if x := e.wrongOwner; x != nil {
		if x.current == nil {
			check(x.key, plan.Absent(a.s))
		} else {
			check(x.key, a.hasFields(x.current))
		}
	}
	if e.finding.Kind == Orphaned {
		actions = append(actions, plan.Action{Kind: plan.Delete, Table: a.c.Table, Key: p.key, Cond: asRead, Label: a.k.label()})
	} else {
		x := e.holders[0]
		ttl := a.k.expiry(in.Now)
		if x.current != nil {
			check(x.key, a.hasFields(x.current))
		} else {
			check(x.key, plan.Absent(a.s))
			check(plan.KeyOf(a.s, x.copied), expr.All(a.hasFields(x.copied), plan.NotExpired(a.s, in.Now)))
			ttl = x.copied[a.s.Options.TTL]
		}
		writeID := in.WriteID
		if a.k.shared() {
			writeID = ""
		}
		actions = append(actions, plan.Action{
			Kind: plan.Put, Table: a.c.Table, Key: p.key, Item: a.k.sentinel(p.key, x.key, writeID, ttl), Cond: asRead, WriteID: writeID, Label: a.k.label(),
		})
	}
	return plan.Step{
		Actions: actions,
		Resolve: func([]plan.Failure) plan.Resolution { return plan.Resolution{Outcome: changedMeanwhile} },
		Done:    func(plan.Returned) (any, error) { return fixed, nil },
	}
}

// fields holds while an item is there with the constraint's attributes as they were read.
func (a *verification) hasFields(it item.Item) expr.Cond {
	conds := []expr.Cond{plan.There(a.s)}
	for _, f := range a.k.fields {
		path := expr.Attr(f.Name)
		if av, ok := it[f.Name]; ok {
			conds = append(conds, expr.Compare(expr.Eq, path, av))
		} else {
			conds = append(conds, expr.Compare(expr.NotExists, path))
		}
	}
	return expr.All(conds...)
}

// asRead holds while a sentinel is as it was read.
func (a *verification) unchanged(it item.Item) expr.Cond {
	conds := []expr.Cond{plan.There(a.s)}
	for _, name := range slices.Sorted(maps.Keys(it)) {
		conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), it[name]))
	}
	if _, ok := it[a.s.Options.TTL]; !ok {
		conds = append(conds, expr.Compare(expr.NotExists, expr.Attr(a.s.Options.TTL)))
	}
	return expr.All(conds...)
}
