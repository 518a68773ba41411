package migrate

import (
	"errors"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Option is accepted by [Rewrite]: [DryRun], [NewVersion], [Strict], [Checkpoint], [Restart], [OnProgress],
// entity.Segments, entity.Segment, entity.Budget.
type Option interface{ write.RewriteOption }

// CopyOption is accepted by [Copier.Run]: [DryRun], [Strict], [Restart], [OnProgress], entity.Segments, entity.Budget.
type CopyOption interface{ write.CopyOption }

// PassOption is accepted by [Copier.Verify] and [Copier.CutOver]: [OnProgress], entity.Segments, entity.Budget.
type PassOption interface{ write.PassOption }

// RunOption is accepted by [Rewrite] and [Copier.Run]: [DryRun], [Strict], [Restart].
type RunOption interface {
	Option
	CopyOption
}

// ProgressOption is accepted by [Rewrite] and by the passes of a copy: [OnProgress].
type ProgressOption interface {
	RunOption
	PassOption
}

type (
	forRewrite = write.ForRewrite
	forCopy    = write.ForCopy
	forPass    = write.ForPass
)

// DryRun makes [Rewrite] and [Copier.Run] read only. Their report says what a run would write, and in Estimate what that
// would cost.
func DryRun() RunOption { return forCopy{Do: func(s *write.Copy) { s.Dry = true }} }

// NewVersion makes each rewrite of a current item an update: it gets the next version and a new updated_at, and with
// versioned.Retain its last state becomes a snapshot. Without it, a rewrite leaves no trace in them.
func NewVersion() Option { return forRewrite{Do: func(s *write.Rewrite) { s.NewVersion = true }} }

// Strict makes [Rewrite] and [Copier.Run] end at the first item that has a problem, with an *[ItemError].
func Strict() RunOption { return forCopy{Do: func(s *write.Copy) { s.Strict = true }} }

// Checkpoint keeps the progress of a [Rewrite] in an item of the table, under a name: a letter, then letters, digits, _ and
// -. A run under the same name goes on where each segment was. Once the work is done, later runs return its report and read
// nothing else. While a run holds the lease of the checkpoint, others fail with [ErrRunning].
func Checkpoint(name string) Option {
	return forRewrite{Do: func(s *write.Rewrite) { s.Checkpoint = &name }}
}

// Restart makes [Rewrite] begin again, whatever its [Checkpoint] says, and [Copier.Run] whatever it has copied.
func Restart() RunOption { return forCopy{Do: func(s *write.Copy) { s.Restart = true }} }

// Progress is the progress of a [Rewrite], or of a pass of a copy; see [OnProgress]. Its fields are shown at [entitytype.RewriteProgress].
type Progress = entitytype.RewriteProgress

// OnProgress makes [Rewrite], [Copier.Run], [Copier.Verify] and [Copier.CutOver] call f after each page of items. One call is
// made at a time.
func OnProgress(f func(Progress)) ProgressOption {
	return forPass{Do: func(s *write.Pass) {
		if s.Progress = f; f == nil {
			s.Add(errors.New("OnProgress needs a function"))
		}
	}}
}
