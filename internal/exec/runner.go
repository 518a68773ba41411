package exec

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// Defaults and limits of the runner.
const (
	DefaultAttempts = 10
	firstPause      = 25 * time.Millisecond
	longestPause    = time.Second
	longestToken    = 8 * time.Minute // DynamoDB honours a token for ten
)

// ErrNoClient is the error of every call on a database without a client.
var ErrNoClient = errors.New("the database was opened without a client; plans can be printed but not run")

// Runner sends requests for one database.
type Runner struct {
	Client      Client
	MaxAttempts int // requests for one body, and rounds of planning
	Clock       func() time.Time
	NewID       func() string
	Observe     func(context.Context, Report) // nil: nobody
	Pause       func(ctx context.Context, attempt int) error
	TokenLife   time.Duration // how long a transaction is repeated under one token; 0: as long as DynamoDB honours it

	shows atomic.Bool // a refusal came with the item that caused it, so the client does not hide them
}

// Report says what one call of a public verb cost.
type Report struct {
	Verb       string        // Create, Append, Query …
	Entity     string        // entity name; "" for a transaction of several
	Requests   int           // requests sent, repeats included
	ReadUnits  float64       // read capacity units consumed
	WriteUnits float64       // write capacity units consumed
	Duration   time.Duration // from the call to its end
	Err        error         // nil when it succeeded
}

type meterKey struct{}

// CheckContext refuses a nil context.
func CheckContext(ctx context.Context) error {
	if ctx == nil {
		return &plan.InputError{Code: plan.CodeContext, Type: "context.Context", Problem: "the context is nil; use context.Background()"}
	}
	return nil
}

// Measure runs f and reports what it cost under verb and entity. Calls inside a measured call are part of it.
func (r *Runner) Measure(ctx context.Context, verb, entity string, f func(context.Context) error) error {
	if err := CheckContext(ctx); err != nil {
		return &plan.Error{Verb: verb, Entity: entity, Err: err}
	}
	if r.Observe == nil || ctx.Value(meterKey{}) != nil {
		return f(ctx)
	}
	m := &meter{}
	start := time.Now()
	err := f(context.WithValue(ctx, meterKey{}, m))
	report := m.report()
	report.Verb, report.Entity, report.Duration, report.Err = verb, entity, time.Since(start), err
	r.Observe(ctx, report)
	return err
}

// capacity asks DynamoDB for consumed capacity only when a listener is set.
func (r *Runner) capacity() types.ReturnConsumedCapacity {
	if r.Observe == nil {
		return types.ReturnConsumedCapacityNone
	}
	return types.ReturnConsumedCapacityTotal
}

// pause waits before attempt n+1: exponential with full jitter. It ends early with ctx's error.
func (r *Runner) pause(ctx context.Context, n int) error {
	if r.Pause != nil {
		return r.Pause(ctx, n)
	}
	return Sleep(ctx, rand.N(min(firstPause<<min(n, 10), longestPause)))
}

// read repeats a read of tables while its failure is worth it; reading twice never does harm.
func (r *Runner) read(ctx context.Context, tables []string, send func() error) error {
	if r.Client == nil {
		return ErrNoClient
	}
	var last error
	for n := 0; ; n++ {
		switch err := ctx.Err(); {
		case err != nil && last != nil:
			return fmt.Errorf("%w: %w", err, last)
		case err != nil:
			return err
		}
		meterOf(ctx).request()
		err := send()
		if err == nil {
			return nil
		}
		if k := classify(ctx, err); k == final || n+1 >= r.MaxAttempts {
			return exhausted(ctx, tableError(err, tables...))
		}
		if e := r.pause(ctx, n); e != nil {
			return fmt.Errorf("%w: %w", e, err)
		}
		last = err
	}
}

// Sleep waits for d, or until ctx ends with ctx's error.
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

// tokenLife bounds the repetition of a transaction: after it, DynamoDB might apply the body a second time.
func (r *Runner) tokenLife() time.Duration {
	if r.TokenLife > 0 {
		return r.TokenLife
	}
	return longestToken
}
