package timeseries

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/write"
)

// AppendOption is accepted by Append and AppendAll: entity.If.
type AppendOption interface{ write.AppendOption }

// Reason is why an append was not applied to the current item.
type Reason string

// Reasons. They are results of Append and not errors, because clocks and retries of many devices lead to them regularly.
const (
	Older           Reason = "older"     // the current item has the same or a later orderBy; the event was dropped
	LateRecorded    Reason = "recorded"  // as Older, but the event was stored in the history (late:"record")
	Duplicate       Reason = "duplicate" // an equal event with this orderBy is already in the history
	Collision       Reason = "collision" // another event with this orderBy is in the history
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
// It costs one request or none. Errors: entity.ErrNotFound if there is no item, because it was removed since, or a condition
// did not hold without one, or an error left the append undecided; those of a read; *entity.InputError for a series with
// current:"none".
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

	events *events

	mu   sync.Mutex
	item item.Item // nil until it is known
}

func (c *current) get(ctx context.Context) (item.Item, error) {
	if err := c.events.refused(c.core, "Current"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.item != nil {
		return c.item, nil
	}
	err := c.core.Measure(ctx, "Current", write.KeyText(c.core.Schema, c.primary), func(ctx context.Context) (err error) {
		if c.item, err = c.core.Runner.Get(ctx, c.core.Table, c.primary, true); err == nil && c.item == nil {
			err = entity.ErrNotFound
		}
		return err
	})
	return c.item, err
}

// NotAppliedError is the error of an append in a transaction that was not applied, so the transaction failed as a
// whole. entity.StoredItem returns the current item or event that prevented it.
type NotAppliedError struct{ Reason Reason }

func (e *NotAppliedError) Error() string { return fmt.Sprintf("event not applied: %s", e.Reason) }

// OrderByTypeError is the error of a stored orderBy of another DynamoDB type than the struct's, so that the two cannot
// be compared. Another version of the struct or another program has written it.
type OrderByTypeError struct{ Attr string }

func (e *OrderByTypeError) Error() string {
	return "the stored orderBy attribute " + e.Attr + " is of another type than the struct's"
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
// *entity.InputError and entity.ErrTooLarge before any request; *[OrderByTypeError]; entity.ErrConflict; an error for
// which entity.IsAmbiguous reports true if the outcome is unknown.
func (s *Series[T]) Append(ctx context.Context, ev T, opts ...AppendOption) (Result[T], error) {
	c, spec := engine.Of(s), write.Collect(opts)
	op := newAppend(c, s.opened().e, reflect.ValueOf(ev), spec)
	var r Result[T]
	err := c.MeasureItem(ctx, "Append", op.Key, func(ctx context.Context) error {
		got, err := c.Runner.Run(ctx, op)
		if err != nil {
			return err
		}
		engine.Note(ctx, "Append", got)
		r, err = result[T](c, got, &current{core: c, primary: op.Key, events: s.e})
		return err
	})
	return r, err
}

// Append is [Series.Append] as a value. In a transaction, an event that is not applied fails the whole transaction with
// a *[NotAppliedError], and late:"record" has no effect. Result.Current has what the event sets on the current item.
func (o Ops[T]) Append(ev T, opts ...AppendOption) entity.Write[Result[T]] {
	c := engine.Of(o)
	op := newAppend(c, o.e, reflect.ValueOf(ev), write.Collect(opts))
	return engine.NewWrite[Result[T]](engine.NewOperation(c, op, func(got write.Result, into any) (err error) {
		*into.(*Result[T]), err = result[T](c, got, &current{core: c, primary: op.Key, events: o.e})
		return err
	}))
}

// result makes the result of an append from that of its write. A current item that this does not have is read through unknown
// when it is asked for.
func result[T any](c *engine.Core, got write.Result, unknown *current) (Result[T], error) {
	r := Result[T]{Applied: !got.Skipped, Reason: Reason(got.Reason)}
	switch {
	case got.Item != nil:
		r.current = &current{core: c, item: got.Item}
	case r.Applied, r.Reason != "" && r.Reason != ConditionFailed: // without an image this reason means that there is no item
		r.current = unknown
	}
	if got.Existing != nil {
		stored, err := engine.Decode[T](c, got.Existing)
		if err != nil {
			return r, err
		}
		r.Existing = &stored
	}
	return r, nil
}

// conditions resolves the options of an append.
func (e *events) conditions(c *engine.Core, spec *write.Options) (expr.Cond, error) {
	if err := spec.Err(); err != nil {
		return expr.Cond{}, &entitytype.InputError{Code: write.CodeOption, Type: c.Schema.Type.String(), Problem: err.Error()}
	}
	if e.noCurrent && len(spec.If) > 0 {
		return expr.Cond{}, write.Invalid(c.Schema, write.CodeNoCurrentCondition, nil, `a condition is about the current item, and the series is declared with current:"none"`)
	}
	return write.Conditions(c.Schema, spec.If)
}

// outcome is the result of one event.
type outcome struct {
	applied bool
	reason  Reason
	current item.Item // nil if the answer did not contain it
	stored  item.Item // the event that is already in the history
}

// result returns o as the result of a write.
func (o outcome) result() write.Result {
	return write.Result{Item: o.current, Existing: o.stored, Skipped: !o.applied, Reason: string(o.reason)}
}

// outcomeOf returns the outcome in the result of an append.
func outcomeOf(r write.Result) outcome {
	return outcome{applied: !r.Skipped, reason: Reason(r.Reason), current: r.Item, stored: r.Existing}
}

// done resolves failures to an outcome.
func done(o outcome) write.Resolution {
	r := o.result()
	return write.Resolution{Result: &r}
}

// appendOp plans one append: an update of the current item and a put of the event, in one transaction.
type appendOp struct {
	*event
	user expr.Cond
}

func newAppend(c *engine.Core, e *events, v reflect.Value, spec *write.Options) *write.Op {
	op := &write.Op{Verb: "Append", Schema: c.Schema, Table: c.Table, Traits: write.Traits{Mergeable: true}}
	ev, err := newEvent(c, e, v)
	if err != nil {
		op.Err = err
		return op
	}
	var user expr.Cond
	if len(spec.If) > 0 || len(spec.Errs) > 0 {
		if user, op.Err = e.conditions(c, spec); op.Err != nil {
			return op
		}
	}
	if e.noCurrent {
		return ev.logAppend("Append")
	}
	op.Key = ev.primary
	op.Planner = &appendOp{ev, user}
	return op
}

func (a *appendOp) Plan(in write.Input) (write.Step, error) {
	if err := a.checkAhead(in.Now); err != nil {
		return write.Step{}, err
	}
	current, err := advance(&joinedAdvance{[]*event{a.event}, a.user, in}, a.event)
	if err != nil {
		return write.Step{}, err
	}
	put, err := a.put(in)
	if err != nil {
		return write.Step{}, err
	}
	actions := []write.Action{current, put}
	return write.Step{
		Actions: actions,
		Whole:   true,
		Outcome: &appending{a, actions, in.Joined},
	}, nil
}

// appending is the outcome of an append: an update of the current item and the put of the event.
type appending struct {
	*appendOp
	actions []write.Action
	joined  bool
}

// Done implements write.Outcome.
func (x *appending) Done(write.Returned) (write.Result, error) {
	if x.joined {
		return write.Result{Item: x.carried}, nil
	}
	return write.Result{}, nil
}

// Resolve implements write.Outcome.
func (x *appending) Resolve(failed []write.Failure) write.Resolution {
	f, err := x.opened(failed)
	if err != nil {
		return write.Resolution{Err: err}
	}
	current, stored, older := f[0], f[1], false
	if current.Failed() {
		if older, err = x.isOlder(current.Image); err != nil {
			return write.Resolution{Err: err}
		}
	}
	got := outcome{reason: Older, current: current.Image}
	switch {
	case stored.Failed() && !x.equals(stored.Image):
		got.reason, got.stored = Collision, stored.Image
	case stored.Failed() && !current.Failed() && !x.joined: // the current item is older than the stored event: update it
		return write.Resolution{Next: x.repair(stored.Image)}
	case stored.Failed():
		got.reason, got.stored = Duplicate, stored.Image
	case !older:
		got.reason = ConditionFailed
	case x.e.record && !x.joined:
		return write.Resolution{Next: x.record(current.Image)}
	}
	if x.joined {
		return write.Resolution{Err: &NotAppliedError{got.reason}}
	}
	return done(got)
}

// repair returns the step that brings the current item up to an event that is already stored.
func (x *appending) repair(stored item.Item) *write.Step {
	return &write.Step{Actions: []write.Action{x.actions[0], x.check()}, Whole: true, Outcome: &repairing{x.event, stored}}
}

// repairing is the outcome of an update of the current item from a stored event, which is checked.
type repairing struct {
	*event
	stored item.Item
}

// Resolve implements write.Outcome.
func (x *repairing) Resolve(failed []write.Failure) write.Resolution {
	f, err := x.opened(failed)
	switch {
	case err != nil:
		return write.Resolution{Err: err}
	case f[1].Failed():
		return write.Resolution{Replan: entitytype.ErrConflict} // the event has been removed meanwhile
	}
	return done(outcome{reason: Duplicate, current: f[0].Image, stored: x.stored})
}

// Done implements write.Outcome.
func (x *repairing) Done(write.Returned) (write.Result, error) {
	return outcome{reason: Duplicate, stored: x.stored}.result(), nil
}

// record returns the step that stores a late event in the history of an existing item.
func (x *appending) record(current item.Item) *write.Step {
	exists := write.Action{Kind: write.Check, Table: x.c.Table, Key: x.primary, Cond: x.event.exists()}
	return &write.Step{Actions: []write.Action{exists, x.actions[1]}, Whole: true, Outcome: &recording{x.event, current}}
}

// recording is the outcome of the put of a late event, with a check of the current item.
type recording struct {
	*event
	current item.Item
}

// Resolve implements write.Outcome.
func (x *recording) Resolve(failed []write.Failure) write.Resolution {
	f, err := x.opened(failed)
	switch {
	case err != nil:
		return write.Resolution{Err: err}
	case f[0].Failed():
		return write.Resolution{Replan: entitytype.ErrConflict} // the item has been removed meanwhile
	}
	return done(x.duplicate(x.current, f[1].Image))
}

// Done implements write.Outcome.
func (x *recording) Done(write.Returned) (write.Result, error) {
	return outcome{reason: LateRecorded, current: x.current}.result(), nil
}

// duplicate returns the outcome of an event that was not stored because there is one with its key.
func (ev *event) duplicate(current, stored item.Item) outcome {
	o := outcome{reason: Duplicate, current: current, stored: stored}
	if !ev.equals(stored) {
		o.reason = Collision
	}
	return o
}
