package migrate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// fix examines a finding again and fixes it, until it succeeds or the value was written too often meanwhile.
func (v *verification) fix(ctx context.Context, f UniqueFinding, done *UniqueRepair) error {
	for range maxLooks {
		e, err := v.examine(ctx, f.suspect)
		switch {
		case err != nil:
			return err
		case !e.damaged:
			return nil // another client has fixed it
		}
		if f = e.finding; f.Kind == Conflict {
			break
		}
		op := &plan.Op{Verb: "Repair", Schema: v.s, Table: v.c.Table, Key: f.suspect.key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{AsStored: true}}
		op.Plan = func(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) { return v.plan(in, e) }
		result, err := v.c.Runner.Run(ctx, op)
		if err != nil {
			return err
		}
		if !result.Skipped {
			done.Fixed = append(done.Fixed, f)
			return nil
		}
	}
	done.Remaining = append(done.Remaining, f)
	return nil
}

// plan returns the write that makes the sentinel agree with the evidence, under the condition that the evidence still
// holds; otherwise it is skipped.
func (v *verification) plan(in *plan.Input, e evidence) (*plan.Plan, error) {
	p := e.finding.suspect
	var actions []plan.Action
	var problem error
	check := func(k item.Item, cond expr.Cond) {
		actions = append(actions, plan.Action{Kind: plan.Check, Table: v.c.Table, Key: k, Cond: cond})
	}
	asStored := func(it layout.Stored) expr.Cond {
		cond, err := v.hasFields(it)
		problem = errors.Join(problem, err)
		return cond
	}
	asRead := v.s.Absent
	if e.sentinel != nil {
		asRead = v.unchanged(e.sentinel)
	} else {
		asRead = expr.Any(asRead, layout.HasExpired(v.s, in.Now))
	}
	if x := e.wrongOwner; x != nil {
		if x.current.Raw == nil {
			check(x.key, v.s.Absent)
		} else {
			check(x.key, asStored(x.current))
		}
	}
	if e.finding.Kind == Orphaned {
		release := v.k.Release(v.c.Table, p.key)
		release.Cond = asRead
		actions = append(actions, release)
	} else {
		x := e.holders[0]
		ttl := v.k.ClaimEnd(x.current.Raw, in.Now)
		if x.current.Raw != nil {
			check(x.key, asStored(x.current))
		} else {
			check(x.key, v.s.Absent)
			check(layout.KeyOf(v.s, x.copied.Raw), expr.All(asStored(x.copied), layout.NotExpired(v.s, in.Now)))
			ttl = x.copied.Raw[v.s.Options.TTL]
		}
		put := v.k.Put(in, v.c.Table, p.key, x.key, ttl)
		put.Cond = asRead
		actions = append(actions, put)
	}
	return &plan.Plan{Actions: actions, Meaning: &plan.Fixed{IfRefused: plan.Skipped()}}, problem
}

// hasFields holds while an item exists with the constraint's attributes and the expiry as they were read. An item of an
// earlier payload version, which may have them under other names, has to be as it was read.
func (v *verification) hasFields(read layout.Stored) (expr.Cond, error) {
	if layout.Outdated(v.s, read.Raw) {
		guard, _, err := plan.Unchanged(v.s, read.Raw)
		return guard, err
	}
	it := read.Raw
	conds := []expr.Cond{v.s.Exists}
	var names []string
	for _, f := range v.k.Fields() {
		names = append(names, f.Name)
	}
	if v.s.Expires {
		names = append(names, v.s.Options.TTL)
	}
	for _, name := range names {
		path := expr.Attr(name)
		if av, ok := it[name]; ok {
			conds = append(conds, expr.Compare(expr.Eq, path, av))
		} else {
			conds = append(conds, expr.Compare(expr.NotExists, path))
		}
	}
	return expr.All(conds...), nil
}

// unchanged holds while a sentinel is as it was read.
func (v *verification) unchanged(it item.Item) expr.Cond {
	conds := []expr.Cond{v.s.Exists}
	for _, name := range slices.Sorted(maps.Keys(it)) {
		conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), it[name]))
	}
	if _, ok := it[v.s.Options.TTL]; !ok {
		conds = append(conds, expr.Compare(expr.NotExists, expr.Attr(v.s.Options.TTL)))
	}
	return expr.All(conds...)
}
