package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
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
