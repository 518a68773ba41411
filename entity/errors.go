package entity

import (
	"errors"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Classes of errors, for errors.Is. The SDK's error, where there is one, is found behind them with errors.As.
var (
	ErrNotFound        = plan.ErrNotFound        // there is no live item with that key
	ErrExists          = plan.ErrExists          // there is an item with that key
	ErrConflict        = plan.ErrConflict        // another write came between, more often than MaxAttempts allows
	ErrConditionFailed = plan.ErrConditionFailed // the caller's condition, or one that a tag implies, did not hold
	ErrTooLarge        = plan.ErrTooLarge        // an item, key or transaction is larger than DynamoDB allows
	ErrInvalidCursor   = plan.ErrInvalidCursor   // a cursor cannot be used; a *CursorError says why
	ErrDeleted         = plan.ErrDeleted         // the item was deleted and can be restored
	ErrNotDeleted      = plan.ErrNotDeleted      // there is nothing to restore: the item is there
	ErrKeyCase         = plan.ErrKeyCase         // the stored key differs from the given one in case, under LowerCase
	ErrItemHidden      = plan.ErrItemHidden      // the client hides the item that refused a write, so why it was refused is not known
	ErrReadBack        = plan.ErrReadBack        // the write is decided, but the item it left could not be read
	ErrMultipleItems   = plan.ErrMultipleItems   // more than one item
	ErrNoTable         = exec.ErrNoTable         // the table does not exist
	ErrNoIndex         = exec.ErrNoIndex         // the table does not have the index; it is an *IndexError
	ErrTokenReused     = exec.ErrTokenReused     // the idempotency token was used for another request
	ErrNoClient        = exec.ErrNoClient        // the DB was opened without a client
)

type (
	// Error says which verb failed on which item; every error of a verb is one. Key hides secret parts.
	Error = plan.Error
	// SchemaError is one mistake in a declaration, found when a store is built. docs/validation.md lists the codes.
	SchemaError = schema.Error
	// InputError is a mistake in the arguments of a call, found before any request. docs/validation.md lists the codes.
	InputError = plan.InputError
	// ConditionError is an ErrConditionFailed that names the attribute which made a condition of the library's fail.
	ConditionError = plan.ConditionError
	// CursorError is an ErrInvalidCursor that says why the cursor cannot be used.
	CursorError = cursor.Error
	// CursorReason is why a cursor cannot be used: CursorMalformed, CursorForeign, CursorAltered or CursorGone.
	CursorReason = cursor.Reason
	// IndexError is an ErrNoIndex that names the table and the index, and says whether it is still being built.
	IndexError = exec.IndexError
	// KeyCaseError is an ErrKeyCase that names the key part.
	KeyCaseError = plan.KeyCaseError
	// ValidationError is a value that its own Validate method or the [Validator] refused, found before any request. A
	// field's type that has the method is asked whenever the field is written, the struct itself when a whole value is.
	ValidationError = plan.ValidationError
	// DecodeError is a stored item that does not fit the struct.
	DecodeError = plan.DecodeError
)

// The reasons of a [CursorError].
const (
	CursorMalformed = cursor.Malformed // the text is no cursor, or one of another form: encrypted or not, of another release
	CursorForeign   = cursor.Foreign   // it is of another query
	CursorAltered   = cursor.Altered   // it was changed, or encrypted under a key that is not accepted
	CursorGone      = cursor.Gone      // the rows of a timeline that it goes on with were replaced and removed
)

// IsAmbiguous reports that the write behind err may have been applied, or may still be: its answer was lost, repeating it
// could have done harm, and the stored item does not prove that it was applied. Read the item, or repeat the call if a
// second application is harmless. Of a call that sends many writes, such as [Store.PutMany] and
// [Store.Purge], it reports that part of them has been applied, or may have been.
func IsAmbiguous(err error) bool {
	var a *plan.Ambiguous
	return errors.As(err, &a)
}

// StoredItem returns the item that made a condition fail, as it was at that moment, and whether err has one that fits T.
func StoredItem[T any](err error) (T, bool) {
	var none T
	var refused *plan.Refused
	if !errors.As(err, &refused) || refused.Image == nil || refused.Schema.Type != typeOf[T]() {
		return none, false
	}
	v, err := core.Decode[T](&core.Core{Schema: refused.Schema}, refused.Image)
	return v, err == nil
}
