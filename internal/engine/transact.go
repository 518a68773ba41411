package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// OpFailure is the failure of one op of a transaction.
type OpFailure struct {
	Index int // of the op in the caller's list
	Err   error
}

// transaction is operations that are planned and sent together: all are applied, or none. An operation that is run alone is a
// transaction of one. If its plan is a single action, that is sent as a plain request.
type transaction struct {
	r        *Runner
	ops      []operation
	joined   bool      // a transaction of the caller: no item is returned, and no plan follows another
	once     bool      // it is not planned again for what a client hides
	decision *decision // of the function that made the ops: it makes others when they lose a race; nil without one

	actions []plan.Action  // of the plans in order; those on one item are merged, because DynamoDB refuses two
	parts   []int          // how many actions of plans each of actions contains; nil if none is merged
	refusal []plan.Failure // of actions; nil before one
	one     [1]operation   // room for ops, of a write that is sent alone
}

type operation struct {
	*plan.Op
	in     plan.Input // of its plan
	plan   *plan.Plan
	err    error // of its plan
	result plan.Result
	there  item.Item // what was read after the last refusal, see stillThere
	at     []int     // action j of its plan is part of actions[at[j]]; nil if no actions are merged
}

// newTransaction returns a transaction of the caller.
func newTransaction(r *Runner, ops ...*plan.Op) *transaction {
	t := &transaction{r: r, joined: true, ops: make([]operation, len(ops))}
	for i, op := range ops {
		t.ops[i].Op = op
	}
	return t
}

// Run plans op and sends it alone until it has an outcome or an error. If a guard is lost, it reads and plans again.
func (r *Runner) Run(ctx context.Context, op *plan.Op) (plan.Result, error) {
	if op.Err != nil {
		return plan.Result{}, op.Err
	}
	t := &transaction{r: r}
	t.one[0].Op, t.ops = op, t.one[:]
	failed, err := t.run(ctx)
	if failed != nil {
		err = failed[0].Err
	}
	if err != nil {
		return plan.Result{}, err
	}
	return t.ops[0].result, nil
}

// Transact plans ops and sends them as one transaction: all are applied, or none. failed has the ops that failed, with their
// errors. err is an error of the whole transaction, or, with failed, the SDK's. results are aligned with ops.
func (r *Runner) Transact(ctx context.Context, ops []*plan.Op) (results []plan.Result, failed []OpFailure, err error) {
	t := newTransaction(r, ops...)
	if failed, err = t.refusable(); failed == nil && err == nil {
		failed, err = t.run(ctx)
	}
	if failed != nil || err != nil {
		return nil, failed, err
	}
	return t.results(), nil, nil
}

// results returns the results of a transaction that was applied.
func (t *transaction) results() []plan.Result {
	all := make([]plan.Result, len(t.ops))
	for i := range t.ops {
		all[i] = t.ops[i].result
	}
	return all
}

// refusable returns the errors in the ops that are known without a request.
func (t *transaction) refusable() (failed []OpFailure, err error) {
	for i, op := range t.ops {
		if op.Err != nil {
			failed = append(failed, OpFailure{i, op.Err})
		}
	}
	if failed != nil {
		return failed, nil
	}
	items := make(places, 0, len(t.ops))
	for i := range t.ops {
		op := t.ops[i].Op
		k, _ := items.find(op.Table, op.Key)
		if other := items[k].writer; other != nil && !plan.Mergeable(other, op) {
			return []OpFailure{{i, clashed(other, op)}}, nil
		}
		if !op.ChecksOnly {
			items[k].writer = op
		}
	}
	if len(items) > plan.MaxActions {
		return nil, tooMany(len(t.ops), len(items))
	}
	return nil, nil
}

// run plans and sends t until it has an outcome or an error. The results are those of t if it returns no errors.
func (t *transaction) run(ctx context.Context) (failed []OpFailure, err error) {
	if t.joined || t.ops[0].Idempotent {
		if err := t.r.NoTransactions; err != nil {
			return nil, err
		}
	}
	for round := 0; round < t.r.MaxAttempts; round++ {
		var again bool
		var cause error
		failed, err = t.plan(ctx, round == 0)
		planned := failed == nil && err == nil
		if planned {
			failed, again, cause, err = t.send(ctx)
		}
		if failed == nil || err != nil {
			return failed, err
		}
		if !again && !t.explain(ctx, failed, planned) {
			return failed, cause
		}
		if err := t.r.pause(ctx, round); err != nil {
			return nil, fmt.Errorf("%w: %w", err, failed[0].Err)
		}
	}
	return failed, nil
}

