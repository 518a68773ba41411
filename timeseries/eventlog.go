package timeseries

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// eventsAtOnce is the number of events of series without a current item that one AppendAll stores at the same time.
const eventsAtOnce = 8

// noCurrent returns the error of a verb that needs a current item, for a series without one.
func noCurrent(c *engine.Core) error {
	return bind.Invalid(c.Schema, bind.CodeNoCurrent, nil, `the series has no current item: it is declared with current:"none"`)
}

// logAppend returns the plan of an append to a series without a current item: a put of the event, if it is not there.
func (ev *event) logAppend(verb string) *plan.Op {
	return &plan.Op{Verb: verb, Schema: ev.c.Schema, Table: ev.c.Table, Key: ev.at, Plan: func(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
		put, err := ev.put(in)
		return &plan.Plan{Actions: []plan.Action{put}, Whole: true, Meaning: appending{ev}}, err
	}}
}

// logEach stores events of series without a current item, each by a request of its own. After an error it begins no further request.
func logEach(ctx context.Context, c *engine.Core, evs []*batchEvent) error {
	errs := make([]error, len(evs))
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
		evs[i].Result = got
	})
	return errors.Join(errs...)
}
