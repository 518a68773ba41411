package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// answer is what a definite reply to a body says: failures is nil when it was applied.
type answer struct {
	returned  plan.Returned
	failures  []plan.Failure
	cause     error // the SDK's error behind failures
	ambiguous bool  // an earlier attempt may have been applied all the same, or may still be
}

// delivery is how a body is sent.
type delivery struct {
	exact      bool // as a transaction, which can always be repeated, also for one action
	idempotent bool // a single action may be repeated, whatever its guard
}

// send delivers one body until its outcome is definite, as far as repeating it does no harm.
func (r *Runner) send(ctx context.Context, b body, how delivery) (answer, error) {
	if r.Client == nil {
		return answer{}, ErrNoClient
	}
	if len(b.actions) == 1 && b.actions[0].Kind != plan.Check && !how.exact {
		return r.sendSingle(ctx, b.actions[0], how.idempotent)
	}
	return r.sendTransaction(ctx, b, r.NewID())
}

// sendSingle delivers a lone action. Once an answer was lost, the action is repeated only when its guard cannot have let
// both the first attempt and another write through: a repetition under any other guard could undo what others wrote
// since. Who wrote the item, its write id proves.
func (r *Runner) sendSingle(ctx context.Context, a plan.Action, idempotent bool) (answer, error) {
	ambiguous := false
	fail := func(err error) (answer, error) {
		if ambiguous {
			return r.prove(ctx, a, err)
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
			return answer{returned: plan.Returned{Image: image}}, nil
		}
		switch out.classify(ctx, err) {
		case refused:
			var failed *types.ConditionalCheckFailedException
			errors.As(err, &failed)
			f := []plan.Failure{{Code: conditionFailed, Image: failed.Item}}
			return r.settle(ctx, []plan.Action{a}, f, err, ambiguous, untouched)
		case unknown:
			ambiguous = true
			if a.Pin.Op == expr.None && !idempotent {
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

// prove ends the delivery of an action of which an attempt may have been applied: if the item has its write id, it was.
// Anything else proves nothing: another write may have followed, or the request may still be on its way.
func (r *Runner) prove(ctx context.Context, a plan.Action, lost error) (answer, error) {
	if a.WriteID == "" {
		return answer{}, &plan.Ambiguous{Err: lost}
	}
	image, err := r.Get(ctx, a.Table, a.Key, true)
	switch {
	case err != nil:
		return answer{}, &plan.Ambiguous{Err: fmt.Errorf("%w; and the item could not be read: %w", lost, err)}
	case wroteBy(image, a.WriteID):
		return answer{returned: plan.Returned{Image: image, Proven: true}}, nil
	}
	return answer{}, &plan.Ambiguous{Err: lost}
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
	begun, ambiguous, writes := time.Now(), false, slices.ContainsFunc(b.actions, func(a plan.Action) bool { return a.Kind != plan.Check })
	fail := func(err error) (answer, error) {
		if ambiguous {
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
			return r.settle(ctx, b.actions, f, err, ambiguous, over)
		case transient, conflicted:
			if f := reasons(err, b.actions); f != nil && decided(b, f) {
				return r.settle(ctx, b.actions, f, err, ambiguous, over)
			}
		case unknown:
			ambiguous = writes
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
