package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
)

// Job is a rebuild whose work is shared by several processes. The process that began it, the coordinator, holds the lease
// and finishes it. Workers read parts of the history, fold groups, and store rows:
//
//	job, err := view.BeginJob(ctx)                // coordinator
//	parts, err := job.Split(512)
//	worker, err := view.JoinJob(ctx, job.Ticket()) // any process
//	err = worker.Read(ctx, part, emit)             // each part: records by group
//	row, err := worker.Fold(ctx, group, records)   // each group: all of its records
//	err = worker.Store(ctx, row)
//	meta, err := job.Finish(ctx)                   // coordinator
//
// What workers do can be repeated, in any order, and in several processes at once: rows do not change by it. Readers see
// the old rows until Finish. If the coordinator dies, its lease ends after 30 seconds, and [View.BeginJob] with [Resume]
// begins the work again, with the events of the first time; workers with the old ticket then get [ErrLeaseLost].
//
// A job ends with Finish, Abandon, or the context of BeginJob. Its methods are safe for concurrent use.
type Job struct {
	worker *JobWorker
	b      *builder
	stop   context.CancelFunc // ends the renewals of the lease
	kept   <-chan error       // their error, after they have ended

	mu    sync.Mutex // one call of Finish or Abandon at a time
	ended bool
}

// JobPart is a part of a job's history: a segment of a source's table, a file of its export, or a feed.
type JobPart struct {
	Source  string `json:"source"`  // id of the source
	Segment int    `json:"segment"` // from 0; 0 for a feed
	Of      int    `json:"of"`      // number of parts of the source
}

// maxJobSegments is the largest number of segments that DynamoDB divides a table into.
const maxJobSegments = 1_000_000

// A ticket identifies a job to a worker.
type ticket struct {
	View       string   `json:"view"`
	Definition string   `json:"definition"` // fingerprint
	Sources    []string `json:"sources"`    // ids, in the order of the definition
	Generation string   `json:"generation"`
	Fence      int64    `json:"fence"`
}

// BeginJob begins a rebuild whose work is shared by several processes. It takes the lease and renews it until the job ends
// or ctx is done. Events accepted after the start wait for [View.CatchUp]. The options are those of [View.Rebuild];
// [Segments] and [OnProgress] count for what the coordinator itself does. With [Export], workers read the exports.
//
// It costs a read and a write of the manifest, a DescribeTable for each source, and what it costs to remove rows that were
// replaced. Errors: *[BuildingError] while another builder is at work; [ErrLeaseLost]; *entity.InputError.
func (v *View[K, S]) BeginJob(ctx context.Context, opts ...BuildOption) (*Job, error) {
	return v.opened().beginJob(ctx, opts)
}

