package beamx

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dynastrata/dynastrata/timeline"
)

func init() {
	register.DoFn3x1[context.Context, timeline.JobPart, func(string, []byte), error](&readFn{})
	register.DoFn4x1[context.Context, string, func(*[]byte) bool, func(int), error](&foldFn{})
	register.Function1x0(ignore)
	register.Emitter1[int]()
	register.Emitter2[string, []byte]()
	register.Iter1[[]byte]()
	beam.RegisterCoder(reflect.TypeFor[timeline.JobPart](), encodePart, decodePart)
}

// View is a *timeline.View of any types.
type View interface {
	BeginJob(ctx context.Context, opts ...timeline.BuildOption) (*timeline.Job, error)
	JoinJob(ctx context.Context, ticket []byte, opts ...timeline.BuildOption) (*timeline.JobWorker, error)
}

// RebuildOptions says how to rebuild a view.
type RebuildOptions struct {
	Segments int // parts of each source's table, 1 to 1,000,000, each of which is the work of one worker
	Budget   Budget
}

// Rebuild builds all rows of a view as a new generation, as View.Rebuild does, and returns its meta. This process coordinates: it
// holds the lease of the view, runs the pipeline by run, which returns when the pipeline has ended, and makes the rows the
// served ones with one write. Workers read segments of the sources; the runner groups the events; workers fold each group,
// sorting what does not fit in memory in temporary files, and store its row. A feed is read by one worker.
//
// Events can be read again and rows stored again without a difference, also by a worker that was thought to be dead: rows
// are written under the fence of this build. If the pipeline fails, the rows that are served stay, and the build is abandoned.
// If this process dies, its lease ends after 30 seconds, and the next build removes what it has left. Group keys and events go
// through the runner's shuffle, and its disks.
//
// It costs what View.Rebuild costs, and a read and a write for each segment, and a read for each hundred rows. Errors: those
// of BeginJob; that of run, which has the text of the error that made the pipeline fail; timeline.ErrPartUnread if run
// returned while the pipeline was still running; those of Finish.
func Rebuild[V View](ctx context.Context, run func(context.Context, *beam.Pipeline) error, view Opener[V], o RebuildOptions) (timeline.Meta, error) {
	name := view.registered()
	v, err := view.Open(ctx)
	if err != nil {
		return timeline.Meta{}, err
	}
	job, err := v.BeginJob(ctx)
	if err != nil {
		return timeline.Meta{}, err
	}
	parts, err := job.Split(o.Segments)
	if err == nil {
		err = run(ctx, rebuild(name, job.Ticket(), parts, o.Budget))
	}
	var meta timeline.Meta
	if err == nil {
		if meta, err = job.Finish(ctx); !errors.Is(err, timeline.ErrPartUnread) {
			return meta, err
		}
	}
	return meta, errors.Join(err, job.Abandon(context.WithoutCancel(ctx), err))
}

// rebuild returns the pipeline that builds the rows of a job.
func rebuild(view string, ticket []byte, parts []timeline.JobPart, budget Budget) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	s = s.Scope("dynastrata.Rebuild")
	of := crew{View: view, Ticket: ticket, Budget: budget}
	events := beam.ParDo(s, &readFn{Crew: of}, beam.Reshuffle(s, beam.CreateList(s, parts)))
	fold(s, of, events)
	return p
}

// fold folds the events of each group, and stores the rows. The step has an output that nobody needs, because Prism is busy
// while it waits for the end of a step without one.
func fold(s beam.Scope, of crew, events beam.PCollection) {
	stored := beam.ParDo(s, &foldFn{Crew: of}, beam.GroupByKey(s, events))
	beam.ParDo0(s, ignore, beam.Reshuffle(s, stored))
}

func ignore(int) {}

// A crew identifies a job to a step that joins it.
type crew struct {
	View   string
	Ticket []byte
	Budget Budget
}

// join returns a worker of the job.
func (c crew) join(ctx context.Context) (*timeline.JobWorker, error) {
	v, err := handle[View](ctx, c.View)
	if err != nil {
		return nil, err
	}
	var opts []timeline.BuildOption
	if b := c.Budget.units(c.View); b != nil {
		opts = append(opts, timeline.Budget(b))
	}
	return v.JoinJob(ctx, c.Ticket, opts...)
}

// readFn reads a part of the history, and emits its events by group.
type readFn struct {
	Crew   crew
	worker *timeline.JobWorker
}

func (f *readFn) Setup(ctx context.Context) (err error) {
	f.worker, err = f.Crew.join(ctx)
	return err
}

func (f *readFn) ProcessElement(ctx context.Context, part timeline.JobPart, emit func(string, []byte)) error {
	return f.worker.Read(ctx, part, func(r timeline.JobRecord) error {
		emit(r.Group, encodeRecord(r))
		return nil
	})
}

// rowBatch is the number of rows stored together.
const rowBatch = 100

// foldFn folds groups and stores their rows, many at a time: those of a bundle until it ends. It emits how many it has stored.
type foldFn struct {
	Crew   crew
	worker *timeline.JobWorker
	rows   []*timeline.JobRow // of this bundle, not stored yet
}

func (f *foldFn) Setup(ctx context.Context) (err error) {
	f.worker, err = f.Crew.join(ctx)
	return err
}

func (f *foldFn) StartBundle(context.Context, func(int)) { f.rows = nil } // an earlier bundle may have failed

func (f *foldFn) ProcessElement(ctx context.Context, group string, next func(*[]byte) bool, stored func(int)) error {
	row, err := f.worker.Fold(ctx, group, records(group, next))
	if err != nil {
		return err
	}
	if f.rows = append(f.rows, row); len(f.rows) < rowBatch {
		return nil
	}
	return f.store(ctx, stored)
}

func (f *foldFn) FinishBundle(ctx context.Context, stored func(int)) error {
	return f.store(ctx, stored)
}

func (f *foldFn) store(ctx context.Context, stored func(int)) error {
	rows := f.rows
	f.rows = nil
	if err := f.worker.Store(ctx, rows...); err != nil {
		return err
	}
	stored(len(rows))
	return nil
}

// encodeRecord returns an event without its group: the length of its position, the position, and the event.
func encodeRecord(r timeline.JobRecord) []byte {
	b := make([]byte, 0, binary.MaxVarintLen64+len(r.Position)+len(r.Data))
	b = binary.AppendUvarint(b, uint64(len(r.Position)))
	return append(append(b, r.Position...), r.Data...)
}

// errRecord is the error of bytes that encodeRecord has not made.
var errRecord = errors.New("beamx: the bytes are no event")

// records yields the events of a group.
func records(group string, next func(*[]byte) bool) iter.Seq2[timeline.JobRecord, error] {
	return func(yield func(timeline.JobRecord, error) bool) {
		for data := []byte(nil); next(&data); {
			n, size := binary.Uvarint(data)
			if size <= 0 || n > uint64(len(data)-size) {
				yield(timeline.JobRecord{}, errRecord)
				return
			}
			at := size + int(n)
			if !yield(timeline.JobRecord{Group: group, Position: data[size:at], Data: data[at:]}, nil) {
				return
			}
		}
	}
}

func encodePart(p timeline.JobPart) ([]byte, error) { return json.Marshal(p) }

func decodePart(data []byte) (p timeline.JobPart, err error) {
	err = json.Unmarshal(data, &p)
	return p, err
}
