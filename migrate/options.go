package migrate

import (
	"errors"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
)

// Option is accepted by [Rewrite]: [NewVersion], [Ends], [Checkpoint], entity.Segment, any [CopyOption].
type Option interface{ bind.RewriteOption }

// CopyOption is accepted by [Copier.Run] and [Rewrite]: [DryRun], [Strict], [Restart], any [PassOption].
type CopyOption interface {
	Option
	bind.CopyOption
}

// PassOption is accepted by all of these, and by [Copier.Verify], [Copier.CutOver], [Check], [VerifyUnique] and
// [RepairUnique]: [OnProgress], entity.Segments, entity.Budget.
type PassOption interface {
	CopyOption
	bind.PassOption
}

// DryRun makes [Rewrite] and [Copier.Run] read only. Their report says what a run would write, and in Estimate what that
// would cost.
func DryRun() CopyOption { return bind.Option{Setting: func(o *bind.Options) { o.Dry = true }} }

// NewVersion makes each rewrite of a current item an update: it gets the next version and a new updated_at, and with
// versioned.Retain its last state becomes a snapshot. Without it, a rewrite leaves no trace in them.
func NewVersion() Option {
	return bind.Option{Setting: func(o *bind.Options) { o.NewVersion = true }}
}

// Ends makes [Rewrite] set the end that an item lacks, as it was counted from the attribute from of lifecycle.TTL: of items that are
// older than the declaration, or written by other programs. It is an option because a rewrite cannot know which ends a program has
// removed on purpose, so that the item lives for ever; it sets these too. An item whose end has passed is gone then. [Check] reports
// what it would change as [Endless]. Without from it is refused, since nothing stored says when such an item ends.
func Ends() Option { return bind.Option{Setting: func(o *bind.Options) { o.Ends = true }} }

// Strict makes [Rewrite] and [Copier.Run] end at the first item that has a problem, with an *[ItemError].
func Strict() CopyOption { return bind.Option{Setting: func(o *bind.Options) { o.Strict = true }} }

// Checkpoint keeps the progress of a [Rewrite] in an item of the table, under a name: a letter, then letters, digits, _ and
// -. A run under the same name goes on where each segment was. Once the work is done, later runs return its report and read
// nothing else. While a run holds the lease of the checkpoint, others fail with [ErrRunning].
func Checkpoint(name string) Option {
	return bind.Option{Setting: func(o *bind.Options) { o.Checkpoint = &name }}
}

// Restart makes [Rewrite] begin again, whatever its [Checkpoint] says, and [Copier.Run] whatever it has copied.
func Restart() CopyOption { return bind.Option{Setting: func(o *bind.Options) { o.Restart = true }} }

// Progress has the fields Evaluated, Items, Rewritten, Skipped, Segments, SegmentsDone, ReadUnits and WriteUnits: the progress of a
// call that reads a whole table; see [OnProgress].
type Progress = entitytype.RewriteProgress

// OnProgress makes [Rewrite], [Copier.Run], [Copier.Verify] and [Copier.CutOver] call f after each page of items. [Check] does, too,
// with the items Evaluated so far, and [VerifyUnique] and [RepairUnique] do after each 100 items and sentinels that were compared,
// with the number of Items so far. One call is made at a time.
func OnProgress(f func(Progress)) PassOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if o.Passed = f; f == nil {
			o.Add(errors.New("OnProgress needs a function"))
		}
	}}
}
