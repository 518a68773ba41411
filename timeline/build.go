package timeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/plan"
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

// route is how a build reads its history.
type route string

const (
	byPartition route = "partition" // one source whose groups each lie in one partition: a partition at a time
	bySorting   route = "sorted"    // everything is sorted by group first
)

func (d *definition) route() route {
	if len(d.all) == 1 && d.all[0].partitionOf != nil {
		return byPartition
	}
	return bySorting
}

// scattered is a source that does not say where the events of a group lie; nil when all do.
func (d *definition) withoutPartitionKey() *origin {
	for _, o := range d.all {
		if o.partitionOf == nil {
			return o
		}
	}
	return nil
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

// readAll reads the history of every source into a collector, the segments of each at the same time.
func (b *builder) readSources(ctx context.Context, c *collector, now time.Time) error {
	for i, o := range b.all {
		to := recordSink{event: c.addFrom(i), page: b.countEvaluated, duplicate: c.countDuplicate, dir: b.TempDir}
		if o.feed != nil {
			if err := o.readFeed(ctx, to); err != nil {
				return b.withView(err)
			}
			continue
		}
		inner, cancel := context.WithCancel(ctx)
		errs := make([]error, b.segments)
		var stop sync.Once
		exec.Parallel(b.segments, b.segments, func(i int) {
			to := to
			to.partition = func(map[string]value) error { return b.renewIfDue(inner) }
			if errs[i] = o.scan(inner, int32(i), int32(b.segments), nil, now, to); errs[i] != nil {
				stop.Do(cancel)
			}
		})
		cancel()
		if err := decisiveError(errs); err != nil {
			return b.withView(err)
		}
	}
	return nil
}

const (
	rowBatch   = 64 // rows that are held until they are written
	rowWriters = 8  // that are written at the same time
	maxResends = 3  // of a write whose outcome is unknown, each with its own attempts
)

// settled repeats a write under a fence, or a removal, whose outcome is unknown: a second time it does no more than the
// first. No run writes an item twice under one fence.
func retryUnknown(ctx context.Context, write func() error) error {
	err := write()
	for range maxResends {
		if !entity.IsAmbiguous(err) || ctx.Err() != nil {
			break
		}
		err = write()
	}
	return err
}

// putRows writes rows under the builder's fence.
func (b *builder) putRows(ctx context.Context, rows []*groupState) error {
	errs := make([]error, len(rows))
	exec.Parallel(len(rows), rowWriters, func(i int) {
		g := rows[i]
		if err := b.states.checkRoundTrip(reflect.ValueOf(g.state).Elem()); err != nil {
			errs[i] = g.storeError(err)
			return
		}
		err := b.rows.put(ctx, b.id, b.fence, g)
		switch {
		case errors.Is(err, entity.ErrConditionFailed):
			err = ErrLeaseLost
		case isRejected(err):
			err = g.storeError(err)
		}
		errs[i] = err
	})
	return decisiveError(errs)
}

// rowWriter writes rows in batches.
type rowWriter struct {
	b       *builder
	ctx     context.Context
	rows    []*groupState // not written yet
	written int
	after   func() error // called after each batch; nil: nothing
}

// newRowWriter returns a rowWriter that renews the lease after each batch.
func (b *builder) newRowWriter(ctx context.Context) *rowWriter {
	return &rowWriter{b: b, ctx: ctx, after: func() error { return b.renewIfDue(ctx) }}
}

func (w *rowWriter) add(g *groupState) error {
	if w.rows = append(w.rows, g); len(w.rows) < rowBatch {
		return nil
	}
	return w.flush()
}

func (w *rowWriter) flush() error {
	err := w.b.putRows(w.ctx, w.rows)
	w.written += len(w.rows)
	if w.rows = w.rows[:0]; err == nil && w.after != nil {
		err = w.after()
	}
	return err
}

// failed names the group that cannot be stored, and its last event.
func (g *groupState) storeError(err error) error {
	e := *g.cause
	e.Err = err
	return &e
}

// refused reports that it is the content of an item that keeps it from being stored, whenever that is tried.
func isRejected(err error) bool {
	var input *plan.InputError
	var api smithy.APIError
	return errors.As(err, &input) || errors.Is(err, entity.ErrTooLarge) || errors.As(err, &api) && api.ErrorCode() == "ValidationException"
}

// errPanicked is noted for a build that a panic ended; the panic itself goes on to the caller.
var errPanicked = errors.New("a function of the definition panicked")

// work runs a build or catch-up under the lease. After an error, or a panic, it gives the lease up and notes why; on says
// what else becomes of the manifest then.
func (b *builder) runUnderLease(ctx context.Context, run func(context.Context) error, on func(*manifest, error)) (err error) {
	returned := false
	defer func() {
		if !returned {
			_ = b.giveUpLease(ctx, errPanicked, on) // the panic says more
		}
	}()
	err = b.keepAlive(ctx, run)
	if returned = true; err != nil {
		err = b.giveUpLease(ctx, err, on)
	}
	return err
}

// failed gives the lease up and says why, unless the caller merely had enough.
func (b *builder) giveUpLease(ctx context.Context, err error, on func(*manifest, error)) error {
	return b.release(ctx, err, func(m *manifest) {
		if on(m, err); !interrupted(err) {
			m.Failure = storedFailure(err, b.now())
		}
	})
}

// abandon is what becomes of a generation whose build failed: nothing that was made by a function which failed is kept.
// Otherwise Resume goes on with it.
func (b *builder) abandon(m *manifest, err error) {
	if b.saveEvaluated(m); definitionFailed(err) {
		m.retireBuilding(b.now())
	}
}

// spoiled reports that a build failed at an event, or in a function of its definition.
func definitionFailed(err error) bool {
	var e *EventError
	return errors.As(err, &e) || errors.Is(err, errPanicked)
}

// interrupted reports that the caller ended a build. A handler may fail with the same error.
func interrupted(err error) bool {
	return !definitionFailed(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// giveUp retires the generation that is being built.
func (m *manifest) retireBuilding(at time.Time) {
	if m.Building != nil {
		m.Retired = append(slices.Clone(m.Retired), retirement{ID: m.Building.ID, At: at})
		m.Building = nil
	}
}

// Bounds of what is kept of a failure, in bytes: a manifest is one item.
const (
	maxMessage  = 1000
	maxIdentity = 4096
)

// failure is an error as the manifest keeps it.
func storedFailure(err error, now time.Time) *Failure {
	f := &Failure{At: now, Message: truncated(err.Error(), maxMessage)}
	var e *EventError
	if errors.As(err, &e) {
		f.Stage, f.Payload = e.Stage, e.Payload
		f.Event, f.Source = truncated(e.Event, maxIdentity), truncated(e.Source, maxIdentity)
		f.Key, f.Group = truncated(e.Key, maxIdentity), truncated(e.Group, maxIdentity)
	}
	return f
}

// bounded is text that can be stored: as UTF-8, and cut before the rune that does not fit into most bytes.
func truncated(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// first is the error that made the others stop. One of an event does, whatever is behind it.
func decisiveError(errs []error) error {
	var stopped error
	for _, err := range errs {
		if err != nil && !interrupted(err) {
			return err
		}
		if stopped == nil {
			stopped = err
		}
	}
	return stopped
}

// Explanation says how a view reads its history, and what that costs.
type Explanation struct {
	View    string
	Route   string // partition: a partition at a time; sorted: everything is sorted by group first
	OneRow  string // how the events of one group are read: by a query, or by a scan
	Sources []SourceEstimate
}

// SourceEstimate is what reading one source whole costs, by what DynamoDB says about its table. It updates them about every
// six hours only.
type SourceEstimate struct {
	Source    string  // its id; a feed has no table
	Table     string  // physical name
	Items     int64   // in the table, of all entities
	Bytes     int64   // of these
	ReadUnits float64 // of one consistent scan: a unit for each 4 KB
}

// ReadUnits is what reading all sources once costs.
func (e Explanation) ReadUnits() (units float64) {
	for _, s := range e.Sources {
		units += s.ReadUnits
	}
	return units
}

// String prints the explanation.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "timeline %s: a build reads by %s; one row as of a moment: %s", e.View, e.Route, e.OneRow)
	for _, s := range e.Sources {
		if s.Table == "" {
			fmt.Fprintf(&b, "\n  %s: no table", s.Source)
			continue
		}
		fmt.Fprintf(&b, "\n  %s: a scan of %s, %d items, %d bytes, about %.1f read units", s.Source, s.Table, s.Items, s.Bytes, s.ReadUnits)
	}
	return b.String()
}

// Explain says how the history is read and estimates the read units of a build. It costs a DescribeTable for each source.
func (v *View[K, S]) Explain(ctx context.Context) (Explanation, error) {
	return v.opened().explain(ctx)
}

func (v *view) explain(ctx context.Context) (Explanation, error) {
	if err := v.core.Err(); err != nil {
		return Explanation{}, v.core.Wrap("Timeline.Explain", "", err)
	}
	e := Explanation{View: v.Name, Route: string(v.route()), OneRow: "a query of its partition in each source"}
	if v.withoutPartitionKey() != nil {
		e.OneRow = "a scan, with FullReplay: not every source has PartitionKey"
	}
	for _, o := range v.all {
		s, err := o.estimate(ctx)
		if err != nil {
			return e, v.core.Wrap("Timeline.Explain", v.Name, err)
		}
		e.Sources = append(e.Sources, s)
	}
	return e, nil
}

const unitBytes = 4096 // of one consistent read unit

func (o *origin) estimate(ctx context.Context) (SourceEstimate, error) {
	s := SourceEstimate{Source: o.id}
	if o.core == nil {
		return s, nil
	}
	s.Table = o.core.Table
	t, err := o.core.Runner.DescribeTable(ctx, o.core.Table)
	if err != nil {
		return s, err
	}
	if t.ItemCount != nil {
		s.Items = *t.ItemCount
	}
	if t.TableSizeBytes != nil {
		s.Bytes = *t.TableSizeBytes
	}
	s.ReadUnits = float64((s.Bytes + unitBytes - 1) / unitBytes)
	return s, nil
}
