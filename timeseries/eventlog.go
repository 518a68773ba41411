package timeseries

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/write"
)

// eventsAtOnce is how many events of series without a current item one AppendAll stores at the same time.
const eventsAtOnce = 8

// refusal returns the error of a verb that needs a current item, for a series without one, and nil for other series.
func (e *events) refusal(c *engine.Core) error {
	if e == nil || !e.noCurrent {
		return nil
	}
	return write.Invalid(c.Schema, write.CodeNoCurrent, nil, `the series has no current item: it is declared with current:"none"`)
}

// refused is refusal as the error of a call.
func (e *events) refused(c *engine.Core, verb string) error { return c.Wrap(verb, "", e.refusal(c)) }

// refusedQuery returns the plan of a query that reads current items, for a series without them.
func (e *events) refusedQuery(c *engine.Core, verb string) *query.Plan {
	return &query.Plan{Source: query.Source{Schema: c.Schema, Table: c.Table, Verb: verb}, Err: e.refusal(c)}
}

// refusedOp returns the operation of a verb that needs a current item, for a series without one.
func (e *events) refusedOp(c *engine.Core, verb string) engine.Operation {
	return engine.NewOperation(c, &write.Op{Verb: verb, Schema: c.Schema, Table: c.Table, Err: e.refusal(c)}, nil)
}

// logAppend returns the plan of an append to a series without a current item: a put of the event, if it is not there.
func (ev *event) logAppend(verb string) *write.Op {
	return &write.Op{Verb: verb, Schema: ev.c.Schema, Table: ev.c.Table, Key: ev.at, Planner: write.PlanFunc(ev.logStep)}
}

func (ev *event) logStep(in write.Input) (write.Step, error) {
	if err := ev.checkAhead(in.Now); err != nil {
		return write.Step{}, err
	}
	put, err := ev.put(in)
	if err != nil {
		return write.Step{}, err
	}
	return write.Step{Actions: []write.Action{put}, Whole: true, Outcome: &logging{ev, in.Joined}}, nil
}

// logging is the outcome of the put of an event of a series without a current item.
type logging struct {
	*event
	joined bool
}

// Resolve implements write.Outcome.
func (x *logging) Resolve(failed []write.Failure) write.Resolution {
	f, err := x.opened(failed)
	if err != nil {
		return write.Resolution{Err: err}
	}
	got := x.duplicate(nil, f[0].Image)
	if x.joined {
		return write.Resolution{Err: &NotAppliedError{got.reason}}
	}
	return done(got)
}

// Done implements write.Outcome.
func (x *logging) Done(write.Returned) (write.Result, error) {
	return outcome{applied: true}.result(), nil
}

// logEvents stores the events of series without a current item, each by a request of its own. After an error it begins no
// further request.
func (s *Series[T]) logEvents(ctx context.Context, groups []*group) error {
	var first, again []*batchEvent
	for _, g := range groups {
		for _, x := range g.events {
			if x.original == nil {
				first = append(first, x)
			}
		}
	}
	err := s.logEach(ctx, first)
	if err == nil {
		for _, g := range groups {
			again = append(again, g.collidedDuplicates()...)
		}
		err = s.logEach(ctx, again)
	}
	for _, g := range groups {
		for _, x := range g.events {
			if x.original != nil {
				x.outcome = x.afterOriginal()
			}
		}
	}
	return err
}

func (s *Series[T]) logEach(ctx context.Context, evs []*batchEvent) error {
	if len(evs) == 0 {
		return nil
	}
	c, errs := engine.Of(s), make([]error, len(evs))
	var stop atomic.Bool
	engine.Parallel(len(evs), eventsAtOnce, func(i int) {
		if stop.Load() {
			return
		}
		got, err := c.Runner.Run(ctx, evs[i].logAppend("AppendAll"))
		if err != nil {
			errs[i] = err
			stop.Store(true)
			return
		}
		evs[i].outcome = outcomeOf(got)
	})
	return errors.Join(errs...)
}
