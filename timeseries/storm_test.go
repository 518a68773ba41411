package timeseries_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

const stormSeries = 8

// stormWorkers is how many append at the same time.
func stormWorkers() int { return testsize.Pick(24, 64) }

// stormEvents is how many events each series gets, before duplicates.
func stormEvents() int { return testsize.Pick(12, 120) }

// stormSeed is the seed of this run: DYNASTRATA_TEST_SEED, else a new one.
func stormSeed(t *testing.T) uint64 {
	t.Helper()
	return testsize.Number(t, "DYNASTRATA_TEST_SEED", rand.Uint64())
}

// report is one event on its way, and what its sender was told.
type report struct {
	series int
	fact   fact
	reason timeseries.Reason
	unsure bool // an attempt before the last one may have been applied
}

// storm makes many goroutines append to few series over a bad line.
type storm[T any] struct {
	*world[T]
	as      mapping[T]
	rng     *rand.Rand
	queue   chan []*report
	news    [stormSeries]chan struct{} // of an answer about a series
	reports []*report
	errs    []error
	errOnce sync.Mutex
}

func TestStorm_OfWritersOverABadLineLeavesSoundSeries(t *testing.T) {
	t.Parallel()
	seed := stormSeed(t)
	t.Logf("seed %d (DYNASTRATA_TEST_SEED)", seed)
	t.Run("drop", func(t *testing.T) {
		t.Parallel()
		f := entity.Fields[Telemetry]()
		rage(t, seed, asTelemetry, func(v *Telemetry, text string) { v.AccountID = text }, &f.AccountID)
	})
	t.Run("record", func(t *testing.T) {
		t.Parallel()
		f := entity.Fields[Meter]()
		rage(t, seed, asMeter, func(v *Meter, text string) { v.Site = text }, &f.Site)
	})
}

func rage[T any](t *testing.T, seed uint64, as mapping[T], enrich func(*T, string), field *string) {
	// A patient sender: with some of 20 requests failing, giving up is out of the question.
	s := &storm[T]{world: open[T](t, attempts(60)), as: as, rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range s.news {
		s.news[i] = make(chan struct{}, 1)
	}
	s.plan()
	s.sent.Inject(faults.Random(seed, 0.05, faults.Conflict, faults.Throttle, faults.Lost))
	var writers, watchers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range stormWorkers() {
		writers.Go(s.work)
	}
	last := make([]string, stormSeries)
	for i := range stormSeries {
		writers.Go(func() { last[i] = s.enrich(i, enrich, field) })
		watchers.Go(func() { s.watch(ctx, i) })
	}
	writers.Wait()
	stop()
	watchers.Wait()
	s.sent.Inject(nil)
	t.Logf("%d transactions, %d reads", s.sent.Count(transact), s.sent.Count(getItem))
	require.Empty(t, s.errs)
	for i := range stormSeries {
		s.check(i, enrich, last[i])
	}
}

// plan makes the events, with duplicates and collisions among them, roughly in order as fleets send them.
func (s *storm[T]) plan() {
	type placed struct {
		*report
		when float64
	}
	var all []placed
	add := func(series int, f fact) {
		r := &report{series: series, fact: f}
		s.reports = append(s.reports, r)
		all = append(all, placed{r, float64(f.at) + 12*s.rng.Float64()})
	}
	for series := range stormSeries {
		for at := 1; at <= stormEvents(); at++ {
			f := fact{at: at, a: s.rng.IntN(100), hasA: s.as.record || s.rng.IntN(2) == 0}
			if !f.hasA {
				f.a = 0
			}
			if s.rng.IntN(3) == 0 {
				f.b, f.hasB = fmt.Sprint(at), true
			}
			add(series, f)
			switch s.rng.IntN(10) {
			case 0, 1:
				add(series, f)
			case 2:
				other := f
				other.b, other.hasB = "other", true
				add(series, other)
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		if a.when < b.when {
			return -1
		}
		return 1
	})
	s.queue = make(chan []*report, len(all))
	for len(all) > 0 {
		n := 1
		if s.rng.IntN(8) == 0 {
			n = min(1+s.rng.IntN(6), len(all)) // some are sent in bulk
		}
		var batch []*report
		for _, p := range all[:n] {
			batch = append(batch, p.report)
		}
		all = all[n:]
		s.queue <- batch
	}
	close(s.queue)
}

func (s *storm[T]) fail(err error) {
	s.errOnce.Lock()
	defer s.errOnce.Unlock()
	s.errs = append(s.errs, err)
}

// work sends batches until there are no more. An error is no outcome: the batch is sent again.
func (s *storm[T]) work() {
	for batch := range s.queue {
		for round := 0; ; round++ {
			err := s.send(batch)
			if err == nil {
				break
			}
			if round > 20 || !errors.Is(err, entity.ErrConflict) && !entity.IsAmbiguous(err) {
				s.fail(err)
				break
			}
			for _, r := range batch {
				r.unsure = true
			}
		}
	}
}

func (s *storm[T]) send(batch []*report) error {
	evs := make([]T, len(batch))
	for i, r := range batch {
		evs[i] = s.as.event(fmt.Sprint(r.series), r.fact)
	}
	var rs []timeseries.Result[T]
	var err error
	if len(evs) > 1 {
		rs, err = s.AppendAll(s.ctx, evs)
	} else {
		rs = make([]timeseries.Result[T], 1)
		rs[0], err = s.Append(s.ctx, evs[0])
	}
	if err != nil {
		return err
	}
	for i, r := range rs {
		select {
		case s.news[batch[i].series] <- struct{}{}:
		default: // there is news that nobody has looked at yet
		}
		batch[i].reason = r.Reason
		if r.Applied != (r.Reason == "") {
			s.fail(fmt.Errorf("applied %t with reason %q", r.Applied, r.Reason))
		}
		if cur := s.as.fact(r.Current).at; cur < batch[i].fact.at && r.Reason != timeseries.Collision {
			s.fail(fmt.Errorf("event %+v is %q although current was at %d", batch[i].fact, r.Reason, cur))
		}
	}
	return nil
}

// enrich decorates the item all the while and returns what it wrote last.
func (s *storm[T]) enrich(series int, set func(*T, string), field *string) string {
	last := ""
	for i := range 12 {
		text := fmt.Sprintf("enrichment-%d-%d", series, i)
		key := s.as.event(fmt.Sprint(series), fact{})
		if i%2 == 0 {
			set(&key, text)
		}
		write := func() (err error) {
			if i%2 == 0 {
				_, _, err = s.Upsert(s.ctx, key, entity.Idempotent()) // a lost answer could not say whether it created
			} else {
				_, err = s.Update(s.ctx, key, entity.Set(field, text))
			}
			return err
		}
		err := write()
		for entity.IsAmbiguous(err) { // an append came between an attempt without an answer and the look for it
			err = write()
		}
		if err != nil {
			s.fail(err)
			return last
		}
		last = text
	}
	return last
}

// watch sees to it that the current item never goes back in time.
func (s *storm[T]) watch(ctx context.Context, series int) {
	newest := 0
	for ctx.Err() == nil {
		v, err := s.look.Get(s.ctx, s.as.event(fmt.Sprint(series), fact{}), entity.Consistent())
		switch f := s.as.fact(v); {
		case errors.Is(err, entity.ErrNotFound):
		case err != nil:
			s.fail(err)
			return
		case f.at > 0 && f.at < newest:
			s.fail(fmt.Errorf("series %d went back from %d to %d", series, newest, f.at))
			return
		default:
			newest = max(newest, f.at)
		}
		select {
		case <-s.news[series]:
		case <-ctx.Done():
		}
	}
}
