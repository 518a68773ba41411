// Package purge removes everything that belongs to one item: the current item, its deleted copies, snapshots and events,
// and its unique values.
package purge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Purge is the removal of one item.
type Purge struct {
	Runner   *exec.Runner
	Schema   *schema.Schema
	Table    string
	Key      item.Item         // primary key of the current item
	Parts    item.Item         // its parts as given
	Progress func(deleted int) // called after each removal, one call at a time; may be nil

	deleted counter
	ours    bool // something with the given spelling was found
}

// Run removes what exists, round by round, until a round finds no current item at its end. It can be interrupted and run
// again. The error is ambiguous unless nothing was removed.
func (p *Purge) Run(ctx context.Context) error {
	p.deleted.notify = p.Progress
	err := p.rounds(ctx)
	if err != nil && p.deleted.any {
		err = &plan.Ambiguous{Err: err, Partly: true}
	}
	return err
}

func (p *Purge) rounds(ctx context.Context) error {
	for range p.Runner.MaxAttempts {
		again, err := p.round(ctx)
		if err != nil || !again {
			return err
		}
	}
	return entitytype.ErrConflict
}

// round removes what it reads, and reports whether something was written in between.
func (p *Purge) round(ctx context.Context) (again bool, err error) {
	current, err := p.Runner.Get(ctx, p.Table, p.Key, true)
	if err != nil {
		return false, err
	}
	var copies []item.Item
	err = p.relatedPages(ctx, schema.CopyInfix, func(page []item.Item) error {
		copies = append(copies, page...)
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := layout.SameCase(p.Schema, p.Parts, current); err != nil {
		return false, err
	}
	if err := p.spelled(append(slices.Clone(copies), current)); err != nil {
		return false, err
	}
	if again, err := p.currentAndCopies(ctx, current, copies); err != nil || again {
		return again, err
	}
	for _, infix := range []string{schema.EventInfix, schema.SnapshotInfix} {
		err := p.relatedPages(ctx, infix, func(page []item.Item) error {
			if err := p.spelled(page); err != nil {
				return err
			}
			changed, err := p.removeRelated(ctx, page)
			again = again || changed
			return err
		})
		if err != nil {
			return false, err
		}
	}
	if current, err = p.Runner.Get(ctx, p.Table, p.Key, true); err != nil {
		return false, err
	}
	return again || current != nil, nil
}

// spelled rejects items whose key differs from the given one in case, unless something has the given spelling. In that case
// items have shared the key one after the other, and all of them are removed, or none could ever be purged.
func (p *Purge) spelled(items []item.Item) error {
	cased := p.Schema.FoldedParts()
	given := func(it item.Item) bool {
		return !slices.ContainsFunc(cased, func(a *schema.Attr) bool { return !item.Equal(it[a.Name], p.Parts[a.Name]) })
	}
	if p.ours = p.ours || slices.ContainsFunc(items, given); p.ours {
		return nil
	}
	for _, it := range items {
		if err := layout.SameCase(p.Schema, p.Parts, it); err != nil {
			return err
		}
	}
	return nil
}

// owned is an item with the sentinels of its possible values.
type owned struct {
	item      item.Item // nil for a current item that must stay absent
	sentinels []item.Item
}

// currentAndCopies removes the current item, the deleted copies and their unique values: in one transaction or, if they are too many,
// the copies first and the current item last. A value is removed with the last item that has it, so that an interrupted
// purge leaves no item without its claim. again reports that something was written in between.
func (p *Purge) currentAndCopies(ctx context.Context, current item.Item, copies []item.Item) (again bool, err error) {
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
				if id := layout.KeyID(k); !taken[id] {
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

// chunk returns how many of the items go into one transaction with their sentinels. The current item is the last and stays
// whole; transactions before the last one check it.
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

// transaction removes items as they were read. last says that the current item is among them; otherwise it is checked to be
// as it was read, because a new life may have the values of the copies.
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
	guard, pin := layout.Absent(p.Schema), expr.Cond{}
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
			add(plan.Action{Kind: plan.Delete, Key: layout.KeyOf(p.Schema, o.item), Cond: p.asRead(o.item)}, changed)
			n++
		}
		for _, k := range o.sentinels {
			if id := layout.KeyID(k); !slices.Contains(in.Hints, any(id)) {
				add(plan.Action{Kind: plan.Delete, Key: k, Cond: layout.FreeOrOwnedBy(p.Schema, p.Key)}, plan.Resolution{Replan: entitytype.ErrConflict, Hints: []any{id}})
			}
		}
	}
	return plan.Step{
		Actions: actions,
		Whole:   true,
		Resolve: func(f []plan.Failure) plan.Resolution {
			for i := range f {
				if f[i].Failed() && f[i].Image == nil && actions[i].Kind == plan.Delete {
					p.deleted.maybe() // by this purge, whose request was delivered twice, or by another
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

// resolve joins the resolutions of the failed actions; a changed item outweighs the others.
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

// atOnce is how many related items are removed concurrently.
const atOnce = 8

// relatedPages reads every related item of the item under an infix, page by page, including expired ones and those of features that
// are no longer declared.
func (p *Purge) relatedPages(ctx context.Context, infix string, take func([]item.Item) error) error {
	if p.Schema.SK == nil || !p.Schema.SK.Prefixed {
		return nil
	}
	for page, err := range layout.Pages(ctx, p.Runner, layout.QueryRelated(p.Schema, p.Table, p.Key, infix)) {
		if err != nil {
			return err
		}
		if err := take(page); err != nil {
			return err
		}
	}
	return nil
}

// removeRelated removes snapshots or events one by one, each only as it was read. changed reports that one was not.
func (p *Purge) removeRelated(ctx context.Context, list []item.Item) (changed bool, err error) {
	results, errs := make([]plan.Result, len(list)), make([]error, len(list))
	var stop atomic.Bool
	exec.Parallel(len(list), atOnce, func(i int) {
		if stop.Load() {
			return
		}
		if results[i], errs[i] = p.Runner.Run(ctx, p.removal(list[i])); errs[i] != nil {
			stop.Store(true)
			p.deleted.failed(errs[i])
		}
	})
	for i, r := range results {
		if changed = changed || r.Skipped; errs[i] != nil && err == nil {
			err = errs[i]
		}
	}
	return changed, err
}

// removal returns the conditional delete of an item as it was read. It is skipped if the item has changed.
func (p *Purge) removal(it item.Item) *plan.Op {
	op := &plan.Op{Verb: "Purge", Schema: p.Schema, Table: p.Table, Key: layout.KeyOf(p.Schema, it), SoleWriter: true}
	op.Plan = func(plan.Input) (plan.Step, error) {
		return plan.Step{
			Actions: []plan.Action{{Kind: plan.Delete, Table: p.Table, Key: op.Key, Cond: p.asRead(it)}},
			Resolve: func(f []plan.Failure) plan.Resolution {
				if f[0].Image == nil {
					p.deleted.maybe() // by this purge or another
					return plan.Resolution{Result: &plan.Result{}}
				}
				return plan.Skipped()
			},
			Done: func(plan.Returned) (plan.Result, error) {
				p.deleted.add(1)
				return plan.Result{}, nil
			},
		}, nil
	}
	return op
}

// asRead holds while an item is as it was read: by its write id, otherwise by what distinguishes states.
func (p *Purge) asRead(it item.Item) expr.Cond {
	if w, ok := it[schema.WriteAttr]; ok {
		return expr.All(layout.Present(p.Schema), expr.Compare(expr.Eq, expr.Attr(schema.WriteAttr), w))
	}
	conds := []expr.Cond{layout.Present(p.Schema)}
	deletedAt, _ := layout.DeletedAttr(p.Schema)
	names := []string{deletedAt}
	for _, a := range p.Schema.Attrs {
		if a == p.Schema.Version || a.Clock {
			names = append(names, a.Name)
		}
	}
	for _, name := range names {
		if av, ok := it[name]; ok {
			conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), av))
		}
	}
	return expr.All(conds...)
}

// counter counts removals and reports them.
type counter struct {
	mu     sync.Mutex
	n      int
	any    bool // something was removed, or may have been
	notify func(int)
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.any = true
	if c.n += n; c.notify != nil {
		c.notify(c.n)
	}
}

// maybe records a removal that this purge may have made.
func (c *counter) maybe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.any = true
}

// failed records the error of a removal. Only the first reaches the caller.
func (c *counter) failed(err error) {
	if ambiguous := new(plan.Ambiguous); errors.As(err, &ambiguous) {
		c.maybe()
	}
}
