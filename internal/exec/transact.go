package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// OpFailure is the failure of one op of a transaction.
type OpFailure struct {
	Index int // of the op in the caller's list
	Err   error
}

// Transact plans ops and sends them as one transaction: all are applied, or none. Either failed says which ops failed
// and why, or err is an error of the transaction as a whole. results are aligned with ops.
func (r *Runner) Transact(ctx context.Context, ops []*plan.Op) (results []plan.Result, failed []OpFailure, err error) {
	if failed, err := refusable(ops); failed != nil || err != nil {
		return nil, failed, err
	}
	var last []OpFailure
	learned := make([][]any, len(ops))
	for round := 0; round < r.MaxAttempts; round++ {
		steps, failed, err := r.planAll(ctx, ops, learned, round == 0)
		if err != nil || failed != nil {
			return nil, r.explainAll(ctx, ops, failed), err
		}
		b, failed := merge(ops, steps)
		if failed != nil {
			return nil, failed, nil
		}
		if err := withinLimits(ops, b); err != nil {
			return nil, nil, err
		}
		got, err := r.send(ctx, b, delivery{exact: slices.ContainsFunc(ops, func(op *plan.Op) bool { return op.Exact })})
		if err != nil {
			return nil, nil, err
		}
		if got.failures == nil {
			return r.done(steps, got)
		}
		again := false
		if failed, again = resolve(ops, b, got, learned); !again {
			return nil, r.explainAll(ctx, ops, failed), got.cause
		}
		last = failed
		if err := r.pause(ctx, round); err != nil {
			return nil, nil, err
		}
	}
	return nil, last, nil
}

// refusable finds what is wrong with ops before any request.
func refusable(ops []*plan.Op) (failed []OpFailure, err error) {
	for i, op := range ops {
		if op.Err != nil {
			failed = append(failed, OpFailure{i, op.Err})
		}
	}
	if failed != nil {
		return failed, nil
	}
	items, at, err := sameItem(ops)
	if err != nil {
		return []OpFailure{{at, err}}, nil
	}
	if items > plan.MaxActions {
		return nil, tooMany(len(ops), items)
	}
	return nil, nil
}

// planAll reads what the ops need, in parallel, and compiles them with one reading of the clock.
func (r *Runner) planAll(ctx context.Context, ops []*plan.Op, learned [][]any, first bool) ([]plan.Step, []OpFailure, error) {
	now := r.now()
	steps, errs := make([]plan.Step, len(ops)), make([]error, len(ops))
	inputs := make([]plan.Input, len(ops))
	for i := range ops {
		inputs[i] = now
		inputs[i].Joined, inputs[i].Hints = true, learned[i]
		if i > 0 {
			inputs[i].WriteID = r.NewID()
		}
	}
	Parallel(len(ops), 8, func(i int) {
		if steps[i], errs[i] = r.plan(ctx, ops[i], inputs[i], first); first && unproven(ops[i], steps[i], errs[i]) {
			steps[i], errs[i] = r.plan(ctx, ops[i], inputs[i], false)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var failed []OpFailure
	for i, err := range errs {
		if err != nil {
			failed = append(failed, OpFailure{i, err})
		}
	}
	return steps, failed, nil
}

// explainAll adds to the failures what the ops' own errors would say alone.
func (r *Runner) explainAll(ctx context.Context, ops []*plan.Op, failed []OpFailure) []OpFailure {
	for i, f := range failed {
		failed[i].Err = r.explain(ctx, ops[f.Index], f.Err)
	}
	return failed
}

func (r *Runner) done(steps []plan.Step, got answer) ([]plan.Result, []OpFailure, error) {
	results := make([]plan.Result, len(steps))
	for i, s := range steps {
		var err error
		if results[i], err = s.Done(got.returned); err != nil {
			return nil, nil, err
		}
	}
	return results, nil, nil
}

// resolve gives each op the failures of its own actions. again is set when one was planned from an item that has changed
// since, and no other has failed for good. The failure of a claim is not for good then: it may follow from the stale plan,
// which would have given up what is claimed. What ops have to know the next time is added to learned.
func resolve(ops []*plan.Op, b body, got answer, learned [][]any) (failed []OpFailure, again bool) {
	var lost []OpFailure
	final := false
	for i, s := range b.steps {
		own, at := b.own(i, got.failures), -1
		for j, f := range own {
			if f.Failed() && at < 0 {
				at = j
			}
		}
		if at < 0 {
			continue
		}
		v := resolution(s, own)
		mine := got
		mine.failures = own
		err := failure(ops[i], s, v, mine, at)
		learned[i] = append(learned[i], v.Hints...)
		if v.Replan != nil {
			lost = append(lost, OpFailure{i, err})
		} else {
			failed = append(failed, OpFailure{i, err})
			final = final || !s.Actions[at].Claims
		}
	}
	if lost != nil && !final && !got.ambiguous {
		return append(lost, failed...), true
	}
	return append(failed, lost...), false
}

// sameItem finds an op that writes an item which an earlier op writes too. items is how many items the ops are about.
func sameItem(ops []*plan.Op) (items, at int, err error) {
	writers, seen := map[string]*plan.Op{}, map[string]bool{}
	for i, op := range ops {
		id := op.Table + " " + plan.KeyID(op.Key)
		seen[id] = true
		if other := writers[id]; other != nil && !plan.Mergeable(other, op) {
			return len(seen), i, clashed(other, op)
		}
		if !op.Checks {
			writers[id] = op
		}
	}
	return len(seen), 0, nil
}

func withinLimits(ops []*plan.Op, b body) error {
	if n := len(b.actions); n > plan.MaxActions {
		return tooMany(len(ops), n)
	}
	if bytes := b.bytes(); bytes > plan.MaxTransactionBytes {
		return &plan.SizeError{Type: transaction, Problem: fmt.Sprintf("the items are %d bytes, %d are allowed", bytes, plan.MaxTransactionBytes)}
	}
	return nil
}

const transaction = "transaction"

func tooMany(ops, actions int) error {
	return &plan.InputError{Code: plan.CodeTooMany, Type: transaction, Problem: fmt.Sprintf("%d ops need %d actions, a transaction can have %d", ops, actions, plan.MaxActions)}
}
