package timeseries

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// recordLate keeps late events in the history of an item that exists, in transactions of their own. Those whose current
// item is gone meanwhile come back: they are late no more.
func (s *Series[T]) recordLate(ctx context.Context, late []*placed) (gone []*placed, err error) {
	c := core.Of(s)
	for part := range slices.Chunk(late, chunkEvents) {
		for len(part) > 0 {
			n := chunkLength(part)
			r := &lateChunk{c: c, rest: part[:n]}
			part = part[n:]
			_, err := c.Runner.Run(ctx, &plan.Op{Verb: "AppendAll", Schema: c.Schema, Table: c.Table, Key: r.rest[0].primary, Plan: r.plan})
			if err != nil {
				return gone, err
			}
			gone = append(gone, r.gone...)
		}
	}
	return gone, nil
}

// lateChunk is a transaction of late events under a check that the current item exists.
type lateChunk struct {
	c    *core.Core
	rest []*placed
	gone []*placed
}

func (r *lateChunk) plan(in plan.Input) (plan.Step, error) {
	actions := []plan.Action{{Kind: plan.Check, Table: r.c.Table, Key: r.rest[0].primary, Cond: r.rest[0].exists()}}
	for _, x := range r.rest {
		put, err := x.put(in)
		if err != nil {
			return plan.Step{}, err
		}
		actions = append(actions, put)
	}
	return plan.Step{
		Actions: actions,
		Whole:   true,
		Resolve: r.rest[0].ownSeries(func(f []plan.Failure) plan.Resolution { return r.resolve(in, f) }),
		Done: func(plan.Returned) (plan.Result, error) {
			for _, x := range r.rest {
				x.outcome = outcome{reason: LateRecorded, current: x.winner}
			}
			return plan.Result{}, nil
		},
	}, nil
}

func (r *lateChunk) resolve(in plan.Input, f []plan.Failure) plan.Resolution {
	var rest []*placed
	for i, x := range r.rest {
		switch failed := f[i+1]; {
		case !failed.Failed():
			rest = append(rest, x)
		case x.same(failed.Image):
			x.outcome = outcome{reason: Duplicate, current: x.winner, stored: failed.Image}
		default:
			x.outcome = outcome{reason: Collision, current: x.winner, stored: failed.Image}
		}
	}
	if f[0].Failed() {
		r.gone, rest = rest, nil
	}
	if r.rest = rest; len(rest) == 0 {
		return plan.Resolution{Result: &plan.Result{}}
	}
	next, err := r.plan(in)
	return plan.Resolution{Next: &next, Err: err}
}
