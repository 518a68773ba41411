package plan

import (
	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// The public errors that plans give, under the names that they have in this package; entitytype has them.
var (
	ErrNotFound        = entitytype.ErrNotFound
	ErrExists          = entitytype.ErrExists
	ErrConflict        = entitytype.ErrConflict
	ErrConditionFailed = entitytype.ErrConditionFailed
	ErrTooLarge        = entitytype.ErrTooLarge
	ErrInvalidCursor   = entitytype.ErrInvalidCursor
	ErrMultipleItems   = entitytype.ErrMultipleItems
	ErrDeleted         = entitytype.ErrDeleted
	ErrNotDeleted      = entitytype.ErrNotDeleted
	ErrKeyCase         = entitytype.ErrKeyCase
	ErrItemHidden      = entitytype.ErrItemHidden
	ErrReadBack        = entitytype.ErrReadBack
)

// The types of these errors.
type (
	Error           = entitytype.Error
	InputError      = entitytype.InputError
	ValidationError = entitytype.ValidationError
	ConditionError  = entitytype.ConditionError
	ConflictError   = entitytype.ConflictError
	KeyCaseError    = entitytype.KeyCaseError
	DecodeError     = entitytype.DecodeError
)

// Codes of bad input, found before any request is sent; docs/validation.md explains each.
const (
	CodeKeyPart      = "EDD-9101" // a key part is missing or zero
	CodeValue        = "EDD-9102" // a value cannot be stored
	CodeRequired     = "EDD-9103" // a required attribute is missing
	CodeNotYours     = "EDD-9104" // a change of what the verb may not change
	CodePointer      = "EDD-9105" // a pointer outside every prototype of the type
	CodeNoChange     = "EDD-9106" // an update without a change
	CodeOverlap      = "EDD-9107" // two changes of one attribute
	CodeOption       = "EDD-9108" // an option that makes no sense here
	CodeSameItem     = "EDD-9109" // two operations on one item in a transaction
	CodeTooMany      = "EDD-9110" // more actions than a transaction can have
	CodeCondition    = "EDD-9111" // a malformed condition
	CodeKeyFilter    = "EDD-9112" // a filter on an attribute of the key
	CodeAhead        = "EDD-9113" // an event too far in the future
	CodeForeign      = "EDD-9114" // an operation of another database handle
	CodeOrderByRange = "EDD-9115" // a history condition that is not on orderBy
	CodeInvalid      = "EDD-9116" // a value that its own Validate method refused
	CodeTimeline     = "EDD-9133" // an argument of a timeline's constructor, read or build
	CodeInMemory     = "EDD-9140" // a condition that only DynamoDB evaluates, where one is evaluated in memory
	CodeFullReplay   = "EDD-9150" // a read of one group of a timeline that would read its sources whole
	CodeRefused      = "EDD-9130" // a value that Config.Validator refused
	CodeBatch        = "EDD-9117" // a batch write of an entity that needs more than a batch can do
	CodeExpiryUnit   = "EDD-9118" // an expiry that counts milliseconds
	CodeApart        = "EDD-9126" // queries that are to be gathered and do not read one partition in one way
	CodeGather       = "EDD-9127" // a list of queries to gather that is empty, or has one that cannot be gathered
	CodeRoute        = "EDD-9123" // a route of stream records that is none
	CodeUnordered    = "EDD-9156" // an order of texts that is not that of their values
	CodeCursorKey    = "EDD-9155" // a page whose cursor would show a secret
	CodeUnopened     = "EDD-9160" // a handle or database that is nil or a zero value
	CodeContext      = "EDD-9161" // a nil context
)

// Ambiguous wraps the error of a write that may have been applied. Partly says that it is one of many requests, of which
// some have been applied, or may have been.
type Ambiguous struct {
	Err    error
	Partly bool
}

func (e *Ambiguous) Error() string {
	if e.Partly {
		return "part of the write has been applied, or may have been: " + e.Err.Error()
	}
	return "the write may have been applied: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Ambiguous) Unwrap() error { return e.Err }

// ItemPresent wraps the error of an op whose item is there, whatever else was not found.
type ItemPresent struct{ Err error }

func (e *ItemPresent) Error() string { return e.Err.Error() }
func (e *ItemPresent) Unwrap() error { return e.Err }

// Refused is a write that DynamoDB refused because a condition failed: Class is what that means for the verb, Cause
// the SDK's error, Image the stored item that made the condition fail, Which the condition for a reader. Cause is nil
// when a read showed that it would.
type Refused struct {
	Class  error
	Cause  error
	Schema *schema.Schema
	Image  item.Item
	Which  string
}

func (e *Refused) Error() string {
	if e.Which != "" {
		return e.Class.Error() + ": " + e.Which
	}
	return e.Class.Error()
}

// Unwrap gives errors.Is and errors.As both the class and the SDK's error.
func (e *Refused) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}
