package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynastrata/dynastrata/entity"
)

// The responses to requests that cannot be granted.
var (
	errUnauthorized   = errors.New("the credentials are not valid")
	errDeviceNotFound = errors.New("there is no device with this hardware_id")
	errNoReadings     = errors.New("the device has no readings")
	errCollision      = errors.New("the batch_id was used by another device")
)

// problem is an error as a client sees it.
type problem struct {
	Status     int           `json:"-"`
	Code       string        `json:"code"`
	Message    string        `json:"message"`
	Details    any           `json:"details,omitempty"`
	RetryAfter time.Duration `json:"-"` // 0: sending the request again would not help
}

func (p *problem) Error() string { return p.Code + ": " + p.Message }

// granted are the errors that need no explanation.
var granted = []struct {
	err    error
	status int
	code   string
}{
	{errUnauthorized, http.StatusUnauthorized, "UNAUTHORIZED"},
	{errDeviceNotFound, http.StatusNotFound, "DEVICE_NOT_FOUND"},
	{errNoReadings, http.StatusNotFound, "NO_READINGS"},
	{errCollision, http.StatusConflict, "BATCH_COLLISION"},
}

// explain turns an error into what the client may know, and what it should do. It distinguishes errors by type.
func explain(err error) *problem {
	var (
		known *problem
		bad   *invalid
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &bad):
		return &problem{Status: http.StatusBadRequest, Code: "VALIDATION_FAILED", Message: "the request is not valid", Details: bad.violations}
	case errors.Is(err, entity.ErrInvalidCursor):
		return &problem{Status: http.StatusBadRequest, Code: "INVALID_CURSOR", Message: "the cursor is malformed, or of another list"}
	}
	for _, g := range granted {
		if errors.Is(err, g.err) {
			return &problem{Status: g.status, Code: g.code, Message: g.err.Error()}
		}
	}
	switch { // the order matters: a throttled attempt may follow one whose answer was lost
	case entity.IsAmbiguous(err):
		return busy("OUTCOME_UNKNOWN", "the request may have been carried out; it can be sent again")
	case throttled(err):
		return busy("THROTTLED", "there is too much traffic")
	case errors.Is(err, entity.ErrConflict):
		return busy("CONFLICT", "other requests about the same item came between")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return busy("TIMEOUT", "the request took too long")
	}
	if unreachable(err) {
		return busy("UNAVAILABLE", "the database does not answer")
	}
	return &problem{Status: http.StatusInternalServerError, Code: "INTERNAL", Message: "the request could not be carried out"}
}

// busy is a temporary failure.
func busy(code, message string) *problem {
	return &problem{Status: http.StatusServiceUnavailable, Code: code, Message: message, RetryAfter: time.Second}
}

// throttled reports whether DynamoDB refused the request, or an action of the transaction, because of too much traffic.
func throttled(err error) bool {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return cancelledByTraffic(cancelled.CancellationReasons)
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
			return true
		}
	}
	return false
}

// unreachable reports whether the connection broke or the database failed.
func unreachable(err error) bool {
	var send *smithyhttp.RequestSendError
	var api smithy.APIError
	return errors.As(err, &send) || errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer
}

// cancelledByTraffic reports whether throttling is among the reasons, and no permanent reason.
func cancelledByTraffic(reasons []types.CancellationReason) bool {
	traffic := []string{"ThrottlingError", "ProvisionedThroughputExceeded"}
	passing := append([]string{"None", "TransactionConflict", "ConditionalCheckFailed"}, traffic...)
	is := func(codes []string, want bool) func(types.CancellationReason) bool {
		return func(r types.CancellationReason) bool { return slices.Contains(codes, aws.ToString(r.Code)) == want }
	}
	return slices.ContainsFunc(reasons, is(traffic, true)) && !slices.ContainsFunc(reasons, is(passing, false))
}
