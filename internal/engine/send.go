package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// body is the content of one request: the actions of its steps in order. Actions on the same item are merged, because
// DynamoDB refuses two.
type body struct {
	steps   []write.Step
	actions []write.Action
	at      [][]int // action j of step i is part of actions[at[i][j]]; nil for a plain request, which has no steps either
	parts   []int   // how many actions of steps each of actions contains
}

// place is an item that a transaction writes or checks.
type place struct {
	table  string
	key    item.Item
	id     string    // of the key, where there are many places
	step   int       // whose action is the first on the item
	writer *write.Op // the last one; nil: the item is only checked
}

// places are the items of a transaction, few enough to search.
type places []place

// fewPlaces is how many keys are compared faster than their texts are made.
const fewPlaces = 4

// find returns the index of the place of an item. It adds one if the item is not known.
func (all *places) find(table string, key item.Item) (at int, known bool) {
	is := func(p place) bool { return p.table == table && write.SameKey(p.key, key) }
	id := ""
	if len(*all) >= fewPlaces {
		if len(*all) == fewPlaces {
			for i := range *all {
				(*all)[i].id = write.KeyID((*all)[i].key)
			}
		}
		id = write.KeyID(key)
		is = func(p place) bool { return p.id == id && p.table == table }
	}
	if at = slices.IndexFunc(*all, is); at >= 0 {
		return at, true
	}
	*all = append(*all, place{table: table, key: key, id: id})
	return len(*all) - 1, false
}

// newBody merges the actions of steps. If that is impossible, clash has the indexes of the two steps.
func newBody(steps []write.Step) (b body, clash []int) {
	n := 0
	for i := range steps {
		n += len(steps[i].Actions)
	}
	items, numbers := make(places, 0, n), make([]int, 2*n)
	at := numbers[n:]
	b.steps, b.at, b.actions, b.parts = steps, make([][]int, len(steps)), make([]write.Action, 0, n), numbers[:0:n]
	for i := range steps {
		own := steps[i].Actions
		b.at[i], at = at[:len(own):len(own)], at[len(own):]
		for j := range own {
			a := &own[j]
			k, known := items.find(a.Table, a.Key)
			if !known {
				items[k].step = i
				b.actions, b.parts = append(b.actions, *a), append(b.parts, 0)
			} else {
				merged, ok := write.Merge(b.actions[k], *a)
				if !ok {
					return body{}, []int{items[k].step, i}
				}
				b.actions[k] = merged
			}
			b.at[i][j] = k
			b.parts[k]++
		}
	}
	return b, nil
}

// merge returns the body of the ops' steps, or the failure of an op that cannot be part of it.
func merge(ops []*write.Op, steps []write.Step) (body, []OpFailure) {
	b, clash := newBody(steps)
	if clash != nil {
		return body{}, []OpFailure{{clash[1], clashed(ops[clash[0]], ops[clash[1]])}}
	}
	for i, s := range steps {
		for j, a := range s.Actions {
			if b.parts[b.at[i][j]] == 1 {
				continue
			}
			if err := write.InMemory(ops[i].Schema, a.Cond, "a transaction with several operations on one item"); err != nil {
				return body{}, []OpFailure{{i, err}}
			}
		}
	}
	return b, nil
}

// own returns the failures of step i's actions. Of a merged action, only the parts whose own condition does not hold on the
// stored item have failed.
func (b body) own(i int, failures []write.Failure) []write.Failure {
	if b.at == nil {
		return failures
	}
	own := make([]write.Failure, len(b.at[i]))
	for j, k := range b.at[i] {
		own[j] = failures[k]
		if b.parts[k] > 1 && own[j].Failed() && !own[j].Hidden && b.steps[i].Actions[j].Cond.Holds(own[j].Image) {
			own[j] = write.Failure{}
		}
	}
	return own
}

// bytes returns the size of the body's items and values.
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

