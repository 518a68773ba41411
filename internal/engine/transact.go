package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/write"
)

// OpFailure is the failure of one op of a transaction.
type OpFailure struct {
	Index int // of the op in the caller's list
	Err   error
}

// transaction is operations that are planned and sent together: all are applied, or none. An operation that is run alone is a
// transaction of one. If its plan is a single action, that is sent as a plain request.
type transaction struct {
	r       *Runner
	ops     []*write.Op
	joined  bool          // a transaction of the caller: no item is returned, and no step follows another
	inputs  []write.Input // of the plans
	steps   []write.Step
	errs    []error // of the plans
	results []write.Result

	hints   [][]write.Hint    // what refusals have shown, for the next plan of each op
	there   []item.Item       // what was read after the last refusal of each op, see stillThere
	rooms   [][1]write.Action // of plans of one action
	actions []write.Action    // of the steps in order; those on one item are merged, because DynamoDB refuses two
	at      [][]int           // action j of step i is part of actions[at[i][j]]; nil for a single action
	parts   []int             // how many actions of steps each of actions contains
}

// alone is a transaction of one operation, in one piece of memory.
type alone struct {
	transaction
	op     [1]*write.Op
	input  [1]write.Input
	step   [1]write.Step
	err    [1]error
	result [1]write.Result
	hints  [1][]write.Hint
	there  [1]item.Item
	room   [1][1]write.Action
}

// Run plans op and sends it alone until it has an outcome or an error. If a guard is lost, it reads and plans again.
func (r *Runner) Run(ctx context.Context, op *write.Op) (write.Result, error) {
	if op.Err != nil {
		return write.Result{}, op.Err
	}
	a := &alone{op: [1]*write.Op{op}}
	a.transaction = transaction{
		r: r, ops: a.op[:], inputs: a.input[:], steps: a.step[:], errs: a.err[:], results: a.result[:],
		hints: a.hints[:], there: a.there[:], rooms: a.room[:],
	}
	failed, err := a.run(ctx)
	if failed != nil {
		err = failed[0].Err
	}
	if err != nil {
		return write.Result{}, err
	}
	return a.result[0], nil
}

// newTransaction returns a transaction of the caller's ops.
func newTransaction(r *Runner, ops []*write.Op) *transaction {
	n := len(ops)
	return &transaction{
		r: r, ops: ops, joined: true, inputs: make([]write.Input, n), steps: make([]write.Step, n), errs: make([]error, n),
		results: make([]write.Result, n), hints: make([][]write.Hint, n), there: make([]item.Item, n), rooms: make([][1]write.Action, n),
	}
}

// Transact plans ops and sends them as one transaction: all are applied, or none. failed has the ops that failed, with their
// errors. err is an error of the whole transaction, or, with failed, the SDK's. results are aligned with ops.
func (r *Runner) Transact(ctx context.Context, ops []*write.Op) (results []write.Result, failed []OpFailure, err error) {
	t := newTransaction(r, ops)
	if failed, err = t.refusable(); failed == nil && err == nil {
		failed, err = t.run(ctx)
	}
	if failed != nil || err != nil {
		return nil, failed, err
	}
	return t.results, nil, nil
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
	items, at, err := sameItem(t.ops)
	switch {
	case err != nil:
		return []OpFailure{{at, err}}, nil
	case items > write.MaxActions:
		return nil, tooMany(len(t.ops), items)
	}
	return nil, nil
}

