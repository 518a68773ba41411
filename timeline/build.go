package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// BuildOption configures [View.Rebuild] and [View.CatchUp].
type BuildOption func(*buildOptions)

type buildOptions struct {
	resume          bool
	needed          bool // build only what the served rows are not
	segments        int
	checkpointEvery int // rows of a segment between two checkpoints
	progress        func(Meta)
	budget          *bind.Pace // paces the requests; may be nil
	exports         []fs.FS    // of the sources' tables, for Rebuild; nil: the tables are scanned
	err             error
}

// Resume continues an interrupted build of the same definition instead of starting a new one. The result is that of
// one build at the time when the first one started, brought up to date with the rows that it replaces. It has no
// effect if no build was interrupted, or if the last one stopped at an event or in a function that panicked: the rows
// of such a build are dropped, because the function has to change.
func Resume() BuildOption { return func(o *buildOptions) { o.resume = true } }

// OnProgress calls f after each page of history and each batch of rows, never concurrently.
func OnProgress(f func(Meta)) BuildOption { return func(o *buildOptions) { o.progress = f } }

// Segments sets how many parts of a table are read concurrently, from 1 to 64. The default is 4.
func Segments(n int) BuildOption {
	return func(o *buildOptions) {
		if o.segments = n; n < 1 || n > 64 {
			o.err = badOption("Segments must be from 1 to 64")
		}
	}
}

// CheckpointEvery sets after how many rows of a segment a build by partition saves its progress, which costs a write.
// After [Resume], rows since the last checkpoint are folded again. The least is 1, the default 500.
func CheckpointEvery(rows int) BuildOption {
	return func(o *buildOptions) {
		if o.checkpointEvery = rows; rows < 1 {
			o.err = badOption("CheckpointEvery must be 1 or more")
		}
	}
}

// Budget bounds the capacity units that a build consumes per second, as made by entity.Budget. Requests that keep its lease
// are not bounded.
func Budget(b *entity.UnitBudget) BuildOption {
	return func(o *buildOptions) {
		budget, err := bind.PaceOf(b)
		if o.budget = budget; err != nil {
			o.err = badOption("%v", err)
		}
	}
}

const (
	defaultSegments        = 4
	defaultCheckpointEvery = 500
	overlap                = 15 * time.Minute // how long a write may be in flight: transactions are retried for 8 minutes
)

func collectBuildOptions(opts []BuildOption) (buildOptions, error) {
	o := buildOptions{segments: defaultSegments, checkpointEvery: defaultCheckpointEvery}
	for _, set := range opts {
		if set == nil {
			return o, badOption("an option is nil")
		}
		set(&o)
	}
	return o, o.err
}

// A route says how a build reads the history.
type route string

const (
	byPartition route = "partition" // one source with PartitionKey, and without shards: read and fold a partition at a time
	bySorting   route = "sorted"    // otherwise: sort all events by group first
)

func (d *definition) route() route {
	if len(d.all) == 1 && d.all[0].partitionOf != nil && d.all[0].eventPartitions() == 1 {
		return byPartition
	}
	return bySorting
}

// eventPartitions returns over how many partitions a source spreads the events of one series.
func (o *origin) eventPartitions() int {
	if o.core == nil {
		return 1
	}
	return max(1, len(o.core.Schema.EventPartitions))
}

// buildRoute names how the builder reads the history. A build is resumed by the same route only.
func (b *builder) buildRoute() string {
	switch {
	case b.read != nil:
		return b.read.route()
	case b.job:
		return string(bySorting)
	}
	return string(b.route())
}

// withoutPartitionKey returns a source that does not know the partitions of groups; nil if all do.
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
	*tenure
	id      string     // generation that is written
	fence   int64      // of the lease
	started generation // the generation as it was when this builder started
	read    *exportSet // what a build reads instead of tables; nil: nothing
	marks   bool       // rows keep the marks of their last events, for Apply
	job     bool       // the work is that of a Job

	reportMu    sync.Mutex // one progress report at a time
	evaluatedMu sync.Mutex // guards evaluated
	evaluated   int64      // items read so far
}

// saveEvaluated saves how much was read, for others to see. A build by partition saves it at checkpoints only, since
// it resumes from there.
func (b *builder) saveEvaluated(m *manifest) {
	if m.Building == nil || b.buildRoute() == string(byPartition) {
		return
	}
	g := *m.Building
	b.evaluatedMu.Lock()
	g.Evaluated = b.evaluated
	b.evaluatedMu.Unlock()
	m.Building = &g
}

// countEvaluated counts items that were read.
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
	m := b.last()
	if m.Building != nil {
		g := *m.Building
		b.evaluatedMu.Lock()
		g.Evaluated = b.evaluated
		b.evaluatedMu.Unlock()
		m.Building = &g
	}
	b.progress(b.meta(&m, m.Active))
}

// checkpoint saves the progress of the build.
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