// clashed returns the error of two ops on one item that cannot be merged into one action.
func clashed(a, b *write.Op) error {
	return &entitytype.InputError{Code: write.CodeSameItem, Type: b.Schema.Type.String(), Problem: fmt.Sprintf("%s and %s write one item; a transaction can write an item once: make one operation of both, with the changes of both, or send two transactions", a.Verb, b.Verb)}
}

// writeIDIn returns the id of the last write of the item, or "".
func writeIDIn(it item.Item) string {
	if w, ok := it[schema.WriteAttr].(*types.AttributeValueMemberS); ok {
		return w.Value
	}
	return ""
}

// wroteBy reports whether the item was last written under the write id.
func wroteBy(it item.Item, id string) bool { return id != "" && writeIDIn(it) == id }

// answer is a definite reply to a body. failures is nil if it was applied.
type answer struct {
	returned  write.Returned
	failures  []write.Failure
	cause     error // the SDK's error behind failures
	ambiguous bool  // an earlier attempt may have been applied, or may still be
}

// operations are DynamoDB's names of what a single action does.
var operations = [...]string{write.Put: "PutItem", write.Update: "UpdateItem", write.Delete: "DeleteItem"}

// deliver sends a body until its outcome is definite, as far as repetition does no harm.
//
// Without a token the body is a single action. After a lost answer it is repeated only if it is idempotent, or if its guard lets
// at most one of the first attempt and another write pass: under any other guard, a repetition could undo later writes. The
// write id shows who wrote the item. With a token the body is a transaction. However often it is sent, it is applied at most once.
func (r *Runner) deliver(ctx context.Context, b body, token string, idempotent bool) (answer, error) {
	if r.Client == nil {
		return answer{}, ErrNoClient
	}
	a, plain, ambiguous := &b.actions[0], token == "", false
	writes := plain || slices.ContainsFunc(b.actions, func(a write.Action) bool { return a.Kind != write.Check })
	fail := func(err error) (answer, error) {
		switch {
		case ambiguous && plain:
			return r.prove(ctx, a, err)
		case ambiguous:
			err = &write.Ambiguous{Err: err}
		}
		return answer{}, err
	}
	operation, tables, t := "", []string{a.Table}, tries{}
	if plain {
		operation = operations[a.Kind]
	} else {
		operation, tables, t.life = "TransactWriteItems", make([]string, len(b.actions)), longestToken
		for i := range b.actions {
			tables[i] = b.actions[i].Table
		}
		if r.TokenLife > 0 {
			t.life = r.TokenLife
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		out := newAttempt(r.Own)
		var got answer
		k, err := r.try(ctx, &t, operation, tables, out, func(ctx context.Context, x *exchange) (err error) {
			if plain {
				got.returned, err = r.single(ctx, a, out, x)
				return err
			}
			return r.together(ctx, b.actions, token, out, x)
		})
		switch k {
		case success:
			return got, nil
		case refused:
			f := reasons(err, b.actions)
			if f == nil {
				return fail(err) // an answer that does not fit the request proves nothing
			}
			return r.settle(ctx, b.actions, f, err, ambiguous, plain)
		case transient, conflicted:
			if f := reasons(err, b.actions); f != nil && decided(b, f) {
				return r.settle(ctx, b.actions, f, err, ambiguous, plain)
			}
		case unknown:
			if ambiguous = writes; plain && a.Pin.Op == expr.None && !idempotent {
				return fail(err)
			}
		case final:
			return fail(tableError(err, tables...))
		}
		if t.late() {
			return fail(exhausted(ctx, err))
		}
		if err := r.again(ctx, &t, k, err); err != nil {
			return fail(err)
		}
	}
}

// prove ends the delivery of an action that may have been applied. If the item has its write id, it was. Otherwise nothing
// is proven: another write may have followed, or the request may still be on its way.
func (r *Runner) prove(ctx context.Context, a *write.Action, lost error) (answer, error) {
	if a.WriteID == "" {
		return answer{}, &write.Ambiguous{Err: lost}
	}
	image, err := r.Get(ctx, a.Table, a.Key, true)
	switch {
	case err != nil:
		return answer{}, &write.Ambiguous{Err: fmt.Errorf("%w; and the item could not be read: %w", lost, err)}
	case wroteBy(image, a.WriteID):
		return answer{returned: write.Returned{Image: image, Proven: true}}, nil
	}
	return answer{}, &write.Ambiguous{Err: lost}
}

const conditionFailed = "ConditionalCheckFailed"

// settle returns the answer for refused actions. If an item has the write id of its action, the write was applied: its
// answer was lost, or the request arrived twice. ambiguous says that an earlier attempt may have been applied, or may still
// be; a failure that is final proves that none was and none will be.
func (r *Runner) settle(ctx context.Context, actions []write.Action, failures []write.Failure, cause error, ambiguous, plain bool) (answer, error) {
	for i := range failures {
		if len(failures[i].Image) == 0 {
			failures[i].Image = nil // some emulators give an empty map
		}
	}
	own, err := r.reveal(ctx, actions, failures)
	switch {
	case err != nil:
		if err = fmt.Errorf("%w: %w", err, cause); ambiguous {
			err = &write.Ambiguous{Err: err}
		}
		return answer{}, err
	case own != nil && len(actions) == 1:
		return answer{returned: write.Returned{Image: own, Proven: true}}, nil
	case own != nil:
		return answer{}, nil
	}
	for i, f := range failures {
		if f.Failed() && isFinal(&actions[i], f.Image, plain) {
			ambiguous = false
		}
	}
	return answer{failures: failures, cause: cause, ambiguous: ambiguous}, nil
}

// isFinal reports whether the failure of an action's condition on an item clears up an earlier, lost attempt. For a single
// action it does if the item is still as it was read: no attempt was applied, and the rest of the condition fails on it for
// good. For a transaction it does if the condition fails for good: if an attempt had been applied, DynamoDB would have answered
// its repetition under the token with success, and an attempt on its way is refused too.
func isFinal(a *write.Action, image item.Item, plain bool) bool {
	if plain {
		return a.Pin.Op != expr.None && a.Pin.Holds(image)
	}
	return a.Pin.Op != expr.None || a.Final != nil && a.Final(image)
}

// reveal examines the items behind a refusal. own is an item with the write id of its action. A client may hide the items,
// like some caches in front of DynamoDB. So a refusal without an item is read for one, if its condition holds without an item
// or as long as no refusal has shown an item. An item that is there is hidden, or was created since: the action must be planned
// again.
func (r *Runner) reveal(ctx context.Context, actions []write.Action, failures []write.Failure) (own item.Item, err error) {
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
func stillThere(failures []write.Failure, before item.Item) (there item.Item, still bool) {
	for _, f := range failures {
		if f.There != nil {
			return f.There, maps.EqualFunc(f.There, before, item.Equal)
		}
	}
	return nil, true
}

// reasons returns why actions were refused, aligned with them, or nil if err does not say.
func reasons(err error, actions []write.Action) []write.Failure {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) && len(actions) == 1 {
		return []write.Failure{{Code: conditionFailed, Image: failed.Item}}
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != len(actions) {
		return nil
	}
	failures := make([]write.Failure, len(actions))
	for i, reason := range cancelled.CancellationReasons {
		failures[i] = write.Failure{Code: reasonCode(reason), Image: reason.Item}
	}
	return failures
}

// decided reports whether a condition that decides a step failed, so that conflicts in other actions do not matter. The
// first action of a step decides, unless the step needs the results of all its actions.
func decided(b body, failures []write.Failure) bool {
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

func disturbed(failures []write.Failure) bool {
	for _, f := range failures {
		if f.Code != "" && f.Code != "None" && !f.Failed() {
			return true
		}
	}
	return false
}
