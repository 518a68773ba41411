package timeline

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
)

// Classes of errors, for errors.Is.
var (
	// ErrRebuildRequired is a *[StaleError]: the rows are of another definition, or a catch-up has none to go on from.
	ErrRebuildRequired = bind.Sentinel(bind.Unavailable, "the rows must be rebuilt")
	// ErrBuilding is a *[BuildingError]: another builder is at work.
	ErrBuilding = bind.Sentinel(bind.Unavailable, "another builder is at work")
	// ErrLeaseLost reports that another builder took over from this one, or may have. This one stopped. It is lease.ErrLost.
	ErrLeaseLost = lease.ErrLost
	// ErrPartUnread reports that a part of the history was not read before [Job.Finish].
	ErrPartUnread = bind.Sentinel(bind.WrongInput, "a part of the history has not been read")
	// ErrGroupKeyMissing reports that an event has no group key.
	ErrGroupKeyMissing = errors.New("the event has no group key")
	// ErrHistoryGap is a *[HistoryExpiredError]: history before the requested time has expired.
	ErrHistoryGap = bind.Sentinel(bind.NotFound, "history has expired")
	// ErrIncomplete reports that a read with [RequireComplete] found a history that is not proven complete.
	ErrIncomplete = bind.Sentinel(bind.Unavailable, "the history is not complete")
	// ErrNoAcceptTime reports that a source does not record when its events were accepted.
	ErrNoAcceptTime = errors.New("a source does not record when its events were accepted")
	// ErrDuplicate is the cause of an *[EventError]: two events have the same identity but different content.
	ErrDuplicate = errors.New("another event has the same source, time and key")
	// ErrPayloadVersion is the cause of an *[EventError]: the source cannot read the payload's version.
	ErrPayloadVersion = errors.New("unknown payload version")
	// ErrUnknownEvent is the cause of an *[EventError]: a classifier returned a name that was not declared.
	ErrUnknownEvent = errors.New("the event's name was not declared")
)

// StaleError reports that the stored rows were built by another definition, or, to a catch-up, that none were built yet. It
// matches [ErrRebuildRequired].
type StaleError struct {
	View string // name of the view
	Have string // fingerprint of the stored rows; "" if there are none
	Want string // fingerprint of the running definition
}

func (e *StaleError) Error() string {
	if e.Have == "" {
		return fmt.Sprintf("timeline %s: %v: none were built yet", e.View, ErrRebuildRequired)
	}
	return fmt.Sprintf("timeline %s: %v: they were built by definition %s, the program has %s", e.View, ErrRebuildRequired, e.Have, e.Want)
}

// Is reports whether target is [ErrRebuildRequired].
func (e *StaleError) Is(target error) bool { return target == ErrRebuildRequired }

// BuildingError reports that another builder holds the lease. It matches [ErrBuilding].
type BuildingError struct {
	View     string
	Owner    string    // id of the builder
	Until    time.Time // end of its lease, unless renewed
	Progress *float64  // fraction of the history read, 0 to 1; nil if unknown
}

func (e *BuildingError) Error() string {
	return fmt.Sprintf("timeline %s: %v, with a lease until %s", e.View, ErrBuilding, e.Until.UTC().Format(time.RFC3339))
}

// Is reports whether target is [ErrBuilding].
func (e *BuildingError) Is(target error) bool { return target == ErrBuilding }

// ApplyError reports that [View.Apply] did not apply all changes. The others are applied, and may be given again.
type ApplyError struct {
	View       string
	NotApplied []int  // indexes of the changes that were not applied, in order: those that failed, and what waits for them
	Sequence   string // sequence number of the record of the first one, which failed, for stream.BatchItemFailure
	Err        error  // joins the errors of their groups
}

func (e *ApplyError) Error() string {
	return fmt.Sprintf("timeline %s: %d changes were not applied: %v", e.View, len(e.NotApplied), e.Err)
}

// Unwrap returns the cause.
func (e *ApplyError) Unwrap() error { return e.Err }

// HistoryExpiredError reports that the history does not reach back to the requested time. It matches [ErrHistoryGap].
type HistoryExpiredError struct {
	View  string
	At    time.Time // requested time
	Floor time.Time // events at or after it have not expired
}

