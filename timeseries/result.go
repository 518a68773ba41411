package timeseries

import "fmt"

// Reason says why an append was not applied to the current item.
type Reason string

// Reasons. None of them is an error of Append: they are what clocks and retries of a fleet lead to.
const (
	Older           Reason = "older"     // the current item is at or after the event; the event was dropped
	LateRecorded    Reason = "recorded"  // the same, but the event was kept in the history (late:"record")
	Duplicate       Reason = "duplicate" // this very event is in the history already
	Collision       Reason = "collision" // another event with this orderBy is in the history; Stored is that one
	ConditionFailed Reason = "refused"   // the event is newer, but the caller's condition did not hold
)

// Result of an append.
type Result[T any] struct {
	Applied  bool   // the event is in the history and the current item was brought up to it
	Reason   Reason // why not; "" when applied. "" and not applied: undecided, because of an error
	Current  T      // the current item, at or after this event; zero after WithoutCurrent when it took a read to know it
	Existing *T     // the stored event of a Duplicate or Collision
}

// NotAppliedError is the failure of an append inside a transaction, where an outcome would leave the other operations
// undecided. entity.StoredItem gives the item that won.
type NotAppliedError struct{ Reason Reason }

func (e *NotAppliedError) Error() string { return fmt.Sprintf("event not applied: %s", e.Reason) }

// OrderByTypeError is a stored orderBy of another DynamoDB type than the struct's, so that the two have no order. The
// table was written by another version of the struct or by hand.
type OrderByTypeError struct{ Attr string }

func (e *OrderByTypeError) Error() string {
	return "the stored orderBy attribute " + e.Attr + " is of another type than the struct's"
}
