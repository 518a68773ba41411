package entity

import (
	"errors"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Classes of errors, for errors.Is. If DynamoDB returned an error, errors.As finds it behind them.
var (
	ErrNotFound        = sentinel.ErrNotFound        // there is no live item with that key
	ErrExists          = sentinel.ErrExists          // there is an item with that key
	ErrConflict        = sentinel.ErrConflict        // other writes came in between, more often than MaxAttempts allows
	ErrConditionFailed = sentinel.ErrConditionFailed // the caller's condition, or one that a tag implies, did not hold
	ErrTooLarge        = sentinel.ErrTooLarge        // an item, key or transaction is larger than DynamoDB allows
	ErrUndecodable     = sentinel.ErrUndecodable     // the read went on past items that cannot be decoded, by SkipUndecodable
	ErrOmitted         = sentinel.ErrOmitted         // a past state is kept without its content: it was too large, or was erased
	ErrInvalidCursor   = sentinel.ErrInvalidCursor   // a cursor cannot be used; it is a *CursorError
	ErrDeleted         = sentinel.ErrDeleted         // the item was deleted and can be restored
	ErrNotDeleted      = sentinel.ErrNotDeleted      // there is nothing to restore: the item exists
	ErrKeyCase         = sentinel.ErrKeyCase         // the stored key differs in case, with Interop; it is a *KeyCaseError
	ErrItemHidden      = sentinel.ErrItemHidden      // the client hides the item that refused a write
	ErrReadBack        = sentinel.ErrReadBack        // the write is decided, but the item it left could not be read
	ErrMultipleItems   = sentinel.ErrMultipleItems   // there is more than one item
	ErrNoTable         = sentinel.ErrNoTable         // the table does not exist
	ErrNoIndex         = sentinel.ErrNoIndex         // the table does not have the index; it is an *IndexError
	ErrTokenReused     = sentinel.ErrTokenReused     // the idempotency token was used for another request
	ErrRetryBudget     = sentinel.ErrRetryBudget     // a request was not repeated, as Config.RetryBudget is spent
	ErrNoClient        = sentinel.ErrNoClient        // the DB was opened without a client
)

// The types of errors, for errors.As. They are those of package entitytype; those that wrap another have the method Unwrap.
type (
	// Error has the fields Verb, Entity, Key and Err: every verb returns it. Secret parts of the Key are hidden; it wraps Err.
	Error = entitytype.Error

	// SchemaError has the fields Code, Type, Field and Problem: a mistake in a declaration. It is found when a store is built;
	// docs/codes.md explains the Code.
	SchemaError = entitytype.SchemaError

	// InputError has the fields Code, Type, Field and Problem: a mistake in the arguments of a call. It is found before any request;
	// docs/codes.md explains the Code.
	InputError = entitytype.InputError

	// ValidationError has the fields Code, Type, Field, Err and Redacted: a value that its own Validate method or the [Validator]
	// refused. It is found before any request, and wraps Err. The Validate method of a field's type is called whenever the
	// field is written, that of the struct when a whole value is.
	ValidationError = entitytype.ValidationError

	// PrepareError has the fields Code, Type, Err and Redacted: the failure of a [Preparer]. It comes before any request of the
	// write, and wraps Err.
	PrepareError = entitytype.PrepareError

	// ConditionError has the fields Attr and Problem: a condition of the library did not hold. It is an [ErrConditionFailed]. Attr is the
	// attribute that made the condition fail.
	ConditionError = entitytype.ConditionError

	// KeyCaseError has the field Attr: an [ErrKeyCase]. Attr is the attribute of the key part that differs.
	KeyCaseError = entitytype.KeyCaseError

	// DecodeError has the fields Entity, Attr and Problem: a stored item that does not fit the struct. Attr is the attribute
	// that does not fit.
	DecodeError = entitytype.DecodeError

	// CursorError has the field Reason: an [ErrInvalidCursor]. The Reason is a [CursorReason], such as [CursorForeign].
	CursorError = entitytype.CursorError

	// CursorReason says why a cursor cannot be used: [CursorMalformed], [CursorForeign], [CursorAltered] or [CursorGone].
	CursorReason = entitytype.CursorReason

	// IndexError has the fields Table, Index, Building and Err: an [ErrNoIndex]. It wraps Err, DynamoDB's error.
	IndexError = entitytype.IndexError

	// UnprocessedError has the field Count: DynamoDB left part of a batch undone. It did so in Config.MaxAttempts requests in
	// a row; Count is that of keys or writes.
	UnprocessedError = entitytype.UnprocessedError
)

// The reasons of a [CursorError].
const (
	CursorMalformed = cursor.Malformed // not a cursor, or one of another form: encrypted or not, of another release
	CursorForeign   = cursor.Foreign   // of another query
	CursorAltered   = cursor.Altered   // changed, or encrypted under a key that is not accepted
	CursorGone      = cursor.Gone      // the rows of a timeline that it continues with were replaced and removed
)

// IsAmbiguous reports whether the write behind err may have been applied, or may still be: its response was lost,
// repeating it could have done harm, and the stored item does not prove that it was applied. Read the item, or repeat
// the call if a second application is harmless. For a call that sends many writes, such as [Store.PutMany] and
// [Store.Purge], it reports that a part of them was applied, or may have been.
func IsAmbiguous(err error) bool {
	var a *plan.Ambiguous
	return errors.As(err, &a)
}

// StoredItem returns the item that made a condition fail, as it was at that moment, and whether err has one that fits T.
func StoredItem[T any](err error) (T, bool) {
	var none T
	var refused *plan.Refused
	if !errors.As(err, &refused) || refused.Image == nil || refused.Schema.Type != typeOf((*T)(nil)) {
		return none, false
	}
	v, err := engine.Decode[T](&engine.Core{Schema: refused.Schema}, refused.Image)
	return v, err == nil
}
