package idempotent

import (
	"context"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
)

// The codes of the mistakes that an *entity.InputError has.
const (
	codeOptions  = "IDEM-01" // Options that do not fit
	codeCall     = "IDEM-02" // a call without an operation or a function
	codeKey      = "IDEM-03" // a call without a key
	codePayload  = "IDEM-04" // a payload that JSON cannot express
	codeAnswer   = "IDEM-05" // an answer of a type that JSON cannot express
	codeMismatch = "IDEM-06" // a key with another payload
	codeHTTP     = "IDEM-07" // HTTP options that do not fit
)

// mistake returns an error about an argument.
func mistake(code, typ, field, problem string) error {
	return &entity.InputError{Code: code, Type: typ, Field: field, Problem: problem}
}

// ErrLeaseEnded is the cause of the context of a function that has run for as long as its lease. It is a
// context.DeadlineExceeded.
var ErrLeaseEnded = fmt.Errorf("idempotent: the lease of the call has ended: %w", context.DeadlineExceeded)

// InProgressError reports that a call with the key is running. It is a lease.ErrTaken, of entity.ClassUnavailable.
type InProgressError struct {
	Operation  string
	RetryAfter time.Duration // after this time the answer is kept, the call has failed, or another can take it over
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("%s: a call with the key is in progress, for %v at most", e.Operation, e.RetryAfter)
}

// Unwrap returns lease.ErrTaken.
func (e *InProgressError) Unwrap() error { return lease.ErrTaken }

// ClaimError reports that a request about the claim got no answer that says whether it was applied. Either the function has
// not run, or it has failed, whose error is joined with this one. So the key may be in progress until the lease ends; then a
// repetition runs the function. It is a lease.ErrTaken, of entity.ClassUnavailable.
type ClaimError struct {
	Operation string
	Err       error // of the request; it is not wrapped, since it is no error of what the function does
}

func (e *ClaimError) Error() string {
	return fmt.Sprintf("%s: the key may be in progress until the lease ends: %v", e.Operation, e.Err)
}

// Unwrap returns lease.ErrTaken.
func (e *ClaimError) Unwrap() error { return lease.ErrTaken }

// PayloadMismatchError reports that the key was used with another payload. It is an *entity.InputError, of
// entity.ClassInvalid: nothing was run, and the record is as it was.
type PayloadMismatchError struct{ Operation string }

func (e *PayloadMismatchError) Error() string {
	return e.Operation + ": the key was used with another payload"
}

// Unwrap returns an *entity.InputError.
func (e *PayloadMismatchError) Unwrap() error {
	return mistake(codeMismatch, "idempotent.Operation", "", "the key was used with another payload")
}

// TakenOverError reports that the function has succeeded after its lease had ended and another call had taken over. Its
// answer is returned, and not kept: repeat the call for the answer that counts. It is a lease.ErrLost, of
// entity.ClassConflict.
type TakenOverError struct{ Operation string }

func (e *TakenOverError) Error() string {
	return e.Operation + ": the lease had ended, and another call has taken over; the answer is not kept"
}

// Unwrap returns lease.ErrLost.
func (e *TakenOverError) Unwrap() error { return lease.ErrLost }

// AnswerError reports that the function has succeeded, and that its answer cannot be kept. Its first call returns the
// answer too. The record stays: a repetition does not run the function, it gets this error.
type AnswerError struct {
	Operation   string
	Size, Limit int   // in bytes of JSON; then it is an entity.ErrTooLarge, of entity.ClassInvalid
	Err         error // of encoding/json or the write, for an answer that cannot be stored; nil for repetitions
}

func (e *AnswerError) Error() string {
	if e.Size > 0 {
		return fmt.Sprintf("%s has succeeded; its answer of %d bytes is not kept: the limit is %d", e.Operation, e.Size, e.Limit)
	}
	return e.Operation + " has succeeded; its answer is not kept: it cannot be stored as JSON"
}

// Unwrap returns entity.ErrTooLarge or Err.
func (e *AnswerError) Unwrap() error {
	if e.Size > 0 {
		return entity.ErrTooLarge
	}
	return e.Err
}

// NotKeptError reports that the function has succeeded, and that no request could keep its answer, which is returned too.
// The key is in progress until its lease ends; a repetition after that runs the function again. It is an
// entity.ErrReadBack, of entity.ClassUnknown: do not just repeat the call.
type NotKeptError struct {
	Operation string
	Err       error
}

func (e *NotKeptError) Error() string {
	return fmt.Sprintf("%s has succeeded; its answer is not kept: %v", e.Operation, e.Err)
}

// Unwrap returns entity.ErrReadBack and Err.
func (e *NotKeptError) Unwrap() []error { return []error{entity.ErrReadBack, e.Err} }
