package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// writeIDIn returns the id of the last write of the item, or "".
func writeIDIn(it item.Item) string {
	if w, ok := it[schema.WriteAttr].(*types.AttributeValueMemberS); ok {
		return w.Value
	}
	return ""
}

// wroteBy reports whether the item was last written under the write id.
func wroteBy(it item.Item, id string) bool { return id != "" && writeIDIn(it) == id }

// response is a definite answer to a transaction. failures is nil if it was applied.
type response struct {
	returned  plan.Returned
	failures  []plan.Failure
	cause     error // the SDK's error behind failures
	ambiguous bool  // an earlier attempt may have been applied, or may still be
}

// operations are DynamoDB's names of what a single action does.
var operations = [...]string{plan.Put: "PutItem", plan.Update: "UpdateItem", plan.Delete: "DeleteItem"}

// deliver sends the actions until the outcome is definite, as far as repetition does no harm.
//
// Without a token there is a single action. After a lost answer it is repeated only if nothing else writes the item, or if its guard lets
// at most one of the first attempt and another write pass: under any other guard, a repetition could undo later writes. The write id shows
// who wrote the item. With a token the actions are a transaction. However often it is sent, it is applied at most once.
func (t *transaction) deliver(ctx context.Context, token string) (response, error) {
	r, actions := t.r, t.actions
	if r.Client == nil {
		return response{}, ErrNoClient
	}
	if err := ctx.Err(); err != nil {
		return response{}, err
	}
	a, plain, operation, sent := &actions[0], token == "", "TransactWriteItems", attempts{}
	tables := []string{a.Table}
	if plain {
		operation = operations[a.Kind]
	} else {
		tables, sent.life = make([]string, len(actions)), longestToken
		for i := range actions {
			tables[i] = actions[i].Table
		}
		if r.TokenLife > 0 {
			sent.life = r.TokenLife
		}
	}
	for {
		var got response
		k, err := r.try(ctx, &sent, operation, tables, func(ctx context.Context, q *request) (err error) {
			if q.Own, q.watch[0], q.Call.Watch = r.Own, q.Watch, q.watch[:]; plain {
				got.returned, err = r.single(ctx, a, q)
				return err
			}
			return r.together(ctx, actions, token, q)
		})
		if k == success {
			return got, nil
		}
		if got, again, err := t.failed(ctx, &sent, tables, plain, k, err); !again {
			return got, err
		}
	}
}

// failed follows an attempt that ended with err, of class k. again is set if the actions are to be sent again, after a pause that has
// passed. Otherwise it returns the outcome.
func (t *transaction) failed(ctx context.Context, sent *attempts, tables []string, plain bool, k class, err error) (got response, again bool, _ error) {
	r, actions := t.r, t.actions
	if k != unknown && k != final {
		if f := reasons(err, actions); f != nil && (k == refused || t.decided(f)) {
			got, err = r.settle(ctx, actions, f, err, sent.ambiguous, plain)
			return got, false, err
		}
	}
	switch k {
	case refused: // an answer that does not fit the request proves nothing
	case transient:
		again = true
	case conflicted:
		if again = t.decision == nil || sent.ambiguous; !again {
			err = exhausted(ctx, err)
		}
	case unknown:
		sent.ambiguous = plain || slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Kind != plan.Check })
		again = !plain || actions[0].Pin != nil || t.soleWriters()
	case final:
		err = r.tableError(err, tables...)
	}
	if again && !sent.until.IsZero() && time.Now().After(sent.until) {
		again, err = false, exhausted(ctx, err)
	}
	if again {
		e := r.again(ctx, sent, k, err)
		if e == nil {
			e = ctx.Err()
		}
		if e == nil {
			return response{}, true, nil
		}
		err = e
	}
	switch {
	case sent.ambiguous && plain:
		got, err = r.prove(ctx, &actions[0], err)
	case sent.ambiguous:
		err = &plan.Ambiguous{Err: err}
	}
	return got, false, err
}

