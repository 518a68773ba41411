package cursor

import "github.com/dynastrata/dynastrata/internal/plan"

// Reason says why a cursor cannot be used.
type Reason string

// The reasons.
const (
	Malformed Reason = "malformed" // the text is no cursor of this library, or one of another form
	Foreign   Reason = "foreign"   // it is of another query
	Altered   Reason = "altered"   // it was changed, or encrypted under a key that is not accepted
	Gone      Reason = "gone"      // what it goes on with is not there any more
)

var reasons = map[Reason]string{
	Malformed: "it is malformed",
	Foreign:   "it is of another query",
	Altered:   "it was altered, or encrypted under a key that is not accepted",
	Gone:      "what it goes on with is not there any more",
}

// Error is a cursor that cannot be used. It is plan.ErrInvalidCursor.
type Error struct{ Reason Reason }

func (e *Error) Error() string { return plan.ErrInvalidCursor.Error() + ": " + reasons[e.Reason] }

// Is makes the error a plan.ErrInvalidCursor.
func (e *Error) Is(target error) bool { return target == plan.ErrInvalidCursor }