func (v *view) beginJob(ctx context.Context, opts []BuildOption) (j *Job, err error) {
	err = v.core.Measure(ctx, "Timeline.BeginJob", v.Name, func(ctx context.Context) error {
		o, err := collectBuildOptions(opts)
		if err != nil {
			return err
		}
		b := &builder{view: v, buildOptions: o, job: true}
		if err := b.begin(ctx); err != nil {
			return err
		}
		if err := b.runUnderLease(ctx, func(ctx context.Context) error { return b.sweep(ctx, b.tenure) }, b.abandon); err != nil {
			return err
		}
		j = &Job{b: b, worker: v.newWorker(o, b.started)}
		j.worker.b.read = b.read
		return nil
	})
	if err != nil {
		return nil, err
	}
	ctx, j.stop = context.WithCancel(ctx)
	kept := make(chan error, 1)
	j.kept = kept
	go func() {
		kept <- j.b.held.Keep(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	return j, nil
}

// opened returns an error unless the job was begun.
func (j *Job) opened() error {
	if j == nil || j.b == nil {
		return notBegun("Timeline.Job")
	}
	return nil
}

// notBegun returns the error of a call of a job or worker that is nil or a zero value.
func notBegun(call string) error {
	c := engine.Closed(reflect.TypeFor[*Job]())
	return c.Wrap(call, "", c.Err())
}

// Ticket returns what another process needs to join the job by [View.JoinJob], as JSON. It has no secrets, and stays
// valid until the job ends.
func (j *Job) Ticket() []byte {
	if j.opened() != nil {
		return nil
	}
	w := j.worker.b
	text, _ := json.Marshal(ticket{View: w.Name, Definition: w.fingerprint, Sources: w.sourceIDs(), Generation: w.id, Fence: w.fence}) // strings and a number
	return text
}

// sourceIDs returns the ids of the sources, in the order in which records count them.
func (d *definition) sourceIDs() []string {
	ids := make([]string, len(d.all))
	for i, o := range d.all {
		ids[i] = o.id
	}
	return ids
}

// Split returns the parts of the history: segments parts of each source's table, from 1 to 1,000,000, and one of each feed.
// With [Export], the parts are the files of the exports, but a source with the history of a versioned entity is one part,
// because its items have to be sorted. Each part must be read by [JobWorker.Read]. It sends no request. Errors:
// *entity.InputError.
func (j *Job) Split(segments int) ([]JobPart, error) {
	if segments < 1 || segments > maxJobSegments {
		return nil, badPart("the number of segments must be from 1 to %d", maxJobSegments)
	}
	if err := j.opened(); err != nil {
		return nil, err
	}
	var parts []JobPart
	for _, o := range j.b.all {
		parts = append(parts, o.split(j.b.partsOf(o, segments))...)
	}
	return parts, nil
}

// badPart returns the error for a part, record or row that is not of the job.
func badPart(format string, args ...any) error {
	return &entitytype.InputError{Code: bind.CodeJobPart, Type: "timeline", Problem: fmt.Sprintf(format, args...)}
}

// Worker returns a worker of the job in the coordinator's process.
func (j *Job) Worker() *JobWorker {
	if j.opened() != nil {
		return nil
	}
	return j.worker
}

// Finish makes the rows of the job the served ones with one write, and ends the job. Every part must have been read, and
// every row stored; no worker can write after that. If the served rows were brought up to date since the job began, it
// first catches up with them, which costs a scan of the sources. The result is the meta of the new rows. Its counters are
// exact, however often parts were read.
//
// It costs a query of the parts and one of the rows, a write for 20,000 rows, and two writes of the manifest. Errors:
// [ErrPartUnread], after which the job goes on; those of [View.Rebuild], after which the job has ended, and BeginJob with
// [Resume] can repeat it.
func (j *Job) Finish(ctx context.Context) (meta Meta, err error) {
	if err := j.opened(); err != nil {
		return meta, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.b
	err = b.core.Measure(ctx, "Timeline.FinishJob", b.Name, func(ctx context.Context) error {
		read, err := j.partsRead(ctx)
		if err != nil {
			return err
		}
		if err := j.end(); err != nil {
			return err
		}
		b.evaluated = read.Evaluated
		err = b.runUnderLease(ctx, func(ctx context.Context) error {
			if err := b.checkpoint(ctx, func(g *generation) { g.Counts, g.Newest = read.Counts, read.Newest }); err != nil {
				return err
			}
			return b.finish(ctx)
		}, b.abandon)
		if err != nil {
			return err
		}
		meta = b.meta(&b.m, b.m.Active)
		b.reportProgress()
		return nil
	})
	return meta, err
}

// end ends the renewals of the lease. It fails if the lease is lost, or the job has ended before.
func (j *Job) end() error {
	if j.ended {
		return badOption("the job has ended")
	}
	j.ended = true
	j.stop()
	if err := <-j.kept; errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// partsRead adds up the parts that were read under the fence of the job. Each segment of a source must be among them, of
// one number of segments.
func (j *Job) partsRead(ctx context.Context) (all partRead, err error) {
	if j.ended {
		return all, badOption("the job has ended")
	}
	sums := make([]map[int]*partRead, len(j.b.all)) // by the number of segments; Segment counts the parts
	for i := range sums {
		sums[i] = map[int]*partRead{}
	}
	w := j.worker.b
	for p, err := range w.parts.Query(partRead{Generation: w.id}, entity.Consistent()).All(ctx) {
		if err != nil {
			return all, err
		}
		if p.Fence != w.fence || p.Source >= len(sums) {
			continue
		}
		sum := sums[p.Source][p.Of]
		if sum == nil {
			sum = &partRead{}
			sums[p.Source][p.Of] = sum
		}
		sum.Segment++
		sum.add(p)
	}
	for i, o := range j.b.all {
		complete := 0
		for of, sum := range sums[i] {
			if sum.Segment == of && (complete == 0 || of < complete) {
				complete = of
			}
		}
		if complete == 0 {
			return all, fmt.Errorf("timeline %s: %w: of %s", j.b.Name, ErrPartUnread, o.id)
		}
		all.add(*sums[i][complete])
	}
	return all, nil
}

// add adds the counts of another part.
func (p *partRead) add(o partRead) {
	p.Counts.add(o.Counts)
	p.Newest = later(p.Newest, o.Newest)
	p.Evaluated += o.Evaluated
}

// Abandon ends the job without its rows, which a later build removes. cause is stored as the failure of the build, unless
// it is nil or the caller interrupted the work. It costs a write. Errors: [ErrLeaseLost]; *entity.InputError if the job has
// ended.
func (j *Job) Abandon(ctx context.Context, cause error) error {
	if err := j.opened(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.b
	return b.core.Measure(ctx, "Timeline.AbandonJob", b.Name, func(ctx context.Context) error {
		if err := j.end(); err != nil {
			return err
		}
		return b.release(ctx, nil, func(m *manifest) {
			if m.retireBuilding(b.now()); cause != nil && !interrupted(cause) {
				m.Failure = storedFailure(cause, b.now())
			}
		})
	})
}

// JoinJob returns a worker of a job that another process, or another view of the same definition, has begun. The options
// that it takes are [Budget] and, if the job has it, [Export] of the same exports. It costs a read. Errors:
// *entity.InputError if the ticket is malformed, or of another view, definition or set of exports; *[ExportError];
// [ErrLeaseLost] if the job has ended or was taken over.
func (v *View[K, S]) JoinJob(ctx context.Context, ticket []byte, opts ...BuildOption) (*JobWorker, error) {
	return v.opened().joinJob(ctx, ticket, opts)
}

func (v *view) joinJob(ctx context.Context, text []byte, opts []BuildOption) (w *JobWorker, err error) {
	err = v.core.Measure(ctx, "Timeline.JoinJob", v.Name, func(ctx context.Context) error {
		o, err := collectBuildOptions(opts)
		if err != nil {
			return err
		}
		if o.resume || o.progress != nil {
			return badOption("JoinJob takes no options but Budget and Export")
		}
		t, err := v.parseTicket(text)
		if err != nil {
			return err
		}
		w = v.newWorker(o, generation{ID: t.Generation, Fence: t.Fence})
		if w.b.read, err = w.b.openExports(); err != nil {
			return err
		}
		m, err := w.job(ctx)
		if err != nil {
			return err
		}
		g := m.Building
		if g.Route != w.b.buildRoute() {
			return otherJob("the ticket is of a job that reads other exports, or none")
		}
		w.b.started = *g
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// parseTicket decodes a ticket and checks that it is of this definition.
func (v *view) parseTicket(text []byte) (t ticket, err error) {
	if err := json.Unmarshal(text, &t); err != nil || t.View == "" || t.Generation == "" || t.Fence < 1 {
		return t, &entitytype.InputError{Code: bind.CodeJobTicket, Type: "timeline", Problem: "the ticket is malformed"}
	}
	problem := ""
	switch {
	case t.View != v.Name:
		problem = "the ticket is of another view"
	case t.Definition != v.fingerprint:
		problem = "the ticket is of another definition: coordinator and workers must run the same one"
	case !slices.Equal(t.Sources, v.sourceIDs()):
		problem = "the ticket is of a definition whose sources have another order"
	default:
		return t, nil
	}
	return t, otherJob(problem)
}

// otherJob returns the error for a ticket that does not fit the worker.
func otherJob(problem string) error {
	return &entitytype.InputError{Code: bind.CodeJobOther, Type: "timeline", Problem: problem}
}

// newWorker returns a worker for a generation. It keeps the fence of the ticket: what its calls write late must not pass
// for writes of the catch-up by which Finish ends.
func (v *view) newWorker(o buildOptions, g generation) *JobWorker {
	return &JobWorker{&builder{view: v, buildOptions: o, job: true, id: g.ID, fence: g.Fence, started: g}}
}
