package exec

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// settle makes the answer of refused actions. When an item has the write id of its action, the write was applied: its
// answer was lost, or the request arrived twice. doubt says that an earlier attempt may have been applied, or may still
// be; a failure for which clears is true says that none was and none will be.
func settle(actions []plan.Action, failures []plan.Failure, cause error, doubt bool, clears func(plan.Action, plan.Failure) bool) answer {
	for i := range failures {
		if len(failures[i].Image) == 0 {
			failures[i].Image = nil // some emulators give an empty map
		}
	}
	own := ownImage(actions, failures)
	switch {
	case own != nil && len(actions) == 1:
		return answer{returned: plan.Returned{Image: own, Proven: true}}
	case own != nil:
		return answer{}
	}
	for i, f := range failures {
		if f.Failed() && clears(actions[i], f) {
			doubt = false
		}
	}
	return answer{failures: failures, cause: cause, doubt: doubt}
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

// ownImage is an item that has the write id of its action.
func ownImage(actions []plan.Action, failures []plan.Failure) item.Item {
	for i, f := range failures {
		if f.Failed() && wroteBy(f.Image, actions[i].WriteID) {
			return f.Image
		}
	}
	return nil
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
