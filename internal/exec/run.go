package exec

import (
	"context"
	"fmt"
	"sync"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// Run plans op and sends it until it has an outcome or an error. A lost guard is planned anew from a fresh read.
func (r *Runner) Run(ctx context.Context, op *plan.Op) (any, error) {
	if op.Err != nil {
		return nil, op.Err
	}
	var last error
	for round := 0; round < r.MaxAttempts; round++ {
		step, err := r.plan(ctx, op, r.now(), false)
		if err != nil {
			return nil, err
		}
		outcome, again, err := r.follow(ctx, op, step)
		if again == nil {
			return outcome, err
		}
		last = again
		if err := r.pause(ctx, round); err != nil {
			return nil, fmt.Errorf("%w: %w", err, last)
		}
	}
	return nil, last
}

// follow sends a step and those that its verdicts lead to. again is set when the op must be planned anew.
func (r *Runner) follow(ctx context.Context, op *plan.Op, step plan.Step) (outcome any, again, err error) {
	if len(step.Actions) == 0 { // nothing to write
		outcome, err := step.Done(plan.Returned{})
		return outcome, nil, err
	}
	for {
		got, err := r.send(ctx, alone(step), op.Exact)
		if err != nil {
			return nil, nil, err
		}
		if got.failures == nil && op.Exact && step.Actions[0].Returns != plan.ReturnNothing {
			// A transaction gives no item back.
			if got.returned.Image, err = r.Get(ctx, op.Table, op.Key, true); err == nil && got.returned.Image == nil {
				err = plan.ErrNotFound
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%w: %w", plan.ErrFollowUp, err)
			}
		}
		if got.failures == nil {
			outcome, err := step.Done(got.returned)
			return outcome, nil, err
		}
		v := step.Judge(got.failures)
		switch {
		case v.Next != nil && !got.doubt:
			step = *v.Next
		case v.Replan != nil && !got.doubt:
			return nil, fmt.Errorf("%w: %w", v.Replan, got.cause), nil
		case v.Outcome != nil:
			return v.Outcome, nil, nil
		default:
			return nil, nil, failure(op, v, got, 0)
		}
	}
}

// failure is the error of an op whose actions were refused: its class, the SDK's error, the stored item, and whether
// an earlier attempt may have been applied.
func failure(op *plan.Op, v plan.Verdict, got answer, at int) error {
	class := v.Err
	if class == nil {
		class = v.Replan
	}
	if class == nil {
		class = plan.ErrConflict
	}
	var err error = &plan.Refused{Class: class, Cause: got.cause, Schema: op.Schema, Image: got.failures[at].Image}
	if got.doubt {
		err = &plan.Ambiguous{Err: err}
	}
	return err
}

func (r *Runner) now() plan.Input {
	return plan.Input{Now: r.Clock().UTC(), WriteID: r.NewID()}
}

// plan reads what op needs and compiles it.
func (r *Runner) plan(ctx context.Context, op *plan.Op, in plan.Input, joined bool) (plan.Step, error) {
	in.Joined = joined
	if op.Read {
		image, err := r.Get(ctx, op.Table, op.Key, true)
		if err != nil {
			return plan.Step{}, err
		}
		in.Image = image
	}
	return op.Plan(in)
}

// Parallel runs f(0) … f(n-1), at most width at a time, and waits for all of them.
func Parallel(n, width int, f func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, width)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}
