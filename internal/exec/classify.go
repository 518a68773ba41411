package exec

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

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// class is what an error of the SDK says about the request.
type class int

const (
	final      class = iota // not applied, and it will not be
	transient               // not applied; worth repeating
	conflicted              // not applied because of another write; worth repeating
	refused                 // not applied: conditions failed
	unknown                 // perhaps applied
)

// ErrNoTable says that the table does not exist.
var ErrNoTable = errors.New("no such table")

// ErrTokenReused says that DynamoDB saw another request under the same idempotency token.
var ErrTokenReused = errors.New("idempotency token reused for another request")

// classify reads types and codes, never messages.
func classify(ctx context.Context, err error) class {
	var (
		condition   *types.ConditionalCheckFailedException
		cancelled   *types.TransactionCanceledException
		api         smithy.APIError
		sent        *smithyhttp.RequestSendError
		unreadable  *smithy.DeserializationError
		responseErr *smithyhttp.ResponseError
	)
	switch {
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
	case errors.As(err, &api):
		return final
	case neverDialled(err):
		return transient
	case errors.As(err, &sent), errors.As(err, &unreadable):
		return unknown
	}
	return final
}

// conflicts are the codes of a request that another write was in the way of, in this Region or in another one. A
// transaction says so as a reason of its cancellation, and there are none across Regions.
var conflicts = map[string]bool{"TransactionConflictException": true, "ReplicatedWriteConflictException": true}

// inProgress is the code of a transaction whose first arrival has not ended. The SDK counts it as throttling, but it may
// have been applied by now.
const inProgress = "TransactionInProgressException"

// throttles reports that code refuses a request because of too much traffic.
func throttles(code string) bool {
	_, known := awsretry.DefaultThrottleErrorCodes[code]
	return known
}

// cancellation classifies a cancelled transaction by its reasons.
func cancellation(reasons []types.CancellationReason) class {
	k := final
	for _, r := range reasons {
		switch reasonCode(r) {
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

func reasonCode(r types.CancellationReason) string {
	if r.Code == nil {
		return ""
	}
	return *r.Code
}

// tableError adds to the SDK's error the class of a missing table, and which one it is: DynamoDB does not say.
func tableError(err error, tables ...string) error {
	var missing *types.ResourceNotFoundException
	var mismatch *types.IdempotentParameterMismatchException
	switch {
	case errors.As(err, &missing):
		slices.Sort(tables)
		return fmt.Errorf("%w: %s: %w", ErrNoTable, strings.Join(slices.Compact(tables), " or "), err)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%w: %w", ErrTokenReused, err)
	}
	return err
}

// exhausted is the error after the last attempt: a conflict that did not go away is the caller's ErrConflict.
func exhausted(ctx context.Context, err error) error {
	if classify(ctx, err) == conflicted {
		return fmt.Errorf("%w: %w", plan.ErrConflict, err)
	}
	return err
}

// attempt watches one request on its way to the connection. A request that was not written in full was not applied,
// whatever the error is called; without this, each broken connection would leave a write in doubt.
type attempt struct {
	mu       sync.Mutex // hooks run on goroutines of the transport, also after the call has returned
	watched  bool       // the SDK's client took the options; another one may ignore them
	begun    bool       // the request reached the HTTP client
	asked    int        // connections that were asked for
	got      int        // connections that were had
	cut      int        // writes that ended with an error
	whole    bool       // a write ended without one; it may still wait in a buffer
	answered bool       // something of an answer came
}

// options are those of a single attempt: the SDK's retryer is off, and the request is watched.
func (a *attempt) options(o *dynamodb.Options) {
	once(o)
	o.APIOptions = append(o.APIOptions, a.watch)
}

// watch puts the hooks around the request alone, the last step before it is sent: what else uses the call's context, such
// as the request for credentials, does not count.
func (a *attempt) watch(stack *middleware.Stack) error {
	a.note(func() { a.watched = true })
	send := func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		a.note(func() { a.begun = true })
		if req, ok := in.Request.(*smithyhttp.Request); ok {
			rewindable(req)
		}
		return next.HandleDeserialize(httptrace.WithClientTrace(ctx, a.hooks()), in)
	}
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("dynastrata.attempt", send), middleware.After)
}

// rewindable lets net/http take another connection when it found a kept one closed before it had written anything. That
// is the most frequent failure of a connection, and the only one after which net/http repeats a POST.
func rewindable(req *smithyhttp.Request) {
	body, ok := req.GetStream().(interface {
		io.ReaderAt
		Size() int64
	})
	if ok && req.GetBody == nil {
		req.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(body, 0, body.Size())), nil
		}
	}
}

func (a *attempt) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { a.note(func() { a.asked++ }) },
		GotConn: func(httptrace.GotConnInfo) { a.note(func() { a.got++ }) },
		WroteRequest: func(w httptrace.WroteRequestInfo) {
			a.note(func() {
				if w.Err != nil {
					a.cut++
				} else {
					a.whole = true
				}
			})
		},
		GotFirstResponseByte: func() { a.note(func() { a.answered = true }) },
	}
}

func (a *attempt) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// unsent reports that the request certainly was not written in full. A connection whose write has not ended yet, as after
// a cancelled context, may still carry it.
func (a *attempt) unsent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.watched:
		return false
	case !a.begun:
		return true
	}
	return a.asked > 0 && !a.whole && !a.answered && a.got == a.cut
}

// written reports that the request may be on its way, whatever the error says.
func (a *attempt) written() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.whole || a.answered || a.got > a.cut
}

// classify is what err says about the watched request. Where no hook was ever called, the type of the error has to do.
func (a *attempt) classify(ctx context.Context, err error) class {
	k := classify(ctx, err)
	switch {
	case k == unknown && a.unsent():
		return transient
	case k == transient && neverDialled(err) && a.written():
		return unknown // an HTTP client that tries more than once had another connection
	}
	return k
}

// neverDialled reports that err says that there was no connection.
func neverDialled(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}
