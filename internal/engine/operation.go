package engine

import (
	"context"
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Op is the sealed part of entity.Op.
type Op interface {
	plan(context.Context) *write.Op
	owner() *Core
	settle(write.Result) error
}

// PlanOf opens an operation that is about to be run with ctx.
func PlanOf(ctx context.Context, o Op) *write.Op { return o.plan(ctx) }

// OwnerOf returns the core that an operation belongs to.
func OwnerOf(o Op) *Core { return o.owner() }

// Settle passes the result of a transaction to an operation.
func Settle(o Op, result write.Result) error { return o.settle(result) }

// Operation is a write without the type of its result: a plan, and how to decode its result.
type Operation struct {
	c      *Core
	op     *write.Op
	decode func(result write.Result, into any) error // into points to the caller's result; nil: it is an item

	deferred *Deferred[*write.Op] // takes the place of op; nil for an entity without a Prepare method
}

// NewOperation returns a write of c. decode decodes the result into its second argument. Without it the result is an item, and
// the caller gets the zero value if the write has no item.
func NewOperation(c *Core, op *write.Op, decode func(result write.Result, into any) error) Operation {
	return Operation{c: c, op: op, decode: decode}
}

// Deferred is a write of a value whose Prepare method is called when the write is run. B is the bound write. It is safe
// for concurrent use.
type Deferred[B any] struct {
	mu       sync.Mutex
	value    *write.Whole
	bind     func(write.Completed, error) B
	bound    B
	prepared bool
}

// NewDeferred returns a write of value, which bound binds, or of the error of Prepare.
func NewDeferred[B any](value *write.Whole, bound func(write.Completed, error) B) *Deferred[B] {
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

// Preview returns the write for printing. asGiven reports that it is of the given value, because Prepare has not succeeded
// yet.
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
func WholeOperation(c *Core, verb string, v reflect.Value, withoutIDs bool, build func(v reflect.Value, filled []string) *write.Op) Operation {
	value := NewWhole(c, v, withoutIDs)
	bound := func(done write.Completed, err error) *write.Op {
		if err != nil {
			return &write.Op{Verb: verb, Schema: c.Schema, Table: c.Table, Err: err}
		}
		op := build(done.Value, done.Filled)
		op.Generated = done.Generated
		return op
	}
	if !c.Schema.Prepares {
		return NewOperation(c, bound(value.AsGiven()), nil)
	}
	o := NewOperation(c, &write.Op{Verb: verb, Schema: c.Schema, Table: c.Table}, nil)
	o.deferred = NewDeferred(value, bound)
	return o
}

// NewWhole returns v, to be completed with the clock and the ids of c.
func NewWhole(c *Core, v reflect.Value, withoutIDs bool) *write.Whole {
	if withoutIDs {
		return write.NewWhole(c.Schema, v, nil)
	}
	return write.NewWhole(c.Schema, v, &write.IDSource{Clock: c.Runner.Clock, NewID: c.Runner.NewID})
}

// give decodes the result of o into the value that into points to. What a write stores has today's payload version.
func (o Operation) give(result write.Result, into any) (err error) {
	codec := &o.c.Schema.Codec
	switch {
	case o.decode != nil:
		return o.decode(result, into)
	case !result.Stored.Missing():
		defer result.Stored.Release()
		err = codec.Read(result.Stored, reflect.ValueOf(into))
	case result.Item != nil:
		err = codec.Decode(result.Item, reflect.ValueOf(into))
	}
	if err != nil {
		return o.c.undecoded(err, into)
	}
	return nil
}

func (o Operation) plan(ctx context.Context) *write.Op {
	if u := o.deferred; u != nil {
		return u.Bind(ctx)
	}
	return o.op
}

// String prints the compiled plan. It needs no client.
func (o Operation) String() string {
	in := write.Input{Now: o.c.Runner.Clock().UTC(), WriteID: o.c.Runner.NewID(), Joined: true, Context: write.ShownContext(o.c.Schema)}
	op, asGiven := o.op, false
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
func (o Operation) Run(ctx context.Context, into any) (result write.Result, err error) {
	op := o.op
	err = o.c.MeasureCall(ctx, entitytype.Call{Verb: op.Verb}, func() string { return op.KeyText() }, func(ctx context.Context) error {
		if o.deferred != nil {
			op = o.deferred.Bind(ctx)
		}
		if result, err = o.c.Runner.Run(ctx, op); err != nil {
			return err
		}
		if m := meterOf(ctx); m != nil {
			m.outcome(op.Verb, OutcomeOf(result))
		}
		return o.give(result, into)
	})
	return result, err
}

// settled is an operation and the result of the last successful transaction with it.
type settled struct {
	Operation
	mu     sync.Mutex
	result any          // a pointer to the decoded result; nil before that
	kept   write.Result // instead of result: one that is decoded when it is asked for
}

// settle keeps a result for last. What may not fit the value that into points to is decoded into it now, since only a
// transaction can return an error.
func (s *settled) settle(result write.Result, into func() any) error {
	later := result.Encoded && s.decode == nil && s.c.Schema.Codec.DecodesOwn(s.c.Schema.Type)
	var decoded any
	if !later {
		decoded = into()
		if err := s.give(result, decoded); err != nil {
			return err
		}
		result = write.Result{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result, s.kept = decoded, result
	return nil
}

// last returns a pointer to the last result, nil before that. into returns a new value to decode it into.
func (s *settled) last(into func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.Item != nil {
		if decoded := into(); s.give(s.kept, decoded) == nil { // always, see item.Codec.DecodesOwn
			s.result = decoded
		}
		s.kept = write.Result{}
	}
	return s.result
}

// Write implements entity.Write[R].
type Write[R any] struct{ s settled }

// NewWrite adds the type of the result to an operation.
func NewWrite[R any](o Operation) *Write[R] { return &Write[R]{settled{Operation: o}} }

// Result returns the result of the last successful transaction, and the zero R before that.
func (w *Write[R]) Result() (result R) {
	if r, ok := w.s.last(newResult[R]).(*R); ok {
		result = *r
	}
	return result
}

// Operation returns the operation without the type of its result.
func (w *Write[R]) Operation() Operation { return w.s.Operation }

// String prints the compiled plan. It needs no client.
func (w *Write[R]) String() string { return w.s.String() }

func (w *Write[R]) plan(ctx context.Context) *write.Op { return w.s.plan(ctx) }

func (w *Write[R]) owner() *Core { return w.s.c }

func (w *Write[R]) settle(result write.Result) error { return w.s.settle(result, newResult[R]) }

func newResult[R any]() any { return new(R) }
