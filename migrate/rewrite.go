package migrate

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/unique"
)

// A Store can be rewritten: an *entity.Store or a *timeseries.Series.
type Store interface{ engine.Holder }

// Rewrite brings the stored items of an entity to its declaration: current items, deleted copies, snapshots and events. It
// sets index keys that are missing or out of date, removes those of items that no longer belong in an index, adds hidden
// attributes that other programs did not write, and claims unique values that nothing claims. Use it after a declaration
// got an index, a constraint, or the id of a series' events, whose stored events it moves to their new keys, and for tables that other programs have written to.
//
// Each item is written under the condition that it has not changed since it was read; otherwise it is read again. So
// programs can write meanwhile, and none of their writes is lost. Version, updated_at and history stay as they are unless
// [NewVersion] is given; readers of a stream see an update. Items that cannot be rewritten, and those that have expired,
// stay as they are. The report counts them and has examples. Values that deleted copies reserve are left to [RepairUnique].
//
// The run can be ended at any time, and run again. With [Checkpoint] it goes on where it was. entity.Segments sets how many
// parts of the table are read and written at the same time, 1 to 64; a checkpoint keeps the number of its first run.
// entity.Segment rewrites one part, so that several programs can share the work; each part needs a checkpoint of its own.
// entity.Budget bounds the capacity units per second.
//
// It costs a strongly consistent scan of the table, a read for every 100 unique values, a transaction of reads for
// each item whose value seems to belong to another one or, with [DryRun], to be claimed by none, and one write for each item that is not as it should be, a
// transaction if a value is claimed. An event is moved by a read and a transaction. Errors: *entity.InputError before any request; [ErrRunning];
// [ErrLeaseLost]; [ErrOtherWork]; *[ItemError] with [Strict]; those of requests that failed after all attempts. The report
// is of what was done until then.
func Rewrite(ctx context.Context, store Store, opts ...Option) (Report, error) {
	c := engine.Of(store)
	if err := c.Err(); err != nil {
		return newReport(), c.Wrap("Rewrite", "", err)
	}
	w, err := newRewriter(c, bind.Collect(opts))
	if err != nil {
		return newReport(), c.Wrap("Rewrite", "", err)
	}
	err = c.Measure(ctx, "Rewrite", "", func(ctx context.Context) error {
		if w.newVersion && !w.spec.Dry && c.Schema.Contexts != nil {
			if _, err := plan.InContext(ctx, c.Schema); err != nil {
				return err
			}
		}
		return w.run(bind.WithPace(ctx, w.spec.Budget))
	})
	return w.result(), err
}

// rewriter is one run of Rewrite.
type rewriter struct {
	*job
	examiner
	newVersion bool
	part       *bind.Segment // of the table; nil for all of it
}

func newRewriter(c *engine.Core, spec *bind.Options) (*rewriter, error) {
	s := c.Schema
	invalid := func(code, format string, args ...any) (*rewriter, error) {
		return nil, bind.Invalid(s, code, nil, format, args...)
	}
	j, err := newJob("Rewrite", c, spec)
	_, keeps := schema.Feature[plan.Snapshotter](s)
	x := bind.Expiry(s)
	switch {
	case err != nil:
		return nil, err
	case spec.Segment != nil && spec.Segments > 0:
		return invalid(bind.CodeOption, "a rewrite of one segment cannot have Segments")
	case spec.Dry && spec.Checkpoint != nil:
		return invalid(bind.CodeOption, "a dry run writes nothing, and so no checkpoint")
	case spec.Restart && spec.Checkpoint == nil:
		return invalid(bind.CodeOption, "Restart needs a Checkpoint")
	case keeps && layout.StateClock(s) == nil && !spec.NewVersion:
		return invalid(bind.CodeRewriteHistory, "an entity that retains versions needs created_at or updated_at to be rewritten without NewVersion")
	case spec.Ends && (x == nil || !x.Derives() || x.From() == nil):
		return invalid(bind.CodeOption, "Ends needs a lifecycle.TTL with from and after: nothing else that is stored says when an item ends")
	case keeps && x != nil && x.From() != nil && (x.From().Role.Default != "" || spec.Ends) && !spec.NewVersion:
		return invalid(bind.CodeRewriteHistory, "its expiry is counted from %s, which has a default, or Ends is given: that moves the end of an item and of its history, which needs NewVersion", x.From().Field)
	}
	w := &rewriter{j, examiner{c, s, spec.Ends}, spec.NewVersion, spec.Segment}
	if j.page = w.page; spec.Checkpoint == nil {
		return w, nil
	}
	if err := schema.Name(*spec.Checkpoint); err != nil {
		return invalid(bind.CodeCheckpoint, "the name of the checkpoint: %v", err)
	}
	if !stringKeys(s) {
		return invalid(bind.CodeCheckpoint, "a checkpoint needs a table whose keys are strings")
	}
	j.point = newCheckpoint(j, rewriteInfix, *spec.Checkpoint, workOf(fingerprint(s, spec.NewVersion, spec.Ends), spec.Segment))
	return w, nil
}

