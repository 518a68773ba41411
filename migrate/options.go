package migrate

import (
	"errors"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// Option is accepted by [Rewrite]: [DryRun], [NewVersion], [Strict], [Checkpoint], [Restart], [OnProgress],
// entity.Segments, entity.Segment, entity.Budget.
type Option interface{ opt.RewriteOption }

type forRewrite = opt.ForRewrite

// DryRun makes [Rewrite] read only. Its report says what a run would write, and in Estimate what that would cost.
func DryRun() Option { return forRewrite{Do: func(s *opt.Rewrite) { s.Dry = true }} }

// NewVersion makes each rewrite of a current item an update: it gets the next version and a new updated_at, and with
// versioned.Retain its last state becomes a snapshot. Without it, a rewrite leaves no trace in them.
func NewVersion() Option { return forRewrite{Do: func(s *opt.Rewrite) { s.NewVersion = true }} }

// Strict makes [Rewrite] end at the first item that cannot be rewritten, with an *[ItemError].
func Strict() Option { return forRewrite{Do: func(s *opt.Rewrite) { s.Strict = true }} }

// Checkpoint keeps the progress of a [Rewrite] in an item of the table, under a name: a letter, then letters, digits, _ and
// -. A run under the same name goes on where each segment was. Once the work is done, later runs return its report and read
// nothing else. While a run holds the lease of the checkpoint, others fail with [ErrRunning].
func Checkpoint(name string) Option {
	return forRewrite{Do: func(s *opt.Rewrite) { s.Checkpoint = &name }}
}

// Restart makes [Rewrite] begin again, whatever its [Checkpoint] says.
func Restart() Option { return forRewrite{Do: func(s *opt.Rewrite) { s.Restart = true }} }

// Progress is the progress of a [Rewrite]; see [OnProgress]. Its fields are shown at [entitytype.RewriteProgress].
type Progress = entitytype.RewriteProgress

// OnProgress makes [Rewrite] call f after each page of items. One call is made at a time.
func OnProgress(f func(Progress)) Option {
	return forRewrite{Do: func(s *opt.Rewrite) {
		if s.Progress = f; f == nil {
			s.Add(errors.New("OnProgress needs a function"))
		}
	}}
}
