package migrate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/pace"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
	"github.com/dynastrata/dynastrata/unique"
)

// Store is what [Rewrite] takes: an *entity.Store, a *timeseries.Series.
type Store interface{ core.Holder }

const (
	pageItems    = 250 // items evaluated by a request; a checkpoint is saved after each
	mostSegments = 64
	busyRounds   = 5 // how often the attempts of a write are made for an item that others write meanwhile
)

// Rewrite brings the stored items of an entity to its declaration: current items, deleted copies, snapshots and events. It
// sets index keys that are missing or out of date, removes those of items that no longer belong in an index, adds hidden
// attributes that other programs did not write, and claims unique values that nothing claims. Use it after a declaration
// got an index or a constraint, and for tables that other programs have written to.
//
// Each item is written under the condition that it has not changed since it was read; otherwise it is read again. So
// programs can write meanwhile, and none of their writes is lost. Version, updated_at and history stay as they are unless
// [NewVersion] is given; readers of a stream see an update. Items that cannot be rewritten, and those that have expired,
// stay as they are. The report counts them and has examples. Values that deleted copies reserve are left to Repair of package unique.
//
// The run can be ended at any time, and run again. With [Checkpoint] it goes on where it was. entity.Segments sets how many
// parts of the table are read and written at the same time, 1 to 64; a checkpoint keeps the number of its first run.
// entity.Segment rewrites one part, so that several programs can share the work; each part needs a checkpoint of its own.
// entity.Budget bounds the capacity units per second.
//
// It costs a strongly consistent scan of the table, a read for every 100 unique values, and one write for each item that
// is not as it should be, a transaction if a value is claimed. Errors: *entity.InputError before any request; [ErrRunning];
// [ErrLeaseLost]; [ErrOtherWork]; *[ItemError] with [Strict]; those of requests that failed after all attempts. The report
// is of what was done until then.
func Rewrite(ctx context.Context, store Store, opts ...Option) (Report, error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return newReport(), c.Wrap("Rewrite", "", err)
	}
	j, err := newJob(c, opt.Rewrites(opts))
	if err != nil {
		return newReport(), c.Wrap("Rewrite", "", err)
	}
	err = c.Measure(ctx, "Rewrite", "", func(ctx context.Context) error { return j.run(pace.With(ctx, j.spec.Budget)) })
	return j.result(), err
}

// segmentsOf returns the number of segments, 1 unless it is given.
func segmentsOf(s *schema.Schema, given *int) (int, error) {
	n, err := bind.CountOption(s, "Segments", given)
	if err == nil && n > mostSegments {
		err = bind.Invalid(s, bind.CodeOption, nil, "at most %d segments are read at the same time", mostSegments)
	}
	return max(n, 1), err
}

// job is one run of Rewrite.
type job struct {
	examiner
	spec   opt.Rewrite
	runner *exec.Runner
	point  *checkpoint // nil without one

	saving sync.Mutex // held while the checkpoint is saved

	mu       sync.Mutex // guards what follows
	report   Report
	spent    Cost // of this run
	segments []segment
}

// segment is how far a part of the table is done.
type segment struct {
	after item.Item // key of the last item that was evaluated; nil at the start
	done  bool
}

func newJob(c *core.Core, spec opt.Rewrite) (*job, error) {
	s := c.Schema
	invalid := func(code, format string, args ...any) (*job, error) {
		return nil, bind.Invalid(s, code, nil, format, args...)
	}
	if err := spec.Err(); err != nil {
		return invalid(bind.CodeOption, "%v", err)
	}
	n, err := segmentsOf(s, spec.Segments)
	if err == nil {
		err = bind.SegmentOption(s, spec.Parallel)
	}
	_, keeps := schema.Feature[plan.Snapshotter](s)
	switch {
	case err != nil:
		return nil, err
	case spec.Dry && spec.Checkpoint != nil:
		return invalid(bind.CodeOption, "a dry run writes nothing, and so no checkpoint")
	case spec.Restart && spec.Checkpoint == nil:
		return invalid(bind.CodeOption, "Restart needs a Checkpoint")
	case keeps && layout.StateClock(s) == nil && !spec.NewVersion:
		return invalid(bind.CodeRewriteHistory, "an entity that retains versions needs created_at or updated_at to be rewritten without NewVersion")
	}
	j := &job{examiner: examiner{c, s}, spec: spec, report: newReport(), segments: make([]segment, n), runner: c.Runner}
	if spec.Checkpoint == nil {
		return j, nil
	}
	if err := tag.Name(*spec.Checkpoint); err != nil {
		return invalid(bind.CodeCheckpoint, "the name of the checkpoint: %v", err)
	}
	j.point, err = newCheckpoint(j)
	return j, err
}

// metered runs a part of the job and adds up what it costs.
func (j *job) metered(ctx context.Context, f func(context.Context) error) error {
	r, err := exec.Metered(ctx, f)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report.Cost.add(r)
	j.spent.add(r)
	return err
}

// result returns the report.
func (j *job) result() Report {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.report.clone()
	r.Done = !slices.ContainsFunc(j.segments, func(x segment) bool { return !x.done })
	if j.spec.Dry {
		r.Estimate.Requests += r.Cost.Requests
		r.Estimate.ReadUnits += r.Cost.ReadUnits
	}
	return r
}

func (j *job) run(ctx context.Context) error {
	if j.point == nil {
		return j.allSegments(ctx)
	}
	done, err := j.point.acquire(ctx)
	if err != nil || done {
		return err
	}
	return j.point.release(ctx, j.point.keepAlive(ctx, j.allSegments))
}

