package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// Run plans op and sends it until it has an outcome or an error. A lost guard is planned again from a fresh read.
func (r *Runner) Run(ctx context.Context, op *plan.Op) (plan.Result, error) {
	if op.Err != nil {
		return plan.Result{}, op.Err
	}
	var last error
	var learned []any
	for round := 0; round < r.MaxAttempts; round++ {
		in := r.now()
		in.Hints = learned
		step, err := r.plan(ctx, op, in, round == 0)
		if round == 0 && unproven(op, step, err) {
			step, err = r.plan(ctx, op, in, false)
		}
		if err != nil {
			return plan.Result{}, r.explain(ctx, op, err)
		}
		result, again, err := r.follow(ctx, op, step)
		if again == nil {
			return result, r.explain(ctx, op, err)
		}
		last, learned = again.err, append(learned, again.learned...)
		if err := r.pause(ctx, round); err != nil {
			return plan.Result{}, fmt.Errorf("%w: %w", err, last)
		}
	}
	return plan.Result{}, last
}

// unproven reports that a plan made from what the caller's handle holds would be taken at its word: it fails, or it
// writes nothing, so that no guard would show that the item has changed since.
func unproven(op *plan.Op, step plan.Step, err error) bool {
	return op.Read && op.Given != nil && (err != nil || len(step.Actions) == 0)
}

// retry says that an op must be planned again: err when that has been done often enough, learned what to know then.
type retry struct {
	err     error
	learned []any
}

// follow sends a step and those that its resolutions lead to. again is set when the op must be planned again.
func (r *Runner) follow(ctx context.Context, op *plan.Op, step plan.Step) (result plan.Result, again *retry, err error) {
	if len(step.Actions) == 0 { // nothing to write
		result, err := step.Done(plan.Returned{})
		return result, nil, err
	}
	for {
		got, err := r.send(ctx, alone(step), delivery{op.Exact, op.SoleWriter})
		if err != nil {
			return plan.Result{}, nil, err
		}
		if got.failures == nil && op.Exact && step.Actions[0].Returns != plan.ReturnNothing {
			// A transaction gives no item back.
			if got.returned.Image, err = r.Get(ctx, op.Table, op.Key, true); err == nil && got.returned.Image == nil {
				err = plan.ErrNotFound
			}
			if err != nil {
				return plan.Result{}, nil, fmt.Errorf("%w: %w", plan.ErrReadBack, err)
			}
		}
		if got.failures == nil {
			result, err := step.Done(got.returned)
			return result, nil, err
		}
		v := resolution(step, got.failures)
		certain := !got.ambiguous || op.SoleWriter
		switch {
		case v.Next != nil && certain:
			step = *v.Next
		case v.Replan != nil && certain:
			return plan.Result{}, &retry{fmt.Errorf("%w: %w", v.Replan, got.cause), v.Hints}, nil
		case v.Result != nil && certain:
			return *v.Result, nil, nil
		default:
			return plan.Result{}, nil, failure(op, step, v, got, 0)
		}
	}
}

// resolution asks the step what its failures mean, which it can tell only from the items that caused them.
func resolution(step plan.Step, failures []plan.Failure) plan.Resolution {
	if slices.ContainsFunc(failures, func(f plan.Failure) bool { return f.Hidden }) {
		return plan.Resolution{Err: plan.ErrItemHidden}
	}
	return step.Resolve(failures)
}

// failure is the error of an op whose actions were refused: its class, the SDK's error, the stored item, and whether
// an earlier attempt may have been applied.
func failure(op *plan.Op, step plan.Step, v plan.Resolution, got answer, at int) error {
	class := v.Err
	switch {
	case class != nil:
	case v.Replan != nil:
		class = v.Replan
	case v.Result != nil: // it is only in doubt that this is no success
		class = plan.ErrConditionFailed
	default:
		class = plan.ErrConflict
	}
	refused := &plan.Refused{Class: class, Cause: got.cause, Schema: op.Schema}
	if f := got.failures[at]; class == plan.ErrConditionFailed && f.Failed() {
		refused.Which = plan.Broken(op.Schema, step.Actions[at].Cond, f.Image)
	}
	if step.Own == 0 || at < step.Own {
		refused.Image = got.failures[at].Image
	}
	var err error = refused
	if got.ambiguous {
		err = &plan.Ambiguous{Err: err}
	}
	return err
}

func (r *Runner) now() plan.Input {
	return plan.Input{Now: r.Clock().UTC(), WriteID: r.NewID()}
}

// plan reads what op needs and compiles it. Only the first plan trusts what the caller's handle holds.
func (r *Runner) plan(ctx context.Context, op *plan.Op, in plan.Input, first bool) (plan.Step, error) {
	if op.Reads() && r.Client == nil {
		return plan.Step{}, ErrNoClient
	}
	var err error
	switch {
	case op.Read && first && op.Given != nil:
		if in.Image = op.Given; op.SoftDeletes {
			in.Beside, err = plan.NewestCopy(ctx, r, op)
		}
	case op.SoftDeletes:
		in.Image, in.Beside, err = plan.WithCopies(ctx, r, op)
	case op.NeedsRead(in):
		in.Image, err = r.Get(ctx, op.Table, op.Key, true)
	}
	if err != nil {
		return plan.Step{}, err
	}
	if in.Overtaken() {
		if in.Past, err = plan.ReadPast(ctx, r, op, in.Now); err != nil {
			return plan.Step{}, err
		}
	}
	if op.Past && !plan.Live(op.Schema, in.Image, in.Now) {
		if err := r.lookBack(ctx, op, &in); err != nil {
			return plan.Step{}, err
		}
		if in.Past.Copy != nil && !op.Read { // refused: whether as deleted or as there is told by the item itself
			if in.Image, err = r.Get(ctx, op.Table, op.Key, true); err != nil {
				return plan.Step{}, err
			}
		}
	}
	if op.Prepare != nil {
		if err := op.Prepare(ctx, r, &in); err != nil {
			return plan.Step{}, err
		}
	}
	return op.Plan(in)
}

// explain adds to the error of an item that was not found that it has been deleted, where it has.
func (r *Runner) explain(ctx context.Context, op *plan.Op, err error) error {
	var present *plan.ItemPresent
	if !op.AlsoDeleted || !errors.Is(err, plan.ErrNotFound) || errors.As(err, &present) {
		return err
	}
	deleted, readErr := plan.WasDeleted(ctx, r, op, r.Clock().UTC())
	switch {
	case readErr != nil:
		return fmt.Errorf("%w; whether it was deleted could not be read: %w", err, readErr)
	case deleted:
		return fmt.Errorf("%w: %w", plan.ErrDeleted, err)
	}
	return err
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
