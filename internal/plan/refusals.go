package plan

import (
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Ambiguous wraps the error of a write that may have been applied. If Partly is set, the write is one of several
// requests, some of which have been applied or may have been.
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

// ItemPresent wraps the error of an operation whose own item exists, although another item was not found.
type ItemPresent struct{ Err error }

func (e *ItemPresent) Error() string { return e.Err.Error() }

func (e *ItemPresent) Unwrap() error { return e.Err }

// Missing is the error of Op, whose item does not exist. It is Err in every respect.
type Missing struct {
	Op  *Op
	Err error
}

func (e *Missing) Error() string { return e.Err.Error() }

func (e *Missing) Unwrap() error { return e.Err }

// Refused reports a write whose condition failed. Class is what that means for the verb, Cause is the SDK's error, Image is the stored
// item, and Which is the failed condition in words. Cause is nil if a read showed that the condition would fail.
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

// Unwrap returns the class and the SDK's error.
func (e *Refused) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Cause}
}