// run plans and sends t until it has an outcome or an error. The results are those of t if it returns no errors.
func (t *transaction) run(ctx context.Context) (failed []OpFailure, err error) {
	if t.joined || t.ops[0].Idempotent {
		if err := t.r.transactions(); err != nil {
			return nil, err
		}
	}
	for round := 0; round < t.r.MaxAttempts; round++ {
		var again bool
		var cause error
		if failed, err = t.plan(ctx, round == 0); failed != nil {
			clear(t.there)
		} else if err == nil {
			failed, again, cause, err = t.send(ctx)
		}
		if failed == nil || err != nil {
			return nil, err
		}
		if !again {
			if failed, again = t.explain(ctx, failed); !again {
				return failed, cause
			}
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
	for i, op := range t.ops { // ids in the order of the ops
		t.inputs[i] = write.Input{Now: now, Joined: t.joined, Once: !t.joined, Hints: t.hints[i], Room: &t.rooms[i]}
		if op.Schema == nil || op.Schema.StoresID {
			t.inputs[i].WriteID = t.r.NewID()
		}
		if op.Context {
			if t.inputs[i].Context, err = write.InContext(ctx, op.Schema); err != nil {
				failed = append(failed, OpFailure{i, err})
			}
		}
	}
	if failed != nil {
		return failed, nil
	}
	if len(t.ops) == 1 || first && !slices.ContainsFunc(t.ops, (*write.Op).Reads) {
		for i, op := range t.ops {
			t.steps[i], t.errs[i] = t.r.plan(ctx, op, t.inputs[i], first)
		}
	} else {
		Parallel(len(t.ops), 8, func(i int) { t.steps[i], t.errs[i] = t.r.plan(ctx, t.ops[i], t.inputs[i], first) })
	}
	for i, err := range t.errs {
		if err != nil {
			failed = append(failed, OpFailure{i, err})
		}
	}
	if err := ctx.Err(); err != nil && t.joined {
		return nil, err
	}
	return failed, nil
}

// send sends the plan, and the steps that refusals lead to. again is set if the ops must be planned again. cause is the SDK's
// error behind failed.
func (t *transaction) send(ctx context.Context) (failed []OpFailure, again bool, cause, err error) {
	for {
		t.actions, t.at = t.steps[0].Actions, nil
		if t.joined || len(t.actions) > 1 {
			if failed, err = t.merge(); failed != nil || err != nil {
				return failed, false, nil, err
			}
		}
		if len(t.actions) == 0 { // nothing to write
			return nil, false, nil, t.done(write.Returned{})
		}
		token := ""
		if len(t.actions) > 1 || t.actions[0].Kind == write.Check || slices.ContainsFunc(t.ops, func(op *write.Op) bool { return op.Idempotent }) {
			if err = t.r.transactions(); err != nil {
				return nil, false, nil, err
			}
			token = t.r.NewID()
		}
		got, err := t.deliver(ctx, token)
		if err != nil {
			return nil, false, nil, err
		}
		if got.failures == nil {
			if op := t.ops[0]; !t.joined && op.Idempotent && t.actions[0].Returns != write.ReturnNothing {
				if got.returned.Image, err = t.r.readBack(ctx, op); err != nil {
					return []OpFailure{{0, err}}, false, nil, nil
				}
			}
			return nil, false, nil, t.done(got.returned)
		}
		var next *write.Step
		if failed, again, next = t.resolve(got); next == nil {
			return failed, again, got.cause, nil
		}
		t.steps[0] = *next
	}
}

// done makes the results of steps that were applied, and passes the items before them to callers who asked for them.
func (t *transaction) done(returned write.Returned) (err error) {
	for i, op := range t.ops {
		if t.results[i], err = t.steps[i].Done(returned); err == nil && op.Old != nil {
			err = op.Old(t.results[i].Old)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// soleWriters reports whether a refusal is final for all ops, whatever became of earlier attempts.
func (t *transaction) soleWriters() bool {
	return !slices.ContainsFunc(t.ops, func(op *write.Op) bool { return !op.SoleWriter })
}

// resolve returns each op's error from the failures of its own actions. again is set if one was planned from an item that
// has changed since, and no other has failed for good. A failed claim may follow from the stale plan, which would have
// given up the claimed value, so it does not count as final then, and is not returned. Hints for the next plan are appended to the op's hints.
// An op alone can also go on with another step, or have a result.
func (t *transaction) resolve(got response) (failed []OpFailure, again bool, next *write.Step) {
	var lost []OpFailure
	final, certain := false, !got.ambiguous || t.soleWriters()
	for i, s := range t.steps {
		op, own := t.ops[i], t.own(i, got.failures)
		at := slices.IndexFunc(own, write.Failure.Failed)
		if at < 0 {
			continue
		}
		if got.ambiguous && op.Unsure != nil {
			op.Unsure()
		}
		v := op.Resolve(s, own)
		if t.there != nil {
			still := true
			if t.there[i], still = stillThere(own, t.there[i]); !still {
				v.Replan = errComesAndGoes
			}
		}
		switch {
		case t.joined || !certain || v.Replan != nil:
		case v.Next != nil:
			return nil, false, v.Next
		case v.Result != nil:
			if t.results[i] = *v.Result; op.Old != nil {
				if err := op.Old(v.Result.Old); err != nil {
					return []OpFailure{{i, err}}, false, nil
				}
			}
			return nil, false, nil
		}
		err := failure(op, s, v, got, own, at)
		t.hints[i] = append(t.hints[i], v.Hints...)
		if v.Replan != nil {
			lost = append(lost, OpFailure{i, err})
		} else {
			failed = append(failed, OpFailure{i, err})
			final = final || !s.Actions[at].Claims
		}
	}
	switch {
	case lost != nil && !final && certain:
		return lost, true, nil // without the claims, of which a new plan decides
	case failed == nil && lost == nil: // each condition of the merged actions holds on the item that refused them
		return []OpFailure{{0, fmt.Errorf("%w: %w", entitytype.ErrConflict, got.cause)}}, false, nil
	}
	return append(failed, lost...), false, nil
}

// failure returns the error of an op whose actions were refused: its class, the SDK's error, the stored item, and whether
// an earlier attempt may have been applied. at is the first action that was refused.
func failure(op *write.Op, step write.Step, v write.Resolution, got response, own []write.Failure, at int) error {
	class := v.Err
	switch {
	case class != nil:
	case v.Replan != nil:
		class = v.Replan
	case v.Result != nil: // it may be a success
		class = entitytype.ErrConditionFailed
	default:
		class = entitytype.ErrConflict
	}
	refused := &write.Refused{Class: class, Cause: got.cause, Schema: op.Schema}
	if class == entitytype.ErrConditionFailed {
		refused.Which = write.FailedPart(op.Schema, step.Actions[at].Cond, own[at].Image)
	}
	if step.EntityActions == 0 || at < step.EntityActions {
		refused.Image = own[at].Image
	}
	if got.ambiguous {
		return &write.Ambiguous{Err: refused}
	}
	return refused
}

// explain adds to the failures what each op would report alone. again is set if one of them is about an item that exists
// by now.
func (t *transaction) explain(ctx context.Context, failed []OpFailure) (explained []OpFailure, again bool) {
	for i, f := range failed {
		err, exists := t.r.explain(ctx, t.ops[f.Index], f.Err)
		if exists {
			err, again = errComesAndGoes, true
		}
		failed[i].Err = err
	}
	return failed, again
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

// merge makes the actions of the steps, or returns the failure of an op that cannot be part of them.
func (t *transaction) merge() (failed []OpFailure, err error) {
	n := 0
	for i := range t.steps {
		n += len(t.steps[i].Actions)
	}
	items, numbers := make(places, 0, n), make([]int, 2*n)
	at := numbers[n:]
	t.at, t.actions, t.parts = make([][]int, len(t.steps)), make([]write.Action, 0, n), numbers[:0:n]
	for i := range t.steps {
		own := t.steps[i].Actions
		t.at[i], at = at[:len(own):len(own)], at[len(own):]
		for j := range own {
			a := &own[j]
			k, known := items.find(a.Table, a.Key)
			if !known {
				items[k].step = i
				t.actions, t.parts = append(t.actions, *a), append(t.parts, 0)
			} else {
				merged, ok := write.Merge(t.actions[k], *a)
				if !ok {
					return []OpFailure{{i, clashed(t.ops[items[k].step], t.ops[i])}}, nil
				}
				t.actions[k] = merged
			}
			t.at[i][j] = k
			t.parts[k]++
		}
	}
	for i, s := range t.steps {
		for j, a := range s.Actions {
			if t.parts[t.at[i][j]] == 1 {
				continue
			}
			if err := write.InMemory(t.ops[i].Schema, a.Cond, "a transaction with several operations on one item"); err != nil {
				return []OpFailure{{i, err}}, nil
			}
		}
	}
	return nil, t.withinLimits()
}

// own returns the failures of step i's actions. Of a merged action, only the parts whose own condition does not hold on the
// stored item have failed.
func (t *transaction) own(i int, failures []write.Failure) []write.Failure {
	if t.at == nil {
		return failures
	}
	own := make([]write.Failure, len(t.at[i]))
	for j, k := range t.at[i] {
		own[j] = failures[k]
		if t.parts[k] > 1 && own[j].Failed() && !own[j].Hidden && t.steps[i].Actions[j].Cond.Holds(own[j].Image) {
			own[j] = write.Failure{}
		}
	}
	return own
}

// bytes returns the size of the items and values.
func (t *transaction) bytes() int {
	n := 0
	for _, a := range t.actions {
		n += item.Size(a.Item) + item.Size(a.Key)
		for _, c := range a.Changes {
			n += item.ValueSize(c.Value)
		}
	}
	return n
}

// clashed returns the error of two ops on one item that cannot be merged into one action.
func clashed(a, b *write.Op) error {
	return &entitytype.InputError{Code: write.CodeSameItem, Type: b.Schema.Type.String(), Problem: fmt.Sprintf("%s and %s write one item, or the sentinel of one unique value; a transaction can write an item once: make one operation of both, with the changes of both, or send two transactions", a.Verb, b.Verb)}
}

// sameItem returns the error of an op that writes the same item as an earlier op, and its index. items is the number of
// distinct items.
func sameItem(ops []*write.Op) (items, at int, err error) {
	all := make(places, 0, len(ops))
	for i, op := range ops {
		k, _ := all.find(op.Table, op.Key)
		if other := all[k].writer; other != nil && !write.Mergeable(other, op) {
			return len(all), i, clashed(other, op)
		}
		if !op.ChecksOnly {
			all[k].writer = op
		}
	}
	return len(all), 0, nil
}

func (t *transaction) withinLimits() error {
	if n := len(t.actions); n > write.MaxActions {
		return tooMany(len(t.ops), n)
	}
	if len(t.actions) <= write.MaxTransactionBytes/mostItemBytes {
		return nil // unless one of the items is too large
	}
	if bytes := t.bytes(); bytes > write.MaxTransactionBytes {
		return &write.SizeError{Type: aTransaction, Problem: fmt.Sprintf("the items are %d bytes, %d are allowed", bytes, write.MaxTransactionBytes)}
	}
	return nil
}

// mostItemBytes is the largest size of an item with its key again.
const mostItemBytes = item.MaxBytes + key.MaxPartitionKey + key.MaxSortKey + 2*write.MaxKeyName

const aTransaction = "transaction"

func tooMany(ops, actions int) error {
	return &entitytype.InputError{Code: write.CodeTooMany, Type: aTransaction, Problem: fmt.Sprintf("%d ops need %d actions, a transaction can have %d", ops, actions, write.MaxActions)}
}
