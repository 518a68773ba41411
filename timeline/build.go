package timeline

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// BuildOption is accepted by [View.Rebuild] and [View.CatchUp].
type BuildOption func(*buildOptions)

type buildOptions struct {
	resume          bool
	segments        int
	checkpointEvery int // rows of a segment between two notes of how far it is
	progress        func(Meta)
	err             error
}

// Resume goes on with a build of the same definition that was cut off, instead of beginning a new one: the result is that
// of one build at the time when it began, brought up to what the rows that it replaces account for by then. Where no build
// was cut off it changes nothing. Nor does it after a build that stopped at an event, or in a function that panicked: the
// rows of that are given up at once, because the function has to change.
func Resume() BuildOption { return func(o *buildOptions) { o.resume = true } }

// OnProgress calls f whenever a page of history was read or rows were written, never twice at a time.
func OnProgress(f func(Meta)) BuildOption { return func(o *buildOptions) { o.progress = f } }

// Segments is how many parts of a table are read at the same time, from 1 to 64; default 4.
func Segments(n int) BuildOption {
	return func(o *buildOptions) {
		if o.segments = n; n < 1 || n > 64 {
			o.err = badOption("Segments must be from 1 to 64")
		}
	}
}

// CheckpointEvery is after how many rows a build by partition notes how far it is, which costs a write: what lies behind the
// last note is folded again after [Resume]. From 1; default 500.
func CheckpointEvery(rows int) BuildOption {
	return func(o *buildOptions) {
		if o.checkpointEvery = rows; rows < 1 {
			o.err = badOption("NoteEvery must be 1 or more")
		}
	}
}

const (
	defaultSegments        = 4
	defaultCheckpointEvery = 500
	overlap                = 15 * time.Minute // how long a write may be on its way: a transaction is repeated for 8 minutes
)

func collectBuildOptions(opts []BuildOption) (buildOptions, error) {
	o := buildOptions{segments: defaultSegments, checkpointEvery: defaultCheckpointEvery}
	for _, opt := range opts {
		if opt == nil {
			return o, badOption("an option is nil")
		}
		opt(&o)
	}
	return o, o.err
}

// builder is one run of Rebuild or CatchUp.
type builder struct {
	*view
	buildOptions
	*lease
	id      string     // generation that is written
	fence   int64      // of the lease
	started generation // the generation as it was when this builder began

	reportMu    sync.Mutex // progress is reported once at a time
	evaluatedMu sync.Mutex // guards evaluated
	evaluated   int64
}

// Rebuild reads the whole history and makes all rows, beside those that are served, which it replaces in one step at
// the end. Events accepted after it began wait for [View.CatchUp].
//
// It costs the read units of every item in the sources' tables, or twice what [View.Explain] says for eventual reads,
// and a write per row. Errors: *[BuildingError] when another builder is at work; [ErrLeaseLost]; *[EventError]; ctx's
// error, after which [Resume] goes on.
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

// begin takes the lease for a new generation, or for the one that was cut off.
func (b *builder) begin(ctx context.Context) error {
	expected, err := b.estimateItems(ctx)
	if err != nil {
		return err
	}
	b.lease, err = acquire(ctx, b.manifests, b.Name, b.core.Runner.NewID(), b.core.Runner.Clock, func(m *manifest) error {
		m.Failure = nil
		if b.resume && b.canResume(m) {
			g := *m.Building
			g.Fence, m.Building = m.Fence, &g
			return nil
		}
		m.retireBuilding(b.now())
		now := b.now()
		if m.Active != nil { // served rows may account for more than this builder's clock knows of
			now = later(now, m.Active.Through)
		}
		m.Building = &generation{
			ID: b.core.Runner.NewID(), Fingerprint: b.fingerprint, Started: now, Through: now, ReadAt: now, Fence: m.Fence,
			Route: string(b.route()), Segments: b.segments, Expected: expected,
		}
		return nil
	})
	if err == nil {
		b.started = *b.m.Building
		b.id, b.fence, b.evaluated = b.started.ID, b.m.Fence, b.started.Evaluated
		b.lease.onRenew = b.saveEvaluated
	}
	return err
}

