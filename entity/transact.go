package entity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// TransactError tells which operations made a transaction fail; nothing was written. errors.Is and errors.As look into
// all of them.
type TransactError struct{ Failed []OpError }

// OpError is the failure of one operation of a transaction, with the error that the operation alone would have given.
type OpError struct {
	Index int // in the list given to Transact
	Op    Op
	Err   error
}

func (e *TransactError) Error() string {
	var b strings.Builder
	b.WriteString("transaction failed: ")
	for i, f := range e.Failed {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "op %d: %v", f.Index, f.Err)
	}
	return b.String()
}

// Unwrap returns the errors of the operations.
func (e *TransactError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f.Err
	}
	return errs
}

// FailureOf returns why op failed inside a transaction's error, nil if it is not among the operations that did.
func FailureOf(err error, op Op) error {
	var te *TransactError
	if !errors.As(err, &te) {
		return nil
	}
	for _, f := range te.Failed {
		if f.Op == op {
			return f.Err
		}
	}
	return nil
}

// Transact applies all ops, or none of them, at one instant; an empty list does nothing. Ops that must read first do so
// in parallel, and when an item changed since, the whole is planned anew, up to Config.MaxAttempts times. It costs one
// request and twice the write units of the single writes. Errors: *[TransactError] with the failure of each op;
// *[InputError] for two ops on one item or more than 100 actions, [ErrTooLarge] above 4 MB; one for which
// [IsAmbiguous] is true when the outcome stayed unknown; [ErrConflict].
func (db *DB) Transact(ctx context.Context, ops ...Op) error {
	if len(ops) == 0 {
		return nil
	}
	plans := make([]*plan.Op, len(ops))
	for i, op := range ops {
		if op == nil {
			return &InputError{Code: plan.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("op %d is nil", i)}
		}
		if core.OwnerOf(op).DB != any(db) {
			return &InputError{Code: plan.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("op %d belongs to another DB", i)}
		}
		plans[i] = core.PlanOf(op)
	}
	return db.runner.Measure(ctx, "Transact", "", func(ctx context.Context) error { return db.transact(ctx, ops, plans) })
}

func (db *DB) transact(ctx context.Context, ops []Op, plans []*plan.Op) error {
	outcomes, failed, err := db.runner.Transact(ctx, plans)
	switch {
	case err != nil && len(failed) == 0:
		return &Error{Verb: "Transact", Err: err}
	case len(failed) > 0:
		te := &TransactError{}
		for _, f := range failed {
			p := plans[f.Index]
			te.Failed = append(te.Failed, OpError{f.Index, ops[f.Index], core.OwnerOf(ops[f.Index]).Wrap(p.Verb, p.KeyIs, f.Err)})
		}
		return te
	}
	for i, op := range ops {
		if err := core.Settle(op, outcomes[i]); err != nil {
			return &Error{Verb: "Transact", Err: fmt.Errorf("the transaction was applied, but the result of op %d: %w", i, err)}
		}
	}
	return nil
}
