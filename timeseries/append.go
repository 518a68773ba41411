package timeseries

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// AppendOption is accepted by Append and AppendAll: entity.If.
type AppendOption interface{ bind.AppendOption }

// A Reason says why an append was not applied to the current item.
type Reason string

// Reasons. They are results of Append and not errors, because clocks and retries of many devices lead to them regularly.
const (
	Older           Reason = "older"     // the current item has the same or a later orderBy; the event was dropped
	LateRecorded    Reason = "recorded"  // as Older, but the event was stored in the history (late:"record")
	Duplicate       Reason = "duplicate" // an equal event with this orderBy is already in the history, and has not expired
	Collision       Reason = "collision" // another event with this orderBy is in the history, and has not expired
	ConditionFailed Reason = "refused"   // the event is newer, but a condition of the caller did not hold
)

// Result is the result of an append.
type Result[T any] struct {
	Applied  bool   // the event was stored, and the current item updated if the series has one
	Reason   Reason // why it was not applied; "" if it was, and if an error left it undecided
	Existing *T     // the event in the history, for Duplicate and Collision

	current *current
}

// Current returns the current item, at or after this event. What the answer of the append did not contain is read
// consistently, once for all results of a series in one AppendAll: that is so if the event was applied. Later calls return
// the same item. In a transaction it returns what the event sets, without a read.
//
// It costs one request or none. Errors: entity.ErrNotFound if there is no item, because it was removed since, or a condition did not hold
// without one, or an error left the append undecided; those of a read; *entity.InputError for a series with current:"none".
func (r Result[T]) Current(ctx context.Context) (v T, err error) {
	if r.current == nil {
		return v, entity.ErrNotFound
	}
	it, err := r.current.get(ctx)
	if err != nil {
		return v, err
	}
	return engine.Decode[T](r.current.core, it)
}

// current is the current item after an append, read when it is first asked for.
type current struct {
	core    *engine.Core
	primary item.Item

	mu   sync.Mutex
	item item.Item // nil until it is known
}

