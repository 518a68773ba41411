package timeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// Classes of errors, for errors.Is.
var (
	// ErrRebuildRequired is a *[StaleError]: there are no rows of this definition.
	ErrRebuildRequired = errors.New("the rows have to be rebuilt")
	// ErrBuilding is a *[BuildingError]: another builder is at work.
	ErrBuilding = errors.New("another builder is at work")
	// ErrLeaseLost says that another builder took over from this one, which stopped.
	ErrLeaseLost = errors.New("another builder has taken over")
	// ErrGroupKeyMissing says that an event lacks what it is to be grouped by.
	ErrGroupKeyMissing = errors.New("the event lacks its group key")
	// ErrHistoryGap is a *[HistoryExpiredError]: history before the wanted instant has expired.
	ErrHistoryGap = errors.New("history has expired")
	// ErrIncomplete says that [RequireComplete] was asked for and the history behind the rows is not complete.
	ErrIncomplete = errors.New("the history is not complete")
	// ErrNoAcceptTime says that a source does not tell when its events were accepted.
	ErrNoAcceptTime = errors.New("a source does not tell when its events were accepted")
	// ErrDuplicate is the cause of an *[EventError]: two events have one identity and different content.
	ErrDuplicate = errors.New("another event has the same source, time and key")
	// ErrPayloadVersion is the cause of an *[EventError]: the payload's version is outside of what the source reads.
	ErrPayloadVersion = errors.New("the payload version is not known")
	// ErrUnknownEvent is the cause of an *[EventError]: a classifier gave a name that it did not declare.
	ErrUnknownEvent = errors.New("the event's name was not declared")
)

// StaleError says that the stored rows are not those of the running definition. It is [ErrRebuildRequired].
type StaleError struct {
	View string // name of the view
	Have string // fingerprint of the stored rows; "" when there are none
	Want string // fingerprint of the running definition
}

func (e *StaleError) Error() string {
	if e.Have == "" {
		return fmt.Sprintf("timeline %s: %v: there are none yet", e.View, ErrRebuildRequired)
	}
	return fmt.Sprintf("timeline %s: %v: they are of definition %s, the program has %s", e.View, ErrRebuildRequired, e.Have, e.Want)
}

// Is makes it an [ErrRebuildRequired].
func (e *StaleError) Is(target error) bool { return target == ErrRebuildRequired }

// BuildingError says who builds. It is [ErrBuilding].
type BuildingError struct {
	View     string
	Owner    string    // id of the builder
	Until    time.Time // when its lease ends unless it renews it
	Progress *float64  // how far it is, 0 to 1; nil if unknown
}

func (e *BuildingError) Error() string {
	return fmt.Sprintf("timeline %s: %v, with a lease until %s", e.View, ErrBuilding, e.Until.UTC().Format(time.RFC3339))
}

// Is makes it an [ErrBuilding].
func (e *BuildingError) Is(target error) bool { return target == ErrBuilding }

// HistoryExpiredError says that the history does not reach back to the wanted instant. It is [ErrHistoryGap].
type HistoryExpiredError struct {
	View  string
	At    time.Time // wanted
	Floor time.Time // nothing at or after it has expired
}

func (e *HistoryExpiredError) Error() string {
	return fmt.Sprintf("timeline %s: %v: it is complete from %s on, not at %s", e.View, ErrHistoryGap, e.Floor.UTC().Format(time.RFC3339), e.At.UTC().Format(time.RFC3339))
}

// Is makes it an [ErrHistoryGap].
func (e *HistoryExpiredError) Is(target error) bool { return target == ErrHistoryGap }

// Stage says what could not be done with an event.
type Stage string

// The categories of an [EventError].
const (
	Decoding  Stage = "decode"    // the stored payload does not fit its type
	Upgrading Stage = "upgrade"   // an earlier payload could not be brought to today's shape
	Naming    Stage = "name"      // the classifier failed or gave an unknown name
	Grouping  Stage = "group key" // the event has no group, or one of another partition
	Handling  Stage = "handler"   // the handler returned an error
	History   Stage = "history"   // the history contradicts itself
	Storing   Stage = "store"     // the row cannot be stored
)

// EventError is an event that stopped a replay, or the last one of a row that cannot be stored. Unwrap gives the cause.
type EventError struct {
	View    string
	Stage   Stage
	Event   string // name
	Source  string
	Key     string // identity within the source
	Group   string // of a row that cannot be stored: its key, without values of secret and unique fields; the event is its last
	Payload int    // payload version that it was stored with
	Err     error
}

func (e *EventError) Error() string {
	if e.Group != "" {
		return fmt.Sprintf("timeline %s: group %s, after event %s %s of %s: %s: %v", e.View, e.Group, e.Event, e.Key, e.Source, e.Stage, e.Err)
	}
	return fmt.Sprintf("timeline %s: event %s %s of %s, payload version %d: %s: %v", e.View, e.Event, e.Key, e.Source, e.Payload, e.Stage, e.Err)
}

// Unwrap gives the cause.
func (e *EventError) Unwrap() error { return e.Err }

// LimitError is a bound of a replay that a history goes beyond. What was built so far is not served.
type LimitError struct {
	View  string
	What  string // what there is too much of
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("timeline %s: more than %d %s", e.View, e.Limit, e.What)
}

// ErrStateLost is the cause of an *[EventError]: a state would come back from storage as another one.
var ErrStateLost = errors.New("the state would come back from storage as another one")

// badOption is a mistake in the arguments of a call.
func badOption(format string, args ...any) error {
	return &plan.InputError{Code: plan.CodeTimeline, Type: "timeline", Problem: fmt.Sprintf(format, args...)}
}

var errNoDB = badOption("the database is nil")
