package bind

import (
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Codes of bad input, found before any request is sent. docs/validation.md explains each.
const (
	CodeKeyPart            = "EDD-9101" // a key part is missing or zero
	CodeValue              = "EDD-9102" // a value cannot be stored
	CodeRequired           = "EDD-9103" // a required attribute is missing
	CodeNotYours           = "EDD-9104" // a change that the verb must not make
	CodePointer            = "EDD-9105" // a pointer that is not into a prototype of the type
	CodeNoChange           = "EDD-9106" // an update without a change
	CodeOverlap            = "EDD-9107" // two changes of one attribute
	CodeOption             = "EDD-9108" // an option that makes no sense here
	CodeSameItem           = "EDD-9109" // two operations on one item in a transaction
	CodeTooMany            = "EDD-9110" // more actions than a transaction can have
	CodeCondition          = "EDD-9111" // a malformed condition
	CodeKeyFilter          = "EDD-9112" // a filter on an attribute of the key
	CodeAhead              = "EDD-9113" // an event too far in the future
	CodeForeign            = "EDD-9114" // an operation of another database handle
	CodeOrderByRange       = "EDD-9115" // a history condition that is not on orderBy
	CodeInvalid            = "EDD-9116" // a value that its own Validate method rejected
	CodeTimeline           = "EDD-9133" // an argument of a timeline's constructor, read or build
	CodeInMemory           = "EDD-9140" // a condition that only DynamoDB evaluates, where one is evaluated in memory
	CodeFullReplay         = "EDD-9150" // a read of one timeline group that would read all of its sources
	CodeRefused            = "EDD-9130" // a value that Config.Validator rejected
	CodeBatch              = "EDD-9117" // a batch write of an entity whose writes need more than a batch offers
	CodeExpiryUnit         = "EDD-9118" // an expiry in milliseconds
	CodeCollectionMismatch = "EDD-9126" // queries of a collection that differ in partition, order or consistency
	CodeCollection         = "EDD-9127" // a collection without queries, or with one that cannot be read in a collection
	CodeRoute              = "EDD-9123" // an invalid route of stream records
	CodeUnordered          = "EDD-9156" // a condition on the order of texts that need not sort as their values
	CodeCursorKey          = "EDD-9155" // a page whose cursor would expose a secret
	CodeUnopened           = "EDD-9160" // a handle or database that is nil or a zero value
	CodeContext            = "EDD-9161" // a nil context
	CodeHydrate            = "EDD-9165" // whole items of a query that has no entries of an index to read them by
	CodeTransaction        = "EDD-9167" // a transaction on tables that have none
	CodePartitions         = "EDD-9166" // no partitions, too many, or one twice in a query of several
	CodeRewriteHistory     = "EDD-9170" // a rewrite without new versions of an entity whose history has no times
	CodeCheckpoint         = "EDD-9171" // a checkpoint of a rewrite that the table cannot hold, or without a name
	CodeUpgrade            = "EDD-9172" // upgrades that skip a payload version, or items that cannot be upgraded when they are read
	CodePrepare            = "EDD-9180" // a value whose Prepare method failed
	CodeIDTime             = "EDD-9181" // a clock that generated ids cannot hold
	CodeCopy               = "EDD-9185" // a copy without a name or a function, or of an entity into itself
	CodeCopyTarget         = "EDD-9186" // a copy into items that cannot carry what a copy needs
	CodeCopyChange         = "EDD-9187" // a change that was not made of a record, given to a copy
	CodeConsoleLock        = "EDD-9196" // a schema lock that the command cannot use
	CodeConsoleName        = "EDD-9197" // an entity, index, view or version that the command does not know
	CodeConsoleKey         = "EDD-9198" // key parts on the command line that are missing, unknown or of another type
	CodeConsoleProgram     = "EDD-9199" // a command that needs the declarations of a program, or a table
	CodeConsoleFile        = "EDD-9283" // a file that the command does not write, or not read
	CodeIDToken            = "EDD-9182" // a generated id in a transaction under the caller's token
	CodeApplyView          = "EDD-9188" // a timeline whose rows Apply cannot change
	CodeApplyChange        = "EDD-9189" // a change that Apply cannot read
	CodeNoCurrent          = "EDD-9190" // a call about the current item of a series that has none
	CodeNoCurrentCondition = "EDD-9191" // a condition for an append to such a series
	CodeErase              = "EDD-9240" // a query of another store, or of no store, for DeleteAll or PurgeAll
	CodeJobTicket          = "EDD-9193" // a malformed ticket of a job
	CodeJobOther           = "EDD-9194" // a ticket of another view or definition
	CodeNoContext          = "EDD-9251" // a required attribute for which the context of the call has no value
	CodeJobPart            = "EDD-9195" // a part, record or row that is not of the job
	CodeOmitted            = "EDD-9272" // a past state without its content, which was too large to keep; met by a read
	CodeLease              = "EDD-9220" // durations of a lease that do not fit
	CodeLeaseWork          = "EDD-9221" // work under a lease without a function
	CodeReaderName         = "EDD-9231" // a name under which another table is read
	CodeReader             = "EDD-9230" // options of a reader of a stream that do not fit
)

// Invalid returns an *InputError about attribute a, or about the type if a is nil.
func Invalid(s *schema.Schema, code string, a *schema.Attr, format string, args ...any) error {
	field := ""
	if a != nil {
		field = a.Field
	}
	return &entitytype.InputError{Code: code, Type: s.Type.String(), Field: field, Problem: fmt.Sprintf(format, args...)}
}

// ValueError converts an encoding error to an *InputError. It drops the cause, which may quote the value.
func ValueError(s *schema.Schema, a *schema.Attr, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *item.FieldError:
		if a == nil {
			a = s.Attr(e.Attr)
		}
		return Invalid(s, CodeValue, a, "%s", e.Problem)
	case *key.PartError:
		return Invalid(s, CodeValue, a, "%s", e.Problem)
	}
	return Invalid(s, CodeValue, a, "the value cannot be stored (%T)", err)
}

// KeyError converts an error of package key to an *InputError.
func KeyError(s *schema.Schema, err error) error {
	if e, ok := err.(*key.PartError); ok {
		return Invalid(s, CodeValue, s.Attr(e.Attr), "%s", e.Problem)
	}
	return Invalid(s, CodeValue, nil, "%v", err)
}

// SizeError reports what is larger than DynamoDB allows. It is an ErrTooLarge.
type SizeError struct{ Type, Problem string }

func (e *SizeError) Error() string { return e.Type + ": too large: " + e.Problem }

// Is reports whether target is ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == sentinel.ErrTooLarge }

func TooLarge(s *schema.Schema, format string, args ...any) error {
	return &SizeError{s.Type.String(), fmt.Sprintf(format, args...)}
}

// JoinErrors returns nil for no error, a single error as it is, and several as one.
func JoinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Classes of the errors that other packages declare, for entity.ClassOf.
const (
	WrongInput  = "invalid input"
	NotFound    = "not found"
	Conflict    = "conflict"
	Unavailable = "unavailable"
)

// sentinels are the errors made by Sentinel while packages are initialized, by class.
var sentinels = map[string][]error{}

// Sentinel returns an error of a class, to be a variable of a package.
func Sentinel(class, text string) error {
	err := errors.New(text)
	sentinels[class] = append(sentinels[class], err)
	return err
}

// Sentinels returns the errors of a class.
func Sentinels(class string) []error { return sentinels[class] }