func (c *current) get(ctx context.Context) (item.Item, error) {
	if c.core.Schema.NoCurrent {
		return nil, c.core.Wrap("Current", "", noCurrent(c.core))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.item != nil {
		return c.item, nil
	}
	err := c.core.Measure(ctx, "Current", layout.KeyText(c.core.Schema, c.primary), func(ctx context.Context) (err error) {
		if c.item, err = c.core.Runner.Get(ctx, c.core.Table, c.primary, true); err == nil && c.item == nil {
			err = entity.ErrNotFound
		}
		return err
	})
	return c.item, err
}

// NotAppliedError is the error of an append in a transaction that was not applied. The transaction failed as a
// whole. entity.StoredItem returns the current item or event that prevented it. It is an entity.ErrExists with [Duplicate] and
// [Collision], since an event with its orderBy is stored, and otherwise an entity.ErrConditionFailed.
type NotAppliedError struct{ Reason Reason }

func (e *NotAppliedError) Error() string {
	return fmt.Sprintf("event not applied: %s: %s", e.Reason, meanings[e.Reason])
}

// Is reports whether target is the class of the reason.
func (e *NotAppliedError) Is(target error) bool {
	if e.Reason == Duplicate || e.Reason == Collision {
		return target == entity.ErrExists
	}
	return target == entity.ErrConditionFailed
}

// meanings say what reasons mean, for errors.
var meanings = map[Reason]string{
	Older:           "the current item has the same or a later orderBy",
	Duplicate:       "an equal event with this orderBy is stored",
	Collision:       "another event with this orderBy is stored",
	ConditionFailed: "a condition given to the append did not hold",
}

// Append stores ev in the history and brings the current item up to it, in one transaction, if ev is newer than the
// current item. It writes the key, orderBy and the append fields of ev only; a nil pointer, slice or map leaves the
// value on the current item. If ev is older, a duplicate and so on, the result has the [Reason].
//
// A series with current:"none" has no current item: Append stores the event unless one with the same orderBy is there, which
// is a Duplicate if its append fields are equal, and otherwise a Collision. It takes no conditions.
//
// It costs one request with two transactional writes; an event that is recorded late costs one transaction more. With
// current:"none" it costs one request with one write. Errors:
// *entity.InputError and entity.ErrTooLarge before any request; *entity.DecodeError if the stored orderBy has another type than the struct's; entity.ErrConflict; an error for
// which entity.IsAmbiguous reports true if the outcome is unknown.
func (s *Series[T]) Append(ctx context.Context, ev T, opts ...AppendOption) (Result[T], error) {
	var r Result[T]
	var e *events
	if s != nil {
		e = s.e
	}
	_, err := newAppend(engine.Of(s), e, reflect.ValueOf(ev), opts, setResult[T]).Run(ctx, &r)
	return r, err
}

// Append is [Series.Append] as a value. In a transaction, an event that is not applied fails the whole transaction with
// a *[NotAppliedError], and late:"record" has no effect. Result.Current has what the event sets on the current item.
func (o *Ops[T]) Append(ev T, opts ...AppendOption) entity.Write[Result[T]] {
	return engine.NewWrite[Result[T]](newAppend(engine.Of(o), o.opened().e, reflect.ValueOf(ev), opts, setResult[T]))
}

// setResult sets the Result that into points to, of an append that returned got. A current item that got does not have is read
// through unknown when it is asked for.
func setResult[T any](got plan.Result, unknown *current, into any) error {
	r := into.(*Result[T])
	if got.Skipped || got.Item != nil {
		return r.set(got, unknown)
	}
	*r = Result[T]{Applied: true, current: unknown}
	return nil
}

// set is setResult for an event that was not applied, or whose current item is known.
func (r *Result[T]) set(got plan.Result, unknown *current) error {
	*r = Result[T]{Applied: !got.Skipped, Reason: Reason(got.Reason)}
	switch {
	case got.Item != nil:
		r.current = &current{core: unknown.core, item: got.Item}
	case r.Reason != "" && r.Reason != ConditionFailed: // without an image this reason means that there is no item
		r.current = unknown
	}
	if got.Existing == nil {
		return nil
	}
	stored, err := engine.Decode[T](unknown.core, got.Existing)
	if err == nil {
		r.Existing = &stored
	}
	return err
}

// conditions resolves the options of an append.
func (e *events) conditions(c *engine.Core, spec *bind.Options) (expr.Cond, error) {
	if err := c.Readable(spec); err != nil {
		return expr.Cond{}, err
	}
	if e.noCurrent && len(spec.If) > 0 {
		return expr.Cond{}, bind.Invalid(c.Schema, bind.CodeNoCurrentCondition, nil, `a condition is about the current item, and the series is declared with current:"none"`)
	}
	return bind.Conditions(c.Schema, spec.If)
}

// notApplied returns the result for an event that was not applied. current and stored are nil if they are not known.
func notApplied(why Reason, current, stored item.Item) plan.Result {
	return plan.Result{Skipped: true, Reason: string(why), Item: current, Existing: stored}
}

func done(r plan.Result) plan.Resolution { return plan.Resolution{Result: &r} }

// newAppend returns the operation of an append of v. decode sets the caller's Result.
func newAppend(c *engine.Core, e *events, v reflect.Value, opts []AppendOption, decode func(plan.Result, *current, any) error) engine.Operation {
	op := &plan.Op{Verb: "Append", Schema: c.Schema, Table: c.Table}
	op.Mergeable = true
	ev, err := newEvent(c, e, v)
	var user expr.Cond
	if err == nil && len(opts) > 0 {
		user, err = e.conditions(c, bind.Collect(opts))
	}
	switch {
	case err != nil:
		op.Err = err
	case e.noCurrent:
		*op = *ev.logAppend("Append")
	default:
		op.Key = ev.primary
		op.Plan = func(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
			var p struct { // one allocation
				plan.Plan
				actions [2]plan.Action
			}
			put, err := ev.put(in)
			if err != nil {
				return nil, err
			}
			current, err := advance(&joinedAdvance{[]*event{ev}, user, in}, ev)
			if err != nil {
				return nil, err
			}
			p.actions = [...]plan.Action{current, put}
			p.Plan = plan.Plan{Actions: p.actions[:], Whole: true, Meaning: appending{ev}}
			return &p.Plan, nil
		}
	}
	return engine.Operation{Core: c, Op: op, Decode: func(got plan.Result, into any) error {
		return decode(got, &current{core: c, primary: op.Key}, into)
	}}
}

// appending is the Meaning of an append, which sends together
//
//	update  the current item, if it is absent, or older than the event, and meets the caller's conditions
//	put     the event, if its key is free, or has an event that has expired
//
// or, with current:"none", the put alone.
type appending struct{ *event }

func (x appending) Applied(_ *plan.Plan, _ plan.Returned, in *plan.Input) (plan.Result, error) {
	if in.Joined {
		return plan.Result{Item: x.carried}, nil
	}
	return plan.Result{}, nil
}

// Refused implements plan.Meaning: a refused event has an outcome, or leads to another plan.
func (x appending) Refused(p *plan.Plan, failed []plan.Failure, in *plan.Input) plan.Resolution {
	f, err := x.opened(failed)
	if err != nil {
		return plan.Resolution{Err: err}
	}
	current, stored, older := plan.Failure{}, f[len(f)-1], false
	if !x.e.noCurrent {
		current = f[0]
	}
	if current.Failed() {
		if older, err = x.isOlder(current.Image); err != nil {
			return plan.Resolution{Err: err}
		}
	}
	why := Older
	switch {
	case stored.Failed() && !x.equals(stored.Image):
		why = Collision
	case stored.Failed() && !current.Failed() && !in.Joined && !x.e.noCurrent: // the current item is older than the stored event: update it
		return plan.Resolution{Next: &plan.Plan{Actions: []plan.Action{p.Actions[0], x.check()}, Whole: true, Meaning: &settling{event: x.event, stored: stored.Image}}}
	case stored.Failed():
		why = Duplicate
	case !older:
		why = ConditionFailed
	case x.e.record && !in.Joined:
		return plan.Resolution{Next: &plan.Plan{Actions: []plan.Action{x.kept(p.Actions[1].WriteID), p.Actions[1]}, Whole: true, Meaning: &settling{event: x.event, current: current.Image}}}
	}
	if in.Joined {
		return plan.Resolution{Err: &NotAppliedError{why}}
	}
	return done(notApplied(why, current.Image, stored.Image))
}

// settling is the Meaning of the plan that follows a refused append. With current it stores a late event in the history of that item;
// without, it brings the current item up to an event that is stored already, which is checked.
type settling struct {
	*event
	current, stored item.Item
}

func (x *settling) Refused(_ *plan.Plan, failed []plan.Failure, _ *plan.Input) plan.Resolution {
	f, err := x.opened(failed)
	if err != nil {
		return plan.Resolution{Err: err}
	}
	current, stored, condition := x.current, f[1].Image, f[0]
	if x.current == nil {
		current, stored, condition = f[0].Image, x.stored, f[1]
	}
	if condition.Failed() { // the current item, or the event, has been removed meanwhile
		return plan.Resolution{Replan: sentinel.ErrConflict}
	}
	return done(x.duplicate(current, stored))
}

func (x *settling) Applied(*plan.Plan, plan.Returned, *plan.Input) (plan.Result, error) {
	if x.current == nil {
		return notApplied(Duplicate, nil, x.stored), nil
	}
	return notApplied(LateRecorded, x.current, nil), nil
}

// duplicate returns the result for an event that was not stored because there is one with its key.
func (ev *event) duplicate(current, stored item.Item) plan.Result {
	if !ev.equals(stored) {
		return notApplied(Collision, current, stored)
	}
	return notApplied(Duplicate, current, stored)
}
