package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// DefaultDecisions is how often a function may decide. A hundred callers who change one item at once need about twelve each. The pauses
// are those of requests: shorter ones let more decisions meet, and fewer be applied in a second.
const DefaultDecisions = 100

// decisionKey is for the decision of a function, in the context with which it reads. Where there is one, reads are strongly consistent:
// what the function reads after a refusal is not older than what was refused.
type decisionKey struct{}

// decision has the write ids of the items that a function has read, by table and key.
type decision struct {
	mu   sync.Mutex
	read map[[2]string]string
}

// saw notes an item that a function has read, the first time if it reads it again.
func saw(ctx context.Context, table string, key item.Primary, found wire.Item) {
	d, _ := ctx.Value(decisionKey{}).(*decision)
	if d == nil || found.Missing() {
		return
	}
	id, at := found.Value(schema.WriteAttr).Text(), [2]string{table, layout.KeyID(key.Map())}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, again := d.read[at]; !again && id != "" {
		if d.read == nil {
			d.read = map[[2]string]string{}
		}
		d.read[at] = id
	}
}

// idOf returns the write id of the item of an action as the function has read it, "" if it has not.
func (d *decision) idOf(a *plan.Action) string {
	d.mu.Lock() // the function may have left goroutines behind
	defer d.mu.Unlock()
	if d.read == nil {
		return ""
	}
	return d.read[[2]string{a.Table, layout.KeyID(a.Key)}]
}

// pin guards the actions on items that the function has read by what it has read. Once such an item is written, the transaction can
// never be applied any more: so its refusal is certain, whatever became of an earlier attempt.
func (t *transaction) pin() {
	for k := range t.actions {
		a := &t.actions[k]
		if id := t.decision.idOf(a); id != "" {
			pin := expr.Compare(expr.Eq, expr.Attr(schema.WriteAttr), item.S(id))
			if a.Cond = expr.All(a.Cond, pin); a.Kind == plan.Check || a.Kind == plan.Delete || a.WriteID != "" {
				a.Pin = a.Pinned(&pin)
			}
		}
	}
}

// met returns the item that made a condition fail, as far as it is known.
func met(f plan.Failure) item.Item {
	if f.Image == nil {
		return f.There
	}
	return f.Image
}

// overtaken returns the failure of the first op with an item that was written since the function has read it, nil without one.
func (t *transaction) overtaken(got response) []OpFailure {
	for i := range t.ops {
		op := &t.ops[i]
		for _, k := range op.at {
			a, f := &t.actions[k], got.failures[k]
			if id := t.decision.idOf(a); id != "" && f.Failed() && writeIDIn(met(f)) != id {
				return []OpFailure{{i, failure(op.Op, op.plan, plan.Resolution(plan.Again), got, met(f), 0, op.in.Now)}}
			}
		}
	}
	return nil
}

// Decide calls decide, and sends the ops that it returns as one transaction. It does so again, at most most times, while the failure says
// that another decision may be applied; see [transaction.another]. Without ops nothing is sent. The results and failures are those of the
// last decision.
func (r *Runner) Decide(ctx context.Context, most int, decide func(context.Context) ([]*plan.Op, error)) (results []plan.Result, failed []OpFailure, err error) {
	var by []string
	for n := 1; ; n++ {
		m, _ := ctx.Value(meterKey{}).(*meter)
		m.decides(n, nil)
		d := new(decision)
		ops, err := decide(context.WithValue(ctx, decisionKey{}, d))
		if err != nil || len(ops) == 0 {
			return nil, nil, err
		}
		m.decides(n, ops)
		t := newTransaction(r, ops...)
		t.decision = d
		if failed, err = t.refusable(); failed != nil || err != nil {
			return nil, failed, err
		}
		failed, err = t.run(ctx)
		if failed == nil && err == nil || inDoubt(failed, err) && t.wasApplied(ctx) {
			return t.results(), nil, nil
		}
		var again bool
		if by, again = t.another(failed, err, by); !again || n >= most {
			return nil, failed, err
		}
		if e := r.pause(ctx, n-1); e != nil {
			for _, f := range failed {
				err = errors.Join(err, f.Err)
			}
			return nil, nil, fmt.Errorf("%w: %w", e, err)
		}
	}
}

// another is the rule that says which failures lead to another decision. The transaction was certainly not applied, and each
// failure is of what the function can have read, and can read otherwise now:
//
//   - a conflict: another write came in between
//   - a refusal: a condition, a guard or a version, an item that exists or does not, a unique value that is taken. If the same items
//     refuse the next decision too, in the same state, the function has seen that state, and every decision would meet it.
//
// Everything else is returned at once: an outcome that is unknown, bad input, sizes, requests that failed. all identifies what
// has refused this decision.
func (t *transaction) another(failed []OpFailure, err error, before []string) (all []string, again bool) {
	if inDoubt(failed, err) {
		return nil, false
	}
	if len(failed) == 0 {
		return nil, errors.Is(err, sentinel.ErrConflict)
	}
	for _, f := range failed {
		var refused *plan.Refused
		if !errors.As(f.Err, &refused) && !slices.ContainsFunc(refusals, func(class error) bool { return errors.Is(f.Err, class) }) {
			return nil, false
		}
		if by := t.refusedBy(&t.ops[f.Index]); by != "" {
			if all = append(all, by); slices.Contains(before, by) {
				return nil, false
			}
		}
	}
	return all, true
}

// refusals are the classes of errors that a plan has without a request, by the item that it was made from.
var refusals = []error{
	sentinel.ErrConflict, sentinel.ErrConditionFailed, sentinel.ErrExists, sentinel.ErrNotFound, sentinel.ErrNotDeleted, sentinel.ErrTaken,
}

// refusedBy identifies the items that refused op, each with its state; "" if none did.
func (t *transaction) refusedBy(op *operation) string {
	var texts []string
	add := func(table string, key, it item.Item) {
		texts = append(texts, table, layout.KeyID(key), string(item.AppendBinary(nil, it)))
	}
	if op.err != nil {
		add(op.Table, op.Key, op.in.Image)
	} else if len(t.refusal) == len(t.actions) {
		for j, f := range t.own(op, t.refusal) {
			if f.Failed() {
				add(op.plan.Actions[j].Table, op.plan.Actions[j].Key, met(f))
			}
		}
	}
	if texts == nil {
		return ""
	}
	return short(texts...)
}

// inDoubt reports whether a transaction with these failures may have been applied, or may still be.
func inDoubt(failed []OpFailure, err error) bool {
	var ambiguous *plan.Ambiguous
	return errors.As(err, &ambiguous) || slices.ContainsFunc(failed, func(f OpFailure) bool { return errors.As(f.Err, &ambiguous) })
}

// wasApplied reports whether an item has the write id of its action, which proves that all were applied, and makes the results then.
func (t *transaction) wasApplied(ctx context.Context) bool {
	images, err := t.written(ctx)
	for k, a := range t.actions {
		if err == nil && wroteBy(images[k], a.WriteID) {
			return t.stored(images) == nil
		}
	}
	return false
}
