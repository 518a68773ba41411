package migrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/lease"
)

// Classes of errors.
var (
	// ErrRunning says that another run holds the lease of the checkpoint. It is a *[RunningError].
	ErrRunning = bind.Sentinel(bind.Unavailable, "another run is at work")
	// ErrLeaseLost says that another run took over the checkpoint, or may have. This one did not renew its lease in time. It is
	// lease.ErrLost.
	ErrLeaseLost = lease.ErrLost
	// ErrOtherWork says that a checkpoint is of another declaration, or of other options. It is a *[CheckpointError].
	ErrOtherWork = errors.New("the checkpoint is of other work")
	// ErrCutOver says that the new items of a copy lead. Nothing is copied any more.
	ErrCutOver = errors.New("the copy is cut over")
	// ErrNotBegun says that a copy has not begun.
	ErrNotBegun = errors.New("the copy has not begun")
	// ErrUnsettled says that the two sides of a copy are not equal, so it was not cut over. It is an *[UnsettledError].
	ErrUnsettled = bind.Sentinel(bind.Conflict, "the two sides are not equal")
)

// Skip is returned by the function of a [Copy] to leave an item out. An earlier copy of it is removed.
//
//lint:ignore ST1012 named as fs.SkipDir
var Skip = errors.New("the item is left out") //nolint:staticcheck // named as fs.SkipDir

// UnsettledError is an [ErrUnsettled].
type UnsettledError struct {
	Report Report // of the last pass: what was written in it, and what has a problem; empty if Thawed
	Thawed bool   // Thaw was called before the copy was cut over, so the old program may write again
}

func (e *UnsettledError) Error() string {
	if e.Thawed {
		return "the copy was thawed before it was cut over"
	}
	return "the two sides are not equal: in the last pass " + e.Report.String()
}

// Is reports whether target is ErrUnsettled.
func (e *UnsettledError) Is(target error) bool { return target == ErrUnsettled }

// RunningError is an [ErrRunning].
type RunningError struct {
	Checkpoint string    // name
	Owner      string    // host and process id of the other run
	Until      time.Time // when its lease ends, unless it renews it
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("checkpoint %s: another run is at work until %s, or longer", e.Checkpoint, e.Until.UTC().Format(time.RFC3339))
}

// Is reports whether target is ErrRunning.
func (e *RunningError) Is(target error) bool { return target == ErrRunning }

// CheckpointError is an [ErrOtherWork].
type CheckpointError struct {
	Checkpoint string // name
	Problem    string
}

func (e *CheckpointError) Error() string { return "checkpoint " + e.Checkpoint + ": " + e.Problem }

// Is reports whether target is ErrOtherWork.
func (e *CheckpointError) Is(target error) bool { return target == ErrOtherWork }

// ItemError says that an item cannot be rewritten, or copied. It ends a [Strict] run.
type ItemError struct {
	Key     string // its primary key; secret parts are hidden
	Problem Problem
}

func (e *ItemError) Error() string { return "item " + e.Key + ": " + string(e.Problem) }