// page reads one page of a segment and writes what is due of it.
func (w *rewriter) page(ctx context.Context, i, n int, after item.Item, part *Report) (last item.Item, err error) {
	i, n = partOf(w.part, i, n)
	out, err := w.scan(ctx, i, n, after)
	if err != nil {
		return nil, err
	}
	part.Evaluated, last = out.Evaluated, out.Last
	found, err := w.findings(ctx, w.runner, out.Items(), w.spec.Dry)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if err := w.settle(ctx, f, part); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// settle counts a finding and writes what is due.
func (w *rewriter) settle(ctx context.Context, f *finding, part *Report) error {
	part.Items++
	if f.expired {
		part.Expired++
		return nil
	}
	wrote := f.due()
	if wrote && !w.spec.Dry {
		var err error
		if f, wrote, err = w.write(ctx, f, part); err != nil {
			return err
		}
	}
	key := layout.KeyText(w.job.s, layout.KeyOf(w.job.s, f.image))
	switch {
	case f.problem != "":
		part.Problems[f.problem]++
		part.example(Example{Problem: f.problem, Key: key})
		if w.spec.Strict {
			return &ItemError{key, f.problem}
		}
	case wrote:
		part.Rewritten++
		for _, r := range f.reasons {
			part.Reasons[r]++
			part.example(Example{Reason: r, Key: key})
		}
		if cost := w.estimate(f, w.newVersion); w.spec.Dry {
			part.Estimate.Requests += cost.Requests
			part.Estimate.ReadUnits += cost.ReadUnits
			part.Estimate.WriteUnits += cost.WriteUnits
		}
	}
	return nil
}

// write writes what is due of an item. If the item was written meanwhile, it is examined again; f is what was found last.
// wrote is false if nothing was due then.
func (w *rewriter) write(ctx context.Context, was *finding, part *Report) (f *finding, wrote bool, err error) {
	f = was
	first := true
	op := plan.NewRewrite(w.job.s, w.job.c.Table, f.image, w.newVersion, func(ctx context.Context, r layout.Reader, image item.Item) (plan.Rewriting, error) {
		if first {
			first = false
			return f.rewriting(), nil
		}
		if !layout.SameState(w.job.s, f.image, image) {
			part.Conflicts++
		}
		again, err := w.again(ctx, r, image)
		if err == nil && again.problem == ValueTaken {
			if again, err = w.reread(ctx, w.runner, again); err == nil && again.problem != ValueTaken {
				err = entity.ErrConflict
			}
		}
		if err != nil {
			return plan.Rewriting{}, err
		}
		f = again
		return f.rewriting(), nil
	})
	result, err := persist(ctx, w.runner, op)
	if err == nil {
		return f, !result.Skipped, nil
	}
	if f.problem = problemOf(err); f.problem == "" {
		return f, false, err
	}
	return f, false, nil
}

// problemOf returns the problem of an item whose write ended with err; "" if it is not about the item.
func problemOf(err error) Problem {
	var taken *unique.ViolationError
	var invalid *entity.InputError
	var api smithy.APIError
	switch {
	case errors.As(err, &taken):
		return ValueTaken
	case errors.Is(err, plan.ErrEventTaken):
		return EventTaken
	case errors.Is(err, entity.ErrConflict):
		return Busy
	case errors.Is(err, entity.ErrTooLarge), errors.As(err, &invalid), errors.As(err, &api) && api.ErrorCode() == "ValidationException":
		return Unstorable
	}
	return ""
}

// again examines an item that was read again.
func (w *rewriter) again(ctx context.Context, r layout.Reader, image item.Item) (*finding, error) {
	f, ok := w.own(image)
	if !ok || !identify.ByEntityOrUnmarked(w.job.s).Holds(image) {
		return &finding{image: image}, nil
	}
	now := w.runner.Clock()
	w.examine(f, now)
	for _, x := range f.values {
		sentinel, err := r.Get(ctx, w.job.c.Table, x.sentinel, true)
		if err != nil {
			return nil, err
		}
		if f.problem == "" {
			w.claimed(f, x, sentinel, now)
		}
	}
	return f, nil
}
