package timeseries

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// outcome is what became of one event.
type outcome struct {
	applied bool
	reason  Reason
	current item.Item // nil when the answer does not have it
	stored  item.Item // the event that is in the history already
}

// result is o as the result of a write.
func (o outcome) result() plan.Result {
	return plan.Result{Item: o.current, Existing: o.stored, Skipped: !o.applied, Reason: string(o.reason)}
}

// outcomeOf is what the result of an append says.
func outcomeOf(r plan.Result) outcome {
	return outcome{applied: !r.Skipped, reason: Reason(r.Reason), current: r.Item, stored: r.Existing}
}

// done resolves failures to an outcome.
func done(o outcome) plan.Resolution {
	r := o.result()
	return plan.Resolution{Result: &r}
}

// appendOp plans one append: the current item is advanced and the event put, together.
type appendOp struct {
	*event
	user expr.Cond
}

func newAppend(c *core.Core, e *events, v reflect.Value, spec opt.Append) *plan.Op {
	op := &plan.Op{Verb: "Append", Schema: c.Schema, Table: c.Table, Folds: true}
	ev, err := newEvent(c, e, v)
	if err != nil {
		op.Err = err
		return op
	}
	user, err := conditions(c, spec)
	if err != nil {
		op.Err = err
		return op
	}
	op.Key, op.KeyIs = ev.primary, plan.KeyText(c.Schema, ev.primary)
	op.Plan = (&appendOp{ev, user}).plan
	return op
}

func (a *appendOp) plan(in plan.Input) (plan.Step, error) {
	if err := a.tooEarly(in.Now); err != nil {
		return plan.Step{}, err
	}
	current, err := (&advancing{[]*event{a.event}, a.user, in}).action()
	if err != nil {
		return plan.Step{}, err
	}
	put, err := a.put(in)
	if err != nil {
		return plan.Step{}, err
	}
	return plan.Step{
		Actions: []plan.Action{current, put},
		Whole:   true,
		Resolve: a.ownSeries(func(f []plan.Failure) plan.Resolution {
			got, next, err := a.resolve(f[0], f[1], current, put, in.Joined)
			switch {
			case err != nil:
				return plan.Resolution{Err: err}
			case next != nil:
				return plan.Resolution{Next: next}
			case in.Joined:
				return plan.Resolution{Err: &NotAppliedError{got.reason}}
			}
			return done(got)
		}),
		Done: func(plan.Returned) (plan.Result, error) {
			if in.Joined {
				return outcome{applied: true, current: a.carried}.result(), nil
			}
			return outcome{applied: true}.result(), nil
		},
	}, nil
}

// resolve reads the outcome from the two failures. next is set when another request decides.
func (a *appendOp) resolve(current, stored plan.Failure, advance, put plan.Action, joined bool) (outcome, *plan.Step, error) {
	older := false
	if current.Failed() {
		var err error
		if older, err = a.older(current.Image); err != nil {
			return outcome{}, nil, err
		}
	}
	switch {
	case stored.Failed() && !a.same(stored.Image):
		return outcome{reason: Collision, current: current.Image, stored: stored.Image}, nil, nil
	case stored.Failed() && !current.Failed() && !joined:
		// The event is there but the current item lags behind it: bring it up.
		return outcome{}, a.repair(advance, stored.Image), nil
	case stored.Failed():
		return outcome{reason: Duplicate, current: current.Image, stored: stored.Image}, nil, nil
	case !older:
		return outcome{reason: ConditionFailed, current: current.Image}, nil, nil
	case a.e.record && !joined:
		return outcome{}, a.record(put, current.Image), nil
	}
	return outcome{reason: Older, current: current.Image}, nil, nil
}

// repair advances the current item to an event that is stored already.
func (a *appendOp) repair(advance plan.Action, stored item.Item) *plan.Step {
	return &plan.Step{
		Actions: []plan.Action{advance, a.check()},
		Whole:   true,
		Resolve: a.ownSeries(func(f []plan.Failure) plan.Resolution {
			if f[1].Failed() {
				return plan.Resolution{Replan: plan.ErrConflict} // the event is gone meanwhile
			}
			return done(outcome{reason: Duplicate, current: f[0].Image, stored: stored})
		}),
		Done: func(plan.Returned) (plan.Result, error) {
			return outcome{reason: Duplicate, stored: stored}.result(), nil
		},
	}
}

// record keeps a late event in the history of an item that exists.
func (a *appendOp) record(put plan.Action, current item.Item) *plan.Step {
	exists := plan.Action{Kind: plan.Check, Table: a.c.Table, Key: a.primary, Cond: a.event.exists()}
	return &plan.Step{
		Actions: []plan.Action{exists, put},
		Whole:   true,
		Resolve: a.ownSeries(func(f []plan.Failure) plan.Resolution {
			if f[0].Failed() {
				return plan.Resolution{Replan: plan.ErrConflict} // the item is gone meanwhile
			}
			got := outcome{reason: Duplicate, current: current, stored: f[1].Image}
			if !a.same(f[1].Image) {
				got.reason = Collision
			}
			return done(got)
		}),
		Done: func(plan.Returned) (plan.Result, error) {
			return outcome{reason: LateRecorded, current: current}.result(), nil
		},
	}
}