// plan reads what the ops need, in parallel, and plans them with one reading of the clock.
func (t *transaction) plan(ctx context.Context, first bool) (failed []OpFailure, err error) {
	now := t.r.Clock().UTC()
	for i := range t.ops { // ids in the order of the ops
		op := &t.ops[i]
		op.in = plan.Input{Now: now, Joined: t.joined, Learned: op.in.Learned}
		if op.Schema == nil || op.Schema.StoresID {
			op.in.WriteID = t.r.NewID()
		}
		if op.Context {
			if op.in.Context, err = plan.InContext(ctx, op.Schema); err != nil {
				failed = append(failed, OpFailure{i, err})
			}
		}
	}
	if failed != nil {
		return failed, nil
	}
	if len(t.ops) > 1 && (!first || slices.ContainsFunc(t.ops, func(op operation) bool { return op.Reads() })) {
		Parallel(len(t.ops), 8, func(i int) { t.ops[i].plan, t.ops[i].err = t.r.plan(ctx, t.ops[i].Op, &t.ops[i].in, first) })
	} else {
		for i := range t.ops {
			t.ops[i].plan, t.ops[i].err = t.r.plan(ctx, t.ops[i].Op, &t.ops[i].in, first)
		}
	}
	for i := range t.ops {
		if err := t.ops[i].err; err != nil {
			failed = append(failed, OpFailure{i, err})
		}
	}
	if err := ctx.Err(); err != nil && t.joined {
		return nil, err
	}
	return failed, nil
}

// send sends the plans, and those that refusals lead to. again is set if the ops must be planned again. cause is the SDK's
// error behind failed.
func (t *transaction) send(ctx context.Context) (failed []OpFailure, again bool, cause, err error) {
	for {
		if t.actions = t.ops[0].plan.Actions; t.joined { // one plan has no two actions on an item
			if failed, err = t.merge(); failed != nil || err != nil {
				return failed, false, nil, err
			}
		}
		if t.decision != nil {
			t.pin()
		}
		if len(t.actions) == 0 { // nothing to write
			return nil, false, nil, t.done(plan.Returned{})
		}
		token := ""
		if len(t.actions) > 1 || t.actions[0].Kind == plan.Check || slices.ContainsFunc(t.ops, func(op operation) bool { return op.Idempotent }) {
			if err = t.r.NoTransactions; err != nil {
				return nil, false, nil, err
			}
			token = t.r.NewID()
		}
		got, err := t.deliver(ctx, token)
		if err != nil {
			return t.oversized(ctx, err), false, nil, err
		}
		if got.failures == nil {
			if op := t.ops[0]; !t.joined && op.Idempotent && t.actions[0].Returns != plan.ReturnNothing {
				if got.returned.Image, err = t.r.Get(ctx, op.Table, op.Key, true); err == nil && got.returned.Image == nil {
					err = sentinel.ErrNotFound
				}
				if err != nil {
					return []OpFailure{{0, fmt.Errorf("%w: %w", sentinel.ErrReadBack, err)}}, false, nil, nil
				}
			}
			return nil, false, nil, t.done(got.returned)
		}
		var next *plan.Plan
		if failed, again, next, cause = t.resolve(got); next == nil {
			return failed, again, cause, nil
		}
		t.ops[0].plan = next
	}
}

// oversized returns the failures of the ops whose items would be larger than DynamoDB allows, if it refused the request because of
// them. No code of DynamoDB says that, so the items are read, and changed in memory.
func (t *transaction) oversized(ctx context.Context, refused error) (failed []OpFailure) {
	var ambiguous *plan.Ambiguous
	var api smithy.APIError
	if errors.As(refused, &ambiguous) || !errors.As(refused, &api) || api.ErrorCode() != "ValidationException" && api.ErrorCode() != "TransactionCanceledException" {
		return nil
	}
	for i, op := range t.ops {
		for _, a := range op.plan.Actions {
			after, err := a.Item, error(nil)
			if a.Kind == plan.Update {
				if after, err = t.r.Get(ctx, a.Table, a.Key, true); err == nil {
					after, err = expr.Apply(after, a.Changes)
				}
			}
			if large := bind.CheckSize(op.Schema, item.Size(after)); err == nil && large != nil {
				failed = append(failed, OpFailure{i, fmt.Errorf("%w: %w", large, refused)})
				break
			}
		}
	}
	return failed
}

