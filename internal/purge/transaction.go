package purge

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// owned is an item with the sentinels of the values that it may have.
type owned struct {
	item      item.Item // nil: a current item that must stay absent
	sentinels []item.Item
}

// heart removes the current item, the deleted copies and their unique values: in one transaction, or, when they are too
// many for one, the copies first and the current item last. A value goes with the last item that has it, so that none is
// without its claim when the purge is stopped. again says that something was written meanwhile.
func (p *Purge) heart(ctx context.Context, current item.Item, copies []item.Item) (again bool, err error) {
	if current == nil && len(copies) == 0 {
		return false, nil
	}
	var all []owned
	taken := map[string]bool{}
	for _, it := range slices.Backward(append(slices.Clone(copies), current)) {
		o := owned{item: it}
		for _, g := range plan.UniqueConstraints(p.Schema) {
			keys, err := g.Sentinels(it)
			if err != nil {
				return false, err
			}
			for _, k := range keys {
				if id := plan.KeyID(k); !taken[id] {
					taken[id] = true
					o.sentinels = append(o.sentinels, k)
				}
			}
		}
		all = append(all, o)
	}
	slices.Reverse(all)
	for len(all) > 0 {
		n := chunk(all)
		if again, err := p.transaction(ctx, all[:n], current, n == len(all)); err != nil || again {
			return again, err
		}
		all = all[n:]
	}
	return false, nil
}

// chunk is how many of the items go into one transaction with their sentinels. The current item, which is the last,
// stays whole; the transactions before the last one check it.
func chunk(all []owned) int {
	actions, checked := 0, 0
	for i, o := range all {
		if actions += 1 + len(o.sentinels); actions < plan.MaxActions {
			checked = i + 1
		}
	}
	if actions <= plan.MaxActions {
		return len(all)
	}
	return max(checked, 1)
}

// transaction removes items as they were read. last says that the current item is among them; else it is checked to be
// as it was read, because a life that has begun since may have the values of the copies.
func (p *Purge) transaction(ctx context.Context, items []owned, current item.Item, last bool) (again bool, err error) {
	op := &plan.Op{Verb: "Purge", Schema: p.Schema, Table: p.Table, Key: p.Key, SoleWriter: true}
	op.Plan = func(in plan.Input) (plan.Step, error) { return p.step(in, items, current, last) }
	result, err := p.Runner.Run(ctx, op)
	return result.Skipped, err
}

func (p *Purge) step(in plan.Input, items []owned, current item.Item, last bool) (plan.Step, error) {
	var actions []plan.Action
	var resolutions []plan.Resolution // of each action, when its condition fails
	add := func(a plan.Action, v plan.Resolution) {
		a.Table = p.Table
		actions, resolutions = append(actions, a), append(resolutions, v)
	}
	changed, n := plan.Skipped(), 0
	guard, pin := plan.Absent(p.Schema), expr.Cond{}
	if current != nil {
		var err error
		if guard, pin, err = plan.Unchanged(p.Schema, current); err != nil {
			return plan.Step{}, err
		}
	}
	if !last {
		add(plan.Action{Kind: plan.Check, Key: p.Key, Cond: guard}, changed)
	}
	for i, o := range items {
		switch {
		case o.item == nil:
			add(plan.Action{Kind: plan.Check, Key: p.Key, Cond: guard}, changed)
		case last && i == len(items)-1:
			add(plan.Action{Kind: plan.Delete, Key: p.Key, Cond: guard, Pin: pin}, changed)
			n++
		default:
			add(plan.Action{Kind: plan.Delete, Key: plan.KeyOf(p.Schema, o.item), Cond: p.asRead(o.item)}, changed)
			n++
		}
		for _, k := range o.sentinels {
			if id := plan.KeyID(k); !slices.Contains(in.Hints, any(id)) {
				add(plan.Action{Kind: plan.Delete, Key: k, Cond: plan.Mine(p.Schema, p.Key)}, plan.Resolution{Replan: plan.ErrConflict, Hints: []any{id}})
			}
		}
	}
	return plan.Step{
		Actions: actions,
		Whole:   true,
		Resolve: func(f []plan.Failure) plan.Resolution {
			for i := range f {
				if f[i].Failed() && f[i].Image == nil && actions[i].Kind == plan.Delete {
					p.deleted.perhaps() // by us, in a request that was delivered twice, or by another
				}
			}
			return resolve(resolutions, f)
		},
		Done: func(plan.Returned) (plan.Result, error) {
			p.deleted.add(n)
			return plan.Result{}, nil
		},
	}, nil
}

// resolve joins what the failed actions teach; a changed item outweighs all.
func resolve(resolutions []plan.Resolution, f []plan.Failure) plan.Resolution {
	var v plan.Resolution
	for i, x := range resolutions {
		if !f[i].Failed() {
			continue
		}
		if x.Result != nil {
			return x
		}
		v.Replan, v.Hints = x.Replan, append(v.Hints, x.Hints...)
	}
	return v
}
