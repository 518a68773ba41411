package beamx_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// reading is an event of a device.
type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Site   string    `dynamodbav:"site" entity:"append"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

// totals is the state of a site. Digest depends on the order in which events are applied.
type totals struct {
	Count  int       `dynamodbav:"count"`
	Sum    int       `dynamodbav:"sum"`
	Digest uint64    `dynamodbav:"digest"`
	Last   time.Time `dynamodbav:"last"`
}

type view = timeline.View[string, totals]

// panics counts down the events until the fold panics, once.
var panics atomic.Int64

func sum(s *totals, e timeline.Event[reading]) error {
	if panics.Add(-1) == 0 {
		panic("a fold that panics once")
	}
	s.Count++
	s.Sum += e.Payload.Value
	s.Digest = s.Digest*1_000_003 + uint64(e.Payload.Value)
	s.Last = e.At
	return nil
}

// sites opens a view of readings by site, as each program does.
func sites(db *entity.DB, name string) (*view, error) {
	readings, err := timeseries.New[reading](db)
	if err != nil {
		return nil, err
	}
	return sitesOf(db, name, timeline.Series(readings), "reading.appended")
}

// sitesOf opens a view of the events of a source, which have the given names.
func sitesOf(db *entity.DB, name string, source timeline.Source, events ...string) (*view, error) {
	p := timeline.Projection[string, totals]{Name: name, Version: 1, Source: source}
	for _, event := range events {
		p.Handlers = append(p.Handlers, timeline.On(event, func(r reading) string { return r.Site }, sum))
	}
	return timeline.New(db, p)
}

var noon = time.Date(2101, 4, 22, 12, 0, 0, 0, time.UTC)

// plant is a table with readings of many devices, and the rows that Rebuild makes of them.
type plant struct {
	*dbtest.Bench
	view *view // that of the pipelines
	want map[string]totals
}

// events is how many readings a plant has.
func events(t *testing.T) int {
	return int(testsize.Number(t, "DYNASTRATA_TIMELINE_EVENTS", uint64(testsize.Pick(3000, 100_000))))
}

func newPlant(t *testing.T, events int) *plant {
	t.Helper()
	p := &plant{Bench: dbtest.Open(t, dbtest.Attempts(2))}
	p.Clock.Set(noon, time.Microsecond)
	p.view = entity.Must(sites(p.DB, "beam"))
	direct := entity.Must(sites(p.DB, "direct"))
	p.CreateTables()
	p.fill(events)
	p.OK(direct.Rebuild(p.Ctx))
	p.want = p.rows(direct)
	return p
}

// fill appends readings: of one device for each hundred events, in 40 sites and more.
func (p *plant) fill(events int) {
	p.T.Helper()
	readings := entity.Must(timeseries.New[reading](p.Open(p.Raw)))
	random := rand.New(rand.NewPCG(testsize.Seed(p.T), 5))
	var batch []reading
	for i := range events {
		batch = append(batch, reading{
			Device: fmt.Sprintf("d%05d", i%(events/100+1)), At: noon.Add(time.Duration(i) * time.Second),
			Site: fmt.Sprintf("s%04d", random.IntN(40+events/200)), Value: random.IntN(1000),
		})
		if len(batch) == 10_000 || i == events-1 {
			p.OK(readings.AppendAll(p.Ctx, batch))
			batch = nil
		}
	}
}

func (p *plant) rows(v *view) map[string]totals {
	p.T.Helper()
	all := map[string]totals{}
	for r, err := range v.All(p.Ctx) {
		require.NoError(p.T, err)
		all[r.Key] = r.State
	}
	return all
}

// opener registers a view of its own for the workers of a pipeline.
func (p *plant) opener(name string) beamx.Opener[*view] {
	return beamx.Register(name, func(context.Context) (*view, error) { return sites(p.Open(p.Client), "beam") })
}

func TestRebuild_EqualsARebuildInOneProcess(t *testing.T) {
	n := events(t)
	p := newPlant(t, n)
	of := p.opener(t.Name())
	o := beamx.RebuildOptions{Segments: 7, Budget: beamx.Budget{ReadUnits: 1e6, WriteUnits: 1e6}}
	failed := untilDone(p.Bench, []int{0, 3, 9, 16, 20}, func() error {
		meta, err := beamx.Rebuild(p.Ctx, run, of, o)
		if err == nil {
			require.EqualValues(t, n, meta.Counters.Folded)
		}
		return err
	})
	require.Equal(t, 5, failed)
	require.Equal(t, p.want, p.rows(p.view))
}

// One job survives failed bundles: its pipeline runs again under the same ticket until it succeeds, as a runner would repeat
// bundles, and twice at the same time, as if a worker that was given up went on.
func TestRebuild_RepeatedBundlesChangeNoRow(t *testing.T) {
	p := newPlant(t, events(t))
	of := p.opener(t.Name())
	job, err := p.view.BeginJob(p.Ctx)
	require.NoError(t, err)
	parts, err := job.Split(5)
	require.NoError(t, err)
	again := func() error { return run(p.Ctx, beamx.Pipeline(of, job, parts)) }

	for _, death := range []struct {
		operation string
		nth       int
		how       faults.Fault
	}{
		{"Scan", 1, faults.Drop}, {"Scan", 4, faults.Drop}, {"UpdateItem", 1, faults.Drop}, {"UpdateItem", 3, faults.Lost},
		{"TransactWriteItems", 1, faults.Drop}, {"TransactWriteItems", 1, faults.Lost},
	} {
		seen, dead := 0, false
		p.Wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == death.operation && !dead {
				if seen++; seen == death.nth {
					dead = true
					return death.how
				}
			}
			if dead {
				return faults.Drop
			}
			return faults.None
		})
		require.Error(t, again(), "the worker dies at %s %d", death.operation, death.nth)
		p.Wire.Inject(nil)
	}
	for _, n := range []int64{1, 100, 1500} {
		panics.Store(n)
		require.Error(t, again(), "the fold panics")
	}
	runBoth(t, [2]*beam.Pipeline{beamx.Pipeline(of, job, parts), beamx.Pipeline(of, job, parts)})
	require.NoError(t, again())
	meta, err := job.Finish(p.Ctx)
	require.NoError(t, err)
	require.EqualValues(t, events(t), meta.Counters.Folded)
	require.Equal(t, p.want, p.rows(p.view))
	require.Error(t, again(), "the job has ended")
	require.Equal(t, p.want, p.rows(p.view))
}

func TestRebuild_AFailedPipelineLeavesTheServedRows(t *testing.T) {
	p := newPlant(t, 500)
	of := p.opener(t.Name())
	p.OK(beamx.Rebuild(p.Ctx, run, of, beamx.RebuildOptions{Segments: 2}))
	broken := errors.New("no workers")
	_, err := beamx.Rebuild(p.Ctx, func(context.Context, *beam.Pipeline) error { return broken }, of, beamx.RebuildOptions{Segments: 2})
	require.ErrorIs(t, err, broken)
	_, err = beamx.Rebuild(p.Ctx, func(context.Context, *beam.Pipeline) error { return nil }, of, beamx.RebuildOptions{Segments: 2})
	require.ErrorIs(t, err, timeline.ErrPartUnread, "the pipeline was not run to its end")
	var input *entity.InputError
	_, err = beamx.Rebuild(p.Ctx, run, of, beamx.RebuildOptions{})
	require.ErrorAs(t, err, &input, "no segments")
	require.Equal(t, p.want, p.rows(p.view))
	p.OK(beamx.Rebuild(p.Ctx, run, of, beamx.RebuildOptions{Segments: 2}))
	require.Equal(t, p.want, p.rows(p.view))
}