// allSegments works on all segments at the same time. The first error ends them.
func (j *job) allSegments(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	exec.Parallel(len(j.segments), len(j.segments), func(i int) {
		if err := j.segment(ctx, i); err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}

// segment works on the rest of a segment, page by page.
func (j *job) segment(ctx context.Context, i int) error {
	for !j.segments[i].done {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, last, err := j.page(ctx, i, j.segments[i].after)
		j.mu.Lock()
		if j.report.add(part); err == nil {
			j.segments[i] = segment{last, last == nil}
		}
		progress := j.progress()
		j.mu.Unlock()
		if err != nil {
			return err
		}
		if err := j.save(ctx, progress); err != nil {
			return err
		}
	}
	return nil
}

// save saves the checkpoint and reports the progress.
func (j *job) save(ctx context.Context, p Progress) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	if j.spec.Progress != nil {
		j.spec.Progress(p)
	}
	if j.point == nil {
		return nil
	}
	return j.point.save(ctx)
}

// progress returns the progress; j.mu is held.
func (j *job) progress() Progress {
	r := j.report
	p := Progress{
		Evaluated: r.Evaluated, Items: r.Items, Rewritten: r.Rewritten, Skipped: r.Skipped(), Segments: len(j.segments),
		ReadUnits: r.Cost.ReadUnits, WriteUnits: r.Cost.WriteUnits,
	}
	for _, x := range j.segments {
		if x.done {
			p.SegmentsDone++
		}
	}
	return p
}

// page reads one page of a segment and writes what is due of it. part is what was done, also if there is an error.
func (j *job) page(ctx context.Context, i int, after item.Item) (part Report, last item.Item, err error) {
	part = newReport()
	err = j.metered(ctx, func(ctx context.Context) error {
		strong, limit := true, int32(pageItems)
		number, of := j.part(i)
		in := &dynamodb.ScanInput{TableName: &j.c.Table, ConsistentRead: &strong, Limit: &limit, ExclusiveStartKey: after}
		if of > 1 {
			in.Segment, in.TotalSegments = &number, &of
		}
		var r expr.Renderer
		if text := r.Cond(layout.PerhapsOwn(j.s)); text != "" {
			in.FilterExpression = &text
		}
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
		out, err := j.runner.Scan(ctx, in)
		if err != nil {
			return err
		}
		part.Evaluated, last = int(out.ScannedCount), out.LastEvaluatedKey
		found, err := j.findings(ctx, j.runner, out.Items)
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := j.settle(ctx, f, &part); err != nil {
				return err
			}
		}
		return nil
	})
	return part, last, err
}

// settle counts a finding and writes what is due.
func (j *job) settle(ctx context.Context, f *finding, part *Report) error {
	part.Items++
	if f.expired {
		part.Expired++
		return nil
	}
	wrote := f.due()
	if wrote && !j.spec.Dry {
		var err error
		if f, wrote, err = j.write(ctx, f, part); err != nil {
			return err
		}
	}
	key := bind.KeyText(j.s, layout.KeyOf(j.s, f.image))
	switch {
	case f.problem != "":
		part.Problems[f.problem]++
		part.example(Example{Problem: f.problem, Key: key})
		if j.spec.Strict {
			return &ItemError{key, f.problem}
		}
	case wrote:
		part.Rewritten++
		for _, r := range f.reasons {
			part.Reasons[r]++
			part.example(Example{Reason: r, Key: key})
		}
		if cost := j.estimate(f, j.spec.NewVersion); j.spec.Dry {
			part.Estimate.Requests += cost.Requests
			part.Estimate.WriteUnits += cost.WriteUnits
		}
	}
	return nil
}

// write writes what is due of an item. If the item was written meanwhile, it is examined again; f is what was found last.
// wrote is false if nothing was due then.
func (j *job) write(ctx context.Context, was *finding, part *Report) (f *finding, wrote bool, err error) {
	f = was
	first := true
	op := plan.NewRewrite(j.s, j.c.Table, f.image, j.spec.NewVersion, func(ctx context.Context, r layout.Reader, image item.Item) (plan.Rewriting, error) {
		if first {
			first = false
			return f.rewriting(), nil
		}
		if !layout.SameState(j.s, f.image, image) {
			part.Conflicts++
		}
		again, err := j.again(ctx, r, image)
		if err != nil {
			return plan.Rewriting{}, err
		}
		f = again
		return f.rewriting(), nil
	})
	result, err := j.runner.Run(ctx, op)
	for n := 1; n < busyRounds && errors.Is(err, entity.ErrConflict); n++ {
		op.Given = nil
		result, err = j.runner.Run(ctx, op)
	}
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
	case errors.Is(err, entity.ErrConflict):
		return Busy
	case errors.Is(err, entity.ErrTooLarge), errors.As(err, &invalid), errors.As(err, &api) && api.ErrorCode() == "ValidationException":
		return Unstorable
	}
	return ""
}

// again examines an item that was read again.
func (j *job) again(ctx context.Context, r layout.Reader, image item.Item) (*finding, error) {
	f, ok := j.own(image)
	if !ok || !layout.PerhapsOwn(j.s).Holds(image) {
		return &finding{image: image}, nil
	}
	now := j.runner.Clock()
	j.examine(f, now)
	for _, x := range f.values {
		sentinel, err := r.Get(ctx, j.c.Table, x.sentinel, true)
		if err != nil {
			return nil, err
		}
		if f.problem == "" {
			j.claimed(f, x, sentinel, now)
		}
	}
	return f, nil
}
