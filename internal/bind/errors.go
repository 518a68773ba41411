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

// Codes of bad input, found before any request is sent. The comment of each is its line in docs/codes.md: the cause, the remedy, and the
// page of its feature.
const (
	CodeKeyPart            = "EDD-9101" // a key part is missing, empty or zero: fill it in, or tag it `entity:"zero"` [entities]
	CodeValue              = "EDD-9102" // a value cannot be stored or compared: correct it; truncate a time that is too fine [values]
	CodeRequired           = "EDD-9103" // a required attribute is missing or removed: give it a value [changes]
	CodeNotYours           = "EDD-9104" // a change of what the verb must not change: leave it out; only `Append` writes append fields [changes]
	CodePointer            = "EDD-9105" // a pointer or path is not a field of the prototype: use `entity.Fields`, or `entity.Attr` [changes]
	CodeOverlap            = "EDD-9107" // two changes overlap: make them one [changes]
	CodeOption             = "EDD-9108" // an option, number or empty transaction makes no sense here: drop or correct it [changes]
	CodeSameItem           = "EDD-9109" // two operations of a transaction write one item or claim: make them one, or send two [batches-and-transactions]
	CodeTooMany            = "EDD-9110" // a transaction has over 100 actions; an append has two: split it, or use `AppendAll` [batches-and-transactions]
	CodeCondition          = "EDD-9111" // a condition is malformed: complete it; order only strings, numbers and bytes [changes]
	CodeKeyFilter          = "EDD-9112" // a filter names a key attribute: give the condition without `Filter` [reading]
	CodeAhead              = "EDD-9113" // an event is further ahead than `maxAhead`: correct the clock, or the event [series]
	CodeForeign            = "EDD-9114" // an operation or query is nil or of another `DB`: build it with the same `DB` [batches-and-transactions]
	CodeOrderByRange       = "EDD-9115" // a history's condition is not on `orderBy`: use `entity.Filter` [series]
	CodeInvalid            = "EDD-9116" // a `Validate` method refused the value: correct it [entities]
	CodeTimeline           = "EDD-9133" // an argument of a timeline is out of bounds: see the sentence [timelines]
	CodeInMemory           = "EDD-9140" // a size or comparison of attributes would be evaluated in memory: use another condition [changes]
	CodeFullReplay         = "EDD-9150" // reading one group in the past would read a whole source: `PartitionKey` or `FullReplay` [timelines]
	CodeRefused            = "EDD-9130" // `Config.Validator` refused the value: correct it [entities]
	CodeBatch              = "EDD-9117" // a batch cannot keep this entity's guards: write one by one; perhaps `entity.Unconditional` [batches-and-transactions]
	CodeExpiryUnit         = "EDD-9118" // an expiry is in milliseconds: give seconds, or declare the unit, `entity:"time=unixms"` [expiry]
	CodeCollectionMismatch = "EDD-9126" // queries of a collection differ in partition, order or consistency: make them agree [reading]
	CodeCollection         = "EDD-9127" // a collection has no query of a partition, or a slice twice: one query and slice each [reading]
	CodeRoute              = "EDD-9123" // a route has no function or store, or is given twice: one `stream.On` per store [streams]
	CodeUnordered          = "EDD-9156" // a condition orders text that need not sort: use `Eq`, or `entity:"text=ordered"` [changes]
	CodeCursorKey          = "EDD-9155" // a cursor would show a secret: set `Config.CursorKey`, or read without pages [reading]
	CodeUnopened           = "EDD-9160" // a handle is nil or a zero value: use what the constructors return [entities]
	CodeContext            = "EDD-9161" // the context is nil: use `context.Background()` [entities]
	CodeHydrate            = "EDD-9165" // `entity.Hydrate` where no index entries are read: leave it out [reading]
	CodeTransaction        = "EDD-9167" // a transaction on tables with `MRSC`: write one by one, under conditions [tables]
	CodePartitions         = "EDD-9166" // `QueryAny` has none, over 100 or equal partitions, or a bound below their number: correct it [reading]
	CodeRewriteHistory     = "EDD-9170" // a rewrite would confuse a history without fixed times: `NewVersion`, or declare a time [evolution]
	CodeCheckpoint         = "EDD-9171" // a checkpoint is malformed, or the table's key no string: correct it, or run without [evolution]
	CodeUpgrade            = "EDD-9172" // upgrades skip a version, or cannot run on reads: one `entity.Upgrade` per stored version [evolution]
	CodePrepare            = "EDD-9180" // a `Prepare` method failed: see the error that it wraps [entities]
	CodeIDTime             = "EDD-9181" // the clock is outside the years of ids, 1970 to 10889: correct it, or give the id [values]
	CodeCopy               = "EDD-9185" // a copy has no name, function or second entity: give them [evolution]
	CodeCopyTarget         = "EDD-9186" // the target cannot carry copies: give the new entity a `$` key [evolution]
	CodeCopyChange         = "EDD-9187" // `Apply` of a copy got a change of no record: take it from `stream.Of` or `stream.On` [evolution]
	CodeConsoleLock        = "EDD-9196" // the schema lock is absent, damaged or of a later format: write it again [command]
	CodeConsoleName        = "EDD-9197" // the command line names what does not exist: use a name that the message lists [command]
	CodeConsoleKey         = "EDD-9198" // key parts are missing, unknown or mistyped: give name=value as `dynastrata schema` lists [command]
	CodeConsoleProgram     = "EDD-9199" // the command needs a program or table: use `console.Main`, or `--table` [command]
	CodeConsoleFile        = "EDD-9283" // a file exists or cannot be written, or is part of a dump: `--force`, or another name [command]
	CodeIDToken            = "EDD-9182" // an id is generated under the caller's token: give an id that follows from the token [batches-and-transactions]
	CodeApplyView          = "EDD-9188" // `Apply` cannot fold this timeline: use `CatchUp`, or give sources `PartitionKey` [timelines]
	CodeApplyChange        = "EDD-9189" // `Apply` got a change of no record, or without new image: use package `stream` [timelines]
	CodeNoCurrent          = "EDD-9190" // a series without current item was asked for it: read events by `At` or `History` [series]
	CodeRemove             = "EDD-9192" // `Remove` of an event in a shared table: `Purge` the series [series]
	CodeNoCurrentCondition = "EDD-9191" // an append without current item has a condition: leave it out [series]
	CodeErase              = "EDD-9240" // `DeleteAll` got no query, or one of another store: make it with that store [batches-and-transactions]
	CodeJobTicket          = "EDD-9193" // a job's ticket is malformed: use what `Job.Ticket` returned [timelines]
	CodeJobOther           = "EDD-9194" // a ticket is of another view, definition or job: run the coordinator's program [timelines]
	CodeNoContext          = "EDD-9251" // the context lacks a required value: put it into the context, or drop `required` [timestamps]
	CodeJobPart            = "EDD-9195" // a part, record or row is not of the job: hand them on as they are [timelines]
	CodeOmitted            = "EDD-9272" // a state was too large to keep its content, or was erased: use another version [versions]
	CodeLease              = "EDD-9220" // a lease's `Skew` is over half its `Duration`, or negative: correct them [leases]
	CodeLeaseWork          = "EDD-9221" // `Held.Keep` has no function: give it the work [leases]
	CodeReaderName         = "EDD-9231" // a reader's `Name` reads another table: give each table a reader of its own [streams]
	CodeRecord             = "EDD-9232" // a record is damaged, or not of a table: let `OnUndecodable` keep it [streams]
	CodeReader             = "EDD-9230" // options of a reader do not fit: see the sentence [streams]
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

func Sentinels(class string) []error { return sentinels[class] }
