package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

type (
	// Client is entitytype.Client.
	Client = entitytype.Client
	// Report is entitytype.Report.
	Report = entitytype.Report
)

// Defaults and limits of the runner.
const (
	DefaultAttempts = 10
	firstPause      = 25 * time.Millisecond
	longestPause    = time.Second
	longestToken    = 8 * time.Minute // DynamoDB honours a token for ten
)

// ErrNoClient is the error of every call on a database without a client.
var ErrNoClient = sentinel.ErrNoClient

// Runner sends requests for one database.
type Runner struct {
	Client         Client
	ReadClient     Client // of eventually consistent reads; nil for Client
	MaxAttempts    int    // requests for one body, and rounds of planning
	Clock          func() time.Time
	Elapsed        func() time.Duration // a clock that is never set, for package lease; nil for that of the process
	Sights         sync.Map             // what package lease has seen of leases that others hold
	NewID          func() string
	Tracer         entitytype.Tracer // may be nil
	Pause          func(ctx context.Context, attempt int) error
	NoTransactions error // of every transaction, if the tables have none

	Own       bool          // this module writes the requests of Client and reads the answers; see Owns
	OwnReads  bool          // also of ReadClient
	TokenLife time.Duration // how long a transaction is repeated under one token, later DynamoDB might apply it again; 0 for longestToken

	Retries        *ratelimit.TokenRateLimit // what repetitions may cost, over all calls; nil is unlimited
	RequestTimeout time.Duration             // how long one request may take; 0 is unlimited
	TablePause     time.Duration             // between two looks at a table that changes; 0 for that of package tables

	shows atomic.Bool // a refusal had the item that caused it, so the client does not hide items
}

// CheckContext rejects a nil context.
func CheckContext(ctx context.Context) error {
	if ctx == nil {
		return &entitytype.InputError{Code: bind.CodeContext, Type: "context.Context", Problem: "the context is nil; use context.Background()"}
	}
	return nil
}
