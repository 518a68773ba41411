package migrate

import (
	"errors"
	"fmt"
	"time"
)

// Classes of errors.
var (
	// ErrRunning says that another run holds the lease of the checkpoint. It is a *[RunningError].
	ErrRunning = errors.New("another run is at work")
	// ErrLeaseLost says that another run took over the checkpoint, because this one did not renew its lease in time.
	ErrLeaseLost = errors.New("another run took over")
	// ErrOtherWork says that a checkpoint is of another declaration, or of other options. It is a *[CheckpointError].
	ErrOtherWork = errors.New("the checkpoint is of other work")
)

// RunningError is an [ErrRunning].
type RunningError struct {
	Checkpoint string    // name
	Owner      string    // id of the other run
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

// ItemError ends a [Strict] run: an item that cannot be rewritten.
type ItemError struct {
	Key     string // its primary key; secret parts are hidden
	Problem Problem
}

func (e *ItemError) Error() string { return "item " + e.Key + ": " + string(e.Problem) }
