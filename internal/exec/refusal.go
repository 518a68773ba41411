package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// settle makes the answer of refused actions. When an item has the write id of its action, the write was applied: its
// answer was lost, or the request arrived twice. doubt says that an earlier attempt may have been applied, or may still
// be; a failure for which clears is true says that none was and none will be.
func (r *Runner) settle(ctx context.Context, actions []plan.Action, failures []plan.Failure, cause error, ambiguous bool, clears func(plan.Action, plan.Failure) bool) (answer, error) {
	for i := range failures {
		if len(failures[i].Image) == 0 {
			failures[i].Image = nil // some emulators give an empty map
		}
	}
	own, err := r.reveal(ctx, actions, failures)
	switch {
	case err != nil:
		if err = fmt.Errorf("%w: %w", err, cause); ambiguous {
			err = &plan.Ambiguous{Err: err}
		}
		return answer{}, err
	case own != nil && len(actions) == 1:
		return answer{returned: plan.Returned{Image: own, Proven: true}}, nil
	case own != nil:
		return answer{}, nil
	}
	for i, f := range failures {
		if f.Failed() && clears(actions[i], f) {
			ambiguous = false
		}
	}
	return answer{failures: failures, cause: cause, ambiguous: ambiguous}, nil
}

// untouched clears the doubt about a single action: the item is still what was read, so no attempt has ended that, and the
// rest of the condition fails on it for good.
func untouched(a plan.Action, f plan.Failure) bool {
	return a.Pin.Op != expr.None && a.Pin.Holds(f.Image)
}

// over clears the doubt about a transaction: had an attempt been applied, DynamoDB would have answered its repetition under
// the token with success, and a condition that failed for good refuses an attempt that is still on its way.
func over(a plan.Action, f plan.Failure) bool {
	return a.Pin.Op != expr.None || a.Final != nil && a.Final(f.Image)
}

// reveal looks behind a refusal. own is an item that has the write id of its action. A client that hides the items, as
// a cache in front of DynamoDB may, is noted before an item that is there is taken for absent: by a condition that
// cannot fail where there is no item, and otherwise, until a first item was seen, by looking.
func (r *Runner) reveal(ctx context.Context, actions []plan.Action, failures []plan.Failure) (own item.Item, err error) {
	for i, f := range failures {
		if f.Failed() && f.Image != nil {
			r.shows.Store(true)
			if wroteBy(f.Image, actions[i].WriteID) {
				return f.Image, nil
			}
		}
	}
	for i, f := range failures {
		if !f.Failed() || f.Image != nil {
			continue
		}
		c := actions[i].Cond
		hidden := c.DatabaseOnly() == "" && c.Holds(nil)
		if !hidden && r.shows.Load() {
			continue
		}
		there, err := r.Get(ctx, actions[i].Table, actions[i].Key, true)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the write was refused, and the item that refused it could not be read: %w", err)
		case wroteBy(there, actions[i].WriteID):
			return there, nil
		case hidden:
			failures[i].Hidden = true
		case there != nil:
			if failures[i].Hidden, err = r.hides(ctx, actions[i]); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// hides decides whether an item that is there was hidden by the refusal or has come since: a removal of the absent item,
// which removes nothing, is refused with the item.
func (r *Runner) hides(ctx context.Context, a plan.Action) (hidden bool, err error) {
	key := slices.Sorted(maps.Keys(a.Key))[0]
	remove := plan.Action{Kind: plan.Delete, Table: a.Table, Key: a.Key, Cond: expr.Compare(expr.NotExists, expr.Attr(key))}
	err = r.read(ctx, []string{a.Table}, func() error {
		_, err := r.single(ctx, remove, once)
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			return err
		}
		if hidden = len(failed.Item) == 0; !hidden {
			r.shows.Store(true)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("the write was refused, and whether the client hides the item that refused it could not be found out: %w", err)
	}
	return hidden, err
}

// reasons aligns a cancelled transaction's reasons with its actions; nil if err is not a cancellation.
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
