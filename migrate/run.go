package migrate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

const (
	pageItems  = 250 // items evaluated by a request; a checkpoint is saved after each
	busyRounds = 5   // how often the attempts of a write are made for an item that others write meanwhile
)

// job is one run over a table, segment by segment and page by page: a rewrite, or one of the passes of a copy.
type job struct {
	verb    string
	c       *engine.Core // of the table that has the checkpoint
	s       *schema.Schema
	runner  *engine.Runner
	spec    *bind.Options
	written string      // what the report says of the items that were written
	point   *checkpoint // nil without one

	// page reads the page of segment i, of n, that begins after a key, and does what is due. It adds to part what was done,
	// also if it fails. last is nil after the last page.
	page func(ctx context.Context, i, n int, after item.Item, part *Report) (last item.Item, err error)

	reporting sync.Mutex // held while the progress is reported

	mu       sync.Mutex // guards what follows
	report   Report
	spent    Cost // of this run
	segments []segment
}

// A segment records how far a part of the table is done.
type segment struct {
	after item.Item // key of the last item that was evaluated; nil at the start
	done  bool
}

// newJob checks the options and returns a job without a page function.
func newJob(verb string, c *engine.Core, spec *bind.Options) (*job, error) {
	if err := spec.Err(); err != nil {
		return nil, bind.Invalid(c.Schema, bind.CodeOption, nil, "%v", err)
	}
	return &job{verb: verb, c: c, s: c.Schema, runner: c.Runner, spec: spec, report: newReport(), segments: make([]segment, max(spec.Segments, 1))}, nil
}

// metered runs a part of the job and adds up what it costs.
func (j *job) metered(ctx context.Context, f func(context.Context) error) error {
	r, err := engine.Metered(ctx, f)
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
	r.written = j.written
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
	return j.point.release(ctx, j.point.held.Keep(ctx, j.allSegments))
}

// allSegments works on all segments at the same time. The first error ends them.
func (j *job) allSegments(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	engine.Parallel(len(j.segments), len(j.segments), func(i int) {
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
		part, last := newReport(), item.Item(nil)
		err := j.metered(ctx, func(ctx context.Context) (err error) {
			last, err = j.page(ctx, i, len(j.segments), j.segments[i].after, &part)
			return err
		})
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

// save reports the progress and saves the checkpoint.
func (j *job) save(ctx context.Context, p Progress) error {
	j.reportProgress(p)
	if j.point == nil {
		return nil
	}
	return j.point.held.Renew(ctx)
}

// reportProgress calls the function that the caller gave, however long that takes: the lease is renewed meanwhile.
func (j *job) reportProgress(p Progress) {
	if j.spec.Passed == nil {
		return
	}
	j.reporting.Lock()
	defer j.reporting.Unlock()
	j.spec.Passed(p)
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

// segmentOf returns the next page of segment i of n of a table.
func segmentOf(table string, i, n int, after item.Item) *layout.Range {
	in := &layout.Range{Table: table, Strong: true, Limit: pageItems, Start: after}
	if n > 1 {
		in.Segment, in.Segments = i, n
	}
	return in
}

// scan reads a page of segment i of n with the items that may be of the entity.
func (e examiner) scan(ctx context.Context, i, n int, after item.Item) (layout.Page, error) {
	in := segmentOf(e.c.Table, i, n, after)
	in.Filter = identify.ByEntityOrUnmarked(e.s)
	return e.c.Runner.ReadPage(ctx, in)
}

// persist runs an operation that is planned from a stored item, also if other programs write the item very often.
func persist(ctx context.Context, r *engine.Runner, op *plan.Op) (plan.Result, error) {
	result, err := r.Run(ctx, op)
	for n := 1; n < busyRounds && errors.Is(err, entity.ErrConflict); n++ {
		op.Given = nil
		result, err = r.Run(ctx, op)
	}
	return result, err
}
