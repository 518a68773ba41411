package timeline

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/item/packed"
)

// Rebuild reads the whole history and builds all rows as a new generation. Readers see the old rows until one write
// replaces them at the end. Events accepted after the start wait for [View.CatchUp]. The result is the meta of the new
// rows.
//
// It costs the read units of every item in the sources' tables, as [View.Explain] estimates, one transaction for a hundred
// rows, and a few reads and writes for the lease and the page directory. Errors: *[BuildingError] while another builder is
// at work; [ErrLeaseLost]; *[EventError]; *[LimitError]; ctx's error, after which [Resume] can continue.
func (v *View[K, S]) Rebuild(ctx context.Context, opts ...BuildOption) (Meta, error) {
	return v.opened().rebuild(ctx, opts)
}

func (v *view) rebuild(ctx context.Context, opts []BuildOption) (meta Meta, err error) {
	err = v.core.Measure(ctx, "Timeline.Rebuild", v.Name, func(ctx context.Context) error {
		o, err := collectBuildOptions(opts)
		if err != nil {
			return err
		}
		b := &builder{view: v, buildOptions: o}
		if err := b.begin(ctx); err != nil {
			return err
		}
		if err := b.runUnderLease(ctx, b.run, b.abandon); err != nil {
			return err
		}
		meta = v.meta(&b.m, b.m.Active)
		b.reportProgress()
		return nil
	})
	return meta, err
}

// begin takes the lease, for a new generation or to resume an interrupted one.
func (b *builder) begin(ctx context.Context) error {
	var err error
	if b.read, err = b.openExports(); err != nil {
		return err
	}
	expected, err := b.estimateItems(ctx)
	if err != nil {
		return err
	}
	b.tenure, err = b.acquire(ctx, func(m *manifest) error {
		if b.needed {
			if err := b.outdated(m); err != nil {
				return err
			}
		}
		m.Failure = nil
		if b.resume && b.canResume(m) {
			g := *m.Building
			g.Fence, g.Job, m.Building = m.Fence, g.Job || b.job, &g
			return nil
		}
		m.retireBuilding(b.now())
		now := b.now()
		switch {
		case b.read != nil:
			now = earlier(now, b.read.at)
			if err := b.acceptTimes(); err != nil && m.Active != nil && m.Active.Through.After(now) {
				return fmt.Errorf("the served rows are newer than the exports: %w", err)
			}
		case m.Active != nil: // served rows may contain events that are ahead of this builder's clock
			now = later(now, m.Active.Through)
		}
		m.Building = &generation{
			ID: spreadOver(b.core.Runner.NewID(), b.Partitions), Fingerprint: b.fingerprint, Version: b.Version, Started: now, Through: now, ReadAt: now, Fence: m.Fence,
			Route: b.buildRoute(), Segments: b.segments, Expected: expected, Job: b.job,
		}
		return nil
	})
	if err == nil {
		b.started = *b.m.Building
		b.id, b.fence, b.evaluated, b.marks = b.started.ID, b.m.Fence, b.started.Evaluated, b.m.Applied
		b.tenure.onRenew = b.saveEvaluated
	}
	return err
}

// canResume reports whether there is a build to resume. If the served rows were brought up to date since it started,
// it has to catch up with them before it replaces them. A job writes all rows again, which it cannot once they change.
func (b *builder) canResume(m *manifest) bool {
	g := m.Building
	return g != nil && !(b.job && g.Closing) && g.Fingerprint == b.fingerprint && g.Route == b.buildRoute() && (!m.servesMoreThan(g) || b.acceptTimes() == nil)
}

// estimateItems returns how many items a build will read; 0 if unknown.
func (b *builder) estimateItems(ctx context.Context) (n int64, err error) {
	if b.read != nil {
		return b.read.items, nil
	}
	for _, o := range b.all {
		if o.core == nil {
			return 0, nil
		}
		e, err := o.estimate(ctx)
		if err != nil {
			return 0, err
		}
		n += e.Items
	}
	return n, nil
}

func (b *builder) window() window {
	return window{until: b.started.Through, now: b.started.ReadAt}
}

// run builds the rows of the generation and makes it the served one.
func (b *builder) run(ctx context.Context) error {
	err := b.sweep(ctx, b.tenure)
	if err != nil {
		return err
	}
	switch {
	case b.started.Closing: // all rows are written
	case b.buildRoute() == string(byPartition):
		err = b.buildByPartition(ctx)
	default:
		err = b.buildSorted(ctx)
	}
	if err != nil {
		return err
	}
	return b.finish(ctx)
}

// finish makes a generation the served one, after it has caught up with the served rows. All of its rows are stored.
func (b *builder) finish(ctx context.Context) (err error) {
	for swapped := false; err == nil && !swapped; {
		swapped, err = b.swap(ctx)
	}
	return err
}

// swap is finish, unless the first Apply of the view came meanwhile.
func (b *builder) swap(ctx context.Context) (swapped bool, err error) {
	m := b.last()
	made := *m.Building
	if m.Applied || m.servesMoreThan(&made) {
		if made, err = b.closeGap(ctx); err != nil {
			return false, err
		}
	}
	rows, err := b.listPages(ctx, b.id)
	if err != nil {
		return false, err
	}
	err = b.save(ctx, func(m *manifest) {
		if swapped = !m.Applied || made.Closing; !swapped {
			return
		}
		g := made
		g.Finished, g.Rows, g.Positions, g.Fence, g.Closing = b.now(), rows, nil, 0, false
		g.Since = m.Building.leftSince(made.Since)
		g.HistoryStart = b.historyStart(m.Active, g.ReadAt, g.Finished, g.Counts)
		if m.Active != nil {
			m.Retired = append(slices.Clone(m.Retired), retirement{ID: m.Active.ID, At: b.now(), Was: m.Active, Job: m.Active.Job})
		}
		m.Active, m.Building = &g, nil
		m.Term = m.Released()
	})
	return swapped, err
}