// readSources reads the history of every source into a collector, one source after the other and the segments of each
// concurrently. It reads from if that is not nil, and otherwise the tables.
func (b *builder) readSources(ctx context.Context, c *collector, now time.Time, from *exportSet) error {
	for i, o := range b.all {
		to := recordSink{event: c.addFrom(i), page: b.countEvaluated, duplicate: c.countDuplicate, dir: b.TempDir}
		if from != nil && o.core != nil {
			if err := b.readExport(ctx, o, from.byTable[o.core.Table], now, to); err != nil {
				return b.withView(err)
			}
			continue
		}
		parts := o.split(b.segments)
		errs := make([]error, len(parts))
		err := engine.ParallelUntilError(ctx, len(parts), len(parts), func(ctx context.Context, i int) error {
			errs[i] = o.readPart(ctx, parts[i], nil, now, to)
			return errs[i]
		})
		if err := decisiveError(append(errs, err)); err != nil {
			return b.withView(err)
		}
	}
	return nil
}

const (
	rowBatch   = plan.MaxActions // rows written in one transaction
	rowWriters = 8               // rows written concurrently where a transaction does not take them together
	maxResends = 3               // retries of a write with an unknown outcome, each with its own attempts
)

// retryUnknown repeats a write under a fence, or a removal, while its outcome is unknown. Both are idempotent: no run
// writes an item twice under one fence.
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

// putRows writes rows under the builder's fence, in one transaction: a batch has no conditions, so it could overwrite what
// another builder has written since. If the rows are too large together, or one of them cannot be stored, it writes each
// alone. It returns the rows that are not as they were read, which are not written.
func (b *builder) putRows(ctx context.Context, rows []*groupState) (refused []*groupState, err error) {
	errs := make([]error, 0, len(rows))
	var sound []*groupState
	for _, g := range rows {
		if err := b.states.checkRoundTrip(reflect.ValueOf(g.state).Elem()); err != nil {
			errs = append(errs, g.storeError(err))
			continue
		}
		sound = append(sound, g)
	}
	if len(sound) > 1 {
		err := retryUnknown(ctx, func() error { return b.rows.putAll(ctx, b.id, b.fence, sound) })
		taken := errors.Is(err, entity.ErrConditionFailed)
		if taken {
			err = ErrLeaseLost
		}
		if !isRejected(err) && !(taken && sound[0].stored != nil) {
			return nil, decisiveError(append(errs, err))
		}
	}
	refused, err = b.putEach(ctx, sound)
	return refused, decisiveError(append(errs, err))
}

// putEach writes rows one by one. It returns those that are not as they were read.
func (b *builder) putEach(ctx context.Context, rows []*groupState) (refused []*groupState, err error) {
	errs, taken := make([]error, len(rows)), make([]bool, len(rows))
	engine.Parallel(len(rows), rowWriters, func(i int) {
		g := rows[i]
		err := retryUnknown(ctx, func() error { return b.rows.put(ctx, b.id, b.fence, g) })
		switch {
		case errors.Is(err, entity.ErrConditionFailed) && g.stored != nil:
			err, taken[i] = nil, true
		case errors.Is(err, entity.ErrConditionFailed):
			err = ErrLeaseLost
		case isRejected(err):
			err = g.storeError(err)
		}
		errs[i] = err
	})
	for i, g := range rows {
		if taken[i] {
			refused = append(refused, g)
		}
	}
	return refused, decisiveError(errs)
}

// rowWriter writes rows in batches.
type rowWriter struct {
	b       *builder
	ctx     context.Context
	rows    []*groupState // not written yet
	refused []*groupState // not written, since they are not as they were read
	written int
	after   func() // called after each batch; nil: nothing
}

func (w *rowWriter) add(g *groupState) error {
	g.marks = w.b.marks
	if w.rows = append(w.rows, g); len(w.rows) < rowBatch {
		return nil
	}
	return w.flush()
}

func (w *rowWriter) flush() error {
	refused, err := w.b.putRows(w.ctx, w.rows)
	w.refused = append(w.refused, refused...)
	w.written += len(w.rows)
	if w.rows = w.rows[:0]; err == nil && w.after != nil {
		w.after()
	}
	return err
}

// storeError returns the error of a row that cannot be stored, with its group and last event.
func (g *groupState) storeError(err error) error {
	e := *g.cause
	e.Err = err
	return &e
}

// isRejected reports whether the content of an item prevents storing it, so that a retry would fail too.
func isRejected(err error) bool {
	var input *entitytype.InputError
	var api smithy.APIError
	return errors.As(err, &input) || errors.Is(err, entity.ErrTooLarge) || errors.As(err, &api) && api.ErrorCode() == "ValidationException"
}

// errPanicked is recorded as the failure of a build that panicked. The panic itself reaches the caller.
var errPanicked = errors.New("a function of the definition panicked")

// runUnderLease runs a build or catch-up. After an error or a panic it gives up the lease and records the failure; on
// makes further changes to the manifest.
func (b *builder) runUnderLease(ctx context.Context, run func(context.Context) error, on func(*manifest, error)) (err error) {
	returned := false
	defer func() {
		if !returned {
			_ = b.giveUpLease(ctx, errPanicked, on) // the panic has more details
		}
	}()
	err = b.held.Keep(ctx, func(ctx context.Context) error { return run(bind.WithPace(ctx, b.budget)) })
	if returned = true; err != nil {
		err = b.giveUpLease(ctx, err, on)
	}
	return err
}

