package entity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// OpError is the failure of one operation of a transaction. It has the error that the operation alone would have returned.
type OpError struct {
	Index int // in the list given to Transact
	Op    Op
	Err   error
}

// TransactError says which operations made a transaction fail. Nothing was written, unless [IsAmbiguous] reports otherwise: an earlier
// attempt whose response was lost may have been applied. errors.Is and errors.As search the errors of all operations.
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

// Token identifies a transaction that is to be applied once, however often it is called. ID, of any length, identifies repeated calls, such
// as the request id of a client that retries. At is the time at which the ops are planned; the zero time means the time of the call.
type Token struct {
	ID string
	At time.Time
}

// open opens ops, which must be made with stores of db, into plans.
func (db *DB) open(ctx context.Context, ops []Op, plans []*plan.Op) error {
	for i, op := range ops {
		problem := ""
		if op == nil {
			problem = fmt.Sprintf("op %d is nil", i)
		} else if engine.OwnerOf(op).DB != engine.DatabaseOf(db) {
			problem = fmt.Sprintf("op %d belongs to another DB", i)
		}
		if problem != "" {
			return &InputError{Code: bind.CodeForeign, Type: "entity.DB", Problem: problem}
		}
	}
	for i, op := range ops {
		plans[i] = engine.PlanOf(ctx, op) // calls the Prepare method of its value
	}
	return nil
}

// transact sends ops in one transaction. token is nil for Transact.
func (db *DB) transact(ctx context.Context, verb string, token *Token, ops []Op) error {
	return db.measure(ctx, verb, len(ops), func(ctx context.Context) error {
		plans := make([]*plan.Op, len(ops))
		err := db.open(ctx, ops, plans)
		var results []plan.Result
		var failed []engine.OpFailure
		switch {
		case err != nil:
		case len(plans) == 0:
			err = &InputError{Code: bind.CodeOption, Type: "transaction", Problem: "it has no operations; leave out the call if a list of them is empty"}
		case token == nil:
			results, failed, err = db.runner.Transact(ctx, plans)
		case token.ID == "":
			err = &InputError{Code: bind.CodeOption, Type: "entity.Token", Field: "ID", Problem: "a token needs an ID"}
		default:
			results, failed, err = db.runner.TransactWithToken(ctx, token.ID, token.At, plans)
		}
		return transacted(ctx, verb, ops, plans, results, failed, err)
	}, ops...)
}

// transacted sets the results of ops after a transaction, or returns its failures.
func transacted(ctx context.Context, verb string, ops []Op, plans []*plan.Op, results []plan.Result, failed []engine.OpFailure, err error) error {
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
}

// Transact applies all ops or none of them atomically. Ops that must read first do so in parallel; if an item changed since, all ops are
// planned again, up to Config.MaxAttempts times. It costs one request and twice the write units of the single writes. Ops on one item are
// merged if one action does the same: a check and a write, or appends of one series; all their conditions are about the item before the
// transaction. Errors: *[TransactError] with the failure of each op; *[InputError] for two writes of one item or more than 100 actions,
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

// DecideOption is accepted by TransactFunc: [MaxDecisions].
type DecideOption interface{ bind.DecideOption }

// MaxDecisions bounds how often TransactFunc calls its function, 0 < n < 2³¹; by default 100 times.
func MaxDecisions(n int) DecideOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Count(&o.Decisions, "MaxDecisions", n, math.MaxInt32) }}
}

// TransactFunc calls decide, which reads with the context it gets and returns ops, and applies these as [DB.Transact] does. If what decide has
// read was changed by other writes before that, it calls decide again, after a random pause of up to a second. So decide runs
// more than once, and what it does apart from its ops must bear that. The results are those of the ops returned last. No ops are
// success: nothing is written.
//
// Reads with the context of decide are strongly consistent, at twice the read units; only those of a global index are not. An op on an item
// that decide has read with [Store.Get] is guarded by that state, if it has a `$` key. Guard what was read otherwise: by a version, or [If] on
// the values that were read; and what was read and is not written, by CheckExists. What a query did not find cannot be guarded.
//
// decide is called again after [ErrConflict], and after a refusal of ops: a condition or version, an item that exists or is not found, a
// unique value that is taken. If the same items refuse the ops of two decisions in a row and have not changed in between, every decision
// would be refused: the error is returned. Everything else is returned at once: an error of decide, wrapped; *[InputError],
// [ErrTooLarge]; throttling that lasts, [ErrRetryBudget]. So is an outcome that is unknown, unless the items prove that the ops were applied:
// then [IsAmbiguous] is true, and no other decision can follow. The last failure is returned, as by Transact, after [MaxDecisions]; it is
// wrapped, with the context's error, if the context ends, or its deadline would pass during a pause.
//
// It costs what decide reads and what Transact costs, for each decision; one that is refused costs write units too. A lost race takes
// nothing from Config.RetryBudget. A [Tracer] gets one call: [Attempt].Decision numbers the decision of a request,
// [Report].Decisions counts them.
func (db *DB) TransactFunc(ctx context.Context, decide func(ctx context.Context) ([]Op, error), opts ...DecideOption) error {
	const verb = "TransactFunc"
	return db.measure(ctx, verb, 0, func(ctx context.Context) error {
		spec := *bind.Collect(opts)
		if decide == nil {
			spec.Add(errors.New("the function that is to decide is nil"))
		}
		if err := spec.Err(); err != nil {
			return &Error{Verb: verb, Err: &InputError{Code: bind.CodeOption, Type: "transaction", Problem: err.Error()}}
		}
		var ops []Op
		var plans []*plan.Op
		results, failed, err := db.runner.Decide(ctx, cmp.Or(spec.Decisions, engine.DefaultDecisions), func(ctx context.Context) (_ []*plan.Op, err error) {
			if ops, err = decide(ctx); err == nil {
				plans = make([]*plan.Op, len(ops))
				err = db.open(ctx, ops, plans)
			}
			return plans, err
		})
		if err == nil && len(ops) == 0 {
			engine.Outcome(ctx, verb, entitytype.OutcomeUnchanged)
			return nil
		}
		return transacted(ctx, verb, ops, plans, results, failed, err)
	})
}
