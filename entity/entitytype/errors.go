package entitytype

import (
	"fmt"

	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Error is the error of a verb. It wraps the class of the failure, which wraps the SDK's error if there is one.
type Error struct {
	Verb   string // Create, Update, Append …
	Entity string // entity name, "" for a transaction of several
	Key    string // primary key with secret parts hidden, "" if it could not be composed
	Err    error
}

func (e *Error) Error() string {
	text := e.Verb
	if e.Entity != "" {
		text += " " + e.Entity
	}
	if e.Key != "" {
		text += " (" + e.Key + ")"
	}
	if e.Err == nil {
		return text + ": it failed"
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// SchemaError is one mistake in a declaration, found when a store is built.
type SchemaError struct {
	Code    string // EDD-9001 to EDD-9099; docs/codes.md explains each
	Type    string // Go type, or the table
	Field   string // Go field, "" if the mistake is not about one
	Problem string // what is wrong, as a sentence
}

func (e *SchemaError) Error() string { return located(e.Code, e.Type, e.Field, e.Problem) }

// InputError is a mistake in the arguments of a call, found before any request.
type InputError struct {
	Code    string // EDD-9101 and above; docs/codes.md explains each
	Type    string // Go type that the argument is about
	Field   string // Go field, "" if the mistake is not about one
	Problem string // what is wrong, as a sentence that quotes no value
}

func (e *InputError) Error() string { return located(e.Code, e.Type, e.Field, e.Problem) }

func located(code, typ, field, problem string) string {
	if field != "" {
		typ += "." + field
	}
	return fmt.Sprintf("%s %s: %s", code, typ, problem)
}

// ValidationError is a value that its own Validate method or the configured Validator refused, found before any request.
type ValidationError struct {
	Code  string // EDD-9116 for a Validate method, EDD-9130 for the Validator
	Type  string // Go type of the entity
	Field string // where the value is, as in Address.City, Tags[2] or Status["bme280"]; "" for the entity itself

	// Err is the error of the Validate method or the Validator, which may quote the value. It is nil for a secret field.
	Err error
	// Redacted reports that the text of the error leaves Err out, because it may quote a secret field of the struct.
	Redacted bool
}

func (e *ValidationError) Error() string {
	text := e.Code + " " + e.Type
	if e.Field != "" {
		text += "." + e.Field
	}
	if e.Err == nil || e.Redacted {
		return text + ": the value is not valid"
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *ValidationError) Unwrap() error { return e.Err }

// PrepareError is the failure of a Prepare method, before any request of the write that called it.
type PrepareError struct {
	Code string // EDD-9180
	Type string // Go type of the entity

	// Err is the error of the Prepare method, which may quote the value.
	Err error
	// Redacted reports that the text of the error leaves Err out, because it may quote a secret field of the struct.
	Redacted bool
}

func (e *PrepareError) Error() string {
	if e.Err == nil || e.Redacted {
		return e.Code + " " + e.Type + ": Prepare failed"
	}
	return e.Code + " " + e.Type + ": Prepare: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *PrepareError) Unwrap() error { return e.Err }

// ConditionError is an ErrConditionFailed that names the attribute which made a condition of the library fail.
type ConditionError struct {
	Attr    string // attribute
	Problem string // what the condition needs, as a phrase that quotes no value
}

func (e *ConditionError) Error() string { return "condition failed: " + e.Attr + ": " + e.Problem }

// Is reports whether target is ErrConditionFailed.
func (e *ConditionError) Is(target error) bool { return target == sentinel.ErrConditionFailed }

// ConflictError is an ErrConflict: the item is not in the expected state.
type ConflictError struct {
	Expected  int64
	Actual    int64 // 0 for an item without a version
	Absent    bool  // the item does not exist
	Recreated bool  // the item has another created_at: it was deleted and created again; Actual can be Expected
	Present   bool  // no item was expected, by a Put of version 0 under versioned.Lock, but there is one; Expected is 0
}

func (e *ConflictError) Error() string {
	switch {
	case e.Absent:
		return fmt.Sprintf("version %d was expected, but there is no item", e.Expected)
	case e.Present:
		return fmt.Sprintf("the struct has version 0, so no item was expected, but there is one with version %d", e.Actual)
	case e.Recreated:
		return fmt.Sprintf("version %d was expected, but the item was deleted and created again: it has another created_at, and version %d", e.Expected, e.Actual)
	}
	return fmt.Sprintf("version %d was expected, but the item has version %d", e.Expected, e.Actual)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == sentinel.ErrConflict }

// KeyCaseError is an ErrKeyCase: a key part of the stored item differs from the given one in case only, so that both have the same key.
type KeyCaseError struct {
	Attr string // attribute of the key part
}

func (e *KeyCaseError) Error() string {
	return "the stored " + e.Attr + " differs from the given one in case, and keys are in lower case"
}

// Is reports whether target is ErrKeyCase.
func (e *KeyCaseError) Is(target error) bool { return target == sentinel.ErrKeyCase }

// DecodeError is a stored item that does not fit the struct. The read or write that met it took place, unless it is an append to a series
// whose stored orderBy has another type.
type DecodeError struct {
	Entity  string // entity name
	Attr    string // the attribute that does not fit, "" if unknown
	Problem string // why, as a phrase that quotes no value
}

func (e *DecodeError) Error() string {
	return "the stored item does not fit " + e.Entity + ": " + e.Attr + ": " + e.Problem
}

// UpgradeError says that a stored item has an earlier payload version and cannot be upgraded, or a later one than the declaration reads.
type UpgradeError struct {
	Entity string // entity name
	From   int    // payload version
	Err    error  // of the function, which may quote the item, or why there is no step

	// Redacted reports that the text of the error leaves Err out, because it may quote a secret field of a struct.
	Redacted bool
}

func (e *UpgradeError) Error() string {
	if e.Redacted {
		return fmt.Sprintf("the stored %s of payload version %d cannot be used: its upgrade failed", e.Entity, e.From)
	}
	return fmt.Sprintf("the stored %s of payload version %d cannot be used: %v", e.Entity, e.From, e.Err)
}

// Unwrap returns Err.
func (e *UpgradeError) Unwrap() error { return e.Err }

// CursorReason says why a cursor cannot be used.
type CursorReason string

var cursorReasons = map[CursorReason]string{
	"malformed": "it is malformed",
	"foreign":   "it is of another query",
	"altered":   "it was altered, or encrypted under a key that is not accepted",
	"gone":      "what it goes on with is not there any more",
}

// CursorError is an ErrInvalidCursor.
type CursorError struct {
	Reason CursorReason
}

func (e *CursorError) Error() string {
	return sentinel.ErrInvalidCursor.Error() + ": " + cursorReasons[e.Reason]
}

// Is reports whether target is ErrInvalidCursor.
func (e *CursorError) Is(target error) bool { return target == sentinel.ErrInvalidCursor }

// IndexError is an ErrNoIndex: the table does not have the index of a read, or is still building it.
type IndexError struct {
	Table    string // physical name
	Index    string // name in DynamoDB
	Building bool   // the index exists but cannot be read yet
	Err      error  // DynamoDB's error
}

func (e *IndexError) Error() string {
	if e.Building {
		return "table " + e.Table + " is still building its index " + e.Index
	}
	return "table " + e.Table + " has no index " + e.Index
}

// Is reports whether target is ErrNoIndex.
func (e *IndexError) Is(target error) bool { return target == sentinel.ErrNoIndex }

// Unwrap returns Err.
func (e *IndexError) Unwrap() error { return e.Err }

// UnprocessedError says that DynamoDB left part of a batch unprocessed in each of several requests.
type UnprocessedError struct {
	Count int // of keys or writes
}

func (e *UnprocessedError) Error() string {
	return fmt.Sprintf("%d items of the batch stayed unprocessed", e.Count)
}