// goesOn reports that there is a build to go on with. Where the served rows have been brought up since it began, it has to
// be brought up to the same moment before it replaces them.
func (b *builder) canResume(m *manifest) bool {
	g := m.Building
	return g != nil && g.Fingerprint == b.fingerprint && g.Route == string(b.route()) && (!m.servesMoreThan(g) || b.acceptTimes() == nil)
}

// expected is how many items the sources' tables are said to hold; 0 when that is not known.
func (b *builder) estimateItems(ctx context.Context) (n int64, err error) {
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

// run makes the rows of the generation and swaps them in.
func (b *builder) run(ctx context.Context) error {
	err := b.sweep(ctx, b.lease)
	if err != nil {
		return err
	}
	if b.route() == byPartition {
		err = b.buildByPartition(ctx)
	} else {
		err = b.buildSorted(ctx)
	}
	if err != nil {
		return err
	}
	m := b.last()
	made := *m.Building
	if m.servesMoreThan(&made) {
		if err := b.raiseFence(ctx); err != nil {
			return err
		}
		if made, _, err = b.applyNewEvents(ctx, made, m.Active.Through); err != nil {
			return err
		}
	}
	rows, err := b.listPages(ctx, b.id)
	if err != nil {
		return err
	}
	return b.save(ctx, func(m *manifest) {
		g := made
		g.Finished, g.Rows, g.Positions, g.Fence = b.now(), rows, nil, 0
		g.HistoryStart = b.historyStart(m.Active, g.ReadAt, g.Finished, g.Counts)
		if m.Active != nil {
			m.Retired = append(slices.Clone(m.Retired), retirement{ID: m.Active.ID, At: b.now(), Was: m.Active})
		}
		m.Active, m.Building, m.Owner = &g, nil, ""
	})
}

// raise takes a higher fence: rows are about to be written once more, and no request of the first time that is still on its
// way may replace them.
func (b *builder) raiseFence(ctx context.Context) error {
	err := b.save(ctx, func(m *manifest) {
		g := *m.Building
		m.Fence++
		g.Fence, m.Building = m.Fence, &g
	})
	b.fence = b.last().Fence
	return err
}

// checkpoint notes how far the build is.
func (b *builder) checkpoint(ctx context.Context, change func(*generation)) error {
	b.evaluatedMu.Lock()
	evaluated := b.evaluated
	b.evaluatedMu.Unlock()
	err := b.save(ctx, func(m *manifest) {
		g := *m.Building
		g.Positions = maps.Clone(g.Positions)
		g.Evaluated = evaluated
		change(&g)
		m.Building = &g
	})
	b.reportProgress()
	return err
}

// evaluate notes how much was read, for others to see. A build by partition notes that with its positions: it goes on
// from there.
func (b *builder) saveEvaluated(m *manifest) {
	if m.Building == nil || b.route() == byPartition {
		return
	}
	g := *m.Building
	b.evaluatedMu.Lock()
	g.Evaluated = b.evaluated
	b.evaluatedMu.Unlock()
	m.Building = &g
}

// page counts what was read.
func (b *builder) countEvaluated(evaluated int) {
	b.evaluatedMu.Lock()
	b.evaluated += int64(evaluated)
	b.evaluatedMu.Unlock()
	b.reportProgress()
}

func (b *builder) reportProgress() {
	if b.progress == nil {
		return
	}
	b.reportMu.Lock()
	defer b.reportMu.Unlock()
	m := b.lease.last()
	if m.Building != nil {
		g := *m.Building
		b.evaluatedMu.Lock()
		g.Evaluated = b.evaluated
		b.evaluatedMu.Unlock()
		m.Building = &g
	}
	b.progress(b.meta(&m, m.Active))
}
