package exec

import (
	"context"
	"errors"
	"fmt"
	"net"

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
		conflict    *types.TransactionConflictException
		inProgress  *types.TransactionInProgressException
		api         smithy.APIError
		sent        *smithyhttp.RequestSendError
		unreadable  *smithy.DeserializationError
		dial        *net.OpError
		responseErr *smithyhttp.ResponseError
	)
	switch {
	case errors.As(err, &condition):
		return refused
	case errors.As(err, &cancelled):
		return cancellation(cancelled.CancellationReasons)
	case errors.As(err, &conflict):
		return conflicted
	case errors.As(err, &inProgress):
		return unknown
	case errors.As(err, &api) && throttling[api.ErrorCode()]:
		return transient
	case errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer:
		return unknown
	case errors.As(err, &responseErr) && responseErr.HTTPStatusCode() >= 500:
		return unknown
	case ctx.Err() != nil:
		return unknown
	case errors.As(err, &api):
		return final
	case errors.As(err, &dial) && dial.Op == "dial":
		return transient
	case errors.As(err, &sent), errors.As(err, &unreadable):
		return unknown
	}
	return final
}

var throttling = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"ThrottlingException":                    true,
	"RequestLimitExceeded":                   true,
	"ThrottledException":                     true,
	"LimitExceededException":                 true,
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

// tableError adds the class of a missing table to the SDK's error.
func tableError(err error) error {
	var missing *types.ResourceNotFoundException
	var mismatch *types.IdempotentParameterMismatchException
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%w: %w", ErrTokenReused, err)
	}
	return err
}