// prove ends the delivery of an action that may have been applied. If the item has its write id, it was. Otherwise nothing
// is proven: another write may have followed, or the request may still be on its way.
func (r *Runner) prove(ctx context.Context, a *plan.Action, lost error) (response, error) {
	if a.WriteID == "" {
		return response{}, &plan.Ambiguous{Err: lost}
	}
	image, err := r.Get(ctx, a.Table, a.Key, true)
	switch {
	case err != nil:
		return response{}, &plan.Ambiguous{Err: fmt.Errorf("%w; and the item could not be read: %w", lost, err)}
	case wroteBy(image, a.WriteID):
		return response{returned: plan.Returned{Image: image, Proven: true}}, nil
	}
	return response{}, &plan.Ambiguous{Err: lost}
}

const conditionFailed = "ConditionalCheckFailed"

// settle returns the answer for refused actions. If an item has the write id of its action, the write was applied: its
// answer was lost, or the request arrived twice. ambiguous says that an earlier attempt may have been applied, or may still
// be; a failure that is final proves that none was and none will be.
func (r *Runner) settle(ctx context.Context, actions []plan.Action, failures []plan.Failure, cause error, ambiguous, plain bool) (response, error) {
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
		return response{}, err
	case own != nil && len(actions) == 1:
		return response{returned: plan.Returned{Image: own, Proven: true}}, nil
	case own != nil:
		return response{}, nil
	}
	for i, f := range failures {
		if f.Failed() && isFinal(&actions[i], f.Image, plain) {
			ambiguous = false
		}
	}
	return response{failures: failures, cause: cause, ambiguous: ambiguous}, nil
}

// isFinal reports whether the failure of an action's condition on an item clears up an earlier, lost attempt. For a single
// action it does if the item is still as it was read: no attempt was applied, and the rest of the condition fails on it for
// good. For a transaction it does if the condition fails for good: if an attempt had been applied, DynamoDB would have answered
// its repetition under the token with success, and an attempt on its way is refused too.
func isFinal(a *plan.Action, image item.Item, plain bool) bool {
	if plain {
		return a.Pin != nil && a.Pin.Holds(image)
	}
	return a.Pin != nil || a.Final != nil && a.Final(image)
}

// reveal examines the items behind a refusal. own is an item with the write id of its action. A client may hide the items, like some caches
// in front of DynamoDB. So a refusal without an item is read for one, if its condition holds without an item or as long as no refusal has
// shown an item. An item that is there is hidden, or was created since: the action must be planned again.
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
		certain := c.DatabaseOnly() == "" && c.Holds(nil)
		if !certain && r.shows.Load() {
			continue
		}
		there, err := r.Get(ctx, actions[i].Table, actions[i].Key, true)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the write was refused, and the item that refused it could not be read: %w", err)
		case wroteBy(there, actions[i].WriteID):
			return there, nil
		}
		if failures[i].Hidden = certain || there != nil; !certain {
			failures[i].There = there
		}
	}
	return nil, nil
}

// stillThere reports whether what was read after refusals is the item that was read after those before. Only then it is certain
// that the client hides it: it was there all the time.
func stillThere(failures []plan.Failure, before item.Item) (there item.Item, still bool) {
	for _, f := range failures {
		if f.There != nil {
			return f.There, maps.EqualFunc(f.There, before, item.Equal)
		}
	}
	return nil, true
}

// reasons returns why actions were refused, aligned with them, or nil if err does not say.
func reasons(err error, actions []plan.Action) []plan.Failure {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) && len(actions) == 1 {
		return []plan.Failure{{Code: conditionFailed, Image: failed.Item}}
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != len(actions) {
		return nil
	}
	failures := make([]plan.Failure, len(actions))
	for i, reason := range cancelled.CancellationReasons {
		failures[i] = plan.Failure{Code: aws.ToString(reason.Code), Image: reason.Item}
	}
	return failures
}

// decided reports whether a condition that decides a step failed, so that conflicts in other actions do not matter. The
// first action of a step decides, unless the step needs the results of all its actions.
func (t *transaction) decided(failures []plan.Failure) bool {
	disturbs := func(f plan.Failure) bool { return f.Code != "" && f.Code != "None" && !f.Failed() }
	for i := range t.ops {
		if own := t.own(&t.ops[i], failures); len(own) > 0 && own[0].Failed() && !(t.ops[i].plan.Whole && slices.ContainsFunc(own, disturbs)) {
			return true
		}
	}
	return false
}
