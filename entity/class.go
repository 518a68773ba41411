package entity

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Class is what the caller of a failed call can do about it; see [ClassOf].
type Class string

// The classes of errors, in the order in which [ClassOf] looks for them.
const (
	ClassUnknown     Class = "outcome unknown" // the write may have been applied, or was and its item could not be read; see [IsAmbiguous]
	ClassInvalid     Class = "invalid input"   // the call, a value or a cursor is wrong, or too large; nothing was sent
	ClassNotFound    Class = "not found"       // the item, or the state of it, does not exist
	ClassExists      Class = "exists"          // an item with that key, unique value or time exists
	ClassConflict    Class = "conflict"        // another write came in between: read again, and decide again
	ClassRefused     Class = "refused"         // a condition does not hold
	ClassUnavailable Class = "unavailable"     // throttled, cancelled, not reachable, or work of another process: try later
	ClassBug         Class = "bug"             // the program, its declarations, its configuration or its stored items are wrong; and any other error
)

// ClassOf returns the class of an error of any package of this module, "" for nil. The error of a transaction or batch has the first class in
// the order of the constants that one of its failures has, and so has an error that joins others. A *[PrepareError] is invalid input,
// unless what it wraps says that the outcome is unknown, or that something is unavailable. ClassOf knows no errors of other modules but
// those of the AWS SDK, of the network and of contexts: look for the errors that your own functions return before.
func ClassOf(err error) Class {
	var (
		input       *InputError
		invalid     *ValidationError
		prepare     *PrepareError
		index       *IndexError
		unprocessed *UnprocessedError
	)
	is := func(classes ...error) bool {
		for _, c := range classes {
			if errors.Is(err, c) {
				return true
			}
		}
		return false
	}
	of := func(class string) bool { return is(bind.Sentinels(class)...) }
	switch {
	case err == nil:
		return ""
	case IsAmbiguous(err), is(ErrReadBack):
		return ClassUnknown
	case errors.As(err, &prepare):
		if c := ClassOf(prepare.Err); c == ClassUnknown || c == ClassUnavailable {
			return c
		}
		return ClassInvalid
	case is(ErrOmitted):
		return ClassNotFound
	case errors.As(err, &input):
		if input.Code == bind.CodeUnopened {
			return ClassBug
		}
		return ClassInvalid
	case errors.As(err, &invalid), is(ErrTooLarge, ErrInvalidCursor), is(ErrKeyCase) && !is(ErrExists), of(bind.WrongInput):
		return ClassInvalid
	case is(ErrNotFound), of(bind.NotFound):
		return ClassNotFound
	case is(ErrExists, ErrNotDeleted, sentinel.ErrTaken):
		return ClassExists
	case is(ErrConflict), of(bind.Conflict):
		return ClassConflict
	case is(ErrConditionFailed):
		return ClassRefused
	case is(ErrRetryBudget, context.Canceled, context.DeadlineExceeded), of(bind.Unavailable), errors.As(err, &unprocessed), errors.As(err, &index) && index.Building, engine.Unavailable(err):
		return ClassUnavailable
	}
	return ClassBug
}
