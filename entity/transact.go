package entity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// OpError is the failure of one operation of a transaction. It has the error that the operation alone would have
// returned.
type OpError struct {
	Index int // in the list given to Transact
	Op    Op
	Err   error
}

// TransactError says which operations made a transaction fail. Nothing was written, unless [IsAmbiguous] reports
// otherwise: an earlier attempt whose response was lost may have been applied. errors.Is and errors.As search the
// errors of all operations.
type TransactError struct{ Failed []OpError }

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

// FailureOf returns why op failed in the transaction that returned err, or nil if op did not fail.
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

// Token identifies a transaction that is to be applied once, however often it is called. ID, of any length, identifies
// repeated calls, such as the request id of a client that retries. At is the time at which the ops are planned; the
// zero time means the time of the call.
type Token struct {
	ID string
	At time.Time
}

// transact sends ops, which must be made with stores of db, in one transaction, and sets the result of each, or collects
// the failures. token is nil for Transact.
func (db *DB) transact(ctx context.Context, verb string, token *Token, ops []Op) error {
	return db.measure(ctx, verb, len(ops), func(ctx context.Context) error {
		wrong := func(code, of, field, format string, args ...any) error {
			return &Error{Verb: verb, Err: &InputError{Code: code, Type: of, Field: field, Problem: fmt.Sprintf(format, args...)}}
		}
		for i, op := range ops {
			if op == nil {
				return wrong(bind.CodeForeign, "entity.DB", "", "op %d is nil", i)
			}
			if engine.OwnerOf(op).DB != engine.DatabaseOf(db) {
				return wrong(bind.CodeForeign, "entity.DB", "", "op %d belongs to another DB", i)
			}
		}
		plans := make([]*plan.Op, len(ops))
		for i, op := range ops {
			plans[i] = engine.PlanOf(ctx, op) // calls the Prepare method of its value
		}
		if len(plans) == 0 {
			return wrong(bind.CodeOption, "transaction", "", "it has no operations; leave out the call if a list of them is empty")
		}
		if token != nil && token.ID == "" {
			return wrong(bind.CodeOption, "entity.Token", "ID", "a token needs an ID")
		}
		var results []plan.Result
		var failed []engine.OpFailure
		var err error
		if token == nil {
			results, failed, err = db.runner.Transact(ctx, plans)
		} else {
			results, failed, err = db.runner.TransactWithToken(ctx, token.ID, token.At, plans)
		}
		switch {
		case len(failed) > 0:
			te := &TransactError{}
			for _, f := range failed {
				p := plans[f.Index]
				te.Failed = append(te.Failed, OpError{f.Index, ops[f.Index], engine.OwnerOf(ops[f.Index]).Wrap(p.Verb, p.KeyText(), f.Err)})
			}
			return te
		case err != nil:
			return &Error{Verb: verb, Err: err}
		}
		engine.Outcome(ctx, verb, entitytype.OutcomeApplied)
		for i, op := range ops {
			if err := engine.Settle(op, results[i]); err != nil {
				return &Error{Verb: verb, Err: fmt.Errorf("the transaction was applied, but the result of op %d: %w", i, err)}
			}
		}
		return nil
	}, ops...)
}

// Transact applies all ops or none of them atomically. Ops that must read first do so in parallel; if an item changed
// since, all ops are planned again, up to Config.MaxAttempts times. It costs one request and twice the write units of the
// single writes. Ops on one item are merged if one action does the same: a check and a write, or appends of one series;
// all their conditions are about the item before the transaction. Errors:
// *[TransactError] with the failure of each op; *[InputError] for two writes of one item or more than 100 actions,
// [ErrTooLarge] above 4 MB; one for which [IsAmbiguous] is true if the outcome is unknown; [ErrConflict].
//
// Without ops it is an *[InputError], as for [DB.TransactWithToken]: nothing would have been applied.
func (db *DB) Transact(ctx context.Context, ops ...Op) error {
	return db.transact(ctx, "Transact", nil, ops)
}

// TransactWithToken is [DB.Transact] under the caller's token: repeated with the same ID and ops within ten minutes
// after it was applied, also by another process and at another time, it is applied once and succeeds each time.
// DynamoDB remembers tokens for that long, by account and region. Ops that must read the item first are refused, and
// nothing is planned again: a lost guard is [ErrConflict]. For such ops, as writes with history
// are, use Transact and add the Create of an item whose key is the token: if it exists, the call was applied before.
//
// With the same At, a repetition sends the same bytes, which DynamoDB recognizes. Without At, it reads the items of the
// ops, consistently, in one request: if one of them is still as this call wrote it, the call was applied. If other
// writes have replaced all of them, or the ops write none with the library's attributes, the error is [ErrTokenReused],
// and [IsAmbiguous] is true. Other ops under the same ID are ErrTokenReused too, not ambiguous if the items show it.
func (db *DB) TransactWithToken(ctx context.Context, token Token, ops ...Op) error {
	return db.transact(ctx, "TransactWithToken", &token, ops)
}