// giveUpLease gives up the lease and records err as the failure, unless the caller interrupted the work.
func (b *builder) giveUpLease(ctx context.Context, err error, on func(*manifest, error)) error {
	return b.release(ctx, err, func(m *manifest) {
		if on(m, err); !interrupted(err) {
			m.Failure = storedFailure(err, b.now())
		}
	})
}

// abandon drops the generation of a failed build if a function of the definition failed. Otherwise Resume can continue
// it.
func (b *builder) abandon(m *manifest, err error) {
	if b.saveEvaluated(m); definitionFailed(err) {
		m.retireBuilding(b.now())
	}
}

// definitionFailed reports whether a build failed at an event or in a function of its definition.
func definitionFailed(err error) bool {
	var e *EventError
	return errors.As(err, &e) || errors.Is(err, errPanicked)
}

// interrupted reports whether the caller ended a build. A handler may fail with the same errors.
func interrupted(err error) bool {
	return !definitionFailed(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// retireBuilding retires the generation that is being built.
func (m *manifest) retireBuilding(at time.Time) {
	if m.Building != nil {
		m.Retired = append(slices.Clone(m.Retired), retirement{ID: m.Building.ID, At: at, Job: m.Building.Job})
		m.Building = nil
	}
}

// Limits of a stored failure, in bytes: a manifest is one item.
const (
	maxMessage  = 1000
	maxIdentity = 4096
)

// storedFailure returns err as the manifest stores it.
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

// truncated returns text as valid UTF-8 of at most most bytes, cut between runes.
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

// decisiveError returns the error that made the others stop. The error of an event is decisive even if it wraps one of
// the context.
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

// Explanation describes how a view reads its history, and what that costs.
type Explanation struct {
	View    string
	Route   string // "partition": a partition at a time; "sorted": all events are sorted by group first
	OneRow  string // how the events of one group are read: by a query or by a scan
	Sources []SourceEstimate

	Partitions int // of the rows of the next rebuild
}

// What DynamoDB accepts for one partition in a second.
const (
	partitionWrites = 1000 // write units
	partitionReads  = 3000 // read units
)

// RowWriteUnits returns about how many write units a second DynamoDB accepts for the rows, if the capacity of their table
// is no less. A row costs two for each KB, because it is written in a transaction.
func (e Explanation) RowWriteUnits() float64 { return float64(max(e.Partitions, 1)) * partitionWrites }

// RowReadUnits returns about how many read units a second DynamoDB gives for the rows, if the capacity of their table is no
// less. Page, After and All consume them in every partition.
func (e Explanation) RowReadUnits() float64 { return float64(max(e.Partitions, 1)) * partitionReads }

// SourceEstimate is the cost of reading one source completely, from DynamoDB's table statistics, which are updated
// about every six hours.
type SourceEstimate struct {
	Source    string  // id of the source; a feed has no table
	Table     string  // physical name
	Items     int64   // in the table, of all entities
	Bytes     int64   // of these items
	ReadUnits float64 // of a consistent scan: one for each 4 KB
}

// ReadUnits returns the read units for reading all sources once.
func (e Explanation) ReadUnits() (units float64) {
	for _, s := range e.Sources {
		units += s.ReadUnits
	}
	return units
}

// String returns the explanation as text.
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
	n := max(e.Partitions, 1)
	plural := ""
	if n > 1 {
		plural = "s"
	}
	fmt.Fprintf(&b, "\n  rows: %d partition%s, for about %.0f write units and %.0f read units a second; a page or listing reads %d partition%s, one row 1",
		n, plural, e.RowWriteUnits(), e.RowReadUnits(), n, plural)
	return b.String()
}

// Explain describes how the history is read, and estimates the read units of a build. It costs a DescribeTable for
// each source.
func (v *View[K, S]) Explain(ctx context.Context) (Explanation, error) {
	return v.opened().explain(ctx)
}

func (v *view) explain(ctx context.Context) (Explanation, error) {
	e := Explanation{View: v.Name, Route: string(v.route()), Partitions: max(v.Partitions, 1), OneRow: "a query of its partition in each source"}
	for _, o := range v.all {
		if n := o.eventPartitions(); n > 1 {
			e.OneRow += fmt.Sprintf("; %s spreads its events over %d partitions, which costs %d queries", o.id, n, n)
		}
	}
	if v.withoutPartitionKey() != nil {
		e.OneRow = "a scan, with FullReplay: not every source has PartitionKey"
	}
	err := v.core.Measure(ctx, "Timeline.Explain", v.Name, func(ctx context.Context) error {
		for _, o := range v.all {
			s, err := o.estimate(ctx)
			if err != nil {
				return err
			}
			e.Sources = append(e.Sources, s)
		}
		return nil
	})
	return e, err
}

const unitBytes = 4096 // of a consistent read unit

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
