// Package sentinel declares the errors for errors.Is that package entity exports, below everything that returns one.
package sentinel

import "errors"

// The errors; package entity says when each comes back.
var (
	ErrNotFound        = errors.New("item not found")
	ErrExists          = errors.New("item exists")
	ErrConflict        = errors.New("conflicting write")
	ErrConditionFailed = errors.New("condition failed")
	ErrTooLarge        = errors.New("too large for DynamoDB")
	ErrUndecodable     = errors.New("items that cannot be decoded were left out")
	ErrOmitted         = errors.New("the content of the state was left out")
	ErrInvalidCursor   = errors.New("invalid cursor")
	ErrMultipleItems   = errors.New("more than one item")
	ErrDeleted         = errors.New("item was deleted")
	ErrNotDeleted      = errors.New("item is not deleted")
	ErrKeyCase         = errors.New("the stored key differs in case")
	ErrItemHidden      = errors.New("the client hides the item that made a condition fail")
	ErrReadBack        = errors.New("the write is decided, but the item could not be read")
	ErrNoTable         = errors.New("no such table")
	ErrNoIndex         = errors.New("no such index")
	ErrTaken           = errors.New("the value of a unique constraint is taken") // is a *unique.ViolationError
	ErrTokenReused     = errors.New("idempotency token reused for another request")
	ErrRetryBudget     = errors.New("the retry budget of the database is spent")
	ErrStop            = errors.New("stop, without an error")
	ErrNoClient        = errors.New("the database was opened without a client; plans can be printed but not run")
)
