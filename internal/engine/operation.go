package engine

import (
	"context"
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Op is the sealed part of entity.Op.
type Op interface{ pending() *Pending }

// PlanOf opens an operation that is about to be run with ctx.
func PlanOf(ctx context.Context, o Op) *plan.Op {
	p := o.pending()
	if p.deferred != nil {
		return p.deferred.Bind(ctx)
	}
	return p.Op
}

// OwnerOf returns the core that an operation belongs to.
func OwnerOf(o Op) *Core { return o.pending().Core }

// Settle decodes the result of a transaction for an operation. Only the transaction can return the error.
func Settle(o Op, result plan.Result) error {
	p := o.pending()
	decoded := reflect.New(p.result.Elem())
	if err := p.give(result, decoded.Interface()); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = decoded.Interface()
	return nil
}

// Operation is a write without the type of its result: a plan, and how to decode its result.
type Operation struct {
	Core *Core
	Op   *plan.Op
	// Decode decodes the result into the value that into points to. If it is nil, the result is an item, and the caller gets the zero
	// value if the write has none.
	Decode func(result plan.Result, into any) error

	deferred *Deferred[*plan.Op] // takes the place of Op; nil for an entity without a Prepare method
}

// Deferred is a write of a value whose Prepare method is called when the write is run. B is the bound write. It is safe for concurrent use.
type Deferred[B any] struct {
	mu       sync.Mutex
	value    *bind.Whole
	bind     func(bind.Completed, error) B
	bound    B
	prepared bool
}

// NewDeferred returns a write of value, which bound binds, or of the error of Prepare.
func NewDeferred[B any](value *bind.Whole, bound func(bind.Completed, error) B) *Deferred[B] {
	return &Deferred[B]{value: value, bind: bound}
}

// Bind returns the write after Prepare, which it calls with ctx unless an earlier call has succeeded.
func (u *Deferred[B]) Bind(ctx context.Context) B {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.prepared {
		return u.bound
	}
	done, err := u.value.Prepared(ctx)
	bound := u.bind(done, err)
	if err == nil {
		u.bound, u.prepared = bound, true
	}
	return bound
}

// Preview returns the write for printing. asGiven reports that it is of the given value, because Prepare has not succeeded yet.
func (u *Deferred[B]) Preview() (bound B, asGiven bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.prepared {
		return u.bound, false
	}
	return u.bind(u.value.AsGiven()), true
}

// WholeOperation returns a write of the whole value v, for an entity that completes values. It generates ids unless
// withoutIDs is set. build binds the completed value.
func WholeOperation(c *Core, verb string, v reflect.Value, withoutIDs bool, build func(v reflect.Value, filled []string) *plan.Op) Operation {
	value := NewWhole(c, v, withoutIDs)
	bound := func(done bind.Completed, err error) *plan.Op {
		if err != nil {
			return &plan.Op{Verb: verb, Schema: c.Schema, Table: c.Table, Err: err}
		}
		op := build(done.Value, done.Filled)
		op.Generated = done.Generated
		return op
	}
	if !c.Schema.Prepares {
		return Operation{Core: c, Op: bound(value.AsGiven())}
	}
	o := Operation{Core: c, Op: &plan.Op{Verb: verb, Schema: c.Schema, Table: c.Table}}
	o.deferred = NewDeferred(value, bound)
	return o
}

// NewWhole returns v, to be completed with the clock and the ids of c.
func NewWhole(c *Core, v reflect.Value, withoutIDs bool) *bind.Whole {
	if withoutIDs {
		return bind.NewWhole(c.Schema, v, nil)
	}
	return bind.NewWhole(c.Schema, v, &bind.IDSource{Clock: c.Runner.Clock, NewID: c.Runner.NewID})
}

// give decodes the result of o into the value that into points to. What a write stores has today's payload version.
func (o Operation) give(result plan.Result, into any) error {
	if o.Decode != nil {
		return o.Decode(result, into)
	}
	it := result.Stored
	switch {
	case result.Item != nil:
		it = wire.Of(result.Item)
	case it.Missing():
		return nil
	default:
		defer it.Release()
	}
	if err := o.Core.Schema.Codec.Read(it, result.Given, reflect.ValueOf(into)); err != nil {
		return o.Core.undecoded(err, into)
	}
	return nil
}

// String prints the compiled plan. It needs no client.
func (o Operation) String() string {
	in := &plan.Input{Now: o.Core.Runner.Clock().UTC(), WriteID: o.Core.Runner.NewID(), Joined: true, Context: plan.ShownContext(o.Core.Schema)}
	op, asGiven := o.Op, false
	if o.deferred != nil {
		op, asGiven = o.deferred.Preview()
	}
	if asGiven {
		return op.TextDeferred(in)
	}
	return op.Text(in)
}

// Run plans the write, sends it alone, and decodes its result into the value that into points to. A Prepare method is called
// within the measured call. Run is called once, and o is used for nothing else.
func (o Operation) Run(ctx context.Context, into any) (result plan.Result, err error) {
	op := o.Op
	err = o.Core.MeasureCall(ctx, entitytype.Call{Verb: op.Verb}, func() string { return op.KeyText() }, func(ctx context.Context) error {
		if o.deferred != nil {
			op = o.deferred.Bind(ctx)
		}
		if result, err = o.Core.Runner.Run(ctx, op); err != nil {
			return err
		}
		if ctx.Value(meterKey{}) != nil {
			Outcome(ctx, op.Verb, OutcomeOf(result))
		}
		return o.give(result, into)
	})
	return result, err
}

// Pending is an operation with the result of the last successful transaction. It does what a Write does, once for all types.
type Pending struct {
	Operation
	result reflect.Type // a pointer to what the operation returns
	mu     sync.Mutex
	last   any // of that type, nil before a transaction
}

// Write implements entity.Write[R]. Its field is not embedded: a program would contain each promoted method once for each R.
type Write[R any] struct{ of Pending }

// NewWrite adds the type of the result to an operation.
func NewWrite[R any](o Operation) *Write[R] {
	return &Write[R]{Pending{Operation: o, result: reflect.TypeOf((*R)(nil))}}
}

func (w *Write[R]) pending() *Pending { return &w.of }

// String prints the compiled plan.
func (w *Write[R]) String() string { return w.of.String() }

// Result returns the result of the last successful transaction, and the zero R before that.
func (w *Write[R]) Result() (last R) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.last != nil {
		last = *w.of.last.(*R)
	}
	return last
}