// closeGap brings the generation up to date with the rows that it replaces. It announces that first: Apply changes the rows of
// both generations from then on, and what it had applied before is in the history that is read after. It takes a higher
// fence, so that no request from the first writing that is still in flight overwrites a row.
func (b *builder) closeGap(ctx context.Context) (made generation, err error) {
	err = b.save(ctx, func(m *manifest) {
		g := *m.Building
		m.Fence++
		g.Fence, g.Closing, m.Building = m.Fence, true, &g
	})
	if err != nil {
		return made, err
	}
	m := b.last()
	b.fence, b.marks = m.Fence, m.Applied
	var now time.Time
	if m.Active != nil {
		now = m.Active.Through
	}
	if m.Applied {
		now = later(now, b.now())
	}
	made, _, err = b.applyNewEvents(ctx, *m.Building, now)
	return made, err
}

// segmentDone is the position of a segment that was read completely.
const segmentDone = "end"

// buildByPartition reads and folds a partition at a time. A resumed build continues after the last checkpoint of each
// segment.
func (b *builder) buildByPartition(ctx context.Context) error {
	n := b.started.Segments
	done := b.started.Positions
	errs := make([]error, n)
	err := engine.ParallelUntilError(ctx, n, n, func(ctx context.Context, i int) error {
		if at := done[strconv.Itoa(i)]; at != segmentDone {
			errs[i] = b.buildSegment(ctx, i, n, at)
		}
		return errs[i]
	})
	return decisiveError(append(errs, err))
}

// buildSegment reads and folds the partitions of one segment.
func (b *builder) buildSegment(ctx context.Context, i, of int, at string) (err error) {
	start, err := parseScanPosition(at)
	if err != nil {
		return err
	}
	s := &segment{b: b, ctx: ctx, name: strconv.Itoa(i), c: b.newCollector(b.window(), b.Memory/of), out: &rowWriter{b: b, ctx: ctx}}
	defer func() { err = joinClose(err, s.c.spool.Close()) }()
	to := recordSink{event: s.c.addFrom(0), partition: s.partition, page: b.countEvaluated}
	if err := b.all[0].readPart(ctx, b.all[0].split(of)[i], start, b.started.ReadAt, to); err != nil {
		return b.withView(err)
	}
	return s.note(segmentDone)
}

// segment is one part of a table that is being folded.
type segment struct {
	b     *builder
	ctx   context.Context
	name  string
	c     *collector
	out   *rowWriter
	n     Counters // of partitions since the last checkpoint
	noted int      // rows written at the last checkpoint
}

// partition folds a partition that was read completely.
func (s *segment) partition(last map[string]value) error {
	s.n.add(s.c.counts)
	s.c.counts = Counters{}
	if err := s.b.fold(s.ctx, s.c.spool.Sorted(), &s.n, fullFold{give: s.out.add}); err != nil {
		return err
	}
	if err := s.c.spool.Reset(); err != nil {
		return err
	}
	if s.out.written-s.noted+len(s.out.rows) < s.b.checkpointEvery {
		return nil
	}
	return s.note(formatScanPosition(last))
}

// note writes the remaining rows and saves that the segment is done up to at.
func (s *segment) note(at string) error {
	if err := s.out.flush(); err != nil {
		return err
	}
	n, newest := s.n, s.c.newest
	s.n, s.noted = Counters{}, s.out.written
	return s.b.checkpoint(s.ctx, func(g *generation) {
		if g.Positions == nil {
			g.Positions = map[string]string{}
		}
		g.Positions[s.name] = at
		g.Counts.add(n)
		g.Newest = later(g.Newest, newest)
	})
}

func formatScanPosition(key item.Item) string {
	return base64.RawStdEncoding.EncodeToString(item.AppendBinary(nil, key))
}

func parseScanPosition(text string) (item.Item, error) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	it, _, err := packed.Parse(b)
	return it, err
}

// buildSorted reads everything, sorts it by group, and folds it. A resumed build reads everything again, up to the
// same time.
func (b *builder) buildSorted(ctx context.Context) (err error) {
	g := b.started
	memory := b.Memory
	if b.read != nil {
		memory /= 2 // the items are sorted in the other half
	}
	c := b.newCollector(b.window(), memory)
	defer func() { err = joinClose(err, c.spool.Close()) }()
	b.evaluated = 0
	if err := b.readSources(ctx, c, g.ReadAt, b.read); err != nil {
		return err
	}
	n := c.counts
	out := &rowWriter{b: b, ctx: ctx, after: b.reportProgress}
	if err := b.fold(ctx, c.spool.Sorted(), &n, fullFold{give: out.add}); err != nil {
		return err
	}
	if err := out.flush(); err != nil {
		return err
	}
	return b.checkpoint(ctx, func(g *generation) { g.Counts, g.Newest = n, c.newest })
}
