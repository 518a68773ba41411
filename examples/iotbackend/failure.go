package main

import (
	"context"
	"errors"
	"net/http"
	"time"

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
	p := classify(err)
	var stopped *interrupted
	if errors.As(err, &stopped) {
		p.Details = stopped
	}
	return p
}

func classify(err error) *problem {
	var (
		known *problem
		bad   *invalid
	)
	switch {
	case errors.As(err, &known):
		same := *known
		return &same
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
	case unstorable(err):
		return &problem{Status: http.StatusBadRequest, Code: "VALIDATION_FAILED", Message: "the request has a value that cannot be stored"}
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

// unstorable reports whether the library refused a value before any request. The service's own checks are stricter; this is
// for what they miss. The error may quote the value, so the response does not quote the error.
func unstorable(err error) bool {
	var refused *entity.ValidationError
	var bad *entity.InputError
	return errors.As(err, &refused) || errors.As(err, &bad) && bad.Code == "EDD-9102" || errors.Is(err, entity.ErrTooLarge)
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
	found := false
	for _, r := range reasons {
		if r.Code == nil {
			continue
		}
		switch *r.Code {
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			found = true
		case "None", "TransactionConflict", "ConditionalCheckFailed":
		default:
			return false
		}
	}
	return found
}
