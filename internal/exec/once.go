package exec

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// TransactOnce sends ops as one transaction under the caller's token. What is sent follows from the token, its time and
// the ops alone, so that the same call gives the same bytes; nothing is read and nothing planned anew.
func (r *Runner) TransactOnce(ctx context.Context, id string, at time.Time, ops []*plan.Op) (outcomes []any, failed []OpFailure, err error) {
	if failed, err := refusable(ops); failed != nil || err != nil {
		return nil, failed, err
	}
	steps := make([]plan.Step, len(ops))
	for i, op := range ops {
		if op.Reads() {
			failed = append(failed, OpFailure{i, &plan.InputError{Code: plan.CodeOption, Type: op.Schema.Type.String(), Problem: op.Verb + " has to read the item first, so that its bytes would differ from call to call"}})
			continue
		}
		step, err := op.Plan(plan.Input{Now: at.UTC(), WriteID: writeIDOf(id, i), Joined: true})
		if err != nil {
			failed = append(failed, OpFailure{i, err})
		}
		steps[i] = step
	}
	if failed != nil {
		return nil, failed, nil
	}
	b, clash := newBody(steps)
	if clash != nil {
		return nil, []OpFailure{{clash[1], clashed(ops[clash[0]], ops[clash[1]])}}, nil
	}
	if err := withinLimits(ops, b); err != nil {
		return nil, nil, err
	}
	if r.Client == nil {
		return nil, nil, ErrNoClient
	}
	got, err := r.sendTransaction(ctx, b, id)
	switch {
	case err != nil:
		return nil, nil, err
	case got.failures == nil:
		return r.done(steps, got)
	}
	failed, _ = judge(ops, b, got, make([][]any, len(ops)))
	return nil, failed, got.cause
}

// writeIDOf is the write id of the op at index i under the token id.
func writeIDOf(id string, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", i, id))
	return base32.StdEncoding.EncodeToString(sum[:])[:26]
}
