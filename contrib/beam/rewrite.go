package beamx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
)

func init() {
	register.DoFn3x1[context.Context, int, func(Rewritten), error](&rewriteFn{})
	register.Emitter1[Rewritten]()
	register.Function2x1(mergeReports)
	beam.RegisterCoder(reflect.TypeFor[Rewritten](), encodeReport, decodeReport)
}

// RewriteOptions says how to rewrite a table.
type RewriteOptions struct {
	Checkpoint string // name of the job: a letter, then letters, digits, _ and -. Each segment has a checkpoint of that name and its number
	Segments   int    // parts of the table, 1 to 1,000,000, each of which is the work of one worker
	NewVersion bool   // see migrate.NewVersion
	Ends       bool   // see migrate.Ends
	Strict     bool   // see migrate.Strict
	Budget     Budget
}

// Budget bounds the capacity units per second that each worker process consumes for a transform. Zero is no bound.
type Budget struct{ ReadUnits, WriteUnits float64 }

// Rewritten is the report of a rewrite, as an element of a collection.
type Rewritten struct{ report migrate.Report } // Beam refuses the public field of an interface that a report has

// Report returns the report.
func (r Rewritten) Report() migrate.Report { return r.report }

// String returns the report's counts on one line.
func (r Rewritten) String() string { return r.report.String() }

// Rewrite brings the stored items of an entity to its declaration, as migrate.Rewrite does, by one migrate.Rewrite for each
// segment of the table. The result is a PCollection<Rewritten> with one report, the sum of all segments. Its examples are
// of segments that no earlier run has done.
//
// A segment is done under a checkpoint in the table, so a bundle that is repeated goes on where it was, and a bundle that runs
// twice at the same time waits for the lease of the other. A pipeline under the name of finished work reads its checkpoints
// and returns their report. It costs what migrate.Rewrite costs, and for each segment a read and three writes of its
// checkpoint. The transform fails with the errors of migrate.Rewrite.
func Rewrite[S migrate.Store](s beam.Scope, store Opener[S], o RewriteOptions) beam.PCollection {
	s = s.Scope("dynastrata.Rewrite")
	name := store.registered()
	if o.Checkpoint == "" {
		panic("beamx: Rewrite needs the name of a checkpoint")
	}
	reports := beam.ParDo(s, &rewriteFn{Store: name, Options: o}, segments(s, o.Segments))
	return beam.Combine(s, mergeReports, reports)
}

// segments returns the numbers 0 to n-1, each for another worker.
func segments(s beam.Scope, n int) beam.PCollection {
	if n < 1 || n > 1_000_000 {
		panic(fmt.Sprintf("beamx: a table has 1 to 1,000,000 segments, not %d", n))
	}
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return beam.Reshuffle(s, beam.CreateList(s, numbers))
}

// rewriteFn rewrites one segment.
type rewriteFn struct {
	Store   string
	Options RewriteOptions
}

func (f *rewriteFn) ProcessElement(ctx context.Context, i int, emit func(Rewritten)) error {
	store, err := handle[migrate.Store](ctx, f.Store)
	if err != nil {
		return err
	}
	n := f.Options.Segments
	opts := []migrate.Option{
		entity.Segment(i, n), migrate.Checkpoint(fmt.Sprintf("%s-%d-of-%d", f.Options.Checkpoint, i, n)),
	}
	if f.Options.NewVersion {
		opts = append(opts, migrate.NewVersion())
	}
	if f.Options.Ends {
		opts = append(opts, migrate.Ends())
	}
	if f.Options.Strict {
		opts = append(opts, migrate.Strict())
	}
	if b := f.Options.Budget.units(f.Store); b != nil {
		opts = append(opts, b)
	}
	for {
		report, err := migrate.Rewrite(ctx, store, opts...)
		var other *migrate.RunningError
		switch {
		case err == nil:
			for _, x := range report.Examples {
				if x.Problem != "" {
					log.Warnf(ctx, "item %s: %s", x.Key, x.Problem)
				}
			}
			emit(Rewritten{report})
			return nil
		case errors.Is(err, migrate.ErrLeaseLost): // another attempt of this segment took over
		case !errors.As(err, &other):
			return err
		case !sleep(ctx, leasePoll):
			return context.Cause(ctx)
		}
	}
}

// leasePoll is the time that a bundle waits before it tries again to take over a segment that another attempt works on. The
// lease of a worker that died ends after 30 seconds.
var leasePoll = 5 * time.Second

// sleep waits. It reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func mergeReports(a, b Rewritten) Rewritten { return Rewritten{a.report.Merge(b.report)} }

func encodeReport(r Rewritten) ([]byte, error) { return json.Marshal(r.report) }

func decodeReport(data []byte) (r Rewritten, err error) {
	err = json.Unmarshal(data, &r.report)
	return r, err
}
