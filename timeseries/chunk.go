package timeseries

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Bounds of one chunk: a transaction holds 100 actions, one of which is the current item's, and 4 MB.
const (
	chunkEvents = plan.MaxActions - 1
	chunkBytes  = plan.MaxTransactionBytes - 600*1024 // room for the current item's changes
)

// appendChunks sends pending, which is in order, chunk by chunk. It returns the events that came too late and are to be
// recorded all the same.
func (s *Series[T]) appendChunks(ctx context.Context, pending []*placed, user expr.Cond) (late []*placed, err error) {
	c := core.Of(s)
	for len(pending) > 0 {
		n := chunkLength(pending)
		k := &chunk{c: c, e: s.e, user: user, rest: pending[:n]}
		pending = pending[n:]
		_, err := c.Runner.Run(ctx, &plan.Op{Verb: "AppendAll", Schema: c.Schema, Table: c.Table, Key: k.rest[0].primary, Plan: k.plan})
		late = append(late, k.late...)
		if err != nil {
			for _, x := range k.sent {
				x.outcome = outcome{}
			}
			return late, err
		}
	}
	return late, nil
}

// chunkLength is how many of the events fit into one transaction.
func chunkLength(pending []*placed) int {
	bytes := 0
	for i, x := range pending {
		bytes += 2*item.Size(x.carried) + 1024
		if i == chunkEvents || i > 0 && bytes > chunkBytes {
			return i
		}
	}
	return len(pending)
}

// chunk is a transaction's worth of events of one series. What DynamoDB says of them makes it smaller until the rest
// goes through.
type chunk struct {
	c    *core.Core
	e    *events
	user expr.Cond
	rest []*placed // undecided, in order
	sent []*placed // what rest was when it was last sent; an error decides none of it
	late []*placed
}

func (k *chunk) plan(in plan.Input) (plan.Step, error) {
	k.sent = k.rest
	evs := make([]*event, len(k.rest))
	for i, x := range k.rest {
		evs[i] = x.event
	}
	current, err := advance(evs, evs[0], k.user, in)
	if err != nil {
		return plan.Step{}, err
	}
	actions := []plan.Action{current}
	for _, x := range k.rest {
		if x.check {
			actions = append(actions, x.event.check())
			continue
		}
		put, err := x.put(in)
		if err != nil {
			return plan.Step{}, err
		}
		actions = append(actions, put)
	}
	return plan.Step{
		Actions: actions,
		Whole:   true,
		Resolve: k.rest[0].ownSeries(func(f []plan.Failure) plan.Resolution { return k.resolve(in, f) }),
		Done: func(plan.Returned) (plan.Result, error) {
			for _, x := range k.rest {
				if x.check {
					x.reason = Duplicate
				} else {
					x.applied = true
				}
			}
			return plan.Result{}, nil
		},
	}, nil
}

// resolve decides the events that the failures are about and sends the rest again.
func (k *chunk) resolve(in plan.Input, f []plan.Failure) plan.Resolution {
	current, refused := f[0], f[0].Failed()
	var rest []*placed
	for i, x := range k.rest {
		older := false
		if current.Failed() {
			var err error
			if older, err = x.older(current.Image); err != nil {
				return plan.Resolution{Err: err}
			}
		}
		refused = refused && !(i == 0 && older)
		failed := f[i+1]
		switch {
		case x.check && failed.Failed():
			x.check, x.stored = false, nil // gone meanwhile: put it after all
			rest = append(rest, x)
		case failed.Failed() && !x.same(failed.Image):
			x.outcome = outcome{reason: Collision, current: current.Image, stored: failed.Image}
		case (failed.Failed() || x.check) && older:
			x.outcome = outcome{reason: Duplicate, current: current.Image, stored: first(failed.Image, x.stored)}
		case failed.Failed():
			x.check, x.stored = true, failed.Image
			rest = append(rest, x)
		case older && k.e.record:
			x.winner = current.Image // undecided until it is recorded
			k.late = append(k.late, x)
		case older:
			x.outcome = outcome{reason: Older, current: current.Image}
		default:
			rest = append(rest, x)
		}
	}
	if refused {
		k.refuse(rest, current.Image)
		rest = nil
	}
	if k.rest = rest; len(rest) == 0 {
		return plan.Resolution{Result: &plan.Result{}}
	}
	next, err := k.plan(in)
	return plan.Resolution{Next: &next, Err: err}
}

// refuse decides what is left when the caller's condition did not hold.
func (k *chunk) refuse(rest []*placed, current item.Item) {
	for _, x := range rest {
		x.reason, x.current = ConditionFailed, current
		if x.check {
			x.reason = Duplicate
		}
	}
}

func first(a, b item.Item) item.Item {
	if a != nil {
		return a
	}
	return b
}
