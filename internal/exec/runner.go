// Package exec sends plans to DynamoDB. It does every retry itself: the SDK's retryer is off, because it hides lost answers
// and repeats additions.
package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
)

type (
	// Client is entitytype.Client.
	Client = entitytype.Client
	// BackupClient is entitytype.BackupClient.
	BackupClient = entitytype.BackupClient
	// Report is entitytype.Report.
	Report = entitytype.Report
)

// meter counts the cost of one call, whose requests may be concurrent.
type meter struct {
	mu          sync.Mutex
	requests    int
	read, write float64
}

func meterOf(ctx context.Context) *meter {
	m, _ := ctx.Value(meterKey{}).(*meter)
	return m
}

func (m *meter) request() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
}

func (m *meter) reads(units ...*types.ConsumedCapacity) { m.add(false, units) }

func (m *meter) writes(units ...*types.ConsumedCapacity) { m.add(true, units) }

func (m *meter) add(write bool, units []*types.ConsumedCapacity) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range units {
		switch {
		case u == nil || u.CapacityUnits == nil:
		case write:
			m.write += *u.CapacityUnits
		default:
			m.read += *u.CapacityUnits
		}
	}
}

func (m *meter) report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Report{Requests: m.requests, ReadUnits: m.read, WriteUnits: m.write}
}

// Defaults and limits of the runner.
const (
	DefaultAttempts = 10
	firstPause      = 25 * time.Millisecond
	longestPause    = time.Second
	longestToken    = 8 * time.Minute // DynamoDB honours a token for ten
)

// ErrNoClient is the error of every call on a database without a client.
var ErrNoClient = entitytype.ErrNoClient

// Runner sends requests for one database.
type Runner struct {
	Client         Client
	ReadClient     Client // of eventually consistent reads; nil for Client
	MaxAttempts    int    // requests for one body, and rounds of planning
	Clock          func() time.Time
	NewID          func() string
	Observe        func(context.Context, Report) // may be nil
	Pause          func(ctx context.Context, attempt int) error
	NoTransactions bool // the tables have none: they are refused

	SDKCodec  bool          // the SDK reads the items of answers
	TokenLife time.Duration // how long a transaction is repeated under one token; 0 for longestToken

	endpoints endpoints
	looked    sync.Once
	isBare    *dynamodb.Client // Client, if bare is true of it
	shows     atomic.Bool      // a refusal had the item that caused it, so the client does not hide items
}

type meterKey struct{}

// CheckContext rejects a nil context.
func CheckContext(ctx context.Context) error {
	if ctx == nil {
		return &entitytype.InputError{Code: bind.CodeContext, Type: "context.Context", Problem: "the context is nil; use context.Background()"}
	}
	return nil
}

// Measure runs f and reports its cost under verb and entity. Calls inside a measured call are part of it.
func (r *Runner) Measure(ctx context.Context, verb, entity string, f func(context.Context) error) error {
	if err := CheckContext(ctx); err != nil {
		return &entitytype.Error{Verb: verb, Entity: entity, Err: err}
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

// capacity requests the consumed capacity only if a listener is set.
func (r *Runner) capacity() types.ReturnConsumedCapacity {
	if r.Observe == nil {
		return types.ReturnConsumedCapacityNone
	}
	return types.ReturnConsumedCapacityTotal
}

// pause waits before attempt n+1, exponentially with full jitter. If ctx ends, it returns ctx's error.
func (r *Runner) pause(ctx context.Context, n int) error {
	if r.Pause != nil {
		return r.Pause(ctx, n)
	}
	return Sleep(ctx, rand.N(min(firstPause<<min(n, 10), longestPause)))
}

// read repeats a read of tables while its error may be temporary. Reads can always be repeated.
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

// tokenLife bounds how long a transaction is repeated. Later, DynamoDB might apply the body a second time.
func (r *Runner) tokenLife() time.Duration {
	if r.TokenLife > 0 {
		return r.TokenLife
	}
	return longestToken
}
