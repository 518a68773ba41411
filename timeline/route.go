package timeline

import (
	"context"
	"encoding/base64"
	"strconv"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
)

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

// through is the position of a segment that is through.
const segmentDone = "end"

// byPartition folds each partition when it has been read whole. A build that was cut off goes on behind the last partition
// that it noted.
func (b *builder) buildByPartition(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := b.started.Segments
	done := b.started.Positions
	errs, panics := make([]error, n), make([]any, n)
	exec.Parallel(n, n, func(i int) {
		at := done[strconv.Itoa(i)]
		if at == segmentDone {
			return
		}
		defer func() {
			if panics[i] = recover(); panics[i] != nil {
				cancel()
			}
		}()
		if errs[i] = b.buildSegment(ctx, i, n, at); errs[i] != nil {
			cancel() // the others need not go on
		}
	})
	for _, p := range panics {
		if p != nil {
			panic(p) // of a handler: the caller of Rebuild gets it, and not the end of the program
		}
	}
	return decisiveError(errs)
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

// segment folds the partitions of one segment.
func (b *builder) buildSegment(ctx context.Context, i, of int, at string) (err error) {
	start, err := parseScanPosition(at)
	if err != nil {
		return err
	}
	s := &segment{b: b, ctx: ctx, name: strconv.Itoa(i), c: b.newCollector(b.window(), b.Memory/of), out: &rowWriter{b: b, ctx: ctx}}
	defer func() { err = joinClose(err, s.c.spool.Close()) }()
	to := recordSink{event: s.c.addFrom(0), partition: s.partition, page: b.countEvaluated}
	if err := b.all[0].scan(ctx, int32(i), int32(of), start, b.started.ReadAt, to); err != nil {
		return b.withView(err)
	}
	return s.note(segmentDone)
}

// segment is one part of a table on its way into rows.
type segment struct {
	b     *builder
	ctx   context.Context
	name  string
	c     *collector
	out   *rowWriter
	n     Counters // of partitions that are folded and not yet noted
	noted int      // rows that were written at the last note
}

// partition folds a partition that was read whole.
func (s *segment) partition(last map[string]value) error {
	s.n.add(s.c.counts)
	s.c.counts = Counters{}
	if err := s.b.fold(s.ctx, s.c.spool.Sorted(), &s.n, fullFold{s.out.add}); err != nil {
		return err
	}
	if err := s.c.spool.Reset(); err != nil {
		return err
	}
	if s.out.written-s.noted+len(s.out.rows) < s.b.checkpointEvery {
		return s.b.renewIfDue(s.ctx)
	}
	return s.note(formatScanPosition(last))
}

// note writes what is left and notes that the segment is through up to at.
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
	it, _, err := item.ParseBinary(b)
	return it, err
}

// sorted reads everything, sorts it, and folds it. A build that was cut off reads everything again, up to the same moment.
func (b *builder) buildSorted(ctx context.Context) (err error) {
	g := b.started
	c := b.newCollector(b.window(), b.Memory)
	defer func() { err = joinClose(err, c.spool.Close()) }()
	b.evaluated = 0
	if err := b.readSources(ctx, c, g.ReadAt); err != nil {
		return err
	}
	n := c.counts
	out := b.newRowWriter(ctx)
	out.after = func() error {
		defer b.reportProgress()
		return b.renewIfDue(ctx)
	}
	if err := b.fold(ctx, c.spool.Sorted(), &n, fullFold{out.add}); err != nil {
		return err
	}
	if err := out.flush(); err != nil {
		return err
	}
	return b.checkpoint(ctx, func(g *generation) { g.Counts, g.Newest = n, c.newest })
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
