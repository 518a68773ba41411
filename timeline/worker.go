package timeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/timeline/internal/spool"
)

// JobWorker does work of a [Job]: it reads parts of the history, folds groups and stores rows. [Job.Worker] and
// [View.JoinJob] return one. It is safe for concurrent use.
type JobWorker struct{ b *builder } // without a lease

// JobRecord is an event of one group, for [JobWorker.Fold]. All of it can be stored and sent to another process.
type JobRecord struct {
	Group    string // the group, as text: records with equal texts are of one group
	Position []byte // sorts, as bytes, as the events of the group are applied
	Data     []byte // the event
}

// JobRow is the row of a group, which [JobWorker.Store] stores.
type JobRow struct{ g *groupState }

// Group returns the group of the row, as its records have it; "" for a zero value.
func (r *JobRow) Group() string {
	if r == nil || r.g == nil {
		return ""
	}
	return r.g.group
}

// opened returns an error unless the worker belongs to a job.
func (w *JobWorker) opened() error {
	if w == nil || w.b == nil {
		return notBegun("Timeline.JobWorker")
	}
	return nil
}

// job returns the manifest, which has the generation of the job. It fails once the job has ended or another builder has a
// higher fence.
func (w *JobWorker) job(ctx context.Context) (*manifest, error) {
	m, err := w.b.manifest(ctx, entity.Consistent())
	if err != nil {
		return nil, err
	}
	if m.Fence != w.b.fence || m.Building == nil || m.Building.ID != w.b.id {
		return nil, ErrLeaseLost
	}
	return m, nil
}

// Read reads a part and calls yield for each of its events, in any order. After the last it stores what it has counted, for
// [Job.Finish]. A part can be read again, which counts once. Give the records of one call per part to [JobWorker.Fold]: those
// of several calls can differ where items have changed in between. An error of yield ends the call and is returned.
//
// It costs a strongly consistent scan of the part, or nothing if that is a file of an export, a read, and a write. Errors:
// *entity.InputError for a part of another definition; [ErrLeaseLost]; *[EventError]; *[LimitError]; *[ExportError].
func (w *JobWorker) Read(ctx context.Context, part JobPart, yield func(JobRecord) error) error {
	if err := w.opened(); err != nil {
		return err
	}
	b := w.b
	return b.core.Measure(ctx, "Timeline.JobRead", b.Name, func(ctx context.Context) error {
		i := slices.Index(b.sourceIDs(), part.Source)
		switch {
		case i < 0:
			return badPart("the part is of a source that the definition does not have")
		case part.Segment < 0 || part.Segment >= part.Of || part.Of > maxJobSegments || part.Of != b.partsOf(b.all[i], part.Of):
			return badPart("there is no segment %d of %d of %s", part.Segment, part.Of, part.Source)
		case yield == nil:
			return badPart("Read needs a function that takes the records")
		}
		if _, err := w.job(ctx); err != nil {
			return err
		}
		ctx = bind.WithPace(ctx, b.budget)
		read := partRead{Generation: b.id, Source: i, Of: part.Of, Segment: part.Segment, Fence: b.fence}
		c := b.newCollector(b.window(), 0)
		c.out = func(key, value []byte) error {
			group, position, _ := bytes.Cut(key, []byte(separator))
			read.Counts.Folded++
			return yield(JobRecord{string(group), position, value})
		}
		var evaluated atomic.Int64
		to := recordSink{event: c.addFrom(i), duplicate: c.countDuplicate, dir: b.TempDir, page: func(n int) { evaluated.Add(int64(n)) }}
		var err error
		if x := b.exportOf(b.all[i]); x != nil {
			err = b.readExportPart(ctx, b.all[i], x, part, b.started.ReadAt, to)
		} else {
			err = b.all[i].readPart(ctx, part, nil, b.started.ReadAt, to)
		}
		if err != nil {
			return b.withView(err)
		}
		read.Counts.add(c.counts)
		read.Newest, read.Evaluated = c.newest, evaluated.Load()
		f := entity.Fields[partRead]()
		err = retryUnknown(ctx, func() error {
			_, err := b.parts.Put(ctx, read, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, b.fence))), fenced())
			return err
		})
		if errors.Is(err, entity.ErrConditionFailed) {
			err = ErrLeaseLost
		}
		return err
	})
}

// Fold applies the records of a group in their order and returns its row; nil without a record. Give it all records of the
// group that the parts have, in any order. Equal ones count once. Records beyond Projection.Memory bytes are sorted in
// temporary files. Calls for the same records return the same row. It sends no request.
//
// Errors: *entity.InputError for a record of another group; *[EventError], also if two records have one position and
// different content; an error that records yields.
func (w *JobWorker) Fold(ctx context.Context, group string, records iter.Seq2[JobRecord, error]) (row *JobRow, err error) {
	if err := w.opened(); err != nil {
		return nil, err
	}
	if records == nil {
		return nil, badPart("Fold needs the records of the group")
	}
	b := w.b
	s := spool.New(max(b.Memory, minMemory), b.TempDir)
	defer func() { err = joinClose(err, s.Close()) }()
	for r, err := range records {
		if err == nil {
			err = ctx.Err()
		}
		if origin, n := binary.Uvarint(r.Data); err == nil && (r.Group != group || len(r.Position) == 0 || n <= 0 || origin >= uint64(len(b.all))) {
			err = badPart("a record is malformed, or of another group")
		}
		if err == nil {
			err = s.Add(append([]byte(r.Group+separator), r.Position...), slices.Clone(r.Data))
		}
		if err != nil {
			return nil, err
		}
	}
	err = b.fold(ctx, s.Sorted(), &Counters{}, fullFold{give: func(g *groupState) error { row = &JobRow{g}; return nil }})
	if err != nil {
		return nil, err
	}
	return row, nil
}

// Store stores rows that Fold has returned, nil ones excepted. Rows can be stored again, and by several workers at once.
// Each is written under the fence of the job: if a later builder has written the row, or the job has ended, it stays as it
// is.
//
// It costs a read, and a transaction for a hundred rows, which is twice the write units of the rows. Errors:
// [ErrLeaseLost] if the job has ended or was taken over; *[EventError] for a row that cannot be stored;
// *entity.InputError.
func (w *JobWorker) Store(ctx context.Context, rows ...*JobRow) error {
	if err := w.opened(); err != nil {
		return err
	}
	b := w.b
	return b.core.Measure(ctx, "Timeline.JobStore", b.Name, func(ctx context.Context) error {
		var states []*groupState
		seen := map[string]bool{}
		for _, r := range rows {
			switch {
			case r == nil:
				continue
			case r.g == nil:
				return badPart("a row was not made by Fold")
			case !seen[r.g.group]: // a transaction writes an item once
				seen[r.g.group] = true
				states = append(states, r.g)
			}
		}
		ctx = bind.WithPace(ctx, b.budget)
		for batch := range slices.Chunk(states, rowBatch) {
			m, err := w.job(ctx)
			if err != nil {
				return err
			}
			if _, err := b.putRows(ctx, marked(batch, m.Applied)); err != nil {
				return err
			}
		}
		return nil
	})
}

// marked returns rows that keep the marks of their last events, or do not. It copies them, because others may store them at the
// same time.
func marked(rows []*groupState, marks bool) []*groupState {
	copies := make([]*groupState, len(rows))
	for i, g := range rows {
		c := *g
		c.marks = marks
		copies[i] = &c
	}
	return copies
}