func (e *HistoryExpiredError) Error() string {
	return fmt.Sprintf("timeline %s: %v: it is complete from %s, not at %s", e.View, ErrHistoryGap, e.Floor.UTC().Format(time.RFC3339), e.At.UTC().Format(time.RFC3339))
}

// Is reports whether target is [ErrHistoryGap].
func (e *HistoryExpiredError) Is(target error) bool { return target == ErrHistoryGap }

// Stage is the step of a replay that failed for an event.
type Stage string

// The stages of an [EventError].
const (
	Decoding  Stage = "decode"    // the stored payload does not fit its type
	Upgrading Stage = "upgrade"   // an earlier payload could not be upgraded
	Naming    Stage = "name"      // the classifier returned an undeclared name
	Grouping  Stage = "group key" // the event has no group key, or is outside its group's partition
	Handling  Stage = "handler"   // the handler returned an error
	History   Stage = "history"   // the history contradicts itself
	Storing   Stage = "store"     // the row cannot be stored
)

// EventError is an event that stopped a replay. If a row could not be stored, it is the row's last event. Unwrap
// returns the cause. If a payload, the state or the group key has a secret field, the text of an error of the program's own
// functions is left out, here and in [Failure].Message.
type EventError struct {
	View    string
	Stage   Stage
	Event   string // name
	Source  string
	Key     string // identity within the source
	Group   string // key of the row that could not be stored, without values of secret and unique fields; "" for other failures
	Payload int    // payload version that the event was stored with
	Err     error
}

func (e *EventError) Error() string {
	if e.Group != "" {
		return fmt.Sprintf("timeline %s: group %s, after event %s %s of %s: %s: %v", e.View, e.Group, e.Event, e.Key, e.Source, e.Stage, e.Err)
	}
	return fmt.Sprintf("timeline %s: event %s %s of %s, payload version %d: %s: %v", e.View, e.Event, e.Key, e.Source, e.Payload, e.Stage, e.Err)
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// hiddenError is the error of a function of the program whose text may quote a secret. Unwrap returns it.
type hiddenError struct{ err error }

func (hiddenError) Error() string {
	return "the text of the error is left out, because it may quote a secret field"
}

func (e hiddenError) Unwrap() error { return e.err }

// hidden returns err without its text if a type has a field with the role secret.
func hidden(err error, types ...reflect.Type) error {
	if err != nil && holdSecret(types, map[reflect.Type]bool{}) {
		return hiddenError{err}
	}
	return err
}

// hiddenUnlessField is hidden for an error of a codec, whose own errors contain no values.
func hiddenUnlessField(err error, types ...reflect.Type) error {
	if field := (*item.FieldError)(nil); errors.As(err, &field) {
		return err
	}
	return hidden(err, types...)
}

// holdSecret reports whether one of the types has a field with the role secret.
func holdSecret(types []reflect.Type, seen map[reflect.Type]bool) bool {
	return slices.ContainsFunc(types, func(t reflect.Type) bool {
		if seen[t] {
			return false
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			return holdSecret([]reflect.Type{t.Elem()}, seen)
		case reflect.Map:
			return holdSecret([]reflect.Type{t.Key(), t.Elem()}, seen)
		case reflect.Struct:
			for i := range t.NumField() {
				f := t.Field(i)
				words := strings.Split(f.Tag.Get("entity"), ",")
				if slices.Contains(words, string(schema.Secret)) || holdSecret([]reflect.Type{f.Type}, seen) {
					return true
				}
			}
		}
		return false
	})
}

// LimitError reports that a history exceeds a limit of a replay. Rows built so far are not served.
type LimitError struct {
	View  string
	What  string // what exceeds the limit
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("timeline %s: more than %d %s", e.View, e.Limit, e.What)
}

// ErrStateLost is the cause of an *[EventError]: a state would be read back from storage as a different one.
var ErrStateLost = errors.New("the state would be read back from storage as a different one")

// badOption returns the error for a mistake in the arguments of a call.
func badOption(format string, args ...any) error {
	return &entitytype.InputError{Code: bind.CodeTimeline, Type: "timeline", Problem: fmt.Sprintf(format, args...)}
}

var errNoDB = badOption("the database is nil")
