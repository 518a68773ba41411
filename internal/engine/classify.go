package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// class says what an error of the SDK means for the request.
type class int

const (
	final      class = iota // not applied; a repetition would fail too
	transient               // not applied; worth repeating
	conflicted              // not applied because of another write; worth repeating
	refused                 // not applied: conditions failed
	unknown                 // may have been applied
	success                 // no error
)

// ErrNoTable says that the table does not exist.
var ErrNoTable = sentinel.ErrNoTable

// ErrTokenReused says that DynamoDB saw another request under the same idempotency token.
var ErrTokenReused = sentinel.ErrTokenReused

// classify returns the class of an error by its type and code, never by its message.
func classify(ctx context.Context, err error) class {
	var (
		condition   *types.ConditionalCheckFailedException
		cancelled   *types.TransactionCanceledException
		api         smithy.APIError
		sent        *smithyhttp.RequestSendError
		unreadable  *smithy.DeserializationError
		responseErr *smithyhttp.ResponseError
		skewed      interface{ RetryableError() bool }
		unwritten   *smithy.SerializationError
	)
	switch {
	case errors.As(err, &unwritten):
		return final
	case errors.As(err, &condition):
		return refused
	case errors.As(err, &cancelled):
		return cancellation(cancelled.CancellationReasons)
	case errors.As(err, &api) && conflicts[api.ErrorCode()]:
		return conflicted
	case errors.As(err, &api) && api.ErrorCode() == inProgress:
		return unknown
	case errors.As(err, &api) && throttles(api.ErrorCode()):
		return transient
	case errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer:
		return unknown
	case errors.As(err, &responseErr) && responseErr.HTTPStatusCode() >= 500:
		return unknown
	case ctx.Err() != nil:
		return unknown
	case errors.As(err, &api) && errors.As(err, &skewed) && skewed.RetryableError():
		return transient // the clock differs from DynamoDB's: the client signs the next request with the corrected time
	case errors.As(err, &api):
		return final
	case neverDialled(err):
		return transient
	case errors.As(err, &sent), errors.As(err, &unreadable):
		return unknown
	}
	return final
}

// Unavailable reports whether err is of a request that was throttled, met another write, or had no answer that says what became of it.
func Unavailable(err error) bool {
	k := classify(context.Background(), err)
	return k == transient || k == conflicted || k == unknown
}

// conflicts are the codes of a request that met another write, in this Region or another. A transaction reports that as a
// reason of its cancellation; transactions across Regions do not exist.
var conflicts = map[string]bool{"TransactionConflictException": true, "ReplicatedWriteConflictException": true}

// inProgress is the code of a transaction whose first delivery has not ended. The SDK counts it as throttling, but it may
// have been applied by now.
const inProgress = "TransactionInProgressException"

// throttles reports whether code refuses a request because of too much traffic.
func throttles(code string) bool {
	_, known := awsretry.DefaultThrottleErrorCodes[code]
	return known
}

// cancellation returns the class of a cancelled transaction from its reasons.
func cancellation(reasons []types.CancellationReason) class {
	k := final
	for _, r := range reasons {
		switch aws.ToString(r.Code) {
		case "", "None":
		case "ConditionalCheckFailed":
			if k == final {
				k = refused
			}
		case "TransactionConflict":
			if k != transient {
				k = conflicted
			}
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			k = transient
		default:
			return final
		}
	}
	return k
}

// tableError wraps the SDK's error of a missing table, adding what DynamoDB does not give: the table's name, and where it was looked for.
func (r *Runner) tableError(err error, tables ...string) error {
	var missing *types.ResourceNotFoundException
	var mismatch *types.IdempotentParameterMismatchException
	switch {
	case errors.As(err, &missing):
		slices.Sort(tables)
		return fmt.Errorf("%w: %s%s: %w", ErrNoTable, strings.Join(slices.Compact(tables), " or "), Place(r.Client), err)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%w: %w", ErrTokenReused, err)
	}
	return err
}

// exhausted returns the error after the last attempt. A lasting conflict is ErrConflict.
func exhausted(ctx context.Context, err error) error {
	if classify(ctx, err) == conflicted {
		return fmt.Errorf("%w: %w", sentinel.ErrConflict, err)
	}
	return err
}

// Once is the options of a call that does not read items: without the SDK's retries.
func Once(o *dynamodb.Options) { new(wire.Call).Options(o) }

// request is one request. A write is watched on its way to the connection: what was not written in full was not applied, whatever the
// error. Without this, every broken connection would make a write ambiguous.
type request struct {
	wire.Call
	entitytype.Attempt
	capacity types.ReturnConsumedCapacity // whether the answer should say what the request consumed

	mu    sync.Mutex            // hooks run on goroutines of the transport, also after the call has returned
	begun bool                  // the request reached the HTTP client
	asked bool                  // for a connection
	open  int                   // above 0 if it may have been written in full: counts connections, complete writes and first bytes of answers, less failed writes
	trace httptrace.ClientTrace // empty until the SDK's client takes the steps of Watch; another client may ignore them

	shown [4]string // what the pointers of its input point to, unless there are more
	with  [1]func(*dynamodb.Options)
	watch [1]func(*middleware.Stack) error
}

// Watch adds the hooks in the last step before the request is sent, so that other uses of the call's context, such as the
// request for credentials, are not counted.
func (q *request) Watch(stack *middleware.Stack) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.trace.GetConn == nil { // a client may use the options for several requests
		q.trace = httptrace.ClientTrace{
			GetConn: func(string) { q.note(func() { q.asked = true }) },
			GotConn: func(httptrace.GotConnInfo) { q.note(func() { q.open++ }) },
			WroteRequest: func(w httptrace.WroteRequestInfo) {
				if w.Err != nil {
					q.note(func() { q.open-- })
				} else { // it may still be in a buffer
					q.note(func() { q.open++ })
				}
			},
			GotFirstResponseByte: func() { q.note(func() { q.open++ }) },
		}
	}
	return stack.Deserialize.Add(q, middleware.After)
}

func (q *request) ID() string { return "dynastrata.request" }

func (q *request) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	q.mu.Lock()
	q.begun = true
	q.mu.Unlock()
	if req, ok := in.Request.(*smithyhttp.Request); ok && req.GetBody == nil {
		// So net/http can take another connection when a kept one was closed before anything was written. That is the most frequent
		// failure of a connection, and the only one after which net/http repeats a POST.
		if body, ok := req.GetStream().(interface {
			io.ReaderAt
			Size() int64
		}); ok {
			req.GetBody = func() (io.ReadCloser, error) {
				return io.NopCloser(io.NewSectionReader(body, 0, body.Size())), nil
			}
		}
	}
	hooks := &q.trace
	if httptrace.ContextClientTrace(ctx) != nil { // WithClientTrace adds those to the hooks, for each request
		own := q.trace
		hooks = &own
	}
	return next.HandleDeserialize(httptrace.WithClientTrace(ctx, hooks), in)
}

func (q *request) note(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
}

// unsent reports whether the request was certainly not written in full. It is false while a connection's write has not
// ended, as after a cancelled context.
func (q *request) unsent() bool {
	return q.trace.GetConn != nil && (!q.begun || q.asked && q.open == 0)
}

// classify returns the class of the request's error. If no hook was called, it depends on the type of the error alone.
func (q *request) classify(ctx context.Context, err error) class {
	k := classify(ctx, err)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case k == unknown && q.unsent():
		return transient
	case k == transient && neverDialled(err) && q.open > 0:
		return unknown // an HTTP client that tries again had another connection
	}
	return k
}

// neverDialled reports whether err says that there was no connection.
func neverDialled(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}
