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
	at      [][]int // action j of step i is part of actions[at[i][j]]; nil for one step with one action
	parts   []int   // how many actions of steps each of actions contains
}

// alone returns the body of one step. A lone action that is not part of a transaction needs no more than itself.
func alone(step write.Step, how delivery) body {
	if len(step.Actions) == 1 {
		b := body{actions: step.Actions}
		if !how.plain(b.actions) {
			b.steps = []write.Step{step}
		}
		return b
	}
	b, _ := newBody([]write.Step{step})
	return b
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

// tables returns the tables of the body's actions.
func (b body) tables() []string {
	names := make([]string, len(b.actions))
	for i, a := range b.actions {
		names[i] = a.Table
	}
	return names
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

// delivery says how a body is sent.
type delivery struct {
	exact      bool // as a transaction, which can always be repeated, even for one action
	idempotent bool // a single action may be repeated, whatever its guard
}

// plain reports whether actions are sent as a plain request.
func (how delivery) plain(actions []write.Action) bool {
	return len(actions) == 1 && actions[0].Kind != write.Check && !how.exact
}

// send sends a body until its outcome is definite, as far as repetition does no harm.
func (r *Runner) send(ctx context.Context, b body, how delivery) (answer, error) {
	if r.Client == nil {
		return answer{}, ErrNoClient
	}
	if how.plain(b.actions) {
		return r.sendSingle(ctx, &b.actions[0], how.idempotent)
	}
	if err := r.transactions(); err != nil {
		return answer{}, err
	}
	return r.sendTransaction(ctx, b, r.NewID())
}

// operations are DynamoDB's names of what a single action does.
var operations = [...]string{write.Put: "PutItem", write.Update: "UpdateItem", write.Delete: "DeleteItem"}

// sendSingle sends a single action. After a lost answer it repeats the action only if its guard lets at most one of the
// first attempt and another write pass: under any other guard, a repetition could undo later writes. The write id shows who
// wrote the item.
func (r *Runner) sendSingle(ctx context.Context, a *write.Action, idempotent bool) (answer, error) {
	ambiguous := false
	fail := func(err error) (answer, error) {
		if ambiguous {
			return r.prove(ctx, a, err)
		}
		return answer{}, err
	}
	for t := (tries{}); ; {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		out := r.attempt()
		var returned write.Returned
		k, err := r.try(ctx, &t, operations[a.Kind], []string{a.Table}, out, func(ctx context.Context) (err error) {
			returned, err = r.single(ctx, a, out)
			return err
		})
		switch k {
		case success:
			return answer{returned: returned}, nil
		case refused:
			var failed *types.ConditionalCheckFailedException
			errors.As(err, &failed)
			f := []write.Failure{{Code: conditionFailed, Image: failed.Item}}
			return r.settle(ctx, []write.Action{*a}, f, err, ambiguous, untouched)
		case unknown:
			ambiguous = true
			if a.Pin.Op == expr.None && !idempotent {
				return fail(err)
			}
		case final:
			return fail(tableError(err, a.Table))
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

// sendTransaction sends a body under one token. However often it is sent, it is applied at most once.
func (r *Runner) sendTransaction(ctx context.Context, b body, token string) (answer, error) {
	ambiguous, writes := false, slices.ContainsFunc(b.actions, func(a write.Action) bool { return a.Kind != write.Check })
	fail := func(err error) (answer, error) {
		if ambiguous {
			err = &write.Ambiguous{Err: err}
		}
		return answer{}, err
	}
	for t := (tries{life: r.tokenLife()}); ; {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		out := r.attempt()
		k, err := r.try(ctx, &t, "TransactWriteItems", b.tables(), out, func(ctx context.Context) error {
			return r.together(ctx, b.actions, token, out)
		})
		switch k {
		case success:
			return answer{}, nil
		case refused:
			f := reasons(err, b.actions)
			if f == nil {
				return fail(err) // an answer that does not fit the request proves nothing
			}
			return r.settle(ctx, b.actions, f, err, ambiguous, finallyRefused)
		case transient, conflicted:
			if f := reasons(err, b.actions); f != nil && decided(b, f) {
				return r.settle(ctx, b.actions, f, err, ambiguous, finallyRefused)
			}
		case unknown:
			ambiguous = writes
		case final:
			return fail(tableError(err, b.tables()...))
		}
		if t.late() {
			return fail(exhausted(ctx, err))
		}
		if err := r.again(ctx, &t, k, err); err != nil {
			return fail(err)
		}
	}
}

// settle returns the answer for refused actions. If an item has the write id of its action, the write was applied: its
// answer was lost, or the request arrived twice. ambiguous says that an earlier attempt may have been applied, or may still
// be; a failure that clears accepts proves that none was and none will be.
func (r *Runner) settle(ctx context.Context, actions []write.Action, failures []write.Failure, cause error, ambiguous bool, clears func(write.Action, write.Failure) bool) (answer, error) {
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
		if f.Failed() && clears(actions[i], f) {
			ambiguous = false
		}
	}
	return answer{failures: failures, cause: cause, ambiguous: ambiguous}, nil
}

// untouched clears the ambiguity of a single action: the item is still as it was read, so no attempt was applied, and the
// rest of the condition fails on it for good.
func untouched(a write.Action, f write.Failure) bool {
	return a.Pin.Op != expr.None && a.Pin.Holds(f.Image)
}

// finallyRefused clears the ambiguity of a transaction: if an attempt had been applied, DynamoDB would have answered its
// repetition under the token with success, and a condition that fails for good also refuses an attempt on its way.
func finallyRefused(a write.Action, f write.Failure) bool {
	return a.Pin.Op != expr.None || a.Final != nil && a.Final(f.Image)
}

// reveal examines the items behind a refusal. own is an item with the write id of its action. A client may hide the items,
// like some caches in front of DynamoDB. reveal detects that before it takes an existing item for absent: by a condition
// that holds without an item or, until a refusal has shown an item, by a read.
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

// hides reports whether the refusal hid an existing item, rather than the item being new. It deletes the item on the
// condition that it is absent, which changes nothing and is refused with the item.
func (r *Runner) hides(ctx context.Context, a write.Action) (hidden bool, err error) {
	key := slices.Sorted(maps.Keys(a.Key))[0]
	remove := &write.Action{Kind: write.Delete, Table: a.Table, Key: a.Key, Cond: expr.Compare(expr.NotExists, expr.Attr(key))}
	err = r.read(ctx, "DeleteItem", []string{a.Table}, func(ctx context.Context) error {
		_, err := r.single(ctx, remove, r.attempt())
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

// reasons returns a cancelled transaction's reasons, aligned with its actions, or nil if err is not a cancellation.
func reasons(err error, actions []write.Action) []write.Failure {
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
