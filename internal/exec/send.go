package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// answer is what a definite reply to a body says: failures is nil when it was applied.
type answer struct {
	returned plan.Returned
	failures []plan.Failure
	cause    error // the SDK's error behind failures
	doubt    bool  // an earlier attempt may have been applied all the same
}

// send delivers one body until its outcome is definite, as far as repeating it does no harm. exact asks for a
// transaction, which can always be repeated, also for one action.
func (r *Runner) send(ctx context.Context, b body, exact bool) (answer, error) {
	if r.Client == nil {
		return answer{}, ErrNoClient
	}
	if len(b.actions) == 1 && b.actions[0].Kind != plan.Check && !exact {
		return r.sendSingle(ctx, b.actions[0])
	}
	return r.sendTransaction(ctx, b, r.NewID())
}

// sendSingle delivers a lone action. Once its answer was lost, only an action that stores a write id of its own, or is
// guarded by one, is repeated, and only that id proves who wrote.
func (r *Runner) sendSingle(ctx context.Context, a plan.Action) (answer, error) {
	doubt := false
	fail := func(err error) (answer, error) {
		if doubt {
			err = &plan.Ambiguous{Err: err}
		}
		return answer{}, err
	}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		meterOf(ctx).request()
		var out attempt
		image, err := r.single(ctx, a, out.options)
		if err == nil {
			return answer{returned: plan.Returned{Image: image, Doubt: doubt, Resent: doubt && wroteBy(image, a.WriteID)}}, nil
		}
		switch out.classify(ctx, err) {
		case refused:
			var failed *types.ConditionalCheckFailedException
			errors.As(err, &failed)
			if doubt && wroteBy(failed.Item, a.WriteID) {
				return answer{returned: plan.Returned{Image: failed.Item, Resent: true}}, nil
			}
			return answer{failures: []plan.Failure{{Code: conditionFailed, Image: failed.Item}}, cause: err, doubt: doubt}, nil
		case unknown:
			doubt = true
			if !a.Resend {
				return fail(err)
			}
		case final:
			return fail(tableError(err, a.Table))
		}
		if n+1 >= r.MaxAttempts {
			return fail(exhausted(ctx, err))
		}
		if e := r.pause(ctx, n); e != nil {
			return fail(fmt.Errorf("%w: %w", e, err))
		}
	}
}

const conditionFailed = "ConditionalCheckFailed"

// wroteBy reports that the item was last written under the write id.
func wroteBy(it item.Item, id string) bool {
	w, ok := it[schema.WriteAttr].(*types.AttributeValueMemberS)
	return ok && id != "" && w.Value == id
}

// exhausted is the error after the last attempt: a conflict that did not go away is the caller's ErrConflict.
func exhausted(ctx context.Context, err error) error {
	if classify(ctx, err) == conflicted {
		return fmt.Errorf("%w: %w", plan.ErrConflict, err)
	}
	return err
}

// sendTransaction delivers a body under one token: however often the body is repeated, it is applied at most once.
func (r *Runner) sendTransaction(ctx context.Context, b body, token string) (answer, error) {
	begun, doubt := time.Now(), false
	fail := func(err error) (answer, error) {
		if doubt {
			err = &plan.Ambiguous{Err: err}
		}
		return answer{}, err
	}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		meterOf(ctx).request()
		var out attempt
		err := r.together(ctx, b.actions, token, out.options)
		if err == nil {
			return answer{}, nil
		}
		switch out.classify(ctx, err) {
		case refused:
			f := reasons(err, b.actions)
			if f == nil {
				return fail(err) // an answer that does not fit the request proves nothing
			}
			return answer{failures: f, cause: err}, nil
		case transient, conflicted:
			if f := reasons(err, b.actions); f != nil && decided(b, f) {
				return answer{failures: f, cause: err}, nil
			}
		case unknown:
			doubt = true
		case final:
			return fail(tableError(err, b.tables()...))
		}
		if n+1 >= r.MaxAttempts || time.Since(begun) > r.tokenLife() {
			return fail(exhausted(ctx, err))
		}
		if e := r.pause(ctx, n); e != nil {
			return fail(fmt.Errorf("%w: %w", e, err))
		}
	}
}

// reasons aligns a cancelled transaction's reasons with its actions; nil when err is none.
func reasons(err error, actions []plan.Action) []plan.Failure {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != len(actions) {
		return nil
	}
	failures := make([]plan.Failure, len(actions))
	for i, reason := range cancelled.CancellationReasons {
		failures[i] = plan.Failure{Code: reasonCode(reason), Image: reason.Item}
	}
	return failures
}

// decided reports that a condition which decides a step failed, so that a conflict beside it does not matter. The first
// action of a step decides, unless the step needs to hear of all its actions.
func decided(b body, failures []plan.Failure) bool {
	for i, s := range b.steps {
		own := b.own(i, failures)
		if len(own) == 0 {
			continue
		}
		if own[0].Failed() && !(s.Whole && disturbed(own)) {
			return true
		}
	}
	return false
}

func disturbed(failures []plan.Failure) bool {
	for _, f := range failures {
		if f.Code != "" && f.Code != "None" && !f.Failed() {
			return true
		}
	}
	return false
}
