package core

import (
	"context"
	"sync"

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

// Write implements entity.Write[R]: a plan, and how its outcome becomes an R.
type Write[R any] struct {
	c      *Core
	op     *plan.Op
	decode func(any) (R, error)

	mu     sync.Mutex
	result R
}

// NewWrite returns a write of c.
func NewWrite[R any](c *Core, op *plan.Op, decode func(any) (R, error)) *Write[R] {
	op.KeepCase()
	return &Write[R]{c: c, op: op, decode: decode}
}

func (w *Write[R]) plan() *plan.Op { return w.op }
func (w *Write[R]) owner() *Core   { return w.c }

// String prints the compiled plan. It needs no client.
func (w *Write[R]) String() string {
	return w.op.Text(plan.Input{Now: w.c.Runner.Clock().UTC(), WriteID: w.c.Runner.NewID(), Joined: true})
}

// Result returns what the last successful run stored, the zero R before that.
func (w *Write[R]) Result() R {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.result
}

func (w *Write[R]) settle(outcome any) error {
	r, err := w.decode(outcome)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = r
	return nil
}

// Run plans the write and sends it alone.
func (w *Write[R]) Run(ctx context.Context) (R, error) {
	var r R
	err := w.c.Measure(ctx, w.op.Verb, w.op.KeyIs, func(ctx context.Context) error {
		outcome, err := w.c.Runner.Run(ctx, w.op)
		if err != nil {
			return err
		}
		r, err = w.decode(outcome)
		return err
	})
	return r, err
}