// done makes the results of plans that were applied, and passes the items before them to callers who asked for them.
func (t *transaction) done(returned plan.Returned) (err error) {
	for i := range t.ops {
		op := &t.ops[i]
		if op.result, err = op.plan.Applied(op.plan, returned, &op.in); err == nil && op.Old != nil {
			err = op.Old(op.result.Old)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// soleWriters reports whether a refusal is final for all ops, whatever became of earlier attempts.
func (t *transaction) soleWriters() bool {
	return !slices.ContainsFunc(t.ops, func(op operation) bool { return !op.SoleWriter })
}

// resolve returns each op's error from the failures of its own actions. again is set if one was planned from an item that has changed
// since, and no other has failed for good. A failed claim may follow from the stale plan, which would have given up the claimed value, so
// it does not count as final then, and is not returned. Nor does any other failure while an op is refused by an item in an earlier form,
// which may have more to say in today's. An op alone can also go on with another plan, or have a result. cause is the SDK's error.
func (t *transaction) resolve(got response) (failed []OpFailure, again bool, next *plan.Plan, cause error) {
	if t.refusal = got.failures; t.decision != nil {
		if failed = t.overtaken(got); failed != nil {
			return failed, false, nil, got.cause
		}
	}
	var lost []OpFailure
	final, certain, outdated := false, !got.ambiguous || t.soleWriters(), false
	for i := range t.ops {
		op := &t.ops[i]
		own := t.own(op, got.failures)
		at := slices.IndexFunc(own, plan.Failure.Failed)
		if at < 0 {
			continue
		}
		if got.ambiguous && op.Unsure != nil {
			op.Unsure()
		}
		before := op.in.Learned.Outdated
		op.in.Learned.Outdated = false
		v := plan.Resolve(op.Op, op.plan, own, &op.in)
		outdated = outdated || op.in.Learned.Outdated
		op.in.Learned.Outdated = op.in.Learned.Outdated || before
		if !t.once {
			var still bool
			if op.there, still = stillThere(own, op.there); !still {
				v.Replan = errComesAndGoes
			}
		}
		switch {
		case t.joined || !certain || v.Replan != nil:
		case v.Next != nil:
			return nil, false, v.Next, nil
		case v.Result != nil:
			if op.result = *v.Result; op.Old != nil {
				if err := op.Old(v.Result.Old); err != nil {
					return []OpFailure{{i, err}}, false, nil, got.cause
				}
			}
			return nil, false, nil, got.cause
		}
		err := failure(op.Op, op.plan, v, got, own[at].Image, at, op.in.Now)
		if v.Replan != nil {
			lost = append(lost, OpFailure{i, err})
		} else {
			failed = append(failed, OpFailure{i, err})
			final = final || !op.plan.Actions[at].Claims
		}
	}
	switch {
	case lost != nil && (!final || outdated) && certain:
		// Without the claims, of which a new plan decides. A decision is planned once more only if the refusal has said what a plan needs.
		again = t.decision == nil || slices.ContainsFunc(t.ops, func(op operation) bool { return op.there != nil || op.in.Learned.Any() })
		return lost, again, nil, got.cause
	case failed == nil && lost == nil: // each condition of the merged actions holds on the item that refused them
		return []OpFailure{{0, fmt.Errorf("%w: %w", sentinel.ErrConflict, got.cause)}}, false, nil, got.cause
	}
	return append(failed, lost...), false, nil, got.cause
}

// failure returns the error of an op whose actions were refused: its class, the SDK's error, the stored item, and whether
// an earlier attempt may have been applied. at is the first action that was refused, by image as it was at the time now.
func failure(op *plan.Op, p *plan.Plan, v plan.Resolution, got response, image item.Item, at int, now time.Time) error {
	class := v.Err
	switch {
	case class != nil:
	case v.Replan != nil:
		class = v.Replan
	case v.Result != nil: // it may be a success
		class = sentinel.ErrConditionFailed
	default:
		class = sentinel.ErrConflict
	}
	own := p.EntityActions == 0 || at < p.EntityActions
	if own && op.Schema != nil && !op.Schema.Options.Derived && !layout.Live(op.Schema, image, now) {
		image = nil // an expired item counts as absent
	}
	refused := &plan.Refused{Class: class, Cause: got.cause, Schema: op.Schema}
	if class == sentinel.ErrConditionFailed {
		refused.Which = layout.FailedPart(op.Schema, p.Actions[at].Cond, image)
	}
	if own {
		refused.Image = image
	}
	if got.ambiguous {
		return &plan.Ambiguous{Err: refused}
	}
	return refused
}

// place is an item that a transaction writes or checks.
type place struct {
	table  string
	key    item.Item
	id     string   // of the key, where there are many places
	first  int      // the op whose action is the first on the item
	writer *plan.Op // the last one; nil: the item is only checked
}

// places are the items of a transaction, few enough to search.
type places []place

// fewPlaces is how many keys are compared faster than their texts are made.
const fewPlaces = 4

// find returns the index of the place of an item. It adds one if the item is not known.
func (all *places) find(table string, key item.Item) (at int, known bool) {
	is := func(p place) bool { return p.table == table && maps.EqualFunc(p.key, key, item.Equal) }
	id := ""
	if len(*all) >= fewPlaces {
		if len(*all) == fewPlaces {
			for i := range *all {
				(*all)[i].id = layout.KeyID((*all)[i].key)
			}
		}
		id = layout.KeyID(key)
		is = func(p place) bool { return p.id == id && p.table == table }
	}
	if at = slices.IndexFunc(*all, is); at >= 0 {
		return at, true
	}
	*all = append(*all, place{table: table, key: key, id: id})
	return len(*all) - 1, false
}

// merge makes the actions of the plans, or returns the failure of an op that cannot be part of them.
func (t *transaction) merge() (failed []OpFailure, err error) {
	n := 0
	for i := range t.ops {
		n += len(t.ops[i].plan.Actions)
	}
	items, numbers := make(places, 0, n), make([]int, 2*n)
	t.actions, t.parts = make([]plan.Action, 0, n), numbers[:0:n]
	at := numbers[n:]
	for i := range t.ops {
		own := t.ops[i].plan.Actions
		t.ops[i].at, at = at[:len(own):len(own)], at[len(own):]
		for j := range own {
			a := &own[j]
			k, known := items.find(a.Table, a.Key)
			if !known {
				items[k].first = i
				t.actions, t.parts = append(t.actions, *a), append(t.parts, 0)
			} else {
				merged, ok := plan.Merge(t.actions[k], *a)
				if !ok {
					return []OpFailure{{i, clashed(t.ops[items[k].first].Op, t.ops[i].Op)}}, nil
				}
				t.actions[k] = merged
			}
			t.ops[i].at[j] = k
			t.parts[k]++
		}
	}
	for i, op := range t.ops {
		for j, a := range op.plan.Actions {
			if t.parts[op.at[j]] == 1 {
				continue
			}
			if err := bind.InMemory(op.Schema, a.Cond, "a transaction with several operations on one item"); err != nil {
				return []OpFailure{{i, err}}, nil //nolint:nilerr // it is the failure of an operation
			}
		}
	}
	if len(t.actions) > plan.MaxActions {
		return nil, tooMany(len(t.ops), len(t.actions))
	}
	if len(t.actions) <= plan.MaxTransactionBytes/mostItemBytes {
		return nil, nil // unless one of the items is too large
	}
	bytes := 0
	for i := range t.actions {
		bytes += item.Size(t.actions[i].Item) + item.Size(t.actions[i].Key)
		for _, c := range t.actions[i].Changes {
			bytes += item.ValueSize(c.Value)
		}
	}
	if bytes > plan.MaxTransactionBytes {
		return nil, &bind.SizeError{Type: aTransaction, Problem: fmt.Sprintf("the items are %d bytes, %d are allowed", bytes, plan.MaxTransactionBytes)}
	}
	return nil, nil
}

// own returns the failures of op's actions. Of a merged action, only the parts whose own condition does not hold on the
// stored item have failed.
func (t *transaction) own(op *operation, failures []plan.Failure) []plan.Failure {
	if t.parts == nil {
		return failures
	}
	actions, own := op.plan.Actions, make([]plan.Failure, len(op.at))
	for j, k := range op.at {
		own[j] = failures[k]
		if t.parts[k] > 1 && own[j].Failed() && !own[j].Hidden && actions[j].Cond.Holds(own[j].Image) {
			own[j] = plan.Failure{}
		}
	}
	return own
}

// clashed returns the error of two ops on one item that cannot be merged into one action.
func clashed(a, b *plan.Op) error {
	return &entitytype.InputError{Code: bind.CodeSameItem, Type: b.Schema.Type.String(), Problem: fmt.Sprintf("%s and %s write one item, or the sentinel of one unique value; a transaction can write an item once: make one operation of both, with the changes of both, or send two transactions", a.Verb, b.Verb)}
}

// mostItemBytes is the largest size of an item with its key again.
const mostItemBytes = item.MaxBytes + key.MaxPartitionKey + key.MaxSortKey + 2*layout.MaxKeyName

const aTransaction = "transaction"

func tooMany(ops, actions int) error {
	return &entitytype.InputError{Code: bind.CodeTooMany, Type: aTransaction, Problem: fmt.Sprintf("%d ops need %d actions, a transaction can have %d", ops, actions, plan.MaxActions)}
}
