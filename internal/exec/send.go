package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// body is what one request carries: the actions of its steps in order, those on one item merged into one, because
// DynamoDB refuses two.
type body struct {
	steps   []plan.Step
	actions []plan.Action
	at      [][]int // action j of step i is part of actions[at[i][j]]
	parts   []int   // how many actions of steps are in each of actions
}

// alone is the body of one step.
func alone(step plan.Step) body {
	b, _ := newBody([]plan.Step{step})
	return b
}

// newBody merges the actions of steps. Where that is impossible, clash holds the indexes of the two steps.
func newBody(steps []plan.Step) (b body, clash []int) {
	type place struct{ action, step int }
	b.steps, b.at = steps, make([][]int, len(steps))
	places := map[string]place{}
	for i, s := range steps {
		b.at[i] = make([]int, len(s.Actions))
		for j, a := range s.Actions {
			id := a.Table + " " + plan.KeyID(a.Key)
			p, taken := places[id]
			if !taken {
				p = place{len(b.actions), i}
				places[id] = p
				b.actions, b.parts = append(b.actions, a), append(b.parts, 0)
			} else {
				merged, ok := plan.Merge(b.actions[p.action], a)
				if !ok {
					return body{}, []int{p.step, i}
				}
				b.actions[p.action] = merged
			}
			b.at[i][j] = p.action
			b.parts[p.action]++
		}
	}
	return b, nil
}

// own picks from the failures of the body's actions those of step i. Of a merged action only the parts whose own
// condition does not hold on the stored item have failed.
func (b body) own(i int, failures []plan.Failure) []plan.Failure {
	own := make([]plan.Failure, len(b.at[i]))
	for j, k := range b.at[i] {
		own[j] = failures[k]
		if b.parts[k] > 1 && own[j].Failed() && !own[j].Hidden && b.steps[i].Actions[j].Cond.Holds(own[j].Image) {
			own[j] = plan.Failure{}
		}
	}
	return own
}

// tables are those of the body's actions.
func (b body) tables() []string {
	names := make([]string, len(b.actions))
	for i, a := range b.actions {
		names[i] = a.Table
	}
	return names
}

// bytes is what the items and values of the body weigh.
func (b body) bytes() int {
	n := 0
	for _, a := range b.actions {
		n += item.Size(a.Item) + item.Size(a.Key)
		for _, c := range a.Changes {
			n += item.ValueSize(c.Value)
		}
	}
	return n
}

// clashed is the error of two ops that act on one item in ways that no one action has.
func clashed(a, b *plan.Op) error {
	return &plan.InputError{Code: plan.CodeSameItem, Type: b.Schema.Type.String(), Problem: fmt.Sprintf("%s and %s write one item; a transaction can write an item once", a.Verb, b.Verb)}
}

// writeIDIn is the id of the write that left the item as it is, "" when it says none.
func writeIDIn(it item.Item) string {
	if w, ok := it[schema.WriteAttr].(*types.AttributeValueMemberS); ok {
		return w.Value
	}
	return ""
}

// wroteBy reports that the item was last written under the write id.
func wroteBy(it item.Item, id string) bool { return id != "" && writeIDIn(it) == id }

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
		hidden := actions[i].Cond.Holds(nil)
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
