package core

import (
	"context"
	"sync"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// Op is the sealed part of entity.Op.
type Op interface {
	plan() *plan.Op
	owner() *Core
	settle(plan.Result) error
}

// PlanOf opens an operation.
func PlanOf(o Op) *plan.Op { return o.plan() }

// OwnerOf returns the core that an operation belongs to.
func OwnerOf(o Op) *Core { return o.owner() }

// Settle passes the result of a transaction to an operation.
func Settle(o Op, result plan.Result) error { return o.settle(result) }

// Operation is a write without the type of its result: a plan, and how to decode its result.
type Operation struct {
	c      *Core
	op     *plan.Op
	decode func(result plan.Result, into any) error // into points to the caller's result; nil: it is an item
}

// NewOperation returns a write of c. decode decodes the result into its second argument.
func NewOperation(c *Core, op *plan.Op, decode func(result plan.Result, into any) error) *Operation {
	op.KeepCase()
	return &Operation{c, op, decode}
}

// ItemOperation returns a write of c whose result is an item. Without an item, the caller gets the zero value.
func ItemOperation(c *Core, op *plan.Op) *Operation {
	return NewOperation(c, op, nil)
}

// give decodes the result of o into the value that into points to.
func (o *Operation) give(result plan.Result, into any) error {
	switch {
	case o.decode != nil:
		return o.decode(result, into)
	case !result.Stored.Missing():
		defer result.Stored.Release()
		return o.c.ReadBy(&o.c.Schema.Codec, result.Stored, into)
	case result.Item == nil:
		return nil
	}
	return o.c.Decode(result.Item, into)
}

func (o *Operation) plan() *plan.Op { return o.op }
func (o *Operation) owner() *Core   { return o.c }

// String prints the compiled plan. It needs no client.
func (o *Operation) String() string {
	return o.op.Text(plan.Input{Now: o.c.Runner.Clock().UTC(), WriteID: o.c.Runner.NewID(), Joined: true})
}

// Run plans the write, sends it alone, and decodes its result into the value that into points to. It is called once, and
// o is used for nothing else.
func (o *Operation) Run(ctx context.Context, into any) (result plan.Result, err error) {
	o.op.Once = true
	err = o.c.MeasureItem(ctx, o.op.Verb, o.op.Key, func(ctx context.Context) error {
		if result, err = o.c.Runner.Run(ctx, o.op); err != nil {
			return err
		}
		return o.give(result, into)
	})
	return result, err
}

// Write implements entity.Write[R].
type Write[R any] struct {
	*Operation
	mu     sync.Mutex
	result R
}

// NewWrite adds the type of the result to an operation.
func NewWrite[R any](o *Operation) *Write[R] { return &Write[R]{Operation: o} }

// Result returns the result of the last successful transaction, and the zero R before that.
func (w *Write[R]) Result() R {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.result
}

func (w *Write[R]) settle(result plan.Result) error {
	var r R
	if err := w.give(result, &r); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = r
	return nil
}
