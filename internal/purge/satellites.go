package purge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// atOnce is how many satellites are removed at the same time.
const atOnce = 8

// under reads every satellite of the item under an infix, expired or not, also of features that are declared no more, and
// hands them over page by page.
func (p *Purge) under(ctx context.Context, infix string, take func([]item.Item) error) error {
	if p.Schema.SK == nil || !p.Schema.SK.Prefixed {
		return nil
	}
	for page, err := range plan.Pages(ctx, p.Runner, plan.QuerySatellites(p.Schema, p.Table, p.Key, infix)) {
		if err != nil {
			return err
		}
		if err := take(page); err != nil {
			return err
		}
	}
	return nil
}

// satellites removes snapshots or events one by one, each as it was read; changed says that one was not.
func (p *Purge) satellites(ctx context.Context, list []item.Item) (changed bool, err error) {
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

// removal is the conditional delete of an item as it was read. It is skipped when the item is another one now.
func (p *Purge) removal(it item.Item) *plan.Op {
	op := &plan.Op{Verb: "Purge", Schema: p.Schema, Table: p.Table, Key: plan.KeyOf(p.Schema, it), SoleWriter: true}
	op.Plan = func(plan.Input) (plan.Step, error) {
		return plan.Step{
			Actions: []plan.Action{{Kind: plan.Delete, Table: p.Table, Key: op.Key, Cond: p.asRead(it)}},
			Resolve: func(f []plan.Failure) plan.Resolution {
				if f[0].Image == nil {
					p.deleted.perhaps() // by us, or by another
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

// asRead holds while an item is the one that was read: by its write id, else by what distinguishes states.
func (p *Purge) asRead(it item.Item) expr.Cond {
	if w, ok := it[schema.WriteAttr]; ok {
		return expr.All(plan.There(p.Schema), expr.Compare(expr.Eq, expr.Attr(schema.WriteAttr), w))
	}
	conds := []expr.Cond{plan.There(p.Schema)}
	deletedAt, _ := plan.DeletedAttr(p.Schema)
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

// perhaps notes a removal that may have been made by this purge.
func (c *counter) perhaps() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.any = true
}

// failed notes the error of one removal among several: that of the first alone reaches the caller.
func (c *counter) failed(err error) {
	if ambiguous := new(plan.Ambiguous); errors.As(err, &ambiguous) {
		c.perhaps()
	}
}
