package core

import (
	"context"
	"sync"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Op is the sealed half of entity.Op.
type Op interface {
	plan() *plan.Op
	owner() *Core
	settle(outcome any) error
}

// PlanOf opens an operation.
func PlanOf(o Op) *plan.Op { return o.plan() }

// OwnerOf returns the core that an operation belongs to.
func OwnerOf(o Op) *Core { return o.owner() }

// Settle gives an operation the outcome of the transaction that applied it.
func Settle(o Op, outcome any) error { return o.settle(outcome) }

// Operation is a write without the type of its result: a plan, and how its outcome is decoded.
type Operation struct {
	c      *Core
	op     *plan.Op
	decode func(outcome, into any) error // into points to a result
	fresh  func() any                    // a pointer to a new result; nil: the operation keeps none

	mu     sync.Mutex
	result any // what fresh gave, once an outcome was decoded into it
}

// NewOperation returns a write of c whose outcome decode puts where its second argument points.
func NewOperation(c *Core, op *plan.Op, decode func(outcome, into any) error) *Operation {
	op.KeepCase()
	return &Operation{c: c, op: op, decode: decode}
}

// ItemOperation returns a write of c whose outcome is an item; without an item the result keeps its zero value.
func ItemOperation(c *Core, op *plan.Op) *Operation {
	return NewOperation(c, op, func(outcome, into any) error {
		switch o := outcome.(type) {
		case item.Item:
			return c.Decode(o, into)
		case plan.Upserted:
			return c.Decode(o.Item, into)
		}
		return nil
	})
}

func (o *Operation) plan() *plan.Op { return o.op }
func (o *Operation) owner() *Core   { return o.c }

// String prints the compiled plan. It needs no client.
func (o *Operation) String() string {
	return o.op.Text(plan.Input{Now: o.c.Runner.Clock().UTC(), WriteID: o.c.Runner.NewID(), Joined: true})
}

func (o *Operation) settle(outcome any) error {
	r := o.fresh()
	if err := o.decode(outcome, r); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.result = r
	return nil
}

// Run plans the write, sends it alone, and decodes its outcome into what into points to.
func (o *Operation) Run(ctx context.Context, into any) error {
	return o.c.Measure(ctx, o.op.Verb, o.op.KeyIs, func(ctx context.Context) error {
		outcome, err := o.c.Runner.Run(ctx, o.op)
		if err != nil {
			return err
		}
		return o.decode(outcome, into)
	})
}

// Write implements entity.Write[R].
type Write[R any] struct{ *Operation }

// NewWrite gives an operation the type of its result.
func NewWrite[R any](o *Operation) *Write[R] {
	o.fresh = func() any { return new(R) }
	return &Write[R]{o}
}

// Result returns what the last successful transaction stored, the zero R before that.
func (w *Write[R]) Result() (result R) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.result.(*R); ok {
		result = *r
	}
	return result
}
