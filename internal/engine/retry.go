package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// attempts is the state of a request that may be sent several times.
type attempts struct {
	sent      int
	token     func() error  // gives back what the repetition under way took from the retry budget; may be nil
	life      time.Duration // how long after it was first sent the request may be repeated; 0 for ever
	until     time.Time     // when life ends; zero before the request was sent
	ambiguous bool          // it may have been applied, or may still be
}

// errTooLate says that a unit budget allows a repetition only when it must not be made any more.
var errTooLate = errors.New("the budget of units allows no request before the token of the transaction ends")

// try sends a request once and returns the class of its error. send is called with the context of the request. The class is final if
// the request was not sent, because ctx or the wait for a budget ended.
func (r *Runner) try(ctx context.Context, t *attempts, operation string, tables []string, send func(context.Context, *request) error) (class, error) {
	budgets, _ := ctx.Value(bind.PaceKey{}).([]*bind.Pace)
	if budgets != nil {
		limited, cancel := ctx, func() {}
		if !t.until.IsZero() {
			limited, cancel = context.WithDeadline(ctx, t.until)
		}
		err := bind.WaitPaces(limited, budgets)
		if cancel(); err != nil {
			if t.giveBack(); ctx.Err() == nil {
				err = errTooLate
			}
			return final, err
		}
	}
	if t.sent++; t.life > 0 && t.until.IsZero() {
		t.until = time.Now().Add(t.life)
	}
	own, q := ctx, &request{capacity: types.ReturnConsumedCapacityNone}
	m, _ := ctx.Value(meterKey{}).(*meter)
	observed := m != nil || budgets != nil
	if observed {
		q.begin(operation, tables, t.sent)
	}
	if r.RequestTimeout > 0 {
		limited, cancel := context.WithTimeout(own, r.RequestTimeout)
		defer cancel()
		own = limited
	}
	err := send(own, q)
	k := success
	if err != nil {
		k = q.classify(own, err)
	}
	if k != success && own.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within the request timeout of %v: %w", r.RequestTimeout, err)
	}
	r.refund(t, k)
	if observed {
		q.end(k, err)
		r.observe(ctx, q, m, budgets)
	}
	return k, err
}

// refund gives tokens back to the retry budget: the database has answered.
func (r *Runner) refund(t *attempts, k class) {
	if r.Retries == nil || k != success && k != refused {
		t.token = nil
		return
	}
	if t.token != nil {
		t.giveBack()
	}
	_ = r.Retries.AddTokens(awsretry.DefaultNoRetryIncrement)
}

// giveBack gives back what the repetition under way took from the retry budget.
func (t *attempts) giveBack() {
	if t.token != nil {
		_ = t.token() // of a token bucket in memory: it cannot fail
		t.token = nil
	}
}

// timeouts finds the errors whose repetition costs more.
var timeouts = awsretry.IsErrorTimeouts(awsretry.DefaultTimeouts)

// again waits before a request is repeated whose error is err, of class k. It returns err, and why, if the request must not
// be repeated: it was sent often enough, the retry budget is spent, or ctx ends too soon. After a conflict it takes no tokens from that
// budget: the database is not overloaded, and another write has succeeded.
func (r *Runner) again(ctx context.Context, t *attempts, k class, err error) error {
	if t.sent >= r.MaxAttempts {
		return exhausted(ctx, err)
	}
	if r.Retries != nil && k != conflicted {
		cost := awsretry.DefaultRetryCost
		if timeouts.IsErrorTimeout(err).Bool() {
			cost = awsretry.DefaultRetryTimeoutCost
		}
		token, e := r.Retries.GetToken(ctx, cost)
		switch {
		case e != nil && ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case e != nil:
			return fmt.Errorf("%w: %w", sentinel.ErrRetryBudget, err)
		}
		t.token = token
	}
	if e := r.pause(ctx, t.sent-1); e != nil {
		t.giveBack()
		return fmt.Errorf("%w: %w", e, err)
	}
	return nil
}

// read repeats a read of tables while its error may be temporary. Reads can always be repeated.
func (r *Runner) read(ctx context.Context, operation string, tables []string, send func(context.Context, *request) error) error {
	if r.Client == nil {
		return ErrNoClient
	}
	var last error
	for t := (attempts{}); ; {
		switch err := ctx.Err(); {
		case err != nil && last != nil:
			return fmt.Errorf("%w: %w", err, last)
		case err != nil:
			return err
		}
		k, err := r.try(ctx, &t, operation, tables, send)
		if err == nil {
			return nil
		}
		if err = r.tableError(err, tables...); k == final {
			return err
		}
		if e := r.again(ctx, &t, k, err); e != nil {
			return e
		}
		last = err
	}
}

// errDeadline says that a repetition would come too late.
var errDeadline = fmt.Errorf("the context ends before the next attempt: %w", context.DeadlineExceeded)

// pause waits before attempt n+1, exponentially with full jitter. If ctx ends, or would end during the pause, it returns an error at once.
func (r *Runner) pause(ctx context.Context, n int) error {
	if r.Pause != nil {
		return r.Pause(ctx, n)
	}
	d := rand.N(min(firstPause<<min(n, 10), longestPause))
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && time.Until(end) <= d {
		return errDeadline
	}
	return Sleep(ctx, d)
}

// Sleep waits for d. If ctx ends before, it returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
